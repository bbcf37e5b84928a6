"""A rigid body with wheels inside."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from gnc import check, quaternion
from gnc.batch import Kernel
from gnc.integrators import attitude_method
from gnc.models import rates
from gnc.models.flight import Flight, each, fly
from gnc.models.turning import Momentum, Turning, step_of_one, wheels_over, whole_step

Array = Any
STEADY = np.zeros(3)  # wheels at constant speed; an array, which a kernel takes faster than a tuple


class GyrostatState(NamedTuple):
    """Attitude, body rate, and the momentum of the wheels relative to the body, all in body axes."""

    q_IB: Array  # (..., 4)
    w_B: Array  # (..., 3) [rad/s]
    rho_B: Array  # (..., 3) [kg m^2/s]


@dataclass(frozen=True)
class Gyrostat:
    """A body whose wheels are driven: a wheel torque moves momentum between J w and rho, and their sum stays.

    Over a step the wheels count with the mean of their momentum at its ends, which keeps the method's second order; a
    fourth-order method stays of fourth order while the wheels run at constant speed.
    """

    J: Array  # (..., 3, 3) of body and wheels together, body axes [kg m^2]
    method: str = "vi4"
    substeps: bool = True

    def __post_init__(self) -> None:
        """Validate once; the kernels do not."""
        object.__setattr__(self, "J", check.inertia("J", self.J))
        if not attitude_method(self.method).wheels:
            raise check.InputError(f"method: {self.method!r} is for bodies without wheels; use 'vi4' or 'taylor'")

    @functools.cached_property
    def _whole(self) -> Kernel | None:
        return whole_step(attitude_method(self.method), self.substeps)

    def _turning(self, rho_B: Array) -> Turning:
        return Turning(self.J, rho_B, attitude_method(self.method), self.substeps)

    def step(
        self, x: GyrostatState, tau_B: Array, h: Array, rho_rate_B: Array = STEADY, t: Array = 0.0
    ) -> GyrostatState:
        """Move over h under an external torque, with wheels that take up momentum at a constant rate [N m].

        The torque is constant in body axes, or a function of (AttitudeState, time) felt at the nodes.
        """
        moved = step_of_one(self._whole, x.q_IB, x.w_B, x.rho_B, rho_rate_B, tau_B, self.J, h)
        if moved is not None:
            return GyrostatState(*moved)
        P_B, (mean, end) = rates.to_momentum(x.w_B, self.J, x.rho_B), wheels_over(x.rho_B, rho_rate_B, h)
        q_IB, P_B = self._turning(mean).step(Momentum(x.q_IB, P_B), tau_B, h, t)
        return GyrostatState(q_IB, rates.to_rate(P_B, self.J, end), end)

    def linearize(self, x: GyrostatState, tau_B: Array, h: Array) -> tuple[Array, Array]:
        """Return the exact F (6x6) and G (6x3) of `step` at constant wheel speed, in the error state (a, dw)."""
        P_B = rates.to_momentum(x.w_B, self.J, x.rho_B)
        return rates.to_rate_error(*self._turning(x.rho_B).linearize(Momentum(x.q_IB, P_B), tau_B, h), self.J)

    def fly(
        self,
        x0: GyrostatState,
        steps: int,
        h: float,
        every: int = 1,
        tau_B: Array = (0.0,) * 3,
        rho_rate_B: Array = STEADY,
        t0: float = 0.0,
    ) -> Flight:
        """Take many steps and keep every so many; wheels at constant speed under a constant torque run fused."""
        if np.any(rho_rate_B):
            step = each(lambda x, t: self.step(x, tau_B, h, rho_rate_B, t), h, t0)
            return fly(GyrostatState(*map(np.asarray, x0)), step, steps, every, h, t0)
        start = Momentum(x0.q_IB, rates.to_momentum(x0.w_B, self.J, x0.rho_B))
        t, y = self._turning(x0.rho_B).fly(start, steps, h, every, tau_B, t0)
        rho_B = np.broadcast_to(x0.rho_B, y.P_B.shape)
        return Flight(t, GyrostatState(y.q_IB, rates.to_rate(y.P_B, self.J, rho_B), rho_B))

    def energy(self, x: GyrostatState) -> Array:
        """Return w . J w / 2 [J]: what constant wheels conserve; the wheels' own energy is not in it."""
        return rates.kinetic_energy(x.w_B, self.J)

    def momentum(self, x: GyrostatState) -> Array:
        """Return the total angular momentum in inertial axes [kg m^2/s]."""
        return quaternion.rotate(x.q_IB, rates.to_momentum(x.w_B, self.J, x.rho_B))
