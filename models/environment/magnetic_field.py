"""The geomagnetic field along an orbit, in inertial axes: IGRF-14, or a dipole.

A field tells `at(epoch, t, r_I) -> B_I` in tesla, t and r_I with the same leading axes.
"""

from __future__ import annotations

import functools
import importlib.util
from dataclasses import dataclass
from datetime import UTC, datetime
from math import factorial
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from gnc import check
from gnc.batch import batched
from gnc.errors import InputError
from gnc.models.environment.epoch import Epoch, inertial_to_earth, turn
from gnc.typing import Array

NANOTESLA = 1e-9
REFERENCE_RADIUS = 6371200.0  # of the Gauss coefficients [m]
IGRF_FIRST, IGRF_LAST = datetime(1900, 1, 1, tzinfo=UTC), datetime(2030, 1, 1, tzinfo=UTC)
HIGHEST_DEGREE = 13
CHUNK = 4096  # points at a time: some hundred numbers are kept for each


class MagneticField(Protocol):
    """What tells the field at places and times."""

    def at(self, epoch: Epoch, t: Any, r_I: Array) -> Array:
        """Return B_I (..., 3) [T], t seconds after the epoch."""


@dataclass(frozen=True)
class Igrf:
    """The International Geomagnetic Reference Field, 14th generation; valid from 1900 to 2030.

    An `Epoch` begins in 1972, with UTC: earlier dates cannot be flown.
    """

    max_degree: int = HIGHEST_DEGREE

    def __post_init__(self) -> None:
        if self.max_degree not in range(1, HIGHEST_DEGREE + 1):
            raise InputError(f"max_degree: {self.max_degree!r} is not a degree of IGRF; give 1 to {HIGHEST_DEGREE}")

    def at(self, epoch: Epoch, t: Any, r_I: Array) -> Array:
        """Return B_I (..., 3) [T], t seconds after the epoch."""
        t, r_I = np.asarray(t, float), np.asarray(r_I, float)
        t, shape = np.broadcast_to(t, r_I.shape[:-1]), r_I.shape
        R_EI = inertial_to_earth(epoch, t)
        r_E, t = turn(R_EI, r_I).reshape(-1, 3), t.ravel()
        chunks = [slice(k, k + CHUNK) for k in range(0, len(t), CHUNK)]
        B_E = np.concatenate([self._fixed(epoch, t[part], r_E[part]) for part in chunks])
        return turn(np.swapaxes(R_EI, -1, -2), B_E.reshape(shape))

    def _fixed(self, epoch: Epoch, t: Array, r_E: Array) -> Array:
        """Return the field in Earth-fixed axes; it is linear in time between the epochs of the model, 5 years apart."""
        ends = [_igrf_date(epoch, time) for time in (t.min(), t.max())]
        own = [datetime(year, 1, 1) for year in range(IGRF_FIRST.year, IGRF_LAST.year + 1, 5)]
        dates = sorted({*ends, *(date for date in own if ends[0] < date < ends[1])})
        B = harmonic_field(r_E, np.stack([_gauss_nT(date) for date in dates]), self.max_degree) * NANOTESLA
        times = t.min() + np.array([(date - dates[0]).total_seconds() for date in dates])
        part = np.clip(np.searchsorted(times, t, side="right") - 1, 0, max(len(dates) - 2, 0))
        if len(dates) == 1:
            return B[0]
        share, trial = (t - times[part]) / (times[part + 1] - times[part]), np.arange(len(t))
        return B[part, trial] + share[:, None] * (B[part + 1, trial] - B[part, trial])


@dataclass(frozen=True)
class Dipole:
    """The centred dipole of the first Gauss coefficients, tilted unless g11 = h11 = 0; 20 % off in the median.

    B = (a/r)^3 (3 (g . n) n - g) with n = r/|r| and g = (g11, h11, g10), by default those of IGRF-14 at 2025.0.
    """

    gauss_nT: Any = (-1410.3, 4545.5, -29350.0)  # (3) g11, h11, g10

    def __post_init__(self) -> None:
        object.__setattr__(self, "gauss_nT", check.vector("gauss_nT", self.gauss_nT, 3))

    def at(self, epoch: Epoch, t: Any, r_I: Array) -> Array:
        """Return B_I (..., 3) [T], t seconds after the epoch."""
        R_EI = inertial_to_earth(epoch, t)
        return dipole_field(r_I, turn(np.swapaxes(R_EI, -1, -2), self.gauss_nT * NANOTESLA))


@batched("(3),(3)->(3)")
def dipole_field(r, g):
    """Return (a/r)^3 (3 (g . n) n - g), in the axes and units of r and g."""
    distance = np.sqrt(r @ r)
    n, k = r / distance, REFERENCE_RADIUS / distance
    return (k * k * k) * ((3.0 * (g @ n)) * n - g)


def _igrf_date(epoch: Epoch, t: float) -> datetime:
    date = epoch.date(t)
    if not IGRF_FIRST <= date <= IGRF_LAST:
        raise InputError(f"epoch: IGRF-14 is valid from 1900 to 2030, not on {date.isoformat()}; use Dipole there")
    return date.replace(tzinfo=None)


@functools.cache
def _coefficients() -> tuple[Array, Array]:
    """Return the years of the model (27), and g + i h [nT] at each (27, degree, order), from the file of ppigrf.

    The file alone is taken: the package loads pandas to read it.
    """
    spec = importlib.util.find_spec("ppigrf")
    if spec is None or spec.origin is None:
        raise InputError("IGRF: its coefficients come with ppigrf: pip install ppigrf; or use a dipole")
    lines = (Path(spec.origin).parent / "IGRF14.shc").read_text().splitlines()
    _, years, *rows = [line.split() for line in lines if not line.startswith("#")]
    coefficients = np.zeros((len(years), HIGHEST_DEGREE + 1, HIGHEST_DEGREE + 1), complex)
    for n, m, *values in rows:
        coefficients[:, int(n), abs(int(m))] += np.array(values, float) * (1j if int(m) < 0 else 1.0)
    return np.array(years, float), coefficients


def _gauss_nT(date: datetime) -> Array:
    """Return g + i h at a date, linear through the days of five years."""
    years, values = _coefficients()
    i = min(int(np.searchsorted(years, date.year, side="right")) - 1, len(years) - 2)
    start, end = (datetime(int(year), 1, 1) for year in years[i : i + 2])
    return values[i] + (date - start) / (end - start) * (values[i + 1] - values[i])


def harmonic_field(r_E: Array, gauss: Array, degree: int) -> Array:
    """Return B = -grad U (dates, points, 3) of U = a sum (g V_nm + h W_nm), by Schmidt's normalisation.

    Z_nm = V_nm + i W_nm = (a/r)^(n+1) P_nm(sin latitude) exp(i m longitude) comes by recursion from Z_00 = a/r. Source:
    Cunningham (1970), as in Montenbruck and Gill, Satellite Orbits, eqs. (3.29) to (3.33).
    """
    rr = np.sum(r_E * r_E, axis=-1)
    x, y, z = REFERENCE_RADIUS * np.moveaxis(r_E, -1, 0) / rr
    Z = {(0, 0): (REFERENCE_RADIUS / np.sqrt(rr)).astype(complex)}
    for n in range(1, degree + 2):
        Z[n, n] = (2 * n - 1) * (x + 1j * y) * Z[n - 1, n - 1]
        for m in range(n):
            older = (n + m - 1) * (REFERENCE_RADIUS**2 / rr) * Z[n - 2, m] if n - 2 >= m else 0.0
            Z[n, m] = ((2 * n - 1) * z * Z[n - 1, m] - older) / (n - m)
    B_xy, B_z = np.zeros((2, len(gauss), len(rr)), complex)
    for n in range(1, degree + 1):
        for m in range(n + 1):
            c = (gauss[:, n, m] * np.sqrt((1 + (m > 0)) * factorial(n - m) / factorial(n + m)))[:, None]
            B_z += (n - m + 1) * (c.conj() * Z[n + 1, m]).real
            if m == 0:
                B_xy += c * Z[n + 1, 1]
            else:
                B_xy += 0.5 * (c.conj() * Z[n + 1, m + 1] - (n - m + 2) * (n - m + 1) * c * Z[n + 1, m - 1].conj())
    return np.stack([B_xy.real, B_xy.imag, B_z.real], axis=-1)
