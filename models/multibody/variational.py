"""The variational tree: DQVI for every body, and the joints as constraints that hold at every node (RATTLE).

Every body has its own pose p and twist chi, at its centre of mass. A step from node k to k + 1, with the wrenches W on
the bodies and f of the joints (see `variational_solver`), in body axes:

    g(x) = (h/2) M chi_k + (h^2/4) (W_k + f_k+),         p_{k+1} = p_k f(x),   all joints closed at k + 1
    M chi_{k+1} = -(2/h) g(-x) + (h/2) (W_{k+1} + f_{k+1}-),     chi_{k+1} as the joints allow

f has the reactions, the efforts of actuators, springs and dampers, and what holds prescribed joints. The step is of
second order, symmetric, symplectic where nothing damps, exact in momentum, and its joints hold to round-off; order 4 is
Suzuki's composition of it. The mean of f- and f+ at a node is the wrench there. Newton's method takes O(B) operations.
Source: DQVI eqs. (36) to (42) for one body; the joints are beyond the papers.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from gnc import check, dual_quaternion, quaternion
from gnc.batch import batched
from gnc.errors import InputError
from gnc.integrators.composition import SUZUKI4
from gnc.integrators.dqvi_equation import (
    LARGEST_PHI,
    increment,
    increment_change,
    momentum,
    momentum_jacobian,
    momentum_parts,
)
from gnc.models.flight import Flight, each, fly
from gnc.models.multibody import kinematics, springs, variational_jacobian
from gnc.models.multibody.assembled import assembled
from gnc.models.multibody.integrate import Load, Loading
from gnc.models.multibody.joints import KINDS
from gnc.models.multibody.parts import TreeState
from gnc.models.multibody.tree import Link, Tree
from gnc.models.multibody.variational_bodies import BodyStates, SeparateBodies
from gnc.models.multibody.variational_solver import Node, Solution, gap, node, solve_tree

Array = Any
Flags = tuple[bool, ...]

ITERATIONS = 5  # of Newton's method: quadratic from an error of h^2, so that round-off comes before
CLOSED = 1e-9  # a joint that is open by more [m, rad] has not converged: its trial is lost
INSIDE = 1e-9  # of a step: loads are read just inside it, so that one that jumps at a node counts half from each side
STAGES = {2: (1.0,), 4: SUZUKI4}
PASSES = {2: 1, 4: 3}  # until a load that depends on rates is known at the end of a step, to the order of the method


class Stage(NamedTuple):
    """One stage: where it leads, and what its derivative is made of."""

    end: BodyStates
    x: Array  # (..., B, 6) increments
    f_start: Array  # (..., J, 6) wrenches of the joints on the children in their axes, by link, times h^2/4
    f_end: Array  # (..., J, 6) the same times h/2


class Report(NamedTuple):
    """What is kept, and what holds."""

    energy: Array  # (...) kinetic, and of the springs
    momentum: Array  # (..., 6) angular about the origin of I, linear; in I
    opening: Array  # (...) the largest error in a direction that a joint holds [rad, m]


@batched("(8),(6),(6,6),()->(8),(6)")
def _end(dq_IC, x, M, filler):
    """Return the pose after an increment, and -g(-x) - g(x)."""
    _, even = momentum_parts(x, M, filler)
    return dual_quaternion.normalize(dual_quaternion.mul(dq_IC, increment(x))), -2.0 * even


@batched("(8),(6),(6),(6,6),()->(8),(6),(6,6),(6,6)")
def _unbalanced(dq_IC, x, target, M, filler):
    """Return the pose after an increment, target - g(x), its derivative in terms of the pose error, and (2 E)^-1."""
    change = increment_change(x)
    moved = dual_quaternion.mul(dq_IC, increment(x))
    return moved, target - momentum(x, M, filler), momentum_jacobian(x, M, filler) @ change, change


@batched("(6,6),(6)->(6)")
def _momentum(M, twist):
    return M @ twist


@functools.cache
def _improvement(links: tuple[Link, ...], prescribed: Flags) -> Callable[..., Any]:
    """Return Newton's step for the increments of all bodies: the new ones, and the joints' wrenches."""
    B, J, D = len(links) + 1, len(links), max((link.rate[1] for link in links), default=0)

    def improvement(dq_IC, x, target, M, masses, dq_PJ, dq_CJ, X_start, axes, drive):
        poses, s, A, change = _unbalanced(dq_IC, x, target, M, masses)
        open_by = [
            gap(link.kind, prescribed[i])(
                poses[..., link.parent, :], poses[..., i + 1, :], dq_PJ[..., i, :], dq_CJ[..., i, :]
            )
            for i, link in enumerate(links)
        ]
        bias = -dual_quaternion.transform_twist(dq_CJ, np.stack(open_by, -2)) if links else np.zeros((0, 6))
        start, end = Node(X_start, axes), node(links, poses, axes)
        solution = solve_tree(links, prescribed, A, s, start, end, bias, drive, np.zeros(D))
        return x + _momentum(change, solution.xi), *solution[2:]

    ins = ((B, 8), (B, 6), (B, 6), (B, 6, 6), (B,), (J, 8), (J, 8), (J, 6, 6), (6, D), (D,))
    return assembled(improvement, B, ins, ((B, 6), (B, 6), (J, 6)))


@functools.cache
def _projection(links: tuple[Link, ...], prescribed: Flags) -> Callable[..., Any]:
    """Return the twists of momenta p after impulses of the joints have made them compatible, as `Solution`."""
    B, J, D = len(links) + 1, len(links), max((link.rate[1] for link in links), default=0)

    def projection(p, M, X, axes, drive, resistance):
        there = Node(X, axes)
        return solve_tree(links, prescribed, M, p, there, there, np.zeros((J, 6)), drive, resistance)

    ins = ((B, 6), (B, 6, 6), (J, 6, 6), (6, D), (D,), (D,))
    return assembled(projection, B, ins, ((B, 6), (D,), (B, 6), (J, 6)))


@dataclass(frozen=True, eq=False)
class VariationalTree:
    """A tree that flies by variational steps; every body needs mass.

    flight = VariationalTree(tree).fly_steps(x, 1000, 0.01)      # x a TreeState, of any leading axes
    VariationalTree(tree).read(flight.x)                         # TreeState again
    VariationalTree(tree).report(flight.x)                       # energy, momentum, opening of the joints
    F, G = VariationalTree(tree).linearize(x, u, h)              # exact, for LQR, linear covariance and filters
    reactions(flight.x)                                          # (kept, ..., J, 6), order 2 only

    Joints named in `prescribed` follow the accelerations `Load.rate_dot` instead of their efforts, and are locked where
    rate and rate_dot are zero: rate_{1/2} = rate + (h/2) rate_dot, gamma += h rate_{1/2}, rate = rate_{1/2} + (h/2)
    rate_dot. A damper in a step backwards, as order 4 has one, takes inertia away: h damping must stay well below the
    inertia that the joint moves.
    """

    tree: Tree
    order: int = 2
    prescribed: Collection[str] = ()

    def __post_init__(self) -> None:
        """Validate once."""
        check.one_of("order", self.order, tuple(STAGES))
        _ = self.bodies, self.held

    @functools.cached_property
    def bodies(self) -> SeparateBodies:
        """The tree taken apart."""
        return SeparateBodies(self.tree)

    @functools.cached_property
    def held(self) -> Flags:
        """Which joints are prescribed, by link."""
        joints = [self.tree.joint(name) for name in self.prescribed]
        return tuple(link.joint in joints for link in self.tree.links)

    @functools.cached_property
    def held_rates(self) -> Array:
        """Which velocities are prescribed (D,)."""
        mask = np.zeros(self.tree.freedoms, bool)
        for link, held in zip(self.tree.links, self.held, strict=True):
            mask[slice(*link.rate)] = held
        return mask

    @property
    def size(self) -> int:
        """How many numbers the error state has."""
        return 12 + 2 * self.tree.freedoms

    def start(self, x: TreeState) -> BodyStates:
        """Return the bodies of a minimal state."""
        return self.bodies.start(x)

    def read(self, y: BodyStates) -> TreeState:
        """Return the minimal state of bodies."""
        return self.bodies.read(y)

    def report(self, y: BodyStates) -> Report:
        """Return energy, momentum, and how far the joints are open."""
        x, gaps = self.read(y), np.abs(self.bodies.gaps(y.dq_IC))
        energy = kinematics.kinetic_energy(self.tree, x) + springs.energy(self.tree, x.gamma)
        return Report(energy, kinematics.momentum(self.tree, x), gaps.max(axis=(-1, -2), initial=0.0))

    def step(self, y: BodyStates, h: float, load: Loading | None = None, t: float = 0.0) -> BodyStates:
        """Take one step; a trial that does not converge becomes NaN.

        The load is read just after the start of every stage and just before its end, where it is repeated until it fits
        the twist that it leads to.
        """
        for part in self.stages(h):
            y, t = self.stage(y, part, load, t).end, t + part
        if self.order == 2:
            return y
        return y._replace(before=np.full_like(y.before, math.nan), after=np.full_like(y.after, math.nan))

    def stages(self, h: float) -> list[float]:
        """Return the lengths of the stages of a step."""
        return [c * h for c in STAGES[self.order]]

    def stage(self, y: BodyStates, h: float, load: Loading | None = None, t: float = 0.0) -> Stage:
        """Take one step of second order."""
        parts = self.bodies
        first, effort, rate_half, gamma = self._first_kick(y, h, load, t)
        p = _momentum(parts.inertias, y.twist_C) + 0.5 * h * parts.wrenches(first.wrench)
        drive = np.where(self.held_rates, 0.0, 0.25 * h * h * effort)
        x, on_bodies, f_start = self._increments(y, p, drive, parts.proximal(gamma, self.held), h)
        poses, turn = _end(y.dq_IC, x, parts.inertias, parts.masses)
        p = p + (2.0 / h) * (on_bodies + turn)
        there, gamma = parts.node(poses), parts.coordinates(poses, y.gamma)
        kick = self._last_kick(p, there, gamma, rate_half, first, h)
        for _ in range(PASSES[self.order] if load else 0):
            assert load is not None
            guess = self.read(BodyStates(poses, kick.xi, gamma, y.before, y.after))
            kick = self._last_kick(p, there, gamma, rate_half, load(t + h - INSIDE * h, guess), h)
        after, before = self._reactions(f_start * (4.0 / h**2)), self._reactions(kick.on_children * (2.0 / h))
        end = self._lost(BodyStates(poses, kick.xi, gamma, before, after), x)
        return Stage(end, x, f_start, kick.on_children)

    # Derivatives, in the error state (dxi, dgamma, dtwist, drate): p = p^ exp(dxi/2) of the base body; of a spherical
    # joint q = q^ exp(dgamma/2).

    def move(self, x: TreeState, u: Array, h: float) -> TreeState:
        """Move over h under u = [wrench on the base body, efforts] (..., 6 + D), both constant."""
        return self.read(self.step(self.start(x), h, self.constant(u)))

    def linearize(self, x: TreeState, u: Array, h: float) -> tuple[Array, Array]:
        """Return the exact F and G of `move`."""
        return self.move_jacobian(x, u, h)[1:]

    def move_jacobian(self, x: TreeState, u: Array, h: float, inputs: bool = True) -> tuple[TreeState, Array, Array]:
        """Return what `move` does, F (..., n, n), and with `inputs` G (..., n, 6 + D), n = 12 + 2 D."""
        return variational_jacobian.of_move(self, x, self.constant(u), h, inputs)

    def increment_jacobian(self, x: TreeState, h: float) -> Array:
        """Return F in the form with increments: from the errors (dxi, dgamma) of nodes 0 and 1 to those of 1 and 2.

        For steps of order 2 and trees whose joints are neither damped nor prescribed: rates are no part of this state.
        """
        if self.order != 2 or any(self.held) or np.any(self.tree.damping):
            raise InputError("increment_jacobian: for order 2 without dampers and prescribed joints; use linearize")
        return variational_jacobian.of_increments(self, x, h)

    def constant(self, u: Array) -> Loading | None:
        """Return the load of u."""
        u = np.asarray(u, float)
        if not np.any(u):
            return None
        wrench = np.zeros((*u.shape[:-1], len(self.tree.bodies), 6))
        wrench[..., self.tree.root, :] = u[..., :6]
        return lambda t, x: Load(u[..., 6:], wrench)

    # Parts of a step.

    def _first_kick(self, y: BodyStates, h: float, load: Loading | None, t: float) -> tuple[Load, Array, Array, Array]:
        """Return the load, all efforts, and of prescribed joints half rates and where they lead."""
        if not (load or self.tree.elastic or any(self.held)):
            return Load(), 0.0, 0.0, y.gamma
        x = self.read(y)
        first = load(t + INSIDE * h, x) if load else Load()
        if np.any(first.rate_dot) and not any(self.held):
            raise InputError("load: rate_dot is for prescribed joints; name them in VariationalTree(prescribed=...)")
        rate_half = x.rate + 0.5 * h * first.rate_dot
        return first, first.effort + springs.passive(self.tree, x), rate_half, self._led(x.gamma, rate_half, h)

    def _led(self, gamma: Array, rate_half: Array, h: float) -> Array:
        """Return the coordinates after h at given rates; only those of prescribed joints count."""
        pieces = []
        for joint in self.tree.joints:
            mine, rates = (
                gamma[..., self.tree.gamma_slice(joint.name)],
                rate_half[..., self.tree.rate_slice(joint.name)],
            )
            turned = joint.kind == "S"
            pieces.append(quaternion.mul(mine, quaternion.exp(h * rates)) if turned else mine + h * rates)
        return np.concatenate(pieces, -1) if pieces else gamma

    def _increments(self, y: BodyStates, p: Array, drive: Array, proximal: Array, h: float) -> tuple[Array, ...]:
        """Solve for the increments of all bodies and the wrenches (times h^2/4) that close the joints at the end."""
        parts, target, x = self.bodies, 0.5 * h * p, 0.5 * h * y.twist_C
        improve, (X, axes) = _improvement(self.tree.links, self.held), parts.node(y.dq_IC)
        constants = parts.inertias, parts.masses, proximal, parts.joints[1], X, axes, drive
        for _ in range(ITERATIONS):
            x, *wrenches = improve(y.dq_IC, x, target, *constants)
        return x, *wrenches

    def _last_kick(self, p: Array, there: Node, gamma: Array, rate_half: Array, load: Load, h: float) -> Solution:
        """Return the twists that momenta p have after the load of the end and the impulses of the joints."""
        effort = load.effort + springs.effort(self.tree, gamma) if self.tree.elastic else load.effort
        drive = np.where(self.held_rates, rate_half + 0.5 * h * load.rate_dot, 0.5 * h * effort)
        kicked, resistance = p + 0.5 * h * self.bodies.wrenches(load.wrench), 0.5 * h * self.tree.damping
        project = _projection(self.tree.links, self.held)
        return Solution(*project(kicked, self.bodies.inertias, *there, drive, resistance))

    def _reactions(self, on_children: Array) -> Array:
        """Return wrenches at the joints, in the order of the joints, without what acts along their free directions."""
        wrench = np.array(self.bodies.at_joints(on_children))
        for link, held in zip(self.tree.links, self.held, strict=True):
            if not held:
                wrench[..., link.joint, list(KINDS[link.kind].free)] = 0.0
        return wrench

    def _lost(self, y: BodyStates, x: Array) -> BodyStates:
        """Mark the trials that have not converged."""
        good = np.sum(x[..., :3] ** 2, -1).max(-1) < LARGEST_PHI**2
        good = good & (np.abs(self.bodies.gaps(y.dq_IC)).max(axis=(-1, -2), initial=0.0) < CLOSED)
        return BodyStates(*(np.where(good.reshape(good.shape + (1,) * (a.ndim - good.ndim)), a, math.nan) for a in y))

    def fly_steps(
        self, x: TreeState, steps: int, h: float, load: Loading | None = None, every: int = 1, t0: float = 0.0
    ) -> Flight:
        """Fly with fixed steps from a minimal state and keep every so many `BodyStates`."""
        return fly(self.start(x), each(lambda y, t: self.step(y, h, load, t), h, t0), steps, every, h, t0)


def reactions(y: BodyStates) -> Array:
    """Return the reaction wrenches at the nodes of a flight of which every step was kept (kept, ..., J, 6).

    At the first and the last node there is one half step only, and its reaction is of first order. Actuation is not
    part of it, but what holds a prescribed joint is: `articulated.accelerations` gives all together.
    """
    inner = 0.5 * (y.before[1:-1] + y.after[2:])
    return np.concatenate([y.after[1:2], inner, y.before[-1:]])
