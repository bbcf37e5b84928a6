"""Long runs of one model: many steps, some of them kept."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from gnc.errors import InputError


class Flight(NamedTuple):
    """What was kept of a run: times, and the states with the kept steps as their first axis."""

    t: np.ndarray  # (kept,) [s]
    x: Any  # the model's state, arrays (kept, ...)


def fly(x0: Any, advance: Callable[[Any, int, int], Any], steps: int, every: int, h: float, t0: float) -> Flight:
    """Run `advance(state, first step, number of steps)` over all steps; keep the start and every so many steps."""
    if not (isinstance(steps, int) and steps >= 0):
        raise InputError(f"steps: expected a whole number >= 0, got {steps!r}")
    if not (isinstance(every, int) and every > 0 and steps % every == 0):
        raise InputError(f"every: expected a whole number > 0 that divides steps = {steps}, got {every!r}")
    states, x = [x0], x0
    for k in range(0, steps, every):
        x = advance(x, k, every)
        states.append(x)
    shapes = [np.shape(a) for a in states[-1]]
    kept = (np.stack([np.broadcast_to(s[i], shape) for s in states]) for i, shape in enumerate(shapes))
    return Flight(t0 + h * np.arange(0, steps + 1, every), type(x0)(*kept))
