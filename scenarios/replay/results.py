"""What the pass leaves on disk: estimates.nc, innovations_<sensor>.nc, the same as CSV, and dropped.csv."""

from __future__ import annotations

import csv
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from gnc.scenarios.replay.config import Output
from gnc.scenarios.replay.filter_protocol import ReplayFilter
from gnc.scenarios.replay.records import Records
from gnc.scenarios.replay.truth import SHAPES, Track

Array = Any

LARGEST_LIST = 1_000_000  # rows in dropped.csv; counts go on


class Lost(Exception):
    """The filter has no belief left."""


class Results:
    """Writes beliefs and innovations as they come, and the truth beside the estimates at the end."""

    def __init__(
        self, folder: Path, filter_: ReplayFilter, sensors: Sequence[str], track: Track | None, output: Output
    ) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._folder, self._filter, self._sensors, self._track, self._output = folder, filter_, sensors, track, output
        self._estimates: Records | None = None
        self._files: dict[int, Records] = {}
        self.lost_s: float | None = None
        self.count = 0  # estimates

    def estimates_at(self, t: Array, beliefs: Any) -> None:
        """Take beliefs, stacked, at times."""
        columns = {"t": t, **self._filter.columns(beliefs)}
        self.write(columns)
        lost = ~np.isfinite(columns["q_IB"]).all(axis=1)
        if lost.any():
            self.lost_s = float(t[lost][0])
            raise Lost

    def write(self, columns: dict[str, Array]) -> None:
        """Write estimates; the truth beside them is unknown yet."""
        if self._output.covariance == "sigma":
            columns["sigma"] = np.sqrt(np.diagonal(columns.pop("C"), axis1=1, axis2=2))
        if self._estimates is None:
            self._estimates = self._records(
                "estimates", columns, {} if self._track is None else SHAPES, errors=" ".join(self._filter.errors)
            )
        self._estimates.append(columns)
        self.count += len(columns["t"])

    def innovations(self, sensor: int, t: Array, innovation: Any) -> None:
        """Take innovations of a sensor, stacked, at times."""
        y, S, nis, used = innovation
        columns = {"t": t, "y": y, "S": S, "nis": nis, "used": np.asarray(used, float)}
        if sensor not in self._files:
            name = self._sensors[sensor]
            self._files[sensor] = self._records(f"innovations_{name}", columns, {}, sensor=name)
        self._files[sensor].append(columns)

    def _records(self, name: str, columns: dict[str, Array], more: dict[str, Any], **attributes: str) -> Records:
        shapes = {name: column.shape[1:] for name, column in columns.items()} | more
        return Records(self._folder / f"{name}.nc", shapes, attributes, self._output.csv)

    def close(self, keep: bool) -> None:
        """Put the files in their places."""
        for records in self.all_records():
            records.close(keep, self._track.at if records is self._estimates and self._track else None)

    def all_records(self) -> list[Records]:
        """Return the files of records there are."""
        return [*([self._estimates] if self._estimates else []), *self._files.values()]

    def estimates(self) -> Array:
        """Return the estimates of the closed file."""
        assert self._estimates is not None
        return self._estimates.mapped()

    def innovations_of(self, sensor: int) -> Array | None:
        """Return the innovations of the closed file of a sensor."""
        return self._files[sensor].mapped() if sensor in self._files else None


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
