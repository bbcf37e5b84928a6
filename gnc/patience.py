"""Telling a person at a terminal, once, that compiling takes a while."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

MESSAGE = "gnc: compiling kernels, once for this machine ..."


class _Patience:
    """How long a person waits in silence, all compilations of a process together."""

    left_s, told = 1.0, False

    @classmethod
    def tell(cls) -> None:
        cls.told = True
        print(MESSAGE, file=sys.stderr)


@contextmanager
def telling() -> Iterator[None]:
    """Surround a compilation; a pipe is told nothing."""
    start = time.monotonic()
    timer = threading.Timer(max(_Patience.left_s, 0.0), _Patience.tell)
    timer.daemon = True
    if not _Patience.told and sys.stderr.isatty():
        timer.start()
    try:
        yield
    finally:
        timer.cancel()
        _Patience.left_s -= time.monotonic() - start
