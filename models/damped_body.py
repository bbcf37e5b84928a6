"""A rigid body, with wheels if wanted, that loses energy to a ball in a viscous fluid: Kane's damper."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from gnc import check, quaternion
from gnc.integrators import damper
from gnc.models import rates
from gnc.models.flight import Flight, fly

Array = Any


class DampedState(NamedTuple):
    """Attitude, body rate, and the ball's rate, both against inertial space and in body axes."""

    q_IB: Array  # (..., 4)
    w_B: Array  # (..., 3) [rad/s]
    w_D: Array  # (..., 3) [rad/s]


class _Momenta(NamedTuple):
    q_IB: Array
    P_B: Array
    P_D: Array


_KERNELS = {
    1: (damper.step1, damper.step1_jacobian),
    2: (damper.step, damper.step_jacobian),
    4: (damper.step4, damper.step4_jacobian),
}


@dataclass(frozen=True)
class DampedBody:
    """A body with a Kane damper. `order` 1 is the paper's method, 2 the symmetric one, 4 its composition.

    The steps are fixed: |w| h and |w_D| h must stay below 1 rad, and a trial beyond that becomes NaN. Order 4 is for
    mild damping only (see `gnc.integrators.damper`).
    """

    J: Array  # (..., 3, 3) of the body without the ball, body axes [kg m^2]
    J_D: Array  # (...) of the ball [kg m^2]
    C: Array  # (...) damping constant [N m s]
    rho_B: Array = (0.0, 0.0, 0.0)  # momentum of wheels at constant speed [kg m^2/s]
    order: int = 2

    def __post_init__(self) -> None:
        object.__setattr__(self, "J", check.inertia("J", self.J))
        object.__setattr__(self, "J_D", check.positive("J_D", self.J_D))
        object.__setattr__(self, "C", check.non_negative("C", self.C))
        object.__setattr__(self, "rho_B", check.vector("rho_B", self.rho_B, 3))
        check.one_of("order", self.order, tuple(_KERNELS))

    def _momenta(self, x: DampedState) -> _Momenta:
        ball = np.asarray(x.w_D) * self.J_D[..., None]
        return _Momenta(np.asarray(x.q_IB, float), rates.to_momentum(x.w_B, self.J, self.rho_B), ball)

    def _state(self, y: _Momenta) -> DampedState:
        return DampedState(y.q_IB, rates.to_rate(y.P_B, self.J, self.rho_B), y.P_D / self.J_D[..., None])

    def _given(self, tau_B: Array, h: Array) -> tuple[Array, ...]:
        return tau_B, self.J, self.J_D, self.C, self.rho_B, h

    def step(self, x: DampedState, tau_B: Array, h: Array) -> DampedState:
        """Move over h under a torque that is constant in body axes."""
        return self._state(_Momenta(*_KERNELS[self.order][0](*self._momenta(x), *self._given(tau_B, h))))

    def linearize(self, x: DampedState, tau_B: Array, h: Array) -> tuple[Array, Array]:
        """Return the exact F (9x9) and G (9x3) of `step`, in the error state (a, dP_B, dP_D), q = q^ exp(a/2)."""
        return _KERNELS[self.order][1](*self._momenta(x), *self._given(tau_B, h))[3:]

    def fly(
        self, x0: DampedState, steps: int, h: float, every: int = 1, tau_B: Array = (0.0,) * 3, t0: float = 0.0
    ) -> Flight:
        """Take many steps in fused loops and keep every so many; the momenta are carried from step to step."""
        kernel = _KERNELS[self.order][0]
        advance = lambda y, _, n: _Momenta(*kernel.repeat(n, *y, *self._given(tau_B, h)))  # noqa: E731
        flight = fly(self._momenta(x0), advance, steps, every, h, t0)
        return Flight(flight.t, self._state(flight.x))

    def energy(self, x: DampedState) -> Array:
        """Return the kinetic energy of body and ball [J]."""
        ball = 0.5 * self.J_D * np.sum(np.square(x.w_D), axis=-1)
        return rates.kinetic_energy(x.w_B, self.J) + ball

    def momentum(self, x: DampedState) -> Array:
        """Return the angular momentum of body, wheels and ball, in inertial axes [kg m^2/s]."""
        y = self._momenta(x)
        return quaternion.rotate(y.q_IB, y.P_B + y.P_D)
