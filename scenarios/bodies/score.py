"""Numbers that judge bodies under pose control, beside those of `attitude.score`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from gnc.scenarios.attitude.score import max_per_trial, mean, percentile, rms, rms_per_trial, size

if TYPE_CHECKING:
    from xarray import Dataset

__all__ = [
    "back_within",
    "largest",
    "max_per_trial",
    "mean",
    "percentile",
    "rms",
    "rms_per_trial",
    "size",
    "without_numbers",
]

Array = Any


def without_numbers(flight: Dataset, signal: Array) -> dict[int, str]:
    """Return the trials in which a signal (trial, time) becomes NaN, with the time."""
    finite, t = np.isfinite(signal), flight["time"].values
    rows = zip(flight["trial"].values.tolist(), finite, strict=True)
    return {trial: f"NaN from {t[int(np.argmin(row))]:g} s on" for trial, row in rows if not row.all()}


def largest(x: Array) -> float:
    """Return the maximum; NaN of nothing, or where one is NaN."""
    return float(np.max(x)) if np.size(x) else float("nan")


def back_within(t: Array, start_s: float, good: Array) -> Array:
    """Return how long after `start_s` each trial (trial, time) is good for the rest of the flight; NaN: never."""
    spans = np.full(len(good), np.nan)
    for i, row in enumerate(good):
        bad = np.flatnonzero(~row & (t >= start_s))
        if not len(bad):
            spans[i] = 0.0
        elif bad[-1] + 1 < len(t):
            spans[i] = t[bad[-1] + 1] - start_s
    return spans
