"""The truth of a base with an arm, by the variational tree, and the control of both."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from gnc import dual_quaternion, spatial
from gnc.batch import batched
from gnc.controllers.pose import PoseMemory, PoseTracking
from gnc.controllers.reference import PoseReference
from gnc.estimators.pose_belief import PoseBelief
from gnc.models.multibody import Load, Tree, TreeState, VariationalTree
from gnc.models.multibody.variational_bodies import BodyStates
from gnc.models import books
from gnc.scenarios.bodies.arm import Plan
from gnc.models.books import Books
from gnc.scenarios.bodies.carrier import limited

Array = Any


class ServicerState(NamedTuple):
    """All bodies, and the base and joints beside them for those who look."""

    bodies: BodyStates
    dq_IB: Array  # (trials, 8) of the base
    chi_B: Array  # (trials, 6)
    gamma: Array  # (trials, 3) joint angles [rad]
    rate: Array  # (trials, 3) [rad/s]
    books: Books


class Command(NamedTuple):
    """What flight software asks for."""

    wrench_B: Array  # (trials, 6) on the base, about its origin
    effort: Array  # (trials, 3) torque of the joints [N m]


class Encoders(NamedTuple):
    """What the joints tell."""

    gamma: Array
    rate: Array


@dataclass(frozen=True, eq=False)
class Servicer:
    """Kicks at both ends of a step and a constrained drift between them, so that the books close to rounding."""

    tree: Tree
    gain: Array  # (trials, 9) of thrusters and joints, true over commanded

    @functools.cached_property
    def moving(self) -> VariationalTree:
        """The integrator."""
        return VariationalTree(self.tree)

    def start(self, dq_IB: Array, chi_B: Array, gamma: Array) -> ServicerState:
        """Return the state at time zero, the joints at rest."""
        bodies = self.moving.start(TreeState(dq_IB, chi_B, gamma, np.zeros_like(gamma)))
        return self._read(bodies, books.opened(self._momentum(bodies)))

    def step(self, x: ServicerState, command: Command, t: float, h: float) -> ServicerState:
        """Move over h under thrusters and joint torques."""
        wrench_B, effort = command.wrench_B * self.gain[:, :6], command.effort * self.gain[:, 6:]
        wrenches = np.zeros((len(wrench_B), len(self.tree.bodies), 6))
        wrenches[:, self.tree.body("base")] = wrench_B
        load = Load(effort, wrenches)
        bodies = self.moving.step(x.bodies, h, lambda s, y: load, t)
        after = self._read(bodies, x.books)
        return after._replace(books=books.entered(x.books, x.dq_IB, after.dq_IB, wrench_B, h))

    def report(self, x: ServicerState) -> Encoders:
        """Return the encoders' angles and rates."""
        return Encoders(x.gamma, x.rate)

    def momentum_gap(self, x: ServicerState) -> Array:
        """Return how far the books are from closing."""
        return books.gap(x.books, self._momentum(x.bodies))

    def _read(self, bodies: BodyStates, done: Books) -> ServicerState:
        return ServicerState(bodies, *self.moving.read(bodies), done)

    def _momentum(self, bodies: BodyStates) -> Array:
        """Return the momentum of all bodies about the inertial origin (trials, 6)."""
        each = _momentum(bodies.dq_IC, bodies.twist_C, self.moving.bodies.inertias)
        return functools.reduce(np.add, (each[..., i, :] for i in range(each.shape[-2])))


@dataclass(frozen=True, eq=False)
class ServicerControl:
    """Pose tracking of the base, servos of the joints about the plan, the reaction of the arm fed forward or not."""

    law: PoseTracking
    reference: PoseReference
    plan: Plan
    feedforward: bool
    limit: Array  # (6,)
    stiffness: Array  # (3,) [N m/rad]
    damping: Array  # (3,) [N m s/rad]

    def command(self, belief: PoseBelief, report: Encoders, t: float, memory: PoseMemory) -> tuple[Command, PoseMemory]:
        """Return the wrench within its limits, and the joint torques."""
        row = self.plan.at(t)
        load_B = -row.wrench_B if self.feedforward else np.zeros(6)
        wrench_B, memory = self.law.command(belief, self.reference, memory, load_B)
        effort = _servo(report.gamma, report.rate, row.gamma, row.rate, row.effort, self.stiffness, self.damping)
        return Command(limited(wrench_B, self.limit), effort), memory


@batched("(8),(6),(6,6)->(6)")
def _momentum(dq_IC, twist_C, M):
    return dual_quaternion.transform_wrench(dq_IC, spatial.momentum(M, twist_C))


@batched("(3),(3),(3),(3),(3),(3),(3)->(3)")
def _servo(gamma, rate, gamma_R, rate_R, effort_R, stiffness, damping):
    """Return the planned torque and what brings the joint back to the plan."""
    return effort_R + stiffness * (gamma_R - gamma) + damping * (rate_R - rate)
