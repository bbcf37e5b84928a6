"""Failures too rare to be counted: importance sampling along the directions that linear covariance gives.

    q(x) = a p(x) + (1 - a) N(x; 0, 1 + sum_k (s_k^2 - 1) u_k u_k^T)
    weight p/q = 1 / (a + (1 - a) prod_k exp((u_k.x)^2 (1 - 1/s_k^2)/2)/s_k)

u_k are the directions in the space of all that is drawn, numbers of unit variance, along which an error grows, at right
angles to one another; most trials are spread out along them, so that failures come often whichever way they lie: s_k^2
is b^2/m times the square of a direction's strength against the strongest, b how far the bound is along that, and m the
sum of those squares. A part a of the trials is not spread, so that weights stay below 1/a wherever failures are.
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
from gnc.scenarios.missions import dispersal
from gnc.scenarios.missions.build import prepare
from gnc.scenarios.missions.mission import Mission
from gnc.scenarios.missions.requirements.statistic import StatisticPart
from gnc.scenarios.missions.verdict import judge
from gnc.typing import Array, Mask

DEFENSIVE = 0.1
MOST, WEAKEST = 6, 0.1  # directions, and how strong a direction is against the strongest
Z_99 = 2.5758293035489004  # two-sided 99 %


class Rare(NamedTuple):
    """A probability of failure."""

    probability: float
    low: float  # of its 99 % interval
    high: float
    trials: int
    failures: int  # trials that failed, most of them shifted
    effective: float  # trials' worth of the failures' weights


class Directions(NamedTuple):
    """Where trials are spread out to."""

    u: Array  # (k, drawn) of unit length, at right angles
    spread: Array  # (k) standard deviations, 1 at least


def shifts(n: int, to: Directions, rng: np.random.Generator) -> Array:
    """Return what (n, k) is added to each trial along each direction; nothing to some trials."""
    far = rng.standard_normal((n, len(to.spread))) * np.sqrt(np.square(to.spread) - 1.0)
    return np.where(rng.random((n, 1)) < DEFENSIVE, 0.0, far)


def estimate(failed: Mask, along: Array, to: Directions) -> Rare:
    """Return the probability of failure from trials, with u.x (n, k) of each."""
    denser = np.exp(0.5 * np.square(along) @ (1.0 - to.spread**-2.0)) / np.prod(to.spread)
    weights = 1.0 / (DEFENSIVE + (1.0 - DEFENSIVE) * denser)
    counted = np.where(failed, weights, 0.0)
    n, p = len(counted), min(1.0, float(counted.mean()))
    error = float(counted.std(ddof=1) / np.sqrt(n)) if n > 1 else float("inf")
    if not p > 0.0:
        return Rare(0.0, 0.0, float(3.0 / (DEFENSIVE * n)), n, 0, 0.0)
    factor = np.exp(Z_99 * error / p)  # of the logarithm, which keeps the interval above zero
    effective = float(counted.sum() ** 2 / np.square(counted).sum())
    return Rare(p, p / factor, min(1.0, p * factor), n, int(failed.sum()), effective)


def sampled(failure: Callable[[Array], Mask], to: Directions, n: int, rng: np.random.Generator) -> Rare:
    """Return the probability that standard normal numbers (n, drawn) fail."""
    x = rng.standard_normal((n, to.u.shape[1])) + shifts(n, to, rng) @ to.u
    return estimate(failure(x), x @ to.u.T, to)


@dataclass(frozen=True)
class ShiftedDraws(Draws):
    """Draws moved along directions, each trial by its own distances."""

    parts: dict[str, Array] = field(default_factory=dict)  # name of a draw -> its part (k, size) of the directions
    shift: Array = field(default_factory=lambda: np.zeros((0, 0)))  # (n, k)
    along: Array = field(default_factory=lambda: np.zeros((0, 0)))  # (n, k) collects u.x

    def _normal(self, name: str, shape: Any) -> Array:
        x = super()._normal(name, shape)
        part = self.parts.get(f"{self.prefix}{name}")
        if part is not None:
            x = x + (self.shift @ part).reshape(x.shape)
            self.along[:] += x.reshape(len(x), -1) @ part.T
        return x


@dataclass(frozen=True)
class NotedDraws(Draws):
    """Draws that note the names of what may be moved; unit directions and dispersed fields may not."""

    names: set[str] = field(default_factory=set)

    def _normal(self, name: str, shape: Any) -> Array:
        self.names.add(f"{self.prefix}{name}")
        return super()._normal(name, shape)


def movable(mission: Mission, seed: int) -> set[str]:
    """Return the names of the draws of a mission that are moved along directions."""
    trials, noted = np.array([0]), NotedDraws(seed, np.array([0]))
    prepare(dispersal.groups(mission, seed, trials)[0], seed, noted)
    return noted.names


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


def directions(lincov: Covariance, requirement: str) -> tuple[dict[str, slice], Directions]:
    """Return the draws, and the directions in which they move the error of a requirement, the strongest first.

    They are the principal ones of all times together. Of an RMS the bound is reached by the mean square over time, else
    at the time at which the error is largest; b is the mean of u.x among trials at the bound, noise included.
    """
    bound, window = bound_of(lincov.mission, requirement), lincov.windows.get(requirement)
    if window is None:
        raise InputError(f"--rare {requirement}: no flight has data for it")
    signal, rms = window.signals[0], lincov.mission.requirements[requirement].statistic in ("rms", "mean")  # type: ignore[attr-defined]
    parts, names = lincov.flights[0].parts, movable(lincov.mission, lincov.seed)
    slopes = np.nan_to_num(lincov.quiet.fit(signal)[0][window.times])
    for name in parts.keys() - names:
        slopes[:, :, parts[name]] = 0.0
    total = lincov.total(signal)[window.times]
    strength, u = np.linalg.svd(slopes.reshape(-1, slopes.shape[2]), full_matrices=False)[1:]
    if not strength[0] > 0.0:
        raise InputError(f"--rare {requirement}: nothing that is drawn before the flight moves its signal")
    u = u[: min(MOST, int(np.sum(strength > WEAKEST * strength[0])))]
    error = slopes @ u.T  # (times, size, k)
    square = np.square(error).sum(axis=1)
    one = error[:, :, 0]
    variance = np.einsum("ti,tij,tj->t", one, total, one) / np.maximum(square[:, 0], 1e-300)
    strongest, sigma_2 = (
        (square[:, 0].mean(), variance.mean()) if rms else max(zip(square[:, 0], variance, strict=True))
    )
    b, ratio = bound * np.sqrt(strongest) / sigma_2, np.square(strength[: len(u)] / strength[0])
    return parts, Directions(u, np.maximum(b * np.sqrt(ratio / ratio.sum()), 1.0))


def rare(lincov: Covariance, requirement: str, trials: int, chunk: int = 1000) -> Rare:
    """Fly trials that are shifted towards failure; return the probability that one by itself fails a requirement."""
    places, to = directions(lincov, requirement)
    parts = {name: to.u[:, place] for name, place in places.items() if to.u[:, place].any()}
    alone: Mission = lincov.mission.model_copy(
        update={"requirements": {requirement: lincov.mission.requirements[requirement]}}
    )
    rng, failed, along = np.random.default_rng([lincov.seed, 99]), [], []
    for first in range(0, trials, chunk):
        numbers = np.arange(first, min(first + chunk, trials))
        shift = shifts(len(numbers), to, rng)
        made = ShiftedDraws(lincov.seed, numbers, parts=parts, shift=shift, along=np.zeros(shift.shape))
        flight = alone.fly(numbers.tolist(), lincov.seed, judged_only=True, draws=lambda _, made=made: made)
        failed.append(~flight.verdict.success)
        along.append(made.along)
    return estimate(np.concatenate(failed), np.concatenate(along), to)


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
