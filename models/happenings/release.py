"""Release: a craft lets another go that has been aboard from the start, pushed off by a spring at their ports.

Until then the carrier's body is that of both. Parting changes no velocity (`models.separation.split`); the spring then
gives all of its energy to the motion of the two at once. The carrier's books hand over what the cargo takes along.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product
from typing import Annotated, Any, ClassVar, Literal, NamedTuple

import numpy as np
from pydantic import Field

from gnc import dual_quaternion, quaternion, spatial
from gnc.batch import batched, minimum, where
from gnc.config import NonNegative, Positive
from gnc.draws import Draws
from gnc.errors import InputError
from gnc.history import Signal
from gnc.models.craft import body
from gnc.models.craft.body import BodyState
from gnc.models.craft.pose import PoseCraft
from gnc.models.happenings.base import EventPart, Happening
from gnc.models.happenings.capture import riding
from gnc.models.known import docked
from gnc.models.pose_body import pushed_apart
from gnc.typing import Array

Percent = Annotated[float, Field(ge=0, le=50)]
EARLY = 1e-6  # [s] by which a time that rounding has moved still counts
SIGNALS = {
    "clearance_m": Signal("m", "height of the cargo's lowest corner over the carrier's face"),
    "closest_m": Signal("m", "least clearance since the release, at any step of the truth"),
    "parting_momentum": Signal("1", "relative error of momentum at the release"),
    "parting_energy": Signal("1", "relative error of energy at the release"),
}


class Spring(NamedTuple):
    """What pushes them apart, at once."""

    point_B: Array  # (..., 3) where it acts [m]
    axis_B: Array  # (..., 3) unit, towards the cargo
    energy_J: Array  # (...)


class CargoShape(NamedTuple):
    """The cargo's box above the carrier's face, along the axis of the port."""

    corners_C: Array  # (8, 3) of the cargo's box, its axes
    axis_B: Array  # (3,)
    face_m: Array  # ()


class Release(Happening):
    """What holds two craft together until a time."""

    signals: ClassVar[Mapping[str, Signal]] = SIGNALS

    def __init__(
        self,
        name: str,
        craft: Mapping[str, PoseCraft],
        ends: tuple[str, str],
        time_s: float,
        seat: Array,
        spring: Spring,
        shape: CargoShape,
    ) -> None:
        super().__init__(name, list(craft))
        self._carrier, self._cargo = (self.craft.index(end) for end in ends)
        self._effects, self._first = craft[ends[0]].effects, body.books(craft[ends[1]].start())
        self.time_s, self.seat, self.spring, self.shape = time_s, seat, spring, shape

    def begin(self, x: tuple[Any, ...]) -> tuple[Any, ...]:
        """Put the cargo aboard."""
        carrier, cargo = x[self._carrier], x[self._cargo]
        n = len(carrier.dq_IB)
        seat = np.broadcast_to(self.seat, (n, 8)).copy()
        _, dq_IC, chi_C = _seated(carrier.dq_IB, carrier.chi_B, seat, cargo.M)
        aboard = body.start(dq_IC, chi_C, cargo.M, effectors=cargo.effectors)
        aboard = aboard._replace(rides=np.ones(n), seat=seat, load_B=cargo.load_B)
        M = carrier.M + spatial.transform_inertia(seat, cargo.M)
        momentum_I, energy = body.books(aboard)
        stack = self._moving(carrier, carrier.chi_B, M)
        stack = stack._replace(impulse_I=stack.impulse_I + momentum_I, work=stack.work + energy)
        return self._put(x, *riding(stack, aboard))

    def happens(self, x: tuple[Any, ...], t: Any) -> Array:
        """Tell where the cargo goes at this time: in all trials that are not lost."""
        return _due(x[self._carrier].dq_IB, t, np.array(self.time_s - EARLY)) > 0.0

    def act(self, x: tuple[Any, ...], t: Any) -> tuple[Any, ...]:
        """Part the bodies; the spring's energy is all there before and after."""
        carrier, cargo = x[self._carrier], x[self._cargo]
        M_cargo, dq_IC, _ = _seated(carrier.dq_IB, carrier.chi_B, cargo.seat, cargo.M)
        M = carrier.M - M_cargo
        chi_B, chi_cargo, parting = pushed_apart(carrier.chi_B, M, M_cargo, *self.spring)
        chi_C = dual_quaternion.transform_twist(dual_quaternion.conj(cargo.seat), chi_cargo)
        q_IC, P_C, r_I, p_I = body.about_centre(dq_IC, chi_C, cargo.M)
        moved = {"dq_IB": dq_IC, "chi_B": chi_C, "q_IB": q_IC, "P_B": P_C, "r_I": r_I, "p_I": p_I}
        gone = cargo._replace(**moved, rides=0.0 * cargo.rides)
        left, taken = _parted(carrier.impulse_I, carrier.work, *body.books(gone), *self._first, self.spring.energy_J)
        met = _noted(self._clearance(carrier, gone), parting)
        gone = gone._replace(met=met, impulse_I=taken[..., :6], work=taken[..., 6])
        switched = {"riders_B": 0.0 * carrier.riders_B, "flag": 1.0 + 0.0 * carrier.flag}
        alone = self._moving(carrier, chi_B, M)._replace(impulse_I=left[..., :6], work=left[..., 6], **switched)
        return self._put(x, alone, gone)

    def hold(self, x: tuple[Any, ...]) -> tuple[Any, ...]:
        """Let the cargo ride while it is aboard, and note how near it comes afterwards."""
        carrier, cargo = x[self._carrier], x[self._cargo]
        load_B, dq_IC, chi_C, met = _held(*_rider(carrier, cargo), self._clearance(carrier, cargo))
        aboard = cargo._replace(dq_IB=dq_IC, chi_B=chi_C, q_IB=dq_IC[..., :4], met=met)
        return self._put(x, carrier._replace(riders_B=load_B), aboard)

    def observe(self, x: tuple[Any, ...]) -> Mapping[str, Array]:
        """Return how far the cargo is, and how they parted."""
        carrier, cargo = x[self._carrier], x[self._cargo]
        values = self._clearance(carrier, cargo), *np.moveaxis(cargo.met[..., :3], -1, 0)
        return dict(zip(SIGNALS, values, strict=True))

    def _clearance(self, carrier: Any, cargo: Any) -> Array:
        return _clearance(carrier.dq_IB, cargo.dq_IB, *self.shape)

    def _moving(self, carrier: BodyState, chi_B: Array, M: Array) -> BodyState:
        """Return the carrier with another twist and inertia."""
        q_IB, P_B, r_I, p_I = body.about_centre(carrier.dq_IB, chi_B, M)
        P_B = P_B + self._effects.rho_B(carrier.effectors, chi_B)
        return carrier._replace(chi_B=chi_B, M=M, q_IB=q_IB, P_B=P_B, r_I=r_I, p_I=p_I)

    def _put(self, x: tuple[Any, ...], carrier: BodyState, cargo: BodyState) -> tuple[Any, ...]:
        states = list(x)
        states[self._carrier], states[self._cargo] = carrier, cargo
        return tuple(states)


def _rider(carrier: BodyState, cargo: BodyState) -> tuple[Array, ...]:
    """Return load, pose and twist of a cargo on its seat, and its own."""
    on, aboard = riding(carrier, cargo)
    return cargo.rides, on.riders_B, aboard.dq_IB, aboard.chi_B, cargo.dq_IB, cargo.chi_B, cargo.met


@batched("(),(6),(8),(6),(8),(6),(7),()->(6),(8),(6),(7)")
def _held(rides, load_B, dq_seat, chi_seat, dq_own, chi_own, met, clearance):
    """Return load, pose and twist of the cargo, on its seat or its own, and the least clearance in the first note."""
    aboard = rides > 0.0
    nearest = minimum(met[0], clearance)
    return (
        where(aboard, load_B, 0.0 * load_B),
        where(aboard, dq_seat, dq_own),
        where(aboard, chi_seat, chi_own),
        np.concatenate([np.stack([where(aboard, met[0], nearest)]), met[1:]]),
    )


@batched("(8),(),()->()")
def _due(dq_IB, t, time_s):
    """Return 1 from a time on, where the carrier is not lost."""
    return where((dq_IB @ dq_IB > 0.0) & (t >= time_s), 1.0, 0.0)


@batched("(6),(),(6),(),(6),(),()->(7),(7)")
def _parted(impulse_I, work, momentum_I, energy, first_I, first_energy, spring_J):
    """Return impulse and work in the books of carrier and cargo, which takes its own along."""
    left = np.concatenate([impulse_I - momentum_I, np.stack([work + spring_J - energy])])
    return left, np.concatenate([momentum_I - first_I, np.stack([energy - first_energy])])


@batched("(),(2)->(7)")
def _noted(clearance, parting):
    """Return what is told of a release."""
    return np.concatenate([np.stack([clearance]), parting, np.zeros(4)])


@batched("(8),(6),(8),(6,6)->(6,6),(8),(6)")
def _seated(dq_IB, chi_B, dq_BC, M_C):
    """Return inertia about the carrier's origin, pose and twist of a cargo on its seat."""
    twist = dual_quaternion.transform_twist(dual_quaternion.conj(dq_BC), chi_B)
    return spatial.transform_inertia(dq_BC, M_C), dual_quaternion.mul(dq_IB, dq_BC), twist


@batched("(8),(8),(8,3),(3),()->()")
def _clearance(dq_carrier, dq_cargo, corners_C, axis_B, face_m):
    """Return the least height of the eight corners."""
    heights = []
    for corner_C in corners_C:
        corner_I = dual_quaternion.transform_point(dq_cargo, corner_C)
        heights.append(axis_B @ dual_quaternion.inverse_transform_point(dq_carrier, corner_I))
    lowest = heights[0]
    for height in heights[1:]:
        lowest = minimum(lowest, height)
    return lowest - face_m


class ReleasePart(EventPart):
    """A carrier with a cargo on its port lets it go at a time, pushed off along the port's axis by a spring."""

    kind: Literal["release"] = "release"
    carrier: str = "carrier"
    """The craft that lets go."""
    cargo: str = "cargo"
    """The craft that is aboard from the start: port on port, face to face."""
    time_s: Positive = 120.0
    """When, best at a command of flight software, which is told by its flag then."""
    energy_J: Positive = 1.8
    """Of the spring; all of it becomes motion."""
    energy_error_percent: Percent = 0.0
    """By how much that is off, one sigma."""
    point_sigma_m: NonNegative = 0.0
    """By how much the place where it acts is off the carrier's port along each axis, one sigma."""
    direction_sigma_deg: NonNegative = 0.0
    """By how much the direction of its push is off the port's axis about each axis, one sigma."""

    def spring(self, port: Array, draws: Draws | None = None, name: str = "") -> Spring:
        """Return the nominal spring at a carrier's port, or that of each trial."""
        q_BP, point = dual_quaternion.to_pose(port)
        axis = quaternion.rotate(q_BP, np.array([1.0, 0.0, 0.0]))
        if draws is None:
            return Spring(point, axis, np.array(self.energy_J))
        tilt = quaternion.exp(draws.vector(f"{name} direction", np.radians(self.direction_sigma_deg)))
        off = 0.01 * self.energy_error_percent * draws.normal(f"{name} energy")
        point = point + draws.vector(f"{name} point", self.point_sigma_m)
        return Spring(point, quaternion.rotate(tilt, axis), self.energy_J * np.maximum(0.1, 1.0 + off))

    def build(self, name: str, craft: Mapping[str, Any], sections: Mapping[str, Any], draws: Draws) -> Release:
        """Return the event."""
        for key, end in (("carrier", self.carrier), ("cargo", self.cargo)):
            if not isinstance(craft.get(end), PoseCraft):
                there = ", ".join(n for n, one in craft.items() if isinstance(one, PoseCraft)) or "none"
                raise InputError(f'events.{name}.{key} = {end!r}: give a craft of kind "pose"; there are {there}')
        carrier, cargo = sections[self.carrier], sections[self.cargo]
        seat = dual_quaternion.conj(docked(cargo.belief(), carrier.belief()).dq_TB)
        axis_B = self.spring(carrier.belief().port).axis_B
        face_m = (_corners(carrier) @ axis_B).max()
        shape = CargoShape(_corners(cargo), axis_B, face_m)
        spring = self.spring(carrier.belief().port, draws, name)
        return Release(name, craft, (self.carrier, self.cargo), self.time_s, seat, spring, shape)


def _corners(section: Any) -> Array:
    """Return the corners (8, 3) of a craft's box, its axes."""
    signs = np.array(list(product((-0.5, 0.5), repeat=3)))
    return np.array(section.box_m) + signs * np.array(section.size_m)
