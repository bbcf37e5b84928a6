"""Numbers that judge a rendezvous: errors while holding, corridor, consistency, losses."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from gnc.checks import Check, at_most
from gnc.controllers.approach import APPROACHING, HOLDING
from gnc.scenarios.attitude.score import percentile, rms, size

if TYPE_CHECKING:
    from xarray import Dataset

Array = Any
ERRORS = {"position": ("position_error_m", 1e3, "mm"), "attitude": ("attitude_error_deg", 1.0, "deg")}
KNOWLEDGE = {"position": ("knowledge_error_m", 1e3, "mm"), "attitude": ("knowledge_error_deg", 1.0, "deg")}


def holding(flight: Dataset) -> Array:
    """Tell (trial, time) where a trial holds before the port."""
    return flight["phase"].values == HOLDING


def violations(flight: Dataset) -> Array:
    """Tell (trial,) which trials have left the corridor on approach or hold."""
    phase = flight["phase"].values
    near = (phase == APPROACHING) | (phase == HOLDING)
    return (near & ~(flight["in_corridor"].values > 0.5)).any(axis=1)


def not_finite(flight: Dataset, error: Array) -> dict[int, str]:
    """Return the trials without numbers, with the time from which they have none."""
    lost = {}
    for trial, errors in zip(flight["trial"].values.tolist(), error, strict=True):
        if not np.isfinite(errors).all():
            lost[trial] = f"NaN from {flight['time'].values[int(np.argmin(np.isfinite(errors)))]:g} s on"
    return lost


def lost_trials(flight: Dataset, limit_m: float, limit_deg: float) -> dict[int, str]:
    """Return the trials that became NaN, do not hold at the end, or held too far off, with the reason."""
    far, turned, hold = size(flight, "position_error_m"), size(flight, "attitude_error_deg"), holding(flight)
    lost = not_finite(flight, far)
    for k, trial in enumerate(flight["trial"].values.tolist()):
        when = hold[k]
        if trial in lost:
            continue
        if not when[-1]:
            lost[trial] = "does not hold before the port at the end"
        elif far[k, when].max() > limit_m:
            lost[trial] = f"{far[k, when].max():.3g} m off while holding, beyond {limit_m:g} m"
        elif turned[k, when].max() > limit_deg:
            lost[trial] = f"{turned[k, when].max():.3g} deg off while holding, beyond {limit_deg:g} deg"
    return lost


def summary(prefix: str, flight: Dataset, which: dict[str, tuple[str, float, str]], where: Array) -> dict[str, float]:
    """Return RMS and p99.7 of position and attitude over some trials and times (trial, time)."""
    found = {}
    for name, (signal, factor, unit) in which.items():
        values = factor * size(flight, signal)[where]
        found[f"{prefix}_{name}_rms_{unit}"], found[f"{prefix}_{name}_p997_{unit}"] = rms(values), percentile(values)
    return found


def over_time(values: Array, where: Array, how: Any) -> Array:
    """Return a statistic (trial,) over the times that count; NaN of none."""
    return np.array([how(v[w]) if w.any() else np.nan for v, w in zip(values, where, strict=True)])


def books(flight: Dataset) -> dict[str, float]:
    """Return by how much the books of momentum and energy do not close."""
    return {name: float(np.nanmax(flight[name].values)) for name in ("momentum_gap", "energy_gap")}


def book_checks(metrics: Mapping[str, float]) -> list[Check]:
    """Return the checks that the books close."""
    return [at_most(f"{name} bookkeeping", metrics[f"{name}_gap"], 1e-9) for name in ("momentum", "energy")]
