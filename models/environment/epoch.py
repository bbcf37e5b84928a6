"""Dates and axes: UTC at the door, seconds after an epoch inside, Julian dates for the libraries.

Frames: I is inertial (GCRS), E fixed to the Earth (ITRS), TEME the frame of two-line elements.

All from IAU models in pyerfa, without tables and hence without a network: polar motion (below 0.6 arcsec) is left out,
and UT1 is UTC (within 0.9 s). In low orbit that is at most 450 m along the ground and 3 nT of the field; inertial
positions from two-line elements do not feel it.
"""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np

from gnc.errors import InputError
from gnc.models.environment.constants import DAY
from gnc.typing import Array

JulianDate = tuple[float, Array]  # its two parts: a midnight, and the days since

FIRST, LAST = datetime(1972, 1, 1, tzinfo=UTC), datetime(2100, 1, 1, tzinfo=UTC)
TT_MINUS_TAI = 32.184  # [s]
JULIAN_DAY_OF_ORDINAL_ZERO = 1721424.5


@dataclass(frozen=True)
class Epoch:
    """An instant in UTC, from ISO 8601 text or a datetime; what names no zone is UTC.

    From 1972, when UTC got whole leap seconds, to 2100, where the ephemeris of the Sun ends. Leap seconds count up to
    the epoch; none is inserted between it and a later t.
    """

    utc: Any  # str or datetime; kept as a datetime in UTC

    def __post_init__(self) -> None:
        utc = _parsed(self.utc)
        utc = utc.replace(tzinfo=UTC) if utc.tzinfo is None else utc.astimezone(UTC)
        if not FIRST <= utc < LAST:
            raise InputError(f"epoch: {utc.isoformat()} is out of range; give a date from 1972 to 2099")
        object.__setattr__(self, "utc", utc)

    @classmethod
    def of(cls, value: Epoch | str | datetime) -> Epoch:
        """Return the epoch of whatever tells one."""
        return value if isinstance(value, Epoch) else cls(value)

    def tt(self, t: Any) -> JulianDate:
        """Return Terrestrial Time, t seconds after the epoch."""
        return self._julian_date(t, _leap_seconds(self.utc) + TT_MINUS_TAI)

    def ut1(self, t: Any) -> JulianDate:
        """Return UT1, taken as UTC: leap seconds keep them within 0.9 s, 14 arcsec of the Earth's rotation."""
        return self._julian_date(t, 0.0)

    def date(self, t: float) -> datetime:
        """Return the date in UTC t seconds after the epoch, to a microsecond."""
        try:
            return self.utc + timedelta(seconds=float(t))
        except (OverflowError, ValueError):
            raise InputError(
                f"t: {t} s after {self.utc.isoformat()} is no date; give seconds after the epoch"
            ) from None

    def seconds_after(self, other: Epoch) -> float:
        """Return the seconds of UTC days from another epoch to this one."""
        return (self.utc - other.utc).total_seconds()

    def _julian_date(self, t: Any, offset: float) -> JulianDate:
        utc = self.utc
        midnight = JULIAN_DAY_OF_ORDINAL_ZERO + utc.toordinal()
        of_day = utc.hour * 3600.0 + utc.minute * 60.0 + utc.second + utc.microsecond * 1e-6
        return midnight, (of_day + offset + np.asarray(t, float)) / DAY


def _parsed(value: Any) -> datetime:
    if isinstance(value, datetime):
        return value
    remedy = 'give UTC as ISO 8601 text, such as "2025-03-20T09:01:00"'
    if not isinstance(value, str):
        raise InputError(f"epoch: expected text or a datetime, got {type(value).__name__}; {remedy}")
    try:
        return datetime.fromisoformat(value)
    except ValueError:
        raise InputError(f"epoch: {value!r} is no date; {remedy}") from None


def _leap_seconds(utc: datetime) -> float:
    """Return TAI - UTC."""
    import erfa

    with warnings.catch_warnings():  # it calls years "dubious" that lie beyond the last announcement
        warnings.simplefilter("ignore", erfa.ErfaWarning)
        return float(erfa.dat(utc.year, utc.month, utc.day, 0.0))


def day_fraction_to_date(julian_day: float, fraction: float) -> datetime:
    """Return the UTC date of a two-part Julian date, to a microsecond."""
    whole = math.floor(julian_day - JULIAN_DAY_OF_ORDINAL_ZERO)
    rest = (julian_day - JULIAN_DAY_OF_ORDINAL_ZERO - whole) + fraction
    return datetime.fromordinal(whole).replace(tzinfo=UTC) + timedelta(days=rest)


def inertial_to_earth(epoch: Epoch, t: Any) -> Array:
    """Return R_EI (..., 3, 3), GCRS to ITRS, t seconds after the epoch: precession, IAU 2000B nutation, rotation."""
    import erfa

    return erfa.c2t00b(*epoch.tt(t), *epoch.ut1(t), 0.0, 0.0)


def teme_to_inertial(epoch: Epoch, t: Any) -> Array:
    """Return the matrix (..., 3, 3) from TEME to GCRS: to the Earth by the mean sidereal time of 1982, and back.

    It turns by 50 arcsec a year, so velocities change as vectors do, to 0.1 mm/s.
    Source: Vallado et al., "Revisiting Spacetrack Report #3", AIAA 2006-6753, appendix C.
    """
    import erfa

    teme_to_earth = erfa.rz(erfa.gmst82(*epoch.ut1(t)), np.eye(3))
    return np.swapaxes(inertial_to_earth(epoch, t), -1, -2) @ teme_to_earth


def turn(R_AB: Array, v_B: Array) -> Array:
    """Return v_A = R_AB v_B over any leading axes."""
    return np.einsum("...ij,...j->...i", R_AB, v_B)
