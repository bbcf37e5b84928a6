"""Statistics of numbers that are one per trial: intervals, summaries, worst trials, sensitivities.

NaN means that a trial has no such number; it is left out.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from gnc.typing import Array

PERCENTS = (5.0, 50.0, 95.0, 99.7)
FEWEST = 10  # trials: for fewer, Student's t is no chance of a rank correlation (four trials give p = 0)


class Interval(NamedTuple):
    """A probability with its confidence interval."""

    p: float
    lo: float
    hi: float


class Sensitivity(NamedTuple):
    """How a metric goes with a dispersed number: Spearman's rank correlation over trials."""

    metric: str
    input: str
    rho: float
    p_value: float  # of no correlation, for this pair alone
    p_adjusted: float  # Benjamini and Hochberg over all pairs: the false-discovery rate at which the pair would count


def wilson(successes: int, trials: int, confidence: float = 0.95) -> Interval:
    """Share of successes with Wilson's score interval, which stays honest near 0 and 1.

    centre = (p + z^2/2n) / (1 + z^2/n),  half width = z/(1 + z^2/n) (p(1-p)/n + z^2/4n^2)^(1/2)
    Source: Wilson, "Probable inference, the law of succession, and statistical inference", JASA 22, 1927.
    """
    if not trials:
        return Interval(float("nan"), 0.0, 1.0)
    from scipy.special import ndtri

    p, z = successes / trials, -float(ndtri(0.5 * (1.0 - confidence)))
    scale = 1.0 + z * z / trials
    centre = (p + 0.5 * z * z / trials) / scale
    half = z / scale * float(np.sqrt(p * (1.0 - p) / trials + 0.25 * z * z / trials**2))
    # At p = 0 and 1 an end is 0 or 1 exactly, which round-off misses.
    return Interval(p, centre - half if successes else 0.0, centre + half if successes < trials else 1.0)


def percentiles(values: Array, percents: tuple[float, ...] = PERCENTS) -> Array:
    """Percentiles of the last axis, NaN left out: `(len(percents), ...)`, between ranks by straight lines."""
    if not values.shape[-1]:  # all trials are lost
        return np.full((len(percents), *values.shape[:-1]), np.nan)
    ranked = np.sort(values, axis=-1)  # NaN comes last
    count = np.isfinite(ranked).sum(axis=-1)
    rows = []
    for percent in percents:
        at = np.maximum(count - 1, 0) * (percent / 100.0)
        below = np.floor(at).astype(np.int64)
        above = np.minimum(below + 1, np.maximum(count - 1, 0))
        lo, hi = (np.take_along_axis(ranked, i[..., None], axis=-1)[..., 0] for i in (below, above))
        rows.append(np.where(count > 0, lo + (hi - lo) * (at - below), np.nan))
    return np.array(rows)


def described(values: Array) -> dict[str, float | None]:
    """Count, mean, standard deviation, extremes and percentiles of one number per trial; None where there is none."""
    finite = values[np.isfinite(values)]
    some = finite.size > 0
    numbers: dict[str, float | None] = {
        "count": finite.size,
        "mean": float(finite.mean()) if some else None,
        "std": float(finite.std(ddof=1)) if finite.size > 1 else None,
        "min": float(finite.min()) if some else None,
        "max": float(finite.max()) if some else None,
    }
    for percent in PERCENTS:
        numbers[f"p{percent:g}"] = float(percentiles(finite, (percent,))[0]) if some else None
    return numbers


def largest(values: Array, count: int = 5) -> list[int]:
    """Trials with the largest values, the worst first; of equal ones the lower number first."""
    known = np.flatnonzero(np.isfinite(values))
    return [int(trial) for trial in known[np.argsort(-values[known], kind="stable")][:count]]


def sensitivities(metrics: Mapping[str, Array], inputs: Mapping[str, Array]) -> list[Sensitivity]:
    """Rank correlation of every metric with every dispersed number that varies, the strongest first.

    Of inputs that are one number, as the halves of an inertia are, the first counts. With many pairs some look related
    by chance: judge them by `p_adjusted`.
    """
    from scipy import stats  # here, since it loads slowly and a campaign needs it only at its end

    pairs, first = [], {np.asarray(x).tobytes(): name for name, x in reversed(list(inputs.items()))}
    inputs = {name: x for name, x in inputs.items() if first[np.asarray(x).tobytes()] == name}
    for metric, y in metrics.items():
        for name, x in inputs.items():
            kept = np.isfinite(x) & np.isfinite(y)
            if kept.sum() >= FEWEST and np.ptp(x[kept]) > 0 and np.ptp(y[kept]) > 0:
                rho, p = stats.spearmanr(x[kept], y[kept])
                pairs.append((metric, name, float(rho), float(p)))
    adjusted = stats.false_discovery_control([p for *_, p in pairs]) if pairs else []
    rows = [Sensitivity(*pair, float(q)) for pair, q in zip(pairs, adjusted, strict=True)]
    return sorted(rows, key=lambda row: -abs(row.rho))


def chi_square_band(freedom: int, trials: Array, confidence: float = 0.95) -> tuple[Array, Array]:
    """Where the mean of so many independent chi-square numbers lies: quantiles with N n degrees of freedom, over N."""
    from scipy.special import chdtri, gammaincinv  # scipy.stats takes half a second to load

    tail, total = 0.5 * (1.0 - confidence), np.multiply(trials, freedom)
    with np.errstate(divide="ignore", invalid="ignore"):
        return 2.0 * gammaincinv(0.5 * total, tail) / trials, chdtri(total, tail) / trials
