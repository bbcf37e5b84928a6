"""A rigid body that turns."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any

import numpy as np

from gnc import check, quaternion
from gnc.batch import Kernel
from gnc.integrators import attitude_method
from gnc.models import rates
from gnc.models.flight import Flight
from gnc.models.states import AttitudeState
from gnc.models.turning import Momentum, Turning, step_of_one, whole_step

Array = Any
NO_WHEELS = np.zeros(3)


@dataclass(frozen=True)
class RigidBody:
    """A rigid body, moved by an attitude method of `gnc.integrators.METHODS`.

    Trials that turn too far in a step take as many substeps as they need. `substeps=False` turns that off: a step
    beyond the method's limit then raises for a single trial, and in a batch marks its trial with NaN and warns.
    """

    J: Array  # (..., 3, 3) about the centre of mass, body axes [kg m^2]
    method: str = "vi4"
    substeps: bool = True
    allow_unphysical: bool = False  # for published data that no rigid body has

    def __post_init__(self) -> None:
        """Validate once; the kernels do not."""
        object.__setattr__(self, "J", check.inertia("J", self.J, allow_unphysical=self.allow_unphysical))
        attitude_method(self.method)

    @functools.cached_property
    def _whole(self) -> Kernel | None:
        return whole_step(attitude_method(self.method), self.substeps)

    def _turning(self) -> Turning:
        return Turning(self.J, NO_WHEELS, attitude_method(self.method), self.substeps)

    def _momentum(self, x: AttitudeState) -> Momentum:
        return Momentum(x.q_IB, rates.to_momentum(x.w_B, self.J, NO_WHEELS))

    def _state(self, y: Momentum) -> AttitudeState:
        return AttitudeState(y.q_IB, rates.to_rate(y.P_B, self.J, NO_WHEELS))

    def step(self, x: AttitudeState, tau_B: Array, h: Array, t: Array = 0.0) -> AttitudeState:
        """Move over h under a torque in body axes: constant, or a function of (state, time) felt at the nodes."""
        moved = step_of_one(self._whole, x.q_IB, x.w_B, NO_WHEELS, NO_WHEELS, tau_B, self.J, h)
        if moved is not None:
            return AttitudeState(moved[0], moved[1])
        return self._state(self._turning().step(self._momentum(x), tau_B, h, t))

    def linearize(self, x: AttitudeState, tau_B: Array, h: Array) -> tuple[Array, Array]:
        """Return the exact F (6x6) and G (6x3) of `step`, in the error state (a, dw), q = q^ exp(a/2)."""
        return rates.to_rate_error(*self._turning().linearize(self._momentum(x), tau_B, h), self.J)

    def fly(
        self, x0: AttitudeState, steps: int, h: float, every: int = 1, tau_B: Array = (0.0,) * 3, t0: float = 0.0
    ) -> Flight:
        """Take many steps and keep every so many; where no trial can need substeps they run in one fused loop.

        The momentum is carried from step to step, so a free flight keeps it to round-off.
        """
        flight = self._turning().fly(self._momentum(x0), steps, h, every, tau_B, t0)
        return Flight(flight.t, self._state(flight.x))

    def energy(self, x: AttitudeState) -> Array:
        """Return the kinetic energy [J]."""
        return rates.kinetic_energy(x.w_B, self.J)

    def momentum(self, x: AttitudeState) -> Array:
        """Return the angular momentum in inertial axes [kg m^2/s]."""
        return quaternion.rotate(x.q_IB, rates.to_momentum(x.w_B, self.J, NO_WHEELS))
