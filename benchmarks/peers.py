"""Peers that may not be installed."""

from __future__ import annotations

import importlib
import sys
from typing import Any


def peer(module: str, where: str) -> Any:
    """Return our module that needs a peer, or None; a peer that is not installed is named."""
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as missing:
        print(f"{where}: without {(missing.name or module).split('.')[0]}, which is not installed", file=sys.stderr)
        return None
