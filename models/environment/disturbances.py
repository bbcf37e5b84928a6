"""Disturbances: gravity gradient, residual dipole, drag and solar pressure on flat plates, which cast no shade.

Each source is a frozen dataclass with

    torque(q_IB, env) -> tau_B              (..., 3) [N m], about the centre of mass
    force(q_IB, env) -> force_B             (..., 3) [N]; zero where the source turns the body only
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from gnc import check
from gnc.batch import batched, maximum, sized
from gnc.errors import InputError
from gnc.linalg import array, cross, zeros
from gnc.models.environment.constants import EARTH_FLATTENING, EARTH_MU, EARTH_RADIUS, EARTH_RATE, SOLAR_PRESSURE
from gnc.quaternion import inverse_rotate
from gnc.typing import Array

if TYPE_CHECKING:
    from gnc.models.environment.table import Environment


class Disturbance(Protocol):
    """What pushes or turns a spacecraft because of where it is."""

    def torque(self, q_IB: Array, env: Environment) -> Array:
        """Return tau_B (..., 3) [N m]."""

    def force(self, q_IB: Array, env: Environment) -> Array:
        """Return force_B (..., 3) [N]."""


class _PureTorque:
    """A source without force."""

    def force(self, q_IB: Array, env: Environment) -> Array:
        """Return no force."""
        return np.zeros(np.broadcast_shapes(np.shape(q_IB)[:-1], np.shape(env.r_I)[:-1]) + (3,))


@dataclass(frozen=True)
class GravityGradient(_PureTorque):
    """The torque of a point-like Earth, 3 mu/r^3 n x J n with n = r/|r| in body axes."""

    J: Any  # (..., 3, 3) about the centre of mass, body axes [kg m^2]

    def __post_init__(self) -> None:
        object.__setattr__(self, "J", check.inertia("J", self.J))

    def torque(self, q_IB: Array, env: Environment) -> Array:
        """Return tau_B (..., 3) [N m]."""
        return gravity_gradient_torque(q_IB, env.r_I, self.J)


@dataclass(frozen=True)
class ResidualDipole(_PureTorque):
    """The torque m x B of a magnetic moment that stays in the spacecraft."""

    m_B: Any  # (..., 3) [A m^2]

    def __post_init__(self) -> None:
        object.__setattr__(self, "m_B", check.vector("m_B", self.m_B, 3))

    def torque(self, q_IB: Array, env: Environment) -> Array:
        """Return tau_B (..., 3) [N m]."""
        return dipole_torque(q_IB, env.B_I, self.m_B)


# Kernels


@batched("(4),(3),(3,3)->(3)")
def gravity_gradient_torque(q_IB, r_I, J):
    """Return 3 mu/r^5 r x J r. Source: Hughes, Spacecraft Attitude Dynamics, 1986, section 8.1."""
    r_B, rr = inverse_rotate(q_IB, r_I), r_I @ r_I
    return 3.0 * EARTH_MU / (rr * rr * np.sqrt(rr)) * cross(r_B, J @ r_B)


@batched("(4),(3),(3)->(3)")
def dipole_torque(q_IB, B_I, m_B):
    """Return m x B."""
    return cross(m_B, inverse_rotate(q_IB, B_I))


@dataclass(frozen=True)
class Plates:
    """Plates that see the outside on the side of their normals; both sides of a panel are two plates."""

    area: Any  # (..., plates) [m^2]
    normal_B: Any  # (..., plates, 3) outward; made unit
    centre_B: Any  # (..., plates, 3) from the centre of mass [m]

    def __post_init__(self) -> None:
        area = check.non_negative("area", self.area)
        if area.ndim < 1 or area.shape[-1] == 0:
            raise InputError(f"area: expected (..., plates), one for each of one or more plates, got {area.shape}")
        count = area.shape[-1]
        normal_B = check.finite("normal_B", self.normal_B, (count, 3))
        length = np.sqrt(normal_B[..., 0] ** 2 + normal_B[..., 1] ** 2 + normal_B[..., 2] ** 2)
        if np.any(length == 0.0):
            raise InputError("normal_B: a plate without direction; give vectors that are not zero")
        object.__setattr__(self, "area", area)
        object.__setattr__(self, "normal_B", normal_B / length[..., None])
        object.__setattr__(self, "centre_B", check.finite("centre_B", self.centre_B, (count, 3)))

    @property
    def count(self) -> int:
        """The number of plates."""
        return self.area.shape[-1]

    @property
    def parts(self) -> tuple[Array, Array, Array]:
        """Areas, normals and centres, as kernels take them."""
        return self.area, self.normal_B, self.centre_B


def box(size: Any, centre_B: Any = (0.0, 0.0, 0.0)) -> Plates:
    """Return the six faces of a box (lengths along the body axes), its centre given from the centre of mass [m]."""
    lengths = check.positive("size", check.finite("size", size))
    if lengths.shape != (3,):
        raise InputError(f"size: expected the three lengths of a box, got {lengths.shape}")
    normals = np.concatenate([np.eye(3), -np.eye(3)])
    area = np.tile(lengths.prod() / lengths, 2)
    return Plates(area, normals, check.vector("centre_B", centre_B, 3) + 0.5 * normals * lengths)


def resultant(forces, centre_B):
    """Return the torque and the force of all plates; for kernels."""
    tau_B, force_B = zeros(3), zeros(3)
    for force, centre in zip(forces, centre_B, strict=True):
        tau_B, force_B = tau_B + cross(centre, force), force_B + force
    return tau_B, force_B


# U.S. Standard Atmosphere 1976 and CIRA-72 with an exospheric temperature of 1000 K: altitude [km], density [kg/m^3].
# Source: Vallado, Fundamentals of Astrodynamics and Applications, 4th ed., table 8-4.
_TABLE = (
    (100, 5.297e-7),
    (110, 9.661e-8),
    (120, 2.438e-8),
    (130, 8.484e-9),
    (140, 3.845e-9),
    (150, 2.070e-9),
    (180, 5.464e-10),
    (200, 2.789e-10),
    (250, 7.248e-11),
    (300, 2.418e-11),
    (350, 9.518e-12),
    (400, 3.725e-12),
    (450, 1.585e-12),
    (500, 6.967e-13),
    (600, 1.454e-13),
    (700, 3.614e-14),
    (800, 1.170e-14),
    (900, 5.245e-15),
    (1000, 3.019e-15),
)


@dataclass(frozen=True)
class Atmosphere:
    """Densities at altitudes; exponential between them, and beyond the last ones with their scale heights.

    By default a mean atmosphere. The Sun's activity moves the true one by a factor of ten at 500 km: disperse
    `Drag.density_factor`.
    """

    altitude: Any = tuple(1e3 * km for km, _ in _TABLE)  # (levels) [m]
    density: Any = tuple(rho for _, rho in _TABLE)  # (levels) [kg/m^3]

    def __post_init__(self) -> None:
        altitude, density = check.finite("altitude", self.altitude), check.positive("density", self.density)
        if altitude.ndim != 1 or altitude.shape != density.shape or len(altitude) < 2:
            raise InputError(f"density: expected one for each of two or more altitudes, got {density.shape}")
        if np.any(np.diff(altitude) <= 0.0):
            raise InputError("altitude: levels do not rise; give them from the lowest up")
        object.__setattr__(self, "altitude", altitude)
        object.__setattr__(self, "density", density)

    @classmethod
    def exponential(cls, density: float, altitude: float, scale_height: float) -> Atmosphere:
        """Return rho exp(-(h - h0)/H), one scale height all the way."""
        check.positive("scale_height", scale_height)
        return cls((altitude, altitude + scale_height), (density, density * np.exp(-1.0)))

    def at(self, r_I: Array) -> Array:
        """Return the density at a position [kg/m^3]."""
        altitude = altitude_above_ellipsoid(r_I)
        level = np.clip(np.searchsorted(self.altitude, altitude) - 1, 0, len(self.altitude) - 2)
        logarithm = np.log(self.density)
        slope = np.diff(logarithm) / np.diff(self.altitude)
        return np.exp(logarithm[level] + slope[level] * (altitude - self.altitude[level]))


@batched("(3)->()")
def altitude_above_ellipsoid(r_I):
    """Return |r| - R (1 - f sin^2(latitude)), geodetic to 100 m in low orbit; the z axis is taken as the pole."""
    rr = r_I @ r_I
    return np.sqrt(rr) - EARTH_RADIUS * (1.0 - EARTH_FLATTENING * (r_I[2] * r_I[2] / rr))


@dataclass(frozen=True)
class Drag:
    """Free-molecular drag on plates, in air that turns with the Earth; the body's own rate adds no wind.

    A plate that faces the flow takes -1/2 rho C A (n . v) v, v the velocity against the air.
    """

    plates: Plates
    coefficient: Any = 2.2  # (...) C
    density_factor: Any = 1.0  # (...) on the density of the atmosphere
    atmosphere: Atmosphere = field(default_factory=Atmosphere)

    def __post_init__(self) -> None:
        for name in ("coefficient", "density_factor"):
            object.__setattr__(self, name, check.non_negative(name, getattr(self, name)))

    def torque(self, q_IB: Array, env: Environment) -> Array:
        """Return tau_B (..., 3) [N m]."""
        return drag_on_plates(self.plates.count)(*self._flow(q_IB, env), *self.plates.parts)[0]

    def force(self, q_IB: Array, env: Environment) -> Array:
        """Return force_B (..., 3) [N]."""
        return drag_on_plates(self.plates.count)(*self._flow(q_IB, env), *self.plates.parts)[1]

    def _flow(self, q_IB: Array, env: Environment) -> tuple[Array, Array]:
        """Return the velocity against the air in body axes, and rho C / 2."""
        rho = self.density_factor * self.atmosphere.at(env.r_I)
        return inverse_rotate(q_IB, velocity_in_air(env.r_I, env.v_I)), 0.5 * self.coefficient * rho


@batched("(3),(3)->(3)")
def velocity_in_air(r_I, v_I):
    """Return the velocity against air that turns with the Earth, about the z axis."""
    return v_I - cross(array([0.0, 0.0, EARTH_RATE]), r_I)


@sized(lambda plates: f"(3),(),({plates}),({plates},3),({plates},3)->(3),(3)")
def drag_on_plates(v_B, strength, area, normal_B, centre_B):
    """Return the kernel of drag on so many plates."""
    forces = [(-strength * A * maximum(n @ v_B, 0.0)) * v_B for A, n in zip(area, normal_B, strict=True)]
    return resultant(forces, centre_B)


@dataclass(frozen=True)
class SolarPressure:
    """Radiation pressure on plates that absorb, mirror and scatter light; none in the shadow.

    A plate that faces the Sun takes -P A c ((1 - mirrored) s + 2 (mirrored c + scattered/3) n), with c = n . s.
    Source: Wertz, Spacecraft Attitude Determination and Control, 1978, eq. (17-52).
    """

    plates: Plates
    mirrored: Any = 0.0  # (..., plates) fraction of the light, or one number for all plates
    scattered: Any = 0.0  # (..., plates) fraction of the light, or one number for all plates
    pressure: Any = SOLAR_PRESSURE  # (...) on a black plate in full sun; it varies by 3.4 % over the year [N/m^2]

    def __post_init__(self) -> None:
        object.__setattr__(self, "pressure", check.non_negative("pressure", self.pressure))
        for name in ("mirrored", "scattered"):
            object.__setattr__(self, name, _per_plate(name, getattr(self, name), self.plates.count))
        if np.any(self.mirrored + self.scattered > 1.0):
            raise InputError("mirrored, scattered: together more than all the light; give fractions with a sum up to 1")

    def torque(self, q_IB: Array, env: Environment) -> Array:
        """Return tau_B (..., 3) [N m]."""
        return _solar(self.plates.count)(*self._light(q_IB, env), *self._surface)[0]

    def force(self, q_IB: Array, env: Environment) -> Array:
        """Return force_B (..., 3) [N]."""
        return _solar(self.plates.count)(*self._light(q_IB, env), *self._surface)[1]

    def _light(self, q_IB: Array, env: Environment) -> tuple[Array, Array]:
        """Return the Sun's direction in body axes, and the pressure that the shadow leaves."""
        return inverse_rotate(q_IB, env.sun_I), self.pressure * (1.0 - env.shadow)

    @property
    def _surface(self) -> tuple[Array, ...]:
        return *self.plates.parts, self.mirrored, self.scattered


def _per_plate(name: str, fraction: Any, plates: int) -> Array:
    fraction = check.non_negative(name, fraction)
    if fraction.ndim == 0:
        return np.full(plates, fraction)
    return check.shape(name, fraction, (plates,))


@sized(lambda plates: f"(3),(),({plates}),({plates},3),({plates},3),({plates}),({plates})->(3),(3)")
def _solar(sun_B, pressure, area, normal_B, centre_B, mirrored, scattered):
    """Return the kernel of radiation pressure on so many plates."""
    forces = []
    for A, n, m, d in zip(area, normal_B, mirrored, scattered, strict=True):
        c = maximum(n @ sun_B, 0.0)
        forces.append((-pressure * A * c) * ((1.0 - m) * sun_B + (2.0 * (m * c + d / 3.0)) * n))
    return resultant(forces, centre_B)
