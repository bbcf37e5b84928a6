"""Long runs of one model: many steps, some of them kept; and trials that were lost on the way."""

from __future__ import annotations

import warnings
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


def each(step: Callable[[Any, float], Any], h: float, t0: float) -> Callable[[Any, int, int], Any]:
    """Return the `advance` of `fly` that takes steps one by one, each told its time."""

    def advance(x: Any, first: int, number: int) -> Any:
        for k in range(first, first + number):
            x = step(x, t0 + k * h)
        return x

    return advance


class StepTooLong(ValueError):
    """A step that turns too far for the method; nothing else is wrong with the trial."""


class LostTrials(UserWarning):
    """Some trials of a batch became NaN; the others fly on."""


def report_lost(before: np.ndarray, after: np.ndarray, angle: np.ndarray, limit: float | None) -> None:
    """Say which trials a step has lost: an error for a single trial, a warning for a batch."""
    lost = np.isnan(after).any(axis=-1) & ~np.isnan(before).any(axis=-1)
    if not lost.any():
        return
    worst = float(np.max(np.where(lost, angle, 0.0)))
    allowed = "the method's limit" if limit is None else f"the limit of {limit:.3g} rad"
    reason = f"|w| h = {worst:.3g} rad is beyond {allowed}: take shorter steps or substeps=True"
    if lost.ndim == 0:
        raise StepTooLong(reason)
    trials = np.flatnonzero(lost)
    some = ", ".join(map(str, trials[:5])) + (" ..." if len(trials) > 5 else "")
    warnings.warn(f"{len(trials)} of {lost.size} trials lost ({some}): {reason}", LostTrials, stacklevel=3)
