"""Monte Carlo of the same mission beside its linear covariance: ratios of sigmas, per signal, axis and window."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from gnc.scenarios.covariance.analysis import Covariance, mean
from gnc.scenarios.covariance.propagate import Progress
from gnc.typing import Array

RESAMPLED = 200  # times, for the confidence of a ratio
TWO_SIDED = 1.96  # standard errors that 95 % are within


class Ratio(NamedTuple):
    """Sigma of one component of a signal over a window."""

    window: str
    signal: str
    axis: str
    linear: float
    flown: float
    ratio: float
    interval: tuple[float, float]  # 95 %: of flown trials, by resampling them, and of sigma, by its standard error


def verify(lincov: Covariance, trials: int, progress: Progress | None = None) -> tuple[list[Ratio], int]:
    """Fly trials that no typical flight was taken from; return the ratios, and how many trials were lost."""
    first = max(flight.trial for flight in lincov.flights) + 1
    flight = lincov.mission.fly(range(first, first + trials), lincov.seed, judged_only=True, progress=progress)
    kept = ~np.isin(flight.signals["trial"].values, list(flight.verdict.lost))
    ratios, seen = [], set()
    for window, signal in lincov.errors if kept.sum() > 1 else ():
        if (signal, window.times.tobytes()) in seen or signal not in flight.signals:
            continue
        seen.add((signal, window.times.tobytes()))
        own, counted = flight.signals[signal].values, window.counted(flight.signals)
        y = np.where(counted[:, :, None], own.reshape(*counted.shape, -1), np.nan)[kept][:, window.times]
        variance = np.diagonal(lincov.within(window, signal).total(signal)[window.times], axis1=1, axis2=2)
        sigma = np.sqrt(np.average(variance, axis=0, weights=counted[:, window.times].sum(axis=0)))
        doubt = TWO_SIDED * lincov.errors_over(window, signal)
        for i in range(y.shape[2]):
            flown, low, high = _sigma(y[:, :, i])
            axis = "xyz"[i] if y.shape[2] == 3 else str(i)
            below, above = (float(np.hypot(np.log(flown / x), doubt[i])) for x in (low, high))
            span = float(sigma[i] / flown * np.exp(-above)), float(sigma[i] / flown * np.exp(below))
            ratios.append(Ratio(window.when, signal, axis, float(sigma[i]), flown, float(sigma[i] / flown), span))
    return ratios, int((~kept).sum())


def _sigma(y: Array) -> tuple[float, float, float]:
    """Return sigma over trials, pooled over times, of values (trials, times), with its 95 % interval."""
    squares, counts = np.nansum(np.square(y - mean(y)), axis=1), np.isfinite(y).sum(axis=1)  # of each trial
    n, rng = len(y), np.random.default_rng(0)
    picked = rng.integers(0, n, (RESAMPLED, n))
    some = squares[picked].sum(axis=1) / counts[picked].sum(axis=1) * n / (n - 1.0)
    low, high = np.sqrt(np.percentile(some, [2.5, 97.5]))
    return float(np.sqrt(squares.sum() / counts.sum() * n / (n - 1.0))), float(low), float(high)
