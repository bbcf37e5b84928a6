"""Statistics over all trials of a campaign on disk.

Time histories are read a block of times at a time, so that memory does not grow with the number of trials. The table
of numbers that are one per trial is read whole: 8 bytes for each.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from gnc.errors import InputError
from gnc.montecarlo.flight import LOST, Results, join
from gnc.montecarlo.statistics import PERCENTS, chi_square_band, percentiles
from gnc.montecarlo.store import Store
from gnc.typing import Array

if TYPE_CHECKING:
    from xarray import Variable

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
                    block[:, chunk.start : end] = _columns(rows, start, stop).T
        return block[:, self.flown]


def _columns(rows: Variable, start: int, stop: int) -> Array:
    """Columns start to stop of a history, whose times may have several axes."""
    if rows.ndim == 2:
        return rows[:, start:stop].values
    return rows.values.reshape(len(rows), -1)[:, start:stop]
