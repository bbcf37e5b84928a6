"""The numbers of a campaign: as one JSON object, as bands over time in one dataset, and as a table of the trials.

Nothing here depends on time, machine, chunks or workers. Time histories are read a block of times at a time, so that
memory does not grow with the number of trials. The table of numbers that are one per trial is read whole: 8 bytes for
each.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from gnc.errors import InputError
from gnc.files import explained, replacing
from gnc.montecarlo.flight import LOST, SUCCESS, Results, join
from gnc.montecarlo.sampling import INPUT
from gnc.montecarlo.statistics import PERCENTS, chi_square_band, described, largest, percentiles, sensitivities, wilson
from gnc.montecarlo.store import Store
from gnc.typing import Array

if TYPE_CHECKING:
    from xarray import Dataset, Variable


BLOCK_BYTES = 2**26


class Consistency(NamedTuple):
    """Mean over trials of a normalised square (NEES, NIS) at each time, with the band of an honest filter."""

    mean: Array
    lo: Array
    hi: Array

    @property
    def inside(self) -> float | None:
        """The share of times at which the mean is in its band, of those at which there is one."""
        known = np.isfinite(self.mean)
        inside = (self.lo <= self.mean) & (self.mean <= self.hi)
        return float(inside[known].mean()) if known.any() else None


class Ensemble:
    """The first `trials` trials of a store."""

    def __init__(self, store: Store, trials: int) -> None:
        self.store, self.trials = store, trials
        self.chunks = [chunk for chunk in store.chunks() if chunk.start < trials]
        self.shapes: dict[str, tuple[int, ...]] = {}  # of each time history, without the trials
        self.table = self._read_table()
        self.flown = self.table[LOST] == ""

    def bands(self, name: str, percents: tuple[float, ...] = PERCENTS) -> Array:
        """Percentiles over the trials that were not lost, at each time: `(len(percents), times...)`."""
        blocks = [percentiles(block, percents) for block in self._blocks(name)]
        return np.concatenate(blocks, axis=-1).reshape(len(percents), *self.shapes[name])

    def consistency(self, name: str, freedom: int, confidence: float = 0.95) -> Consistency:
        """Average NEES or NIS with `freedom` degrees of freedom over the trials that were not lost, at each time."""
        means, counts = [], []
        for block in self._blocks(name):
            kept = np.isfinite(block)
            counts.append(kept.sum(axis=-1))
            with np.errstate(invalid="ignore"):  # no trial left: 0/0 is the NaN that says so
                means.append(np.where(kept, block, 0.0).sum(axis=-1) / counts[-1])
        mean, count = np.concatenate(means), np.concatenate(counts)
        lo, hi = chi_square_band(freedom, count, confidence)
        shape = self.shapes[name]
        return Consistency(mean.reshape(shape), lo.reshape(shape), hi.reshape(shape))

    def _read_table(self) -> Results:
        """Names with one number per trial, of all trials; the shapes of the others are noted."""
        parts = []
        for chunk in self.chunks:
            with self.store.open(chunk) as data:
                flat = [str(name) for name in data.data_vars if data[name].ndim == 1]
                parts.append({name: data[name].values for name in flat})
                for name in set(map(str, data.data_vars)) - set(flat):
                    shape = data[name].shape[1:]
                    if self.shapes.setdefault(name, shape) != shape:
                        raise InputError(f"{name}: trials return shapes {self.shapes[name]} and {shape}; expected one")
        table = {name: values[: self.trials] for name, values in join(parts).items()}
        return {"trial": np.arange(self.trials)} | {name: table[name] for name in sorted(table)}

    def _blocks(self, name: str) -> Iterator[Array]:
        """Blocks of times of a history, `(times, trials that were not lost)`, of bounded size."""
        if name not in self.shapes:
            raise InputError(f"{name}: no such time history; there is {', '.join(sorted(self.shapes)) or 'none'}")
        times = int(np.prod(self.shapes[name]))
        width = max(1, BLOCK_BYTES // (8 * self.trials))
        for start in range(0, times, width):
            yield self._block(name, start, min(start + width, times))

    def _block(self, name: str, start: int, stop: int) -> Array:
        block = np.full((stop - start, self.trials), np.nan)
        for chunk in self.chunks:
            with self.store.open(chunk) as data:
                if name in data:
                    end = min(chunk.stop, self.trials)
                    rows = data[name].variable[: end - chunk.start]
                    block[:, chunk.start : end] = _between(rows, start, stop).T
        return block[:, self.flown]


def _between(rows: Variable, start: int, stop: int) -> Array:
    """Columns start to stop of a history, whose times may have several axes."""
    if rows.ndim == 2:
        return rows[:, start:stop].values
    return rows.values.reshape(len(rows), -1)[:, start:stop]


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
    metrics, inputs = _metrics(ensemble), _columns(ensemble, inputs=True)
    return {
        "trials": ensemble.trials,
        "lost": [{"trial": int(k), "reason": str(ensemble.table[LOST][k])} for k in np.flatnonzero(~ensemble.flown)],
        "success": _success(ensemble, confidence),
        "metrics": {name: described(values) for name, values in metrics.items()},
        "worst": {k: largest(-values if k in lowest else values) for k, values in metrics.items()},
        "sensitivity": [row._asdict() for row in sensitivities(metrics | _outcomes(ensemble), inputs)],
        "consistency": {
            name: {"mean": _mean(entry.mean), "inside": entry.inside, "confidence": confidence}
            for name, entry in consistency.items()
        },
    }


def _success(ensemble: Ensemble, confidence: float) -> dict[str, float] | None:
    """The share of successful trials with Wilson's interval, a lost trial being none; None if there is no criterion."""
    if SUCCESS not in ensemble.table:
        return None
    return wilson(int(ensemble.table[SUCCESS].sum()), ensemble.trials, confidence)._asdict()


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

    return Dataset(variables, coords={"percent": np.array(PERCENTS)} | times)


def _metrics(ensemble: Ensemble) -> dict[str, Array]:
    """Metrics of the trials that were not lost, NaN for the others."""
    return {n: np.where(ensemble.flown, x, np.nan) for n, x in _columns(ensemble, inputs=False).items()}


def _columns(ensemble: Ensemble, inputs: bool) -> dict[str, Array]:
    table = ensemble.table.items()
    chosen = {n: x for n, x in table if x.dtype.kind == "f" and n.startswith(INPUT) == inputs}
    return {n: x.astype(np.float64) for n, x in chosen.items() if not n.startswith(TALLY)}


def _outcomes(ensemble: Ensemble) -> dict[str, Array]:
    """Loss and success as numbers, so that what goes with them shows among the sensitivities."""
    outcomes = {LOST: 1.0 - ensemble.flown}
    if SUCCESS in ensemble.table:
        outcomes[SUCCESS] = ensemble.table[SUCCESS].astype(np.float64)
    return outcomes


def _mean(values: Array) -> float | None:
    known = values[np.isfinite(values)]
    return float(known.mean()) if known.size else None


def export(table: Results, path: Path) -> None:
    """Write the table in the format of the file's suffix; floating point keeps every bit."""
    check_format(path)
    with explained(path.parent), replacing(path) as temporary:
        WRITERS[path.suffix](table, temporary)


def check_format(path: Path) -> None:
    """Refuse a file whose suffix names no format, or whose folder is not there, before a long flight."""
    if not path.parent.is_dir():
        raise InputError(f"export: {path.parent} is no directory; make it, or give another")
    if path.suffix not in WRITERS:
        raise InputError(f"export: {path.name!r} ends with none of {', '.join(WRITERS)}")


def _csv(table: Results, path: Path) -> None:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(table)
    # repr of a Python float is the shortest text that reads back as the same number.
    writer.writerows(zip(*(values.tolist() for values in table.values()), strict=True))
    path.write_text(text.getvalue(), encoding="utf-8")


def _parquet(table: Results, path: Path) -> None:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise InputError("export: Parquet needs pyarrow: pip install pyarrow") from None
    pyarrow.parquet.write_table(pyarrow.table({name: values.tolist() for name, values in table.items()}), path)


def _mat(table: Results, path: Path) -> None:
    """MATLAB variables, one per column, with names made valid; `columns` lists the names as they were."""
    from scipy.io import savemat

    variables = {"columns": np.array(list(table), dtype=object)}
    for name, values in table.items():
        variables[_matlab_name(name, variables)] = values.astype(object) if values.dtype.kind in "UO" else values
    savemat(path, variables, long_field_names=True, oned_as="column", do_compression=True)


def _matlab_name(name: str, taken: dict[str, np.ndarray]) -> str:
    valid = re.sub(r"\W+", "_", name, flags=re.ASCII).strip("_")[:60]
    valid = valid if valid[:1].isalpha() else f"x_{valid}"
    candidates = [valid, *(f"{valid}_{i}" for i in range(2, 100))]
    return next(candidate for candidate in candidates if candidate not in taken)


WRITERS = {".csv": _csv, ".parquet": _parquet, ".mat": _mat}
