"""A time limit for each call of a user's own part, so that one that loops for ever ends with a line.

A thread looks now and then at the calls under way and raises `Overdue` in the one that takes too long. Python raises it
between two of its own instructions: a call that hangs inside compiled code is only reported.
"""

from __future__ import annotations

import ctypes
import functools
import os
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

LIMIT_S = float(os.environ.get("GNC_PART_LIMIT_S", "120"))
LOOKS = 10  # of the watcher, per limit

_under_way: dict[int, tuple[float, str]] = {}  # thread -> when its call began, and whose it is


class Overdue(Exception):
    """A call took longer than the limit."""


def limited(name: str, method: Callable[..., Any], *arguments: Any, **keywords: Any) -> Any:
    """Call a method of a user's part; raise Overdue in it if it takes too long."""
    thread = threading.get_ident()
    if thread in _under_way:  # a part that calls another one: the outer call counts
        return method(*arguments, **keywords)
    _watcher()
    _under_way[thread] = time.monotonic(), name
    try:
        return method(*arguments, **keywords)
    finally:
        _under_way.pop(thread, None)


@functools.cache
def _watcher() -> threading.Thread:
    """The thread that watches, started by the first call."""
    thread = threading.Thread(target=_watch, name="gnc watchdog", daemon=True)
    thread.start()
    return thread


def _watch() -> None:
    stopped = None
    while True:
        time.sleep(LIMIT_S / LOOKS)
        for thread, call in list(_under_way.items()):
            late = time.monotonic() - call[0]
            if late > LIMIT_S and call != stopped:
                stopped = call
                ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), ctypes.py_object(Overdue))
            elif late > 2.0 * LIMIT_S:
                print(f"gnc: {call[1]} hangs in compiled code, for {late:.0f} s now; end gnc", file=sys.stderr)
