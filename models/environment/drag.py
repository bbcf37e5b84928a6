"""Aerodynamic drag on flat plates."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gnc import check
from gnc.batch import Kernel, batched, jacobian, maximum
from gnc.linalg import array, cross
from gnc.models.environment.atmosphere import Atmosphere
from gnc.models.environment.constants import EARTH_RATE
from gnc.models.environment.plates import Plates, attitude_gradient, resultant
from gnc.models.environment.table import Environment
from gnc.quaternion import inverse_rotate

Array = NDArray[np.float64]


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

    def linearize(self, q_IB: Array, env: Environment) -> tuple[Array, Array]:
        """Return tau_B and its gradient T (..., 3, 3) to the attitude, one-sided where a plate leaves the wind."""
        v_B, strength = self._flow(q_IB, env)
        tau_B, _, slope, _ = _drag_slope(self.plates.count)(v_B, strength, *self.plates.parts)
        return tau_B, attitude_gradient(slope, v_B)

    def _flow(self, q_IB: Array, env: Environment) -> tuple[Array, Array]:
        """Return the velocity against the air in body axes, and rho C / 2."""
        rho = self.density_factor * self.atmosphere.at(env.r_I)
        return inverse_rotate(q_IB, velocity_in_air(env.r_I, env.v_I)), 0.5 * self.coefficient * rho


@batched("(3),(3)->(3)")
def velocity_in_air(r_I, v_I):
    """Return the velocity against air that turns with the Earth, about the z axis."""
    return v_I - cross(array([0.0, 0.0, EARTH_RATE]), r_I)


@cache
def drag_on_plates(plates: int) -> Kernel:
    """Return the kernel of drag on so many plates."""

    @batched(f"(3),(),({plates}),({plates},3),({plates},3)->(3),(3)")
    def drag(v_B, strength, area, normal_B, centre_B):
        forces = [(-strength * A * maximum(n @ v_B, 0.0)) * v_B for A, n in zip(area, normal_B, strict=True)]
        return resultant(forces, centre_B)

    return drag


@cache
def _drag_slope(plates: int) -> Kernel:
    return jacobian(drag_on_plates(plates), wrt="v_B", value=True)
