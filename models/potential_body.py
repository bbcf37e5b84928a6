"""A rigid body that turns and moves in a potential."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from gnc import check, quaternion
from gnc.errors import InputError
from gnc.integrators import potential
from gnc.integrators.fields import Field
from gnc.models import rates
from gnc.models.flight import Flight, fly

Array = Any
NO_WHEELS = np.zeros(3)


class PotentialState(NamedTuple):
    """Attitude, body rate in body axes, centre of mass and its velocity in inertial axes."""

    q_IB: Array  # (..., 4)
    w_B: Array  # (..., 3) [rad/s]
    r_I: Array  # (..., 3) [m]
    v_I: Array  # (..., 3) [m/s]


class _Momenta(NamedTuple):
    q_IB: Array
    P_B: Array
    r_I: Array
    p_I: Array


@dataclass(frozen=True)
class PotentialBody:
    """A body in a field of `gnc.integrators.fields`, moved by the Lie group variational integrator.

    `parameters` are those of the field, in its order; any may differ between trials. A field of one's own needs only
    its energy: `fields.from_energy(kernel)`. The steps are fixed: |w| h must stay below 1 rad (for order 4: below 1.5),
    and a trial beyond that becomes NaN.
    """

    mass: Array  # (...) [kg]
    J: Array  # (..., 3, 3) about the centre of mass, body axes [kg m^2]
    field: Field
    parameters: tuple[Array, ...]
    order: int = 4

    def __post_init__(self) -> None:
        object.__setattr__(self, "mass", check.positive("mass", self.mass))
        object.__setattr__(self, "J", check.inertia("J", self.J))
        check.one_of("order", self.order, (2, 4))
        names, cores = self.field.wrench.layout.names[2:], self.field.wrench.layout.ins[2:]
        if len(self.parameters) != len(names):
            raise InputError(f"parameters: the field takes {len(names)} ({', '.join(names)})")
        values = zip(names, self.parameters, cores, strict=True)
        object.__setattr__(self, "parameters", tuple(check.finite(*parameter) for parameter in values))

    def _momenta(self, x: PotentialState) -> _Momenta:
        p_I = np.asarray(x.v_I) * self.mass[..., None]
        return _Momenta(np.asarray(x.q_IB, float), rates.to_momentum(x.w_B, self.J, NO_WHEELS), np.asarray(x.r_I), p_I)

    def _state(self, y: _Momenta) -> PotentialState:
        return PotentialState(y.q_IB, rates.to_rate(y.P_B, self.J, NO_WHEELS), y.r_I, y.p_I / self.mass[..., None])

    def _given(self, h: Array) -> tuple[Array, ...]:
        return self.J, NO_WHEELS, self.mass, *self.parameters, h

    def step(self, x: PotentialState, h: Array) -> PotentialState:
        """Move over h."""
        method = potential.integrator(self.field)
        step = method.step if self.order == 2 else method.step4
        return self._state(_Momenta(*step(*self._momenta(x), *self._given(h))))

    def linearize(self, x: PotentialState, h: Array) -> Array:
        """Return the exact F (12x12) of `step`, in the error state (a, dP, dr, dp), q = q^ exp(a/2)."""
        method = potential.integrator(self.field)
        jacobian = method.step_jacobian if self.order == 2 else method.step4_jacobian
        return jacobian(*self._momenta(x), *self._given(h))[4]

    def fly(self, x0: PotentialState, steps: int, h: float, every: int = 1, t0: float = 0.0) -> Flight:
        """Take many steps in fused loops and keep every so many; the momenta are carried from step to step."""
        method = potential.integrator(self.field)
        kernel = method.step if self.order == 2 else method.step4
        advance = lambda y, _, n: _Momenta(*kernel.repeat(n, *y, *self._given(h)))  # noqa: E731
        flight = fly(self._momenta(x0), advance, steps, every, h, t0)
        return Flight(flight.t, self._state(flight.x))

    def energy(self, x: PotentialState) -> Array:
        """Return kinetic and potential energy [J]."""
        moving = 0.5 * self.mass * np.sum(np.square(x.v_I), axis=-1)
        return rates.kinetic_energy(x.w_B, self.J) + moving + self.field.energy(x.q_IB, x.r_I, *self.parameters)

    def momentum(self, x: PotentialState) -> Array:
        """Return the angular momentum about the inertial origin, orbit and spin together [kg m^2/s]."""
        y = self._momenta(x)
        return np.cross(y.r_I, y.p_I) + quaternion.rotate(y.q_IB, y.P_B)
