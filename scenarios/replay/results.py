"""What the pass leaves on disk: estimates.nc, innovations_<sensor>.nc, the same as CSV, and dropped.csv."""

from __future__ import annotations

import csv
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from gnc.scenarios.replay.driven import Driven
from gnc.scenarios.replay.records import Records, mapped
from gnc.scenarios.replay.truth import Track

Array = Any

LARGEST_LIST = 1_000_000  # rows in dropped.csv; counts go on


class Lost(Exception):
    """The filter has no belief left."""


class BesideTruth:
    """Columns that wait until the truth at their times is known."""

    def __init__(self, track: Track | None, write: Callable[[dict[str, Array]], None]) -> None:
        self._track, self._write = track, write
        self._waiting: list[dict[str, Array]] = []

    def add(self, columns: dict[str, Array]) -> None:
        """Take columns, later than all before."""
        self._waiting.append(columns)

    def settle(self, until: float) -> None:
        """Write those for which the truth is known."""
        if self._track is None:
            for columns in self._waiting:
                self._write(columns)
            self._waiting = []
            return
        ready = self._track.known_until(until) if np.isfinite(until) else np.inf
        for columns in self._waiting:
            n = int(np.searchsorted(columns["t"], ready, side="right"))
            head = {name: column[:n] for name, column in columns.items()}
            self._write(head | self._track.at(head["t"]))
            for name in columns:
                columns[name] = columns[name][n:]
        self._waiting = [columns for columns in self._waiting if len(columns["t"])]
        self._track.forget(self._waiting[0]["t"][0] if self._waiting else ready)


class Results:
    """Collects beliefs and innovations in batches, and writes them with the truth beside them."""

    def __init__(
        self, folder: Path, filter_: Driven, sensors: Sequence[str], track: Track | None, full: bool, text: bool | None
    ) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._folder, self._filter, self._sensors = folder, filter_, sensors
        self._full, self._text = full, text
        self._waiting = BesideTruth(track, self.write)
        self._estimates: Records | None = None
        self._files: dict[int, Records] = {}
        self.lost_s: float | None = None
        self.count = 0  # estimates

    def estimates_at(self, t: Array, beliefs: Any) -> None:
        """Take beliefs, stacked, at times."""
        columns = {"t": t, **self._filter.columns(beliefs)}
        self.count += len(t)
        self._waiting.add(columns)
        lost = ~np.isfinite(columns["q_IB"]).all(axis=1)
        if lost.any():
            self.lost_s = float(t[lost][0])
            raise Lost

    def innovations(self, sensor: int, t: Array, innovation: Any) -> None:
        """Take innovations of a sensor, stacked, at times."""
        y, S, nis, used = innovation
        self.write_innovations(sensor, {"t": t, "y": y, "S": S, "nis": nis, "used": used.astype(float)})

    def settle(self, until: float) -> None:
        """Write the estimates for which the truth is known."""
        self._waiting.settle(until)

    def close(self, keep: bool) -> None:
        """Write what is left, and put the files in their places."""
        if keep:
            self.settle(np.inf)
        for records in self.all_records():
            records.close(keep)

    def all_records(self) -> list[Records]:
        """Return the files of records there are."""
        return [*([self._estimates] if self._estimates else []), *self._files.values()]

    def estimates(self) -> Array:
        """Return the estimates of the closed file."""
        assert self._estimates is not None
        return mapped(self._estimates.path, self._estimates.dtype, self._estimates.count)

    def innovations_of(self, sensor: int) -> Array | None:
        """Return the innovations of the closed file of a sensor."""
        records = self._files.get(sensor)
        return None if records is None else mapped(records.path, records.dtype, records.count)

    def write(self, columns: dict[str, Array]) -> None:
        """Write estimates with the truth beside them."""
        if not self._full:
            columns["sigma"] = np.sqrt(np.diagonal(columns.pop("C"), axis1=1, axis2=2))
        if self._estimates is None:
            shapes = {name: column.shape[1:] for name, column in columns.items()}
            errors = {"errors": " ".join(self._filter.errors)}
            self._estimates = Records(self._folder / "estimates.nc", shapes, errors, self._text)
        if len(columns["t"]):
            self._estimates.append(columns)

    def write_innovations(self, sensor: int, columns: dict[str, Array]) -> None:
        """Write innovations of a sensor."""
        if sensor not in self._files:
            shapes = {name: column.shape[1:] for name, column in columns.items()}
            path = self._folder / f"innovations_{self._sensors[sensor]}.nc"
            self._files[sensor] = Records(path, shapes, {"sensor": self._sensors[sensor]}, self._text)
        self._files[sensor].append(columns)


class DroppedRows:
    """The list of rows that were not used, with the rule."""

    def __init__(self, path: Path) -> None:
        self.path, self._count = path, 0
        self._temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
        self._file = self._temporary.open("w", newline="")
        self._writer = csv.writer(self._file)
        self._writer.writerow(["quantity", "row", "t", "rule"])

    def __call__(self, name: str, rows: Array, t: Array, rule: str) -> None:
        """Add rows."""
        room = max(LARGEST_LIST - self._count, 0)
        listed = zip(rows[:room].tolist(), t[:room].tolist(), strict=True)
        self._writer.writerows([name, row, when, rule] for row, when in listed)
        self._count += len(rows)

    def close(self, keep: bool) -> None:
        """Put the file in its place."""
        self._file.close()
        if keep:
            os.replace(self._temporary, self.path)
        else:
            self._temporary.unlink(missing_ok=True)
