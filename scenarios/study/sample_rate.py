"""Accuracy and consistency of filters against the rate at which they sample."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from gnc.errors import InputError
from gnc.estimators.consistency import mean_band
from gnc.scenarios.study.filters import GRID, REFERENCES, Filter
from gnc.scenarios.study.score import Bound, Score

RATES_HZ = (10.0, 5.0, 2.0, 1.0, 0.5, 0.2, 0.1)
MOST_SAMPLES = 1_000_000  # of a flight, all of which are in memory


class Problem(Protocol):
    """What can be studied."""

    @property
    def duration_s(self) -> float:
        """How long it lasts."""

    @property
    def rate_rad_s(self) -> float:
        """How fast the body turns."""

    @property
    def states(self) -> int:
        """How many numbers the error state has."""

    def simulate(self, rate_hz: float, trials: int, seed: int) -> Any:
        """Make truth and measurements, and the `bound` on RMS errors."""

    def tunes(self, f: Filter) -> bool:
        """Tell whether a filter's process noise is chosen in its favour."""

    def fly(self, f: Filter, psd: float, data: Any) -> Score:
        """Run a filter over all trials."""


@dataclass(frozen=True)
class Point:
    """One filter at one rate."""

    filter: str
    rate_hz: float
    rms_deg: float
    bound_deg: float
    ratio: float
    nees: float
    nees_band: tuple[float, float]
    lost: int
    trials: int
    psd: float  # the filter's process noise [N^2 m^2 s]
    turn_deg: float  # how far the body turns between samples
    consistent: bool  # whether nees is in its band
    rms_m: float | None = None  # of the position, in pose studies
    bound_m: float | None = None
    ratio_m: float | None = None
    nees_inertial: float | None = None  # in (a, inertial momentum) by sigma points; nees is in the filter's own chart


def study(
    problem: Problem, filters: Sequence[Filter], rates_hz: Sequence[float], trials: int, seed: int,
    psd: float | None = None, progress: Callable[[str], None] = lambda what: None,
) -> Iterator[Point]:  # fmt: skip
    """Measure every filter at every rate, on the same measurements; psd replaces what filters would choose."""
    check(problem, rates_hz, trials)
    for rate_hz in rates_hz:
        data = problem.simulate(rate_hz, trials, seed)
        for f in filters:
            progress(f"{f.name} at {rate_hz:g} Hz")
            levels = (psd,) if psd is not None else GRID if problem.tunes(f) else (0.0,)
            scores = [(problem.fly(f, q, data), q) for q in levels]
            yield _point(problem, f, rate_hz, data.bound, trials, *min(scores, key=_rank))


def check(problem: Problem, rates_hz: Sequence[float], trials: int) -> None:
    """Refuse what cannot be studied."""
    if trials < 1:
        raise InputError(f"--trials: expected a whole number > 0, got {trials}")
    for rate_hz in rates_hz:
        steps = problem.duration_s * rate_hz
        if not 0 < steps <= MOST_SAMPLES or abs(steps - round(steps)) > 1e-9 * steps or round(steps) < 4:
            whole = f"at least 4 whole samples, or into more than {MOST_SAMPLES}"
            raise InputError(f"--rates: {rate_hz:g} Hz does not divide {problem.duration_s:g} s into {whole}")


def _rank(scored: tuple[Score, float]) -> tuple[int, float]:
    score, _ = scored
    return score.lost, score.deg if np.isfinite(score.deg) else np.inf


def _point(problem: Problem, f: Filter, rate_hz: float, bound: Bound, trials: int, score: Score, psd: float) -> Point:
    kept = trials - score.lost
    lo, hi = mean_band(problem.states, kept) if kept else (np.nan, np.nan)
    rms_m, bound_m = (None, None) if score.m is None or bound.m is None else (score.m, bound.m)
    ratio_m = None if rms_m is None or bound_m is None else rms_m / bound_m
    return Point(
        f.name, rate_hz, score.deg, bound.deg, score.deg / bound.deg, score.nees, (float(lo), float(hi)), score.lost,
        trials, psd, float(np.degrees(problem.rate_rad_s) / rate_hz), bool(lo <= score.nees <= hi), rms_m,
        bound_m, ratio_m, score.nees_inertial,
    )  # fmt: skip


def advice(points: Sequence[Point], accuracy_deg: float) -> str:
    """Name the lowest rate at which a filter meets an accuracy, from the points measured."""
    good = [p for p in points if p.rms_deg <= accuracy_deg and p.lost == 0]
    if not good:
        return f"No filter of these meets {accuracy_deg:g} deg RMS at these rates; sample faster or measure better."
    honest = [p for p in good if p.consistent]
    slowest = min(p.rate_hz for p in good)
    there = sorted((p for p in good if p.rate_hz == slowest), key=lambda p: (not p.consistent, p.rms_deg))
    words = [f"{p.filter} ({p.rms_deg:.3g} deg, NEES {p.nees:.3g}{'' if p.consistent else _fault(p)})" for p in there]
    advised = min(honest, key=lambda p: (p.rate_hz, p.filter in REFERENCES, p.rms_deg), default=None)
    use = "none of them knows how good it is" if advised is None else f"use {advised.filter} at {advised.rate_hz:g} Hz"
    return (
        f"{accuracy_deg:g} deg RMS can be had down to {slowest:g} Hz, {there[0].turn_deg:.3g} deg of turn per sample, "
        f"by {', '.join(words)}; the bound there is {there[0].bound_deg:.3g} deg. Advice: {use}."
    )


def _fault(p: Point) -> str:
    return ", too sure" if p.nees > p.nees_band[1] else ", too modest"
