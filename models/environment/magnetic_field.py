"""The geomagnetic field along an orbit, in inertial axes: IGRF-14, or a dipole.

A field tells `at(epoch, t, r_I) -> B_I` in tesla, t and r_I with the same leading axes.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from gnc import check
from gnc.batch import batched
from gnc.errors import InputError
from gnc.models.environment.epoch import Epoch
from gnc.models.environment.frames import inertial_to_earth, turn

Array = NDArray[np.float64]

NANOTESLA = 1e-9
REFERENCE_RADIUS = 6371200.0  # of the Gauss coefficients [m]
IGRF_FIRST, IGRF_LAST = datetime(1900, 1, 1, tzinfo=UTC), datetime(2030, 1, 1, tzinfo=UTC)
HIGHEST_DEGREE = 13
POLE_DEG = 1e-5  # nearer to a pole the east component is 0/0; there it is taken a metre away
CHUNK = 4096  # points at a time: some hundred numbers are kept for each


class MagneticField(Protocol):
    """What tells the field at places and times."""

    def at(self, epoch: Epoch, t: Any, r_I: Array) -> Array:
        """Return B_I (..., 3) [T], t seconds after the epoch."""


@dataclass(frozen=True)
class Igrf:
    """The International Geomagnetic Reference Field, 14th generation, by ppigrf; valid from 1900 to 2030.

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
        import ppigrf

        ends = [_igrf_date(epoch, time) for time in (t.min(), t.max())]
        own = [datetime(year, 1, 1) for year in range(IGRF_FIRST.year, IGRF_LAST.year + 1, 5)]
        dates = sorted({*ends, *(date for date in own if ends[0] < date < ends[1])})
        radius, colatitude_deg, longitude_deg = _spherical(r_E)
        radial, south, east = ppigrf.igrf_gc(
            radius * 1e-3, colatitude_deg, longitude_deg, dates, max_degree=self.max_degree
        )
        B = _cartesian(colatitude_deg, longitude_deg, radial, south, east) * NANOTESLA
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
    return date.replace(tzinfo=None)  # ppigrf compares with dates that name no zone


def _spherical(r_E: Array) -> tuple[Array, Array, Array]:
    """Return radius, colatitude and longitude."""
    x, y, z = np.moveaxis(r_E, -1, 0)
    equatorial = np.hypot(x, y)
    colatitude_deg = np.clip(np.degrees(np.arctan2(equatorial, z)), POLE_DEG, 180.0 - POLE_DEG)
    return np.hypot(equatorial, z), colatitude_deg, np.degrees(np.arctan2(y, x))


def _cartesian(colatitude_deg: Array, longitude_deg: Array, radial: Array, south: Array, east: Array) -> Array:
    """Return vectors (..., 3) in Earth-fixed axes from their local components."""
    st, ct = np.sin(np.radians(colatitude_deg)), np.cos(np.radians(colatitude_deg))
    sp, cp = np.sin(np.radians(longitude_deg)), np.cos(np.radians(longitude_deg))
    outward = radial * st + south * ct
    return np.stack([outward * cp - east * sp, outward * sp + east * cp, radial * ct - south * st], axis=-1)
