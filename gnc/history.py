"""What a flight leaves: labelled signals over time and trials, which xarray opens.

Signals of one clock share a time axis: `time` is that of the record, `time_magnetometer` that of a sensor. Every
signal has a unit and a sentence; its parts have names.
"""

from __future__ import annotations

import math
import os
import re
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from gnc.errors import InputError
from gnc.files import replacing
from gnc.labelled import Table
from gnc.labelled import write_netcdf as write

if TYPE_CHECKING:  # xarray takes half a second to load
    from xarray import Dataset

CLOCK = "time"
MEMORY = "/proc/meminfo", "/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"  # Linux
BLOCK = 64  # times that are put into their places together, beside each other in every trial
PARTS = {
    3: ("xyz", ("x", "y", "z")),
    4: ("wxyz", ("w", "x", "y", "z")),
    6: ("twist", ("rx", "ry", "rz", "x", "y", "z")),
}


class Signal(NamedTuple):
    """What a signal is."""

    unit: str
    about: str
    parts: tuple[str, tuple[str, ...]] | None = None  # name of the axis and of its places, if not the usual ones
    shared: bool = False  # the same in all trials, and so without their axis
    sigma: str = ""  # the signal that holds its standard deviation, if one does
    nominal: float = math.nan  # the mean that it should have, if there is one: 6 of a NEES over 6 numbers
    partial: bool = False  # whether it may have no value for a while without the trial being lost
    labels: tuple[str, ...] = ()  # what its values 0, 1, 2, ... stand for, by which conditions may ask; NaN is none


class _Column:
    """The values of a signal: (trials, times, ...), or (times, ...) if all trials share them."""

    def __init__(self, times: int, shared: bool) -> None:
        self._times, self._axis = times, 0 if shared else 1
        self._waiting: list[np.ndarray] = []
        self._placed, self._rows = 0, np.empty(0)  # how many are in their places, and those, times first

    def append(self, value: Any) -> None:
        """Note the value of the next time; it may change afterwards."""
        self._waiting.append(np.array(value))
        if len(self._waiting) == BLOCK:
            self._put()

    def __len__(self) -> int:
        return self._placed + len(self._waiting)

    def values(self, times: int) -> np.ndarray:
        """Return those of the first times."""
        self._put()
        return np.moveaxis(self._rows[:times], 0, self._axis)

    def _put(self) -> None:
        """Put what waits into its places, in a new array if the old one is too short or of a narrower type."""
        if not self._waiting:
            return
        block, end = np.stack(self._waiting), len(self)
        kind = np.result_type(block, self._rows) if self._placed else block.dtype
        if end > len(self._rows) or kind != self._rows.dtype:
            times = max(end, self._times if end <= self._times else 2 * len(self._rows))
            shape = (*block.shape[1 : 1 + self._axis], times, *block.shape[1 + self._axis :])
            larger = np.moveaxis(np.empty(shape, kind), self._axis, 0)
            if self._placed:
                larger[: self._placed] = self._rows[: self._placed]
            self._rows = larger
        self._rows[self._placed : end] = block
        self._placed, self._waiting = end, []


def room() -> float:
    """Return how many bytes can be had at most, free or swapped and within a container's limit; infinite if unknown."""
    texts = [Path(file).read_text("ascii") for file in MEMORY if os.path.isfile(file)]
    free = 1024.0 * sum(map(int, re.findall(r"(?:MemAvailable|SwapFree): *(\d+) kB", "".join(texts))))
    return min([float(text) for text in texts if text.strip().isdecimal()] + [free or math.inf])


class History:
    """Signals as they come; `times` tells how often those of a clock will, for one large array from the start."""

    def __init__(self, signals: Mapping[str, Signal], times: Mapping[str, int] = MappingProxyType({})) -> None:
        self._signals, self._expected = dict(signals), dict(times)
        self._columns: dict[str, dict[str, _Column]] = defaultdict(dict)
        self._times: dict[str, list[float]] = defaultdict(list)
        self._room, self._need = room(), 0

    def record(self, t: float, values: Mapping[str, Any], clock: str = CLOCK) -> None:
        """Note the values (trials, ...) of some signals at a time."""
        self._times[clock].append(t)
        columns = self._columns[clock]
        if not columns:
            self._reserve(clock, values)
        for name, value in values.items():
            if name not in columns:
                columns[name] = _Column(self._expected.get(clock, 0), self._signals[name].shared)
            columns[name].append(value)

    def _reserve(self, clock: str, values: Mapping[str, Any]) -> None:
        """Refuse at the first record what no memory can hold at the last one."""
        times = self._expected.get(clock, 0)
        self._need += times * sum(np.asarray(value).nbytes for value in values.values())
        if self._need > self._room:
            sizes = f"the signals take {self._need / 1e9:.3g} GB or more, {self._room / 1e9:.3g} GB are there"
            remedy = "record less often (run.record_s), fly fewer trials at once, or gnc monte-carlo, which keeps less"
            raise InputError(f"memory: {sizes}; {remedy}")

    def table(self, trials: Any, **attributes: Any) -> Table:
        """Return all signals (trial, time, parts) with units and labels."""
        data: dict[str, Any] = {}
        coordinates: dict[str, Any] = {"trial": np.asarray(trials, np.int32)}
        for clock, columns in self._columns.items():
            whole = min(len(self._times[clock]), *map(len, columns.values()))  # Ctrl-C may have cut the last one short
            coordinates[clock] = (clock, np.array(self._times[clock][:whole]), {"units": "s"})
            for name, column in columns.items():
                signal = self._signals[name]
                first = (clock,) if signal.shared else ("trial", clock)
                array = column.values(whole)
                axes = _axes(name, array.shape[len(first) :], signal, coordinates)
                note = {
                    "units": signal.unit,
                    "long_name": signal.about,
                    **({"sigma": signal.sigma} if signal.sigma else {}),
                    **({} if math.isnan(signal.nominal) else {"nominal": signal.nominal}),
                    **({"partial": 1} if signal.partial else {}),
                    **({"labels": ", ".join(signal.labels)} if signal.labels else {}),
                }
                data[name] = ((*first, *axes), array, note)
        return Table(data, coordinates, attributes)


def _axes(name: str, sizes: tuple[int, ...], signal: Signal, coordinates: dict[str, Any]) -> list[str]:
    """Return the names of the axes after trial and time, and label their places."""
    axes = []
    for i, size in enumerate(sizes):
        axis, places = signal.parts or PARTS.get(size, (f"{name}_{i}", tuple(map(str, range(size)))))
        coordinates[axis] = list(places)
        axes.append(axis)
    return axes


def save(data: Table | Dataset, path: Path) -> None:
    """Write a table whole or not at all, as NetCDF-3: the same bytes for the same numbers."""
    with replacing(path) as temporary, temporary.open("wb") as file:
        write(data if isinstance(data, Table) else Table.of(data), file)


def load(path: Path) -> Dataset:
    """Read a dataset into memory."""
    from xarray import load_dataset

    try:
        return load_dataset(path, engine="scipy")
    except (OSError, ValueError, TypeError, IndexError, KeyError) as error:  # whatever a damaged file makes of it
        raise InputError(f"{path}: cannot be read ({type(error).__name__}); fly again, the file is damaged") from None
