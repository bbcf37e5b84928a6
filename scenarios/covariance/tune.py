"""Fields of a mission chosen so that linear covariance predicts the least of a requirement: gains, process noise.

Every step of the optimiser is a covariance run along the same typical flights with the same samples, so that the
prediction is a smooth function of the fields; other requirements that are missed count as a penalty.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from gnc.config import flat, override
from gnc.errors import InputError
from gnc.scenarios.covariance.analysis import covariance
from gnc.scenarios.covariance.predict import Prediction, predictions
from gnc.scenarios.missions.mission import Mission
from gnc.scenarios.sweep.sweep import Axis

PENALTY = 10.0  # by how much a requirement that is missed by its own size counts


class Tuned(NamedTuple):
    """What the optimiser lincov."""

    values: dict[str, float]  # field -> chosen value; none: nothing better was lincov
    before: float  # predicted
    after: float
    runs: int
    settings: list[str]


def tune(
    mission: Mission, axes: Sequence[Axis], requirement: str, runs: int, flights: int = 1,
    progress: Callable[[int, int], None] | None = None,
) -> Tuned:  # fmt: skip
    """Minimise a requirement's predicted statistic over ranges of fields, by Nelder and Mead in their logarithms."""
    from scipy.optimize import minimize

    if any(axis.ends is None or axis.ends[0] <= 0.0 for axis in axes):
        raise InputError("--vary: takes ranges of positive numbers, such as software.*.modes.*.law.gain=0.1:10")
    low, high = np.log(np.array([axis.ends for axis in axes])).T
    done: list[float] = []

    def settings(x: np.ndarray) -> list[str]:
        values = np.exp(np.clip(x, low, high))
        return [s for axis, v in zip(axes, values.tolist(), strict=True) for s in axis.settings(v)]

    def cost(x: np.ndarray) -> float:
        beyond = float(np.maximum(low - x, 0.0).sum() + np.maximum(x - high, 0.0).sum())
        value = _predicted(override(mission, settings(x)), requirement, flights) * (1.0 + beyond)
        done.append(value)
        if progress is not None:
            progress(min(len(done), runs), runs)
        return value

    before = _predicted(mission, requirement, flights)
    start = np.clip([_now(mission, axis) for axis in axes], low, high)
    simplex = np.vstack([start, start + 0.25 * np.diag(np.where(start < 0.5 * (low + high), high - low, low - high))])
    how = {"maxfev": runs, "initial_simplex": simplex, "xatol": 0.05, "fatol": 0.0}
    best = minimize(cost, start, method="Nelder-Mead", options=how)
    if not best.fun < before:
        return Tuned({}, before, before, len(done), [])
    chosen = np.exp(np.clip(best.x, low, high)).tolist()
    values = {axis.pattern: value for axis, value in zip(axes, chosen, strict=True)}
    return Tuned(values, before, float(best.fun), len(done), settings(best.x))


def _now(mission: Mission, axis: Axis) -> float:
    """Return the logarithm of what a field is in the mission, or of the middle of its range if the file has none."""
    try:
        return float(np.log(float(flat(mission)[axis.keys[0]])))
    except (KeyError, ValueError):
        return float(np.log(axis.ends or (1.0, 1.0)).mean())


def _predicted(mission: Mission, requirement: str, flights: int) -> float:
    """Return the predicted value of a requirement, raised where another one is missed."""
    told = {p.name: p for p in predictions(covariance(mission, most=flights, workers=0), derivatives=False)[0]}
    if requirement not in told:
        raise InputError(f"--minimise {requirement}: no such requirement can be predicted; {', '.join(told)} can")
    missed = sum(_missed(mission, p) for name, p in told.items() if name != requirement)
    return told[requirement].value * (1.0 + PENALTY * missed)


def _missed(mission: Mission, p: Prediction) -> float:
    """Return by how much of its bound a requirement is missed."""
    part = mission.requirements[p.name]
    high, low = getattr(part, "at_most", None), getattr(part, "at_least", None)
    if not np.isfinite(p.value):
        return 0.0
    over = max(0.0, p.value / high - 1.0) if high else 0.0
    return min(over + (max(0.0, 1.0 - p.value / low) if low else 0.0), 10.0)
