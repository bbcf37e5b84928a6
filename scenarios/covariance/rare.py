"""Failures too rare to be counted: importance sampling along the direction that linear covariance gives.

    q(x) = a p(x) + (1 - a)/2 [p(x - b u) + p(x + b u)],   weight p/q = 1 / (a + (1 - a) exp(-b^2/2) cosh(b u.x))

u is the direction in the space of all that is drawn, numbers of unit variance, along which an error reaches its bound
first; b is how far. A part a of the trials is not shifted, so that weights stay below 1/a wherever failures are.
Source: Owen and Zhou, "Safe and effective importance sampling", JASA 95 (2000) 135 (defensive mixtures).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from gnc.draws import Draws
from gnc.errors import InputError
from gnc.scenarios.covariance.analysis import Covariance
from gnc.scenarios.covariance.directions import TypicalFlight
from gnc.scenarios.missions.mission import Mission
from gnc.scenarios.missions.requirements.statistic import StatisticPart
from gnc.scenarios.missions.verdict import judge
from gnc.typing import Array, Mask

DEFENSIVE = 0.1
Z_99 = 2.5758293035489004  # two-sided 99 %


class Rare(NamedTuple):
    """A probability of failure."""

    probability: float
    low: float  # of its 99 % interval
    high: float
    trials: int
    failures: int  # trials that failed, most of them shifted
    effective: float  # trials' worth of the failures' weights


def shifts(n: int, b: float, rng: np.random.Generator) -> Array:
    """Return by how much (n) each trial is shifted: b, -b or not at all."""
    return b * np.where(rng.random(n) < DEFENSIVE, 0.0, rng.choice([-1.0, 1.0], n))


def estimate(failed: Mask, along: Array, b: float) -> Rare:
    """Return the probability of failure from trials, with u.x of each."""
    weights = 1.0 / (DEFENSIVE + (1.0 - DEFENSIVE) * np.exp(-0.5 * b * b) * np.cosh(b * along))
    counted = np.where(failed, weights, 0.0)
    n, p = len(counted), min(1.0, float(counted.mean()))
    error = float(counted.std(ddof=1) / np.sqrt(n)) if n > 1 else float("inf")
    if not p > 0.0:
        return Rare(0.0, 0.0, float(3.0 / (DEFENSIVE * n)), n, 0, 0.0)
    factor = np.exp(Z_99 * error / p)  # of the logarithm, which keeps the interval above zero
    effective = float(counted.sum() ** 2 / np.square(counted).sum())
    return Rare(p, p / factor, min(1.0, p * factor), n, int(failed.sum()), effective)


def sampled(failure: Callable[[Array], Mask], u: Array, b: float, n: int, rng: np.random.Generator) -> Rare:
    """Return the probability that standard normal numbers (n, d) fail."""
    x = rng.standard_normal((n, len(u))) + shifts(n, b, rng)[:, None] * u
    return estimate(failure(x), x @ u, b)


@dataclass(frozen=True)
class ShiftedDraws(Draws):
    """Draws moved along a direction, each trial by its own distance."""

    direction_of: dict[str, Array] = field(default_factory=dict)  # name of a draw -> its part of the direction
    shift: Array = field(default_factory=lambda: np.zeros(0))  # (n)
    along: Array = field(default_factory=lambda: np.zeros(0))  # (n) collects u.x

    def _normal(self, name: str, shape: Any) -> Array:
        x = super()._normal(name, shape)
        part = self.direction_of.get(f"{self.prefix}{name}")
        if part is not None:
            x = x + (self.shift[:, None] * part).reshape(x.shape)
            self.along[:] += x.reshape(len(x), -1) @ part
        return x


def bound_of(mission: Mission, requirement: str) -> float:
    """Return what the signal of a requirement may be at most."""
    bound = getattr(mission.requirements[requirement], "at_most", None)
    if bound is None or not isinstance(mission.requirements[requirement], StatisticPart):
        raise InputError(f"--rare {requirement}: takes a requirement of a signal with at_most")
    return float(bound)


def refuse_without_numbers(mission: Mission, requirement: str) -> None:
    """Refuse a requirement that has no number in every trial, whose variance could be shared out."""
    if not isinstance(mission.requirements[requirement], StatisticPart):
        raise InputError(f"--sobol {requirement}: takes a requirement of a signal")


def direction(lincov: Covariance, requirement: str) -> tuple[dict[str, Array], float]:
    """Return the direction of what is drawn by which an error reaches the bound of a requirement first, and how far.

    At the time and in the component in which draws matter most: b is the mean of u.x among trials at the bound.
    """
    bound, window = bound_of(lincov.mission, requirement), lincov.windows.get(requirement)
    if window is None:
        raise InputError(f"--rare {requirement}: no flight has data for it")
    signal, parts = window.signals[0], lincov.flights[0].parts
    slopes, total = lincov.quiet.fit(signal)[0][window.times], lincov.total(signal)[window.times]
    values, vectors = np.linalg.eigh(np.nan_to_num(slopes @ np.swapaxes(slopes, 1, 2)))
    t = int(np.argmax(values[:, -1]))
    gradient = vectors[t, :, -1] @ slopes[t]
    size, sigma = float(np.linalg.norm(gradient)), float(np.sqrt(vectors[t, :, -1] @ total[t] @ vectors[t, :, -1]))
    if not size > 0.0:
        raise InputError(f"--rare {requirement}: nothing that is drawn before the flight moves its signal")
    return {name: gradient[part] / size for name, part in parts.items()}, bound * size / sigma**2


def rare(lincov: Covariance, requirement: str, trials: int, chunk: int = 1000) -> Rare:
    """Fly trials that are shifted towards failure; return the probability that one by itself fails a requirement."""
    u, b = direction(lincov, requirement)
    u = {name: part for name, part in u.items() if part.any()}
    alone: Mission = lincov.mission.model_copy(
        update={"requirements": {requirement: lincov.mission.requirements[requirement]}}
    )
    rng, failed, along = np.random.default_rng([lincov.seed, 99]), [], []
    for first in range(0, trials, chunk):
        numbers = np.arange(first, min(first + chunk, trials))
        made = ShiftedDraws(
            lincov.seed, numbers, direction_of=u, shift=shifts(len(numbers), b, rng), along=np.zeros(len(numbers))
        )
        flight = alone.fly(numbers.tolist(), lincov.seed, judged_only=True, draws=lambda _, made=made: made)
        failed.append(~flight.verdict.success)
        along.append(made.along)
    return estimate(np.concatenate(failed), np.concatenate(along), b)


def sobol(lincov: Covariance, requirement: str, n: int) -> dict[str, tuple[float, float, float]]:
    """Return the first and the total Sobol index of every draw for a trial's requirement without noise, and |rho|.

    Indices are those of the draws' numbers, summed by draw; rho is Spearman's rank correlation over trials without
    noise that are drawn at random, the largest of each.
    """
    from scipy.stats import norm, sobol_indices, spearmanr

    flight = TypicalFlight(lincov.mission, 0, lincov.seed)
    alone = lincov.mission.model_copy(update={"requirements": {requirement: lincov.mission.requirements[requirement]}})

    def values(x: Array) -> Array:
        y = []
        for some in np.array_split(x.T, max(1, x.shape[1] // 1000)):
            own = flight.draws(some - flight.plan.theta)
            flown = alone.fly([0] * len(some), lincov.seed, judged_only=True, draws=lambda _, own=own: own)
            y.append(flown.verdict.per_trial[requirement])
        return np.concatenate(y)[None]

    indices = sobol_indices(func=values, n=n, dists=[norm()] * flight.plan.count, rng=lincov.seed)
    x, y = lincov.quiet.theta, judge(alone, lincov.quiet.signals, lincov.flights[0].modes).per_trial[requirement]
    told = {}
    for name, part in flight.plan.parts.items():
        rho = max(abs(float(spearmanr(x[:, i], y).statistic)) for i in range(part.start, part.stop))
        first, total = (np.ravel(index)[part] for index in (indices.first_order, indices.total_order))
        told[name] = float(first.sum()), float(total.sum()), rho
    return told
