"""Capture: two ports that meet inside the envelope of the latches become one body.

The chaser's body becomes that of the stack, about the chaser's origin and in its axes, and the target rides on it. The
relative motion stops at once: linear and angular momentum stay, energy falls (`models.separation.join` says the same of
one trial). The chaser's books take over those of the target.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any, ClassVar, Literal

import numpy as np

from gnc import dual_quaternion, quaternion, spatial
from gnc.batch import batched, maximum, where
from gnc.config import Positive
from gnc.draws import Draws
from gnc.errors import InputError
from gnc.events import chosen
from gnc.history import Signal
from gnc.linalg import cross
from gnc.models.craft import body
from gnc.models.craft.body import BodyState
from gnc.models.craft.pose import PoseCraft
from gnc.models.happenings.base import EventPart, Happening
from gnc.models.known import Port, docked
from gnc.typing import Array

SIGNALS = {
    "done": Signal("1", "1 once the bodies are one"),
    "r_TB_m": Signal("m", "true position of the chaser in the target's frame, target axes"),
    "misfit_m": Signal("m", "distance of the ports at capture"),
    "misfit_deg": Signal("deg", "angle of the ports at capture"),
    "misfit_m_s": Signal("m/s", "velocity of the ports at capture"),
    "misfit_deg_s": Signal("deg/s", "rate of the ports at capture"),
    "across_m": Signal("m", "distance of the ports across the docking axis at capture"),
    "envelope": Signal("1", "angle, velocity and rate at capture over their limits, the largest of the three"),
    "momentum_jump": Signal("1", "relative change of momentum at capture"),
    "energy_lost_J": Signal("J", "energy lost at capture"),
}


class Capture(Happening):
    """The latches between two craft."""

    signals: ClassVar[Mapping[str, Signal]] = SIGNALS

    def __init__(self, name: str, craft: Mapping[str, PoseCraft], ends: tuple[str, str], port: Port, limits: Array):
        super().__init__(name, list(craft))
        self._chaser, self._target = (self.craft.index(end) for end in ends)
        momentum, energy = body.books(craft[ends[1]].start())
        self._effects, self._brought = craft[ends[0]].effects, np.concatenate([momentum, energy[..., None]], axis=-1)
        (self.dq_TB, self.axis_T), self.limits = port, limits

    def happens(self, x: tuple[Any, ...], t: Any) -> Array:
        """Tell which trials are within the envelope."""
        return _closes(self._misfit(x), self.limits) > 0.0

    def act(self, x: tuple[Any, ...], t: Any) -> tuple[Any, ...]:
        """Join the bodies as they are."""
        chaser, target = x[self._chaser], x[self._target]
        M, chi_B, dq_BT = _joined(chaser.dq_IB, chaser.chi_B, chaser.M, target.dq_IB, target.chi_B, target.M)
        q_IB, P_B, r_I, p_I = body.about_centre(chaser.dq_IB, chi_B, M)
        rho_B = self._effects.rho_B(chaser.effectors, chi_B)
        moved = {"chi_B": chi_B, "M": M, "q_IB": q_IB, "P_B": P_B + rho_B, "r_I": r_I, "p_I": p_I}
        stack = chaser._replace(**moved, flag=1.0 + 0.0 * chaser.flag)
        jump, loss = _account(*(part for b in (chaser, target, stack) for part in body.books(b)))
        taken = stack.impulse_I + target.impulse_I, stack.work + target.work - loss
        stack = stack._replace(impulse_I=taken[0], work=taken[1], brought=_sum(stack.brought, self._brought))
        met = _together(self._misfit(x), jump, loss)
        aboard = target._replace(rides=1.0 + 0.0 * target.rides, seat=dq_BT, met=met)
        return self._put(x, *riding(stack, aboard))

    def hold(self, x: tuple[Any, ...]) -> tuple[Any, ...]:
        """Let the target ride where it is aboard, and what acts on it act on the stack."""
        chaser, target = x[self._chaser], x[self._target]
        held = riding(chaser, target)
        return self._put(x, *chosen(target.rides > 0.0, held, (chaser, target)))

    def _put(self, x: tuple[Any, ...], chaser: BodyState, target: BodyState) -> tuple[Any, ...]:
        states = list(x)
        states[self._chaser], states[self._target] = chaser, target
        return tuple(states)

    def _misfit(self, x: tuple[Any, ...]) -> Array:
        chaser, target = x[self._chaser], x[self._target]
        return misfit(chaser.dq_IB, chaser.chi_B, target.dq_IB, target.chi_B, self.dq_TB, self.axis_T)

    def observe(self, x: tuple[Any, ...]) -> Mapping[str, Array]:
        """Return where the chaser is, and how the ports met."""
        chaser, target = x[self._chaser], x[self._target]
        distance, angle, speed, rate, across, jump, loss = np.moveaxis(target.met, -1, 0)
        values = target.rides, _from(target.dq_IB, chaser.dq_IB), distance, np.degrees(angle), speed, np.degrees(rate)
        inside = _largest(target.met, self.limits)
        return dict(zip(SIGNALS, (*values, across, inside, jump, loss), strict=True))


@batched("(7),(4)->()")
def _largest(met, limits):
    """Return angle, velocity and rate over their limits, the largest of the three."""
    return functools.reduce(maximum, met[1:4] / limits[1:])


def riding(chaser: BodyState, target: BodyState) -> tuple[BodyState, BodyState]:
    """Return the chaser with what acts on the target, and the target on its seat."""
    load_B, dq_IT, chi_T = _ridden(chaser.dq_IB, chaser.chi_B, target.seat, target.load_B, target.M)
    return chaser._replace(riders_B=load_B), target._replace(dq_IB=dq_IT, chi_B=chi_T, q_IB=dq_IT[..., :4])


@batched("(8),(6),(8),(6),(6,6)->(6),(8),(6)")
def _ridden(dq_IB, chi_B, dq_BT, load_T, M_T):
    """Return what a load on a rider's centre of mass does about the carrier's origin; the rider's pose and twist."""
    _, c_T, _ = spatial.parts(M_T)
    torque_B, force_B = quaternion.rotate(dq_BT[:4], load_T[:3]), quaternion.rotate(dq_BT[:4], load_T[3:])
    load_B = np.concatenate([torque_B + cross(dual_quaternion.transform_point(dq_BT, c_T), force_B), force_B])
    chi_T = dual_quaternion.transform_twist(dual_quaternion.conj(dq_BT), chi_B)
    return load_B, dual_quaternion.mul(dq_IB, dq_BT), chi_T


@batched("(8),(6),(8),(6),(8),(3)->(5)")
def misfit(dq_IB, chi_B, dq_IT, chi_T, dq_docked, axis):
    """Return distance and angle of the ports, velocity and rate with which they meet, and the distance across."""
    back, size = dual_quaternion.conj, lambda v: np.sqrt(v @ v)
    dq_IP = dual_quaternion.mul(dq_IB, back(dq_docked))  # the chaser's port
    q, r = dual_quaternion.to_pose(dual_quaternion.mul(back(dq_IT), dq_IP))
    chi_P = dual_quaternion.transform_twist(dq_docked, chi_B)
    relative = chi_P - dual_quaternion.transform_twist(back(dual_quaternion.from_pose(q, r)), chi_T)
    turn, across = quaternion.log(q), r - (r @ axis) * axis
    return np.stack([size(r), size(turn), size(relative[3:]), size(relative[:3]), size(across)])


@batched("(5),(4)->()")
def _closes(errors, limits):
    """Return 1 inside the envelope."""
    inside = (errors[0] <= limits[0]) & (errors[1] <= limits[1]) & (errors[2] <= limits[2]) & (errors[3] <= limits[3])
    return where(inside, 1.0, 0.0)


@batched("(8),(6),(6,6),(8),(6),(6,6)->(6,6),(6),(8)")
def _joined(dq_IB, chi_B, M_B, dq_IT, chi_T, M_T):
    """Return inertia and twist of the stack, and the target's pose on it."""
    dq_BT = dual_quaternion.mul(dual_quaternion.conj(dq_IB), dq_IT)
    M = M_B + spatial.transform_inertia(dq_BT, M_T)
    momentum = M_B @ chi_B + dual_quaternion.transform_wrench(dq_BT, M_T @ chi_T)
    return M, spatial.inverse(M) @ momentum, dq_BT


@batched("(6),(),(6),(),(6),()->(),()")
def _account(first, energy_1, second, energy_2, stack, energy):
    """Return the largest relative change of angular or linear momentum, and the energy that was lost."""
    size, gap = lambda v: np.sqrt(v @ v), stack - first - second
    halves = slice(3), slice(3, 6)
    angular, linear = (size(gap[half]) / (size(first[half]) + size(second[half])) for half in halves)
    return maximum(angular, linear), energy_1 + energy_2 - energy


@batched("(7),(7)->(7)")
def _sum(a, b):
    """Return a + b."""
    return a + b


@batched("(5),(),()->(7)")
def _together(errors, jump, loss):
    """Return all that is told of a capture."""
    return np.concatenate([errors, np.stack([jump, loss])])


@batched("(8),(8)->(3)")
def _from(dq_IT, dq_IB):
    """Return where one body is in the frame of another."""
    return dual_quaternion.to_pose(dual_quaternion.mul(dual_quaternion.conj(dq_IT), dq_IB))[1]


class CapturePart(EventPart):
    """Latches that close where two ports meet: chaser and target become one body, and flag tells flight software."""

    kind: Literal["capture"] = "capture"
    chaser: str = "chaser"
    """The craft that takes the other aboard."""
    target: str = "target"
    """The craft that is taken."""
    distance_m: Positive = 0.05
    """Between the ports."""
    angle_deg: Positive = 2.0
    """Between their axes and about them."""
    speed_m_s: Positive = 0.05
    """Of one port against the other."""
    rate_deg_s: Positive = 1.0
    """The same as a rate."""

    def build(self, name: str, craft: Mapping[str, Any], sections: Mapping[str, Any], draws: Draws) -> Capture:
        """Return the event."""
        for key, end in (("chaser", self.chaser), ("target", self.target)):
            if not isinstance(craft.get(end), PoseCraft):
                there = [n for n, one in craft.items() if isinstance(one, PoseCraft)]
                known = ", ".join(there) or "none"
                raise InputError(f'events.{name}.{key} = {end!r}: give a craft of kind "pose"; there are {known}')
        angle, rate = np.radians([self.angle_deg, self.rate_deg_s])
        port = docked(sections[self.target].belief(), sections[self.chaser].belief())
        limits = np.array([self.distance_m, angle, self.speed_m_s, rate])
        return Capture(name, craft, (self.chaser, self.target), port, limits)
