"""Rigid bodies that turn, with wheels inside or without."""

from __future__ import annotations

import functools
import math
import operator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from gnc import check, quaternion
from gnc.batch import Kernel, batched, where
from gnc.errors import InputError
from gnc.integrators import attitude_method, forced
from gnc.integrators.table import AttitudeMethod
from gnc.models import rates
from gnc.models.flight import Flight, each, fly, report_lost
from gnc.models.states import AttitudeState

Array = Any


class Momentum(NamedTuple):
    """Attitude, and total angular momentum in body axes, wheels included."""

    q_IB: Array
    P_B: Array


@functools.cache
def whole_step(method: AttitudeMethod, divide: bool) -> Kernel | None:
    """Return the kernel q, w, rho, rate of rho, torque, J, h -> q, w, rho of a step; the rate is NaN if it needs more.

    One trial pays more for calls than for what is in them, and few steps need substeps. Operations and bits are those
    of the long way, `Turning.step` between rates and momenta.
    """
    if not isinstance(method.step, Kernel) or method.gentle is not None:
        return None

    @batched("(4),(3),(3),(3),(3),(3,3),()->(4),(3),(3)")
    def step(q_IB, w_B, rho_B, rho_rate_B, tau_B, J, h):
        P_B, (mean, end) = rates.to_momentum(w_B, J, rho_B), wheels_over(rho_B, rho_rate_B, h)
        q_1, P_1 = method.step(q_IB, P_B, tau_B, J, mean, h)
        taken = functools.reduce(operator.and_, (x == x for x in P_1))
        if divide and method.substep is not None:
            taken = taken & (method.count(P_B, tau_B, J, mean, h) == 1.0)
        return q_1, where(taken, rates.to_rate(P_1, J, end), math.nan), end

    return step


def step_of_one(
    whole: Kernel | None, q_IB: Array, w_B: Array, rho_B: Array, rho_rate_B: Array, tau_B: Array, J: Array, h: Array
) -> tuple[Array, ...] | None:
    """Return attitude, rate and wheels after a step; None for several trials, substeps and torques by function."""
    if whole is None or type(w_B) is not np.ndarray or w_B.size != 3 or callable(tau_B):
        return None
    moved = whole(q_IB, w_B, rho_B, rho_rate_B, tau_B, J, h)
    return None if moved[1].size != 3 or math.isnan(moved[1].item(0)) else moved


def wheels_over(rho_B: Array, rho_rate_B: Array, h: Array) -> tuple[Array, Array]:
    """Return the momentum of wheels that take it up at a constant rate, in the middle of a step and at its end."""
    return rates.kick(rho_B, rho_rate_B, h), rates.kick(rho_B, rho_rate_B, 2.0 * h)


class Turning(NamedTuple):
    """A body of inertia J, with wheels of momentum rho_B over the step, checked by whoever makes it."""

    J: Array
    rho_B: Array
    method: AttitudeMethod
    substeps: bool

    def step(self, y: Momentum, tau_B: Array, h: Array, t: Array = 0.0) -> Momentum:
        """Move over h under a constant torque, or a user's function of (state, time)."""
        if callable(tau_B):
            moved = self._forced(y, tau_B, h, t)
        else:
            moved = Momentum(*self.method.advance(1, *y, tau_B, self.J, self.rho_B, h, divide=self.substeps))
        if not self.substeps:
            self._report(y, moved, h)
        return moved

    def _forced(self, y: Momentum, torque: Any, h: Array, t: Array) -> Momentum:
        """Feel a user's torque at the nodes."""
        method = self.method
        if method.drift is None:
            raise InputError(f"method: {method.name!r} takes constant torques only; use 'vi2', 'vi4' or 'exact'")
        drift, n = method.drift, np.ones(())
        if self.substeps:
            n = method.count(y.P_B, np.zeros(3), self.J, self.rho_B, h)
        splitting = forced.Splitting(
            drift=lambda y, h: Momentum(*drift(*y, self.J, self.rho_B, h)),
            kick=lambda y, tau, h: Momentum(y.q_IB, rates.kick(y.P_B, tau, h)),
            stages=method.stages,
        )
        load = lambda y, t: torque(AttitudeState(y.q_IB, rates.to_rate(y.P_B, self.J, self.rho_B)), t)  # noqa: E731
        return forced.step(y, load, t, h, splitting, n)

    def _report(self, before: Momentum, after: Momentum, h: Array) -> None:
        if not np.isnan(after.P_B).any():
            return
        rate = np.linalg.norm(rates.to_rate(before.P_B, self.J, self.rho_B), axis=-1)
        report_lost(before.P_B, after.P_B, rate * np.abs(h), self.method.limit)

    def linearize(self, y: Momentum, tau_B: Array, h: Array) -> tuple[Array, Array]:
        """Return the exact F (6x6) and G (6x3) of a step, in the error state (a, dP)."""
        return self.method.jacobian(self.substeps)(*y, tau_B, self.J, self.rho_B, h)[2:]

    def fly(self, y0: Momentum, steps: int, h: float, every: int, tau_B: Array, t0: float) -> Flight:
        """Take many steps and keep every so many; fused where no trial can need substeps, which changes no bit."""
        y0 = Momentum(np.asarray(y0.q_IB, float), y0.P_B)
        if callable(tau_B) or not self._can_be_fused(y0, tau_B, h):
            return fly(y0, each(lambda y, t: self.step(y, tau_B, h, t), h, t0), steps, every, h, t0)

        def advance(y: Momentum, _: int, number: int) -> Momentum:
            moved = Momentum(*self.method.advance(number, *y, tau_B, self.J, self.rho_B, h, divide=False))
            self._report(y, moved, h)
            return moved

        return fly(y0, advance, steps, every, h, t0)

    def _can_be_fused(self, y: Momentum, tau_B: Array, h: float) -> bool:
        """Tell whether all steps of a free body are taken whole.

        It never turns faster than (|P| + |rho|)/J_min, nor without wheels than (2 E/J_min)^(1/2).
        """
        if not self.substeps or self.method.substep is None:
            return True
        if np.any(tau_B) or self.method.gentle is not None:
            return False
        least = np.linalg.eigvalsh(self.J)[..., 0]
        size = np.linalg.norm(y.P_B, axis=-1) + 2.0 * np.linalg.norm(self.rho_B, axis=-1)  # its own count adds |rho|
        if np.any(self.rho_B):
            return bool(np.all(size * abs(h) <= least * self.method.substep / np.sqrt(3.0)))
        energy = rates.kinetic_energy(rates.to_rate(y.P_B, self.J, self.rho_B), self.J)
        return bool(np.all(np.minimum(size / least, np.sqrt(2.0 * energy / least)) * abs(h) <= self.method.substep))


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
        object.__setattr__(self, "J", check.inertia("J", self.J))
        if not attitude_method(self.method).wheels:
            raise InputError(f"method: {self.method!r} is for bodies without wheels; use 'vi4' or 'taylor'")

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
