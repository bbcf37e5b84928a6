"""Orbits: Kepler's ellipse with the secular drift of J2, two-line elements, tables.

All tell `at(t) -> OrbitState`, t seconds after their epoch, in inertial axes (GCRS).

Tables are CCSDS orbit (and attitude) ephemerides, OEM and AEM, in key-value notation, or CSV: `CCSDS_OEM_VERS = ...`,
then segments of META_START ... META_STOP and data lines that begin with an epoch; of several segments the rows follow
each other. Source: CCSDS 504.0-B-2 and 502.0-B-3.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np

from gnc import check
from gnc.batch import batched, copysign
from gnc.errors import InputError
from gnc.linalg import array, cross
from gnc.models.environment.constants import DAY, EARTH_J2, EARTH_MU, EARTH_RADIUS, SUN_SYNCHRONOUS_RATE
from gnc.models.environment.epoch import Epoch, day_fraction_to_date, teme_to_inertial, turn
from gnc.typing import Array

KEPLER_ITERATIONS = 6  # of fourth order: to the last digit for every eccentricity up to MAX_ECCENTRICITY
MAX_ECCENTRICITY = 0.99


class OrbitState(NamedTuple):
    """Where a spacecraft is, and its velocity, in inertial axes."""

    r_I: Array  # (..., 3) [m]
    v_I: Array  # (..., 3) [m/s]


class Orbit(Protocol):
    """What tells position and velocity at any time after an epoch."""

    @property
    def epoch(self) -> Epoch:
        """The instant of t = 0."""

    def at(self, t: Any) -> OrbitState:
        """Return the state t seconds after the epoch."""


@dataclass(frozen=True)
class KeplerOrbit:
    """Mean elements at an epoch, about the inertial (GCRS) equator; node, perigee and anomaly drift with J2.

    The velocity is the exact derivative of the position, drift included. J2 = 0 is the two-body problem. Elements may
    have leading axes, one orbit per trial.
    """

    a: Any  # (...) semi-major axis [m]
    e: Any = 0.0  # (...) eccentricity
    inclination: Any = 0.0  # (...) [rad]
    raan: Any = 0.0  # (...) right ascension of the ascending node [rad]
    argument: Any = 0.0  # (...) of perigee [rad]
    mean_anomaly: Any = 0.0  # (...) [rad]
    epoch: Any = "2025-03-20T09:01:00"  # UTC
    J2: Any = EARTH_J2  # (...)

    def __post_init__(self) -> None:
        a, e = check.positive("a", self.a), check.non_negative("e", self.e)
        if np.any(e > MAX_ECCENTRICITY):
            raise InputError(f"e: {e.max():g} is too much; give an ellipse, with e from 0 to {MAX_ECCENTRICITY}")
        perigee = np.min(a * (1.0 - e))
        if perigee < EARTH_RADIUS:
            remedy = "a is measured from the centre of the Earth, in metres"
            raise InputError(f"a: perigee radius {perigee / 1e3:g} km is inside the Earth; {remedy}")
        checked = {name: check.finite(name, getattr(self, name)) for name in _ANGLES}
        for name, value in {"a": a, "e": e, "J2": check.finite("J2", self.J2), **checked}.items():
            object.__setattr__(self, name, value)
        object.__setattr__(self, "epoch", Epoch.of(self.epoch))

    def at(self, t: Any) -> OrbitState:
        """Return the state t seconds after the epoch; t broadcasts against the elements."""
        angles = (getattr(self, name) for name in _ANGLES)
        return OrbitState(*_kepler(self.a, self.e, *angles, self.J2, t))

    @property
    def mean_motion(self) -> Array:
        """The mean motion sqrt(mu/a^3) of the ellipse [rad/s]."""
        return np.sqrt(EARTH_MU / self.a**3)

    @property
    def period(self) -> Array:
        """The period of the ellipse, without drift [s]."""
        return 2.0 * math.pi / self.mean_motion

    @property
    def nodal_rate(self) -> Array:
        """The drift of the node, -3/2 n J2 (R/p)^2 cos i [rad/s]."""
        return _secular(self.a, self.e, self.inclination, self.J2)[0]


_ANGLES = ("inclination", "raan", "argument", "mean_anomaly")


def sun_synchronous_inclination(a: Any, e: Any = 0.0) -> Array:
    """Return the inclination whose node follows the mean Sun [rad]: cos i = -rate / (3/2 n J2 (R/p)^2)."""
    a, e = check.positive("a", a), check.non_negative("e", e)
    most, _, _ = _secular(a, e, math.pi, EARTH_J2)
    cosine = -SUN_SYNCHRONOUS_RATE / most
    if np.any(np.abs(cosine) > 1.0):
        raise InputError("a: no orbit so high is sun-synchronous; give a semi-major axis below 12352 km")
    return np.arccos(cosine)


# The ellipse


@batched("(),(),(),()->(),(),()")
def _secular(a, e, inclination, J2):
    """Return the secular rates of node and perigee, and that of the mean anomaly, n included.

    Source: Vallado, Fundamentals of Astrodynamics and Applications, 4th ed., eqs. (9-38), (9-40), (9-41).
    """
    n, eta2, c = np.sqrt(EARTH_MU / (a * a * a)), 1.0 - e * e, np.cos(inclination)
    k = EARTH_RADIUS / (a * eta2)
    drift = 0.75 * n * J2 * k * k
    return -2.0 * drift * c, drift * (5.0 * c * c - 1.0), n + drift * np.sqrt(eta2) * (3.0 * c * c - 1.0)


@batched("(),(),(),(),(),(),(),()->(3),(3)")
def _kepler(a, e, inclination, raan, argument, mean_anomaly, J2, t):
    """Return r = a (cos E - e) P + b sin E Q and its derivative, P and Q turning with node and perigee."""
    node_rate, argument_rate, anomaly_rate = _secular(a, e, inclination, J2)
    E = eccentric_anomaly(mean_anomaly + anomaly_rate * t, e)
    P, Q = _perifocal(inclination, raan + node_rate * t, argument + argument_rate * t)
    b, E_rate = a * np.sqrt(1.0 - e * e), anomaly_rate / (1.0 - e * np.cos(E))
    x, y = a * (np.cos(E) - e), b * np.sin(E)
    r_I = x * P + y * Q
    along = (-a * np.sin(E) * E_rate) * P + (b * np.cos(E) * E_rate) * Q
    turning = argument_rate * (x * Q - y * P) + node_rate * cross(array([0.0, 0.0, 1.0]), r_I)
    return r_I, along + turning


def _perifocal(inclination, raan, argument):
    """Return the unit vectors to perigee and, in the plane, ninety degrees ahead."""
    ci, cn, ca = np.cos(array([inclination, raan, argument]))
    si, sn, sa = np.sin(array([inclination, raan, argument]))
    P = array([cn * ca - sn * ci * sa, sn * ca + cn * ci * sa, si * sa])
    Q = array([-cn * sa - sn * ci * ca, -sn * sa + cn * ci * ca, si * ca])
    return P, Q


@batched("(),()->()")
def eccentric_anomaly(mean_anomaly, e):
    """Solve E - e sin E = M by iterations of fourth order. Source: Danby and Burkardt, Celest. Mech. 31 (1983) 95."""
    M = mean_anomaly - (2.0 * math.pi) * np.rint(mean_anomaly / (2.0 * math.pi))
    E = M + copysign(0.85 * e, M)
    for _ in range(KEPLER_ITERATIONS):
        s, c = e * np.sin(E), e * np.cos(E)
        f, slope = E - s - M, 1.0 - c
        d = -f / slope
        d = -f / (slope + 0.5 * d * s)
        E = E - f / (slope + 0.5 * d * s + d * d * c / 6.0)
    return E


LINE_LENGTH = 69


@dataclass(frozen=True)
class TleOrbit:
    """Two-line elements and the instant of t = 0, that of the elements unless another is given."""

    line1: str
    line2: str
    epoch: Any = None  # UTC

    def __post_init__(self) -> None:
        _check_line("line1", self.line1, "1")
        _check_line("line2", self.line2, "2")
        if self.line1[2:7] != self.line2[2:7]:
            raise InputError(f"line2: satellite {self.line2[2:7]} is not that of line1, {self.line1[2:7]}")
        epoch = self.elements_epoch if self.epoch is None else Epoch.of(self.epoch)
        object.__setattr__(self, "epoch", epoch)

    @property
    def elements_epoch(self) -> Epoch:
        """The epoch of the elements."""
        satellite = self._satellite()
        return Epoch(day_fraction_to_date(satellite.jdsatepoch, satellite.jdsatepochF))

    def at(self, t: Any) -> OrbitState:
        """Return the state t seconds after the epoch, in inertial axes (GCRS)."""
        R, state = teme_to_inertial(self.epoch, t), self.teme(t)
        return OrbitState(turn(R, state.r_I), turn(R, state.v_I))

    def teme(self, t: Any) -> OrbitState:
        """Return the state as SGP4 gives it, in the true equator and mean equinox of date."""
        t, satellite = np.asarray(t, float), self._satellite()
        # counted from the elements' own epoch, which has more digits than a datetime
        seconds = np.ravel(t) + self.epoch.seconds_after(self.elements_epoch)
        jd, fraction = np.full(seconds.shape, satellite.jdsatepoch), satellite.jdsatepochF + seconds / DAY
        errors, r_km, v_km_s = satellite.sgp4_array(jd, fraction)
        _check_flight(errors, np.ravel(t))
        shape = (*t.shape, 3)
        return OrbitState(1e3 * r_km.reshape(shape), 1e3 * v_km_s.reshape(shape))

    def _satellite(self) -> Any:
        from sgp4.api import Satrec

        try:
            return Satrec.twoline2rv(self.line1, self.line2)
        except ValueError as error:
            raise InputError(f"line1, line2: {error}") from None


def _check_line(name: str, line: Any, number: str) -> None:
    from sgp4.io import compute_checksum

    if not isinstance(line, str) or len(line) != LINE_LENGTH or line[0] != number:
        raise InputError(f"{name}: expected {LINE_LENGTH} characters that begin with {number!r}, got {line!r}")
    if line[-1] != str(compute_checksum(line)):
        raise InputError(f"{name}: checksum is {line[-1]!r}, expected {compute_checksum(line)}; copy the line again")


def _check_flight(errors: np.ndarray, t: np.ndarray) -> None:
    from sgp4.api import SGP4_ERRORS

    bad = np.flatnonzero(errors)
    if len(bad):
        first = bad[0]
        raise InputError(f"t: SGP4 cannot reach {t[first]:g} s: {SGP4_ERRORS[int(errors[first])]}; stay near the epoch")


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
