"""Density of the upper atmosphere: exponential between tabulated altitudes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gnc import check
from gnc.batch import batched
from gnc.errors import InputError
from gnc.models.environment.constants import EARTH_FLATTENING, EARTH_RADIUS

Array = NDArray[np.float64]

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
