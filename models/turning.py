"""What bodies with and without wheels have in common: attitude and total momentum, moved by an attitude method."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from gnc.errors import InputError
from gnc.integrators import forced
from gnc.integrators.table import AttitudeMethod
from gnc.models import rates
from gnc.models.flight import Flight, each, fly, report_lost
from gnc.models.states import AttitudeState

Array = Any


class Momentum(NamedTuple):
    """Attitude, and total angular momentum in body axes, wheels included."""

    q_IB: Array
    P_B: Array


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
