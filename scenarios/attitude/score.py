"""Numbers that judge a satellite's flight: errors in sunlight and eclipse, consistency, losses."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from xarray import Dataset

Array = Any


def size(flight: Dataset, name: str) -> Array:
    """Return the length (trial, time) of a vector signal."""
    return np.sqrt(np.sum(np.square(flight[name].values), axis=-1))


def rms(x: Array) -> float:
    """Return the root mean square over all that is finite; NaN of nothing."""
    x = np.asarray(x)[np.isfinite(x)]
    return float(np.sqrt(np.mean(np.square(x)))) if x.size else float("nan")


def mean(x: Array) -> float:
    """Return the mean over all that is finite; NaN of nothing."""
    x = np.asarray(x)[np.isfinite(x)]
    return float(np.mean(x)) if x.size else float("nan")


def percentile(x: Array, percent: float = 99.7) -> float:
    """Return a percentile over all that is finite; NaN of nothing."""
    x = np.asarray(x)[np.isfinite(x)]
    return float(np.percentile(x, percent)) if x.size else float("nan")


def rms_per_trial(x: Array) -> Array:
    """Return the root mean square (trial,) over time."""
    return np.sqrt(np.mean(np.square(x), axis=1)) if x.shape[1] else np.full(len(x), np.nan)


def max_per_trial(x: Array) -> Array:
    """Return the maximum (trial,) over time."""
    return np.max(x, axis=1) if x.shape[1] else np.full(len(x), np.nan)


def percentile_per_trial(x: Array, percent: float = 99.7) -> Array:
    """Return a percentile (trial,) over time; NaN for a trial that has one."""
    return np.percentile(x, percent, axis=1) if x.shape[1] else np.full(len(x), np.nan)


def lost_trials(flight: Dataset, error_deg: Array, settled: Array, limit_deg: float, what: str) -> dict[int, str]:
    """Return the trials without numbers, or whose error after settling is beyond any use, with the reason."""
    lost = {}
    for trial, errors in zip(flight["trial"].values.tolist(), error_deg, strict=True):
        if not np.isfinite(errors).all():
            t = flight["time"].values[int(np.argmin(np.isfinite(errors)))]
            lost[trial] = f"NaN from {t:g} s on"
        elif settled.any() and errors[settled].max() > limit_deg:
            lost[trial] = f"{what} of {errors[settled].max():.3g} deg, beyond {limit_deg:g} deg"
    return lost


def summary(prefix: str, x: Array) -> Mapping[str, float]:
    """Return RMS and p99.7 under names that begin with a prefix."""
    return {f"{prefix}_rms_deg": rms(x), f"{prefix}_p997_deg": percentile(x)}
