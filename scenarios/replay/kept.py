"""What a replay has left in its folder, opened again."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

from gnc.config.base import parse
from gnc.scenarios.replay.config import Replay
from gnc.scenarios.replay.records import opened

Array = Any

METRICS, CONFIG, ESTIMATES = "metrics.json", "config.toml", "estimates.nc"


class Kept(NamedTuple):
    """A replay as it is on disk; records are mapped, not read."""

    text: str  # the configuration
    config: Replay
    outcome: dict[str, Any]
    estimates: Array
    errors: tuple[str, ...]  # names of the rows of C
    innovations: dict[str, Array]  # by sensor


def load(folder: Path) -> Kept:
    """Open the results of a replay."""
    text = (folder / CONFIG).read_text(encoding="utf-8")
    outcome = json.loads((folder / METRICS).read_text(encoding="utf-8"))
    estimates, attributes = opened(folder / ESTIMATES)
    found = {name: opened(folder / f"innovations_{name}.nc")[0] for name in outcome["sensors"]}
    return Kept(text, parse(text, Replay, CONFIG), outcome, estimates, tuple(attributes["errors"].split()), found)
