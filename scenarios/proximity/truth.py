"""The truth of a chaser and a target that turn and move in free space, apart or docked."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from gnc import dual_quaternion, quaternion
from gnc.batch import batched
from gnc.events import chosen
from gnc.linalg import zeros
from gnc.models.actuators import Thrusters
from gnc.models.actuators.thrusters import ThrusterState
from gnc.scenarios.proximity import body
from gnc.scenarios.proximity.body import BodyState

Array = Any


class PairState(NamedTuple):
    """Both bodies; once docked, the chaser's is that of the stack, and the target rides on it."""

    chaser: BodyState
    target: BodyState
    thrusters: Array  # (trials, n) impulse of each so far [N s]
    wrench_B: Array  # (trials, 6) of the thrusters in the last step, about the chaser's origin
    docked: Array  # (trials,) 0 or 1
    dq_BT: Array  # (trials, 8) the target on the chaser, once docked
    misfit: Array  # (trials, 4) at capture: distance and angle of the ports, their velocity and rate [m, rad, s]
    jump: Array  # (trials,) relative change of the momentum at capture
    loss: Array  # (trials,) energy lost at capture [J]


class Command(NamedTuple):
    """What flight software asks of the thrusters, and why."""

    on: Array  # (trials, n) fraction of the time that each is on
    dq_IR: Array  # (trials, 8) where it wants the chaser
    phase: Array  # (trials,) of the approach


class Report(NamedTuple):
    """What flight software knows of the chaser: its own pose and twist, and whether the latches have closed."""

    dq_IB: Array
    chi_B: Array
    docked: Array


@dataclass(frozen=True, eq=False)
class Pair:
    """The loop's plant: thrusters act on the chaser, a small torque on the target."""

    thrusters: Thrusters
    torque_T: Array  # (trials, 3) on the target, its axes [N m]

    def start(self, chaser: BodyState, target: BodyState) -> PairState:
        """Return the state at time zero, both bodies apart."""
        zero = np.zeros(chaser.work.shape)
        apart = np.broadcast_to(np.eye(8)[0], (*zero.shape, 8)).copy()
        none = np.full((*zero.shape, 4), np.nan)
        spent = np.zeros((*zero.shape, self.thrusters.count))
        return PairState(chaser, target, spent, np.zeros((*zero.shape, 6)), zero, apart, none, zero, zero)

    def step(self, x: PairState, command: Command, t: float, h: float) -> PairState:
        """Move over h."""
        wrench_B, spent = self.thrusters.apply(command.on, ThrusterState(x.thrusters), h)
        load_B, load_T = _loads(wrench_B, self.torque_T, x.dq_BT, x.docked)
        chaser, target = body.step(x.chaser, load_B, h), body.step(x.target, load_T, h)
        if x.docked.any():
            target = chosen(x.docked > 0.0, _riding(x, chaser), target)
        return x._replace(chaser=chaser, target=target, thrusters=spent.impulse, wrench_B=wrench_B)

    def report(self, x: PairState) -> Report:
        """Return what the chaser knows of itself."""
        return Report(x.chaser.dq_IB, x.chaser.chi_B, x.docked)


def _riding(x: PairState, chaser: BodyState) -> BodyState:
    """Return the target as part of the stack: its pose moves on, its own books are closed."""
    dq_IB, chi_B = ridden(chaser.dq_IB, chaser.chi_B, x.dq_BT)
    return x.target._replace(dq_IB=dq_IB, chi_B=chi_B)


@batched("(8),(6),(8)->(8),(6)")
def ridden(dq_IB, chi_B, dq_BT):
    """Return pose and twist of what is fixed to a body at dq_BT."""
    return dual_quaternion.mul(dq_IB, dq_BT), dual_quaternion.transform_twist(dual_quaternion.conj(dq_BT), chi_B)


@batched("(6),(3),(8),()->(6),(6)")
def _loads(wrench_B, torque_T, dq_BT, docked):
    """Return the wrenches on the chaser, or the stack, and on the target while it is free."""
    torque_B = docked * quaternion.rotate(dq_BT[:4], torque_T)
    free = np.concatenate([(1.0 - docked) * torque_T, zeros(3)])
    return wrench_B + np.concatenate([torque_B, zeros(3)]), free


def books(x: PairState) -> tuple[Array, Array, Array, Array]:
    """Return momentum (6) and energy of all that flies, and the impulse (6) and work that it has been given."""
    momenta = [body.momentum(b.q_IB, b.P_B, b.r_I, b.p_I) for b in (x.chaser, x.target)]
    energies = [body.energy(b.P_B, b.p_I, b.M) for b in (x.chaser, x.target)]
    apart = 1.0 - x.docked
    whole = momenta[0] + apart[..., None] * momenta[1], energies[0] + apart * energies[1]
    return *whole, x.chaser.impulse_I + x.target.impulse_I, x.chaser.work + x.target.work - x.loss
