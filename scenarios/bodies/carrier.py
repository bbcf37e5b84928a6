"""The truth of a carrier that lets its cargo go, pushed off by a spring, and the filter that goes on without it."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from gnc import dual_quaternion, spatial
from gnc.batch import batched, maximum, minimum
from gnc.estimators.kalman import Innovation
from gnc.estimators.pose_belief import PoseBelief
from gnc.integrators import dqvi
from gnc.linalg import cross
from gnc.models.pose_body import PoseBody, PoseState
from gnc.models import books
from gnc.models.books import Books, size
from gnc.scenarios.bodies.navigation import PoseNavigation

Array = Any
FREE = np.zeros(6)
EARLY = 1e-6  # [s] by which a time that rounding has moved still counts


class CarrierState(NamedTuple):
    """Carrier and cargo, each about the carrier's origin as it was before they parted."""

    dq_IB: Array  # (trials, 8)
    chi_B: Array  # (trials, 6)
    cargo: PoseState  # the carrier's own state while it is on board
    closest_m: Array  # (trials,) least clearance since the release; NaN before
    parting: Array  # (trials, 2) relative error of momentum and energy at the release
    spent: Array  # (trials, 2) impulse of torque and force [N m s, N s]
    books: Books


class Spring(NamedTuple):
    """What pushes them apart, at once."""

    point_B: Array  # (..., 3) where it acts [m]
    axis_B: Array  # (..., 3) unit, towards the cargo
    energy_J: Array  # (...)


class Shape(NamedTuple):
    """The cargo's box above the interface, the plane z = face_m of the carrier."""

    centre_B: Array  # (3,)
    size_m: Array  # (3,)
    face_m: Array  # ()


@dataclass(frozen=True, eq=False)
class Carrier:
    """Half a kick by the actuators, a free drift by DQVI, half a kick; the cargo leaves at `release_s`."""

    whole: PoseBody
    alone: PoseBody  # without its cargo
    cargo: PoseBody
    spring: Spring
    shape: Shape
    gain: Array  # (trials, 6) of the actuators, true over commanded
    release_s: float

    def start(self, dq_IB: Array, chi_B: Array) -> CarrierState:
        """Return the state at time zero, the cargo on board."""
        n = len(dq_IB)
        own = PoseState(dq_IB, chi_B)
        nothing = np.full((n, 2), np.nan)
        empty = np.full(n, np.nan), nothing, np.zeros((n, 2))
        return CarrierState(dq_IB, chi_B, own, *empty, books.opened(self.whole.momentum(own)))

    def step(self, x: CarrierState, command: Array, t: float, h: float) -> CarrierState:
        """Move over h under the wrench that the actuators make of the command."""
        wrench_B, on_board = command * self.gain, t < self.release_s - EARLY
        body = self.whole if on_board else self.alone
        moved = body.step(PoseState(x.dq_IB, dqvi.kick(x.chi_B, wrench_B, body.M, h)), FREE, h)
        own = PoseState(moved.dq_IB, dqvi.kick(moved.chi_B, wrench_B, body.M, h))
        cargo = own if on_board else self.cargo.step(x.cargo, FREE, h)
        done = books.entered(x.books, x.dq_IB, own.dq_IB, wrench_B, h)
        closest = x.closest_m if on_board else np.minimum(x.closest_m, self.clearance(own, cargo))
        return CarrierState(*own, cargo, closest, x.parting, _spent(x.spent, wrench_B, h), done)

    def clearance(self, carrier: Any, cargo: PoseState) -> Array:
        """Return the height of the cargo's lowest corner over the interface, carrier axes [m]."""
        return _clearance(carrier.dq_IB, cargo.dq_IB, *self.shape)

    def due(self, x: CarrierState, t: float) -> Array:
        """Tell where the cargo goes at this time: in all trials that are not lost."""
        return np.isfinite(x.dq_IB[:, 0]) & (t >= self.release_s - EARLY)

    def release(self, x: CarrierState, t: float) -> CarrierState:
        """Part the bodies; the spring's energy is all there before and after."""
        chi_B, chi_cargo, parting = _pushed(x.chi_B, self.alone.M, self.cargo.M, *self.spring)
        cargo = PoseState(x.dq_IB, chi_cargo)
        return x._replace(chi_B=chi_B, cargo=cargo, parting=parting, closest_m=self.clearance(x, cargo))

    def momentum(self, x: CarrierState, t: float) -> Array:
        """Return the momentum of carrier and cargo about the inertial origin (trials, 6)."""
        own = PoseState(x.dq_IB, x.chi_B)
        if t < self.release_s - EARLY:
            return self.whole.momentum(own)
        return self.alone.momentum(own) + self.cargo.momentum(x.cargo)

    def report(self, x: CarrierState) -> None:
        """Tell nothing: flight software knows when it has let go."""


@dataclass(frozen=True, eq=False)
class ReleaseNavigation:
    """One filter with the cargo and one without; between them the nominal push, as uncertain as the spring is."""

    before: PoseNavigation
    after: PoseNavigation
    release_s: float  # an instant of the controller, so that no prediction spans it
    jump_B: Array  # (6,) of the twist, nominal
    C_jump: Array  # (6, 6) of the twist

    def predict(self, belief: PoseBelief, command: Array, report: Any, t: float, h: float) -> PoseBelief:
        """Move over h, and through the release if that is its end."""
        if t >= self.release_s - EARLY:
            return self.after.predict(belief, command, report, t, h)
        belief = self.before.predict(belief, command, report, t, h)
        if t + h < self.release_s - EARLY:
            return belief
        C = belief.C.copy()
        C[..., 6:12, 6:12] += self.C_jump
        return belief._replace(chi_B=belief.chi_B + self.jump_B, C=C)

    def update(self, belief: PoseBelief, name: str, measurement: Any, t: float) -> tuple[PoseBelief, Innovation]:
        """Correct with a measurement."""
        return self.before.update(belief, name, measurement, t)


@batched("(3),(3)->(6)")
def push(point_B, axis_B):
    """Return the wrench of a unit force along an axis at a point."""
    return np.concatenate([cross(point_B, axis_B), axis_B])


@batched("(6,6),(6,6),(3),(3),()->()")
def push_impulse(M_1, M_2, point_B, axis_B, energy_J):
    """Return the impulse that a spring's energy makes between two bodies: p^2/2 u.(M_1^-1 + M_2^-1) u = E."""
    u = push(point_B, axis_B)
    return np.sqrt(2.0 * energy_J / (u @ ((spatial.inverse(M_1) + spatial.inverse(M_2)) @ u)))


@batched("(6),(6,6),(6,6),(3),(3),()->(6),(6),(2)")
def _pushed(chi_B, M_1, M_2, point_B, axis_B, energy_J):
    """Return the twists of both bodies after the push, and the relative errors of momentum and energy."""
    wrench = push_impulse(M_1, M_2, point_B, axis_B, energy_J) * push(point_B, axis_B)
    chi_1, chi_2 = chi_B - spatial.inverse(M_1) @ wrench, chi_B + spatial.inverse(M_2) @ wrench
    before, after = (M_1 + M_2) @ chi_B, M_1 @ chi_1 + M_2 @ chi_2
    energy = spatial.kinetic_energy(M_1, chi_1) + spatial.kinetic_energy(M_2, chi_2)
    gained = energy - spatial.kinetic_energy(M_1 + M_2, chi_B) - energy_J
    return chi_1, chi_2, np.stack([size(after - before) / (size(before) + size(wrench)), abs(gained) / energy])


@batched("(2),(6),()->(2)")
def _spent(spent, wrench_B, h):
    return spent + h * np.stack([size(wrench_B[:3]), size(wrench_B[3:])])


@batched("(8),(8),(3),(3),()->()")
def _clearance(dq_carrier, dq_cargo, centre_B, size_m, face_m):
    """Return the least height of the eight corners."""
    heights = []
    for signs in product((-0.5, 0.5), repeat=3):
        corner_I = dual_quaternion.transform_point(dq_cargo, centre_B + np.array(signs) * size_m)
        heights.append(dual_quaternion.inverse_transform_point(dq_carrier, corner_I)[2])
    lowest = heights[0]
    for height in heights[1:]:
        lowest = minimum(lowest, height)
    return lowest - face_m


@batched("(6),(6)->(6)")
def limited(wrench_B, limit):
    """Return a wrench within its limits, element by element."""
    return minimum(maximum(wrench_B, -limit), limit)
