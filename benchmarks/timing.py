"""Timing that two noisy cores cannot spoil: candidates take turns in one run, and the best of many rounds counts.

Times are CPU times of this process, which other programs disturb least.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Row:
    """One measured figure beside its peer."""

    case: str
    subject: str
    value: float
    unit: str
    peer: str = ""
    ratio: float | None = None  # peer's time over ours: larger is better for us
    target: str = ""


def interleaved(candidates: dict[str, Callable[[], object]], seconds: float = 0.6) -> dict[str, float]:
    """Return the best CPU time of one call of each candidate [s]; slow ones run at least five times."""
    for call in candidates.values():
        call()  # compiles, fills caches
    best = dict.fromkeys(candidates, float("inf"))
    end, rounds = time.perf_counter() + seconds * len(candidates), 0
    while time.perf_counter() < end or rounds < 5:
        rounds += 1
        for name, call in candidates.items():
            best[name] = min(best[name], _few(call, best[name]))
    return best


def _few(call: Callable[[], object], expected_s: float) -> float:
    """Time enough calls in a row for the clock to be fine, and return the time of one.

    A short one is called once before, so that it does not pay for the memory its competitor has displaced.
    """
    calls = max(1, min(1000, int(1e-4 / expected_s))) if expected_s < 1e-3 else 1
    if expected_s < 1e-3:
        call()
    start = time.process_time()
    for _ in range(calls):
        call()
    return (time.process_time() - start) / calls
