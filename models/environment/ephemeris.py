"""Ephemerides as text: CCSDS attitude and orbit ephemerides (AEM, OEM) in key-value notation, and orbits as tables.

AEM and OEM: `CCSDS_OEM_VERS = ...`, then segments of META_START ... META_STOP and data lines that begin with an epoch;
of several segments the rows follow each other. Source: CCSDS 504.0-B-2 and 502.0-B-3.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from gnc.errors import InputError
from gnc.models.environment.epoch import Epoch
from gnc.models.environment.orbit import OrbitState
from gnc.typing import Array

INERTIAL = ("GCRF", "ICRF", "EME2000", "GCRS", "ICRS")
COLUMNS = ("t", "x", "y", "z", "vx", "vy", "vz")
BEYOND_S = 60.0  # a table may be asked for so much beyond its end


class Ephemeris(NamedTuple):
    """What stands in a file of key-value notation."""

    epochs: list[str]
    values: Array  # (rows, numbers) as they stand there
    meta: dict[str, str]  # of the last segment


def key_values(path: Path, numbers: int) -> Ephemeris:
    """Read the data lines of all segments, so many numbers of each."""
    epochs, rows, inside = [], [], True
    meta: dict[str, str] = {}
    for line in path.read_text(encoding="utf-8-sig").splitlines():
        key, equals, value = (part.strip() for part in line.partition("="))
        meta |= {key: value} if equals else {}
        inside = {"META_START": True, "META_STOP": False, "COVARIANCE_START": True}.get(key, inside)
        fields = line.split()
        if equals or inside or not fields or not fields[0][0].isdigit():
            continue
        epochs.append(fields[0])
        try:
            rows.append([float(field) for field in fields[1 : numbers + 1]])
        except ValueError:
            raise InputError(f"{path}: {line.strip()!r} is no line of an epoch and numbers") from None
    if len(rows) > 1 and len(rows[-1]) < len(rows[0]):  # an interrupted last line
        epochs, rows = epochs[:-1], rows[:-1]
    if not rows or len({len(row) for row in rows}) > 1:
        raise InputError(f"{path}: there are no lines of data after META_STOP, or they differ in length")
    return Ephemeris(epochs, np.array(rows), meta)


class TableOrbit:
    """A path through rows of position and velocity, by cubics that meet both."""

    def __init__(self, t: Array, r_I: Array, v_I: Array | None, epoch: Epoch) -> None:
        from scipy.interpolate import CubicHermiteSpline, CubicSpline

        if len(t) < 4 or not np.all(np.diff(t) > 0.0):
            raise InputError("an orbit takes four rows or more, whose times increase")
        self.epoch, self._span = epoch, (t[0], t[-1])
        self._path = CubicSpline(t, r_I) if v_I is None else CubicHermiteSpline(t, r_I, v_I)

    @classmethod
    def read(cls, path: Path, epoch: str | None) -> TableOrbit:
        """Read an OEM, or a CSV file with a header of t, x, y, z and perhaps vx, vy, vz [s, m, m/s]."""
        if not path.is_file():
            raise InputError(f"file = {str(path)!r}: there is no such file")
        with path.open(encoding="utf-8-sig") as file:
            first = file.readline().strip()
        if first.startswith("CCSDS_OEM_VERS"):
            return cls._of_oem(path, epoch)
        names = [name.strip() for name in first.split(",")]
        if missing := [name for name in COLUMNS[:4] if name not in names]:
            raise InputError(f"{path}: neither an OEM nor a CSV with the columns {', '.join(missing)}")
        try:
            values = np.loadtxt(path, delimiter=",", skiprows=1, ndmin=2, encoding="utf-8-sig")
        except ValueError as error:
            raise InputError(f"{path}: {error}") from None
        t, *state = (values[:, names.index(name)] for name in COLUMNS if name in names)
        v_I = np.stack(state[3:6], -1) if len(state) == 6 else None
        return cls(t, np.stack(state[:3], -1), v_I, Epoch.of(epoch or "2025-03-20T09:01:00"))

    @classmethod
    def _of_oem(cls, path: Path, epoch: str | None) -> TableOrbit:
        epochs, values, meta = key_values(path, 6)
        frame, clock = meta.get("REF_FRAME", "GCRF"), meta.get("TIME_SYSTEM", "UTC")
        if frame not in INERTIAL or clock != "UTC":
            raise InputError(f"{path}: REF_FRAME {frame}, TIME_SYSTEM {clock}: give {', '.join(INERTIAL)}, and UTC")
        begin = Epoch.of(epoch or epochs[0])
        t = np.array([Epoch.of(one).seconds_after(begin) for one in epochs])
        km = 1e3 * values
        return cls(t, km[:, :3], km[:, 3:6] if km.shape[1] == 6 else None, begin)

    def at(self, t: Any) -> OrbitState:
        """Return the state t seconds after the epoch."""
        t = np.asarray(t, float)
        if np.any(t < self._span[0] - 1e-6) or np.any(t > self._span[1] + BEYOND_S):
            raise InputError(
                f"file: covers {self._span[0]:g} to {self._span[1]:g} s after the start, not {np.max(t):g} s"
            )
        return OrbitState(self._path(t), self._path(t, 1))
