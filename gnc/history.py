"""What a flight leaves: labelled signals over time and trials, which xarray opens.

Signals of one clock share a time axis: `time` is that of the record, `time_magnetometer` that of a sensor. Every
signal has a unit and a sentence; its parts have names.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from gnc.errors import InputError
from gnc.files import replacing
from gnc.labelled import Table
from gnc.netcdf import encoded

if TYPE_CHECKING:  # xarray takes half a second to load
    from xarray import Dataset

CLOCK = "time"
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


class History:
    """Signals as they come."""

    def __init__(self, signals: Mapping[str, Signal]) -> None:
        self._signals = dict(signals)
        self._values: dict[str, dict[str, list[np.ndarray]]] = defaultdict(lambda: defaultdict(list))
        self._times: dict[str, list[float]] = defaultdict(list)

    def record(self, t: float, values: Mapping[str, Any], clock: str = CLOCK) -> None:
        """Note the values (trials, ...) of some signals at a time."""
        self._times[clock].append(t)
        for name, value in values.items():
            self._values[clock][name].append(np.asarray(value))

    def table(self, trials: Any, **attributes: Any) -> Table:
        """Return all signals (trial, time, parts) with units and labels."""
        data: dict[str, Any] = {}
        coordinates: dict[str, Any] = {"trial": np.asarray(trials, np.int32)}
        for clock, signals in self._values.items():
            whole = min(len(self._times[clock]), *map(len, signals.values()))  # Ctrl-C may have cut the last one short
            coordinates[clock] = (clock, np.array(self._times[clock][:whole]), {"units": "s"})
            for name, values in signals.items():
                signal = self._signals[name]
                first = (clock,) if signal.shared else ("trial", clock)
                array = np.stack(values[:whole], axis=len(first) - 1)
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
    with replacing(path) as temporary:
        temporary.write_bytes(encoded(data if isinstance(data, Table) else Table.of(data)))


def load(path: Path) -> Dataset:
    """Read a dataset into memory."""
    from xarray import load_dataset

    try:
        return load_dataset(path, engine="scipy")
    except (OSError, ValueError, TypeError, IndexError, KeyError) as error:  # whatever a damaged file makes of it
        raise InputError(f"{path}: cannot be read ({type(error).__name__}); fly again, the file is damaged") from None
