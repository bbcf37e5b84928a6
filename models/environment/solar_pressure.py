"""Solar radiation pressure on flat plates."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gnc import check
from gnc.batch import Kernel, batched, jacobian, maximum
from gnc.errors import InputError
from gnc.models.environment.constants import SOLAR_PRESSURE
from gnc.models.environment.plates import Plates, attitude_gradient, resultant
from gnc.models.environment.table import Environment
from gnc.quaternion import inverse_rotate

Array = NDArray[np.float64]


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

    def linearize(self, q_IB: Array, env: Environment) -> tuple[Array, Array]:
        """Return tau_B and its gradient T (..., 3, 3) to the attitude, one-sided where a plate leaves the light."""
        sun_B, pressure = self._light(q_IB, env)
        tau_B, _, slope, _ = _solar_slope(self.plates.count)(sun_B, pressure, *self._surface)
        return tau_B, attitude_gradient(slope, sun_B)

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


@cache
def _solar(plates: int) -> Kernel:
    """Return the kernel of radiation pressure on so many plates."""

    @batched(f"(3),(),({plates}),({plates},3),({plates},3),({plates}),({plates})->(3),(3)")
    def solar(sun_B, pressure, area, normal_B, centre_B, mirrored, scattered):
        forces = []
        for A, n, m, d in zip(area, normal_B, mirrored, scattered, strict=True):
            c = maximum(n @ sun_B, 0.0)
            forces.append((-pressure * A * c) * ((1.0 - m) * sun_B + (2.0 * (m * c + d / 3.0)) * n))
        return resultant(forces, centre_B)

    return solar


@cache
def _solar_slope(plates: int) -> Kernel:
    return jacobian(_solar(plates), wrt="sun_B", value=True)
