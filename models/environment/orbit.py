"""Orbits: Kepler's ellipse with the secular drift of J2, and two-line elements.

Both tell `at(t) -> OrbitState`, t seconds after their epoch, in inertial axes (GCRS).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from gnc import check
from gnc.batch import batched, copysign
from gnc.errors import InputError
from gnc.linalg import array, cross
from gnc.models.environment.constants import EARTH_J2, EARTH_MU, EARTH_RADIUS, SUN_SYNCHRONOUS_RATE
from gnc.models.environment.epoch import Epoch

Array = NDArray[np.float64]

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
