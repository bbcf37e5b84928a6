"""The numbers of a campaign as one JSON object, and its bands over time as one dataset.

Nothing here depends on time, machine, chunks or workers.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from gnc.montecarlo import statistics
from gnc.montecarlo.ensemble import Consistency, Ensemble
from gnc.montecarlo.flight import LOST, SUCCESS
from gnc.montecarlo.sampling import INPUT
from gnc.typing import Array

if TYPE_CHECKING:
    from xarray import Dataset

TALLY = "tally."  # begins the name of a column that is for judging the campaign, and no metric


def summarize(
    ensemble: Ensemble,
    consistency: Mapping[str, Consistency],
    confidence: float = 0.95,
    lowest: Collection[str] = (),
) -> dict[str, Any]:
    """Lost trials, success, metrics with their worst trials, sensitivities, consistency.

    The worst trials have the largest values; of the metrics in `lowest`, the lowest.
    """
    metrics, inputs = _metrics(ensemble), _distinct(_columns(ensemble, inputs=True))
    return {
        "trials": ensemble.trials,
        "lost": lost(ensemble),
        "success": success(ensemble, confidence),
        "metrics": {name: statistics.described(values) for name, values in metrics.items()},
        "worst": {k: statistics.largest(-values if k in lowest else values) for k, values in metrics.items()},
        "sensitivity": [row._asdict() for row in statistics.sensitivities(metrics | _outcomes(ensemble), inputs)],
        "consistency": {
            name: {"mean": _mean(entry.mean), "inside": entry.inside, "confidence": confidence}
            for name, entry in consistency.items()
        },
    }


def lost(ensemble: Ensemble) -> list[dict[str, Any]]:
    """Lost trials by number, each with its reason."""
    reasons = ensemble.table[LOST]
    return [{"trial": int(trial), "reason": str(reasons[trial])} for trial in np.flatnonzero(~ensemble.flown)]


def success(ensemble: Ensemble, confidence: float = 0.95) -> dict[str, float] | None:
    """The share of successful trials with Wilson's interval, a lost trial being none; None if there is no criterion."""
    if SUCCESS not in ensemble.table:
        return None
    return statistics.wilson(int(ensemble.table[SUCCESS].sum()), ensemble.trials, confidence)._asdict()


def bands(
    ensemble: Ensemble, consistency: Mapping[str, Consistency], times_s: Mapping[str, Array] | None = None
) -> Dataset:
    """Percentiles over trials of every time history, and the ensemble means of NEES and NIS with their bands."""
    variables: dict[str, Any] = {}
    for name in sorted(ensemble.shapes):
        axes = tuple(f"{name}_{axis}" for axis in range(1, len(ensemble.shapes[name]) + 1))
        variables[name] = (("percent", *axes), ensemble.bands(name))
        if name in consistency:
            variables |= {f"{name}_{part}": (axes, values) for part, values in consistency[name]._asdict().items()}
    times = {f"{name}_1": np.asarray(t) for name, t in (times_s or {}).items() if name in ensemble.shapes}
    from xarray import Dataset

    return Dataset(variables, coords={"percent": np.array(statistics.PERCENTS)} | times)


def _metrics(ensemble: Ensemble) -> dict[str, Array]:
    """Metrics of the trials that were not lost, NaN for the others."""
    return {n: np.where(ensemble.flown, x, np.nan) for n, x in _columns(ensemble, inputs=False).items()}


def _columns(ensemble: Ensemble, inputs: bool) -> dict[str, Array]:
    table = ensemble.table.items()
    chosen = {n: x for n, x in table if x.dtype.kind == "f" and n.startswith(INPUT) == inputs}
    return {n: x.astype(np.float64) for n, x in chosen.items() if not n.startswith(TALLY)}


def _distinct(columns: dict[str, Array]) -> dict[str, Array]:
    """Columns without copies of others, such as the lower half of a symmetric matrix."""
    distinct: dict[str, Array] = {}
    for name, values in columns.items():
        if not any(np.array_equal(values, other, equal_nan=True) for other in distinct.values()):
            distinct[name] = values
    return distinct


def _outcomes(ensemble: Ensemble) -> dict[str, Array]:
    """Loss and success as numbers, so that what goes with them shows among the sensitivities."""
    outcomes = {LOST: 1.0 - ensemble.flown}
    if SUCCESS in ensemble.table:
        outcomes[SUCCESS] = ensemble.table[SUCCESS].astype(np.float64)
    return outcomes


def _mean(values: Array) -> float | None:
    known = values[np.isfinite(values)]
    return float(known.mean()) if known.size else None
