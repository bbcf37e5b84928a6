"""The variational tree: DQVI for every body, and the joints as constraints that hold at every node (RATTLE).

Every body has its own pose p and twist chi, at its centre of mass. A step from node k to k + 1, with the wrenches W of
all loads and D^T lambda of the joints (see `variational_solver`), in body axes:

    g(x) = (h/2) M chi_k + (h^2/4) (W_k + D_k^T lambda_k+),   p_{k+1} = p_k f(x),   psi(p_{k+1}) = 0
    M chi_{k+1} = -(2/h) g(-x) + (h/2) (W_{k+1} + D_{k+1}^T lambda_{k+1}-),          D_{k+1} chi_{k+1} = 0

It is of second order, symmetric and symplectic, exact in momentum, and its joints hold to round-off at every step. The
mean of lambda- and lambda+ at a node is the reaction there. Newton's method takes O(B) operations.
Source: DQVI eqs. (36) to (42) for one body; the joints are beyond the papers.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from gnc import dual_quaternion
from gnc.batch import batched
from gnc.errors import InputError
from gnc.integrators.dqvi_equation import (
    LARGEST_PHI,
    increment,
    increment_jacobian,
    momentum,
    momentum_jacobian,
    momentum_parts,
)
from gnc.models.flight import Flight, each, fly
from gnc.models.multibody.assembled import assembled
from gnc.models.multibody.integrate import Loading
from gnc.models.multibody.joints import KINDS
from gnc.models.multibody.parts import TreeState
from gnc.models.multibody.tree import Link, Tree
from gnc.models.multibody.variational_bodies import BodyStates, SeparateBodies
from gnc.models.multibody.variational_solver import Constraint, Solution, constraints, solve_tree

Array = Any

ITERATIONS = 5  # of Newton's method: quadratic from an error of h^2, so that round-off comes before
CLOSED = 1e-9  # a joint that is open by more [m, rad] has not converged: its trial is lost
INSIDE = 1e-9  # of a step: loads are read just inside it, so that one that jumps at a node counts half from each side


@batched("(8),(6),(6,6),()->(8),(6)")
def _end(dq_IC, x, M, filler):
    """Return the pose after an increment, and -g(-x) - g(x)."""
    _, even = momentum_parts(x, M, filler)
    return dual_quaternion.normalize(dual_quaternion.mul(dq_IC, increment(x))), -2.0 * even


@batched("(8),(6)->(8),(6,6)")
def _moved(dq_IC, x):
    """Return the pose after an increment, and the derivative E of its error."""
    return dual_quaternion.mul(dq_IC, increment(x)), increment_jacobian(x)


@batched("(6),(6),(6,6),()->(6),(6,6)")
def _unbalanced(target, x, M, filler):
    """Return target - g(x) and the Jacobian of g."""
    return target - momentum(x, M, filler), momentum_jacobian(x, M, filler)


@batched("(6,6),(6)->(6)")
def _momentum(M, twist):
    return M @ twist


@functools.cache
def _improvement(links: tuple[Link, ...]) -> Callable[..., Any]:
    """Return Newton's step for the increments of all bodies, as `Solution`."""

    def improvement(dq_IC, x, target, M, masses, dq_PJ, dq_CJ, D_child, D_parent):
        poses, E = _moved(dq_IC, x)
        right, J = _unbalanced(target, x, M, masses)
        return solve_tree(links, J, right, constraints(links, poses, dq_PJ, dq_CJ), E, D_child, D_parent)

    B, J = len(links) + 1, len(links)
    return assembled(
        improvement,
        B,
        ((B, 8), (B, 6), (B, 6), (B, 6, 6), (B,), (J, 8), (J, 8), (J, 6, 6), (J, 6, 6)),
        ((B, 6), (B, 6), (J, 6)),
    )


@functools.cache
def _projection(links: tuple[Link, ...]) -> Callable[..., Any]:
    """Return the twists of momenta p after impulses of the joints have made them compatible, as `Solution`."""

    def projection(p, M, D_child, D_parent):
        still = Constraint(np.zeros((len(links), 6)), D_child, D_parent)
        E = np.broadcast_to(0.5 * np.eye(6), (len(links) + 1, 6, 6))
        return solve_tree(links, M, p, still, E, D_child, D_parent)

    B, J = len(links) + 1, len(links)
    return assembled(projection, B, ((B, 6), (B, 6, 6), (J, 6, 6), (J, 6, 6)), ((B, 6), (B, 6), (J, 6)))


@dataclass(frozen=True, eq=False)
class VariationalTree:
    """A tree that flies by variational steps; every body needs mass.

    flight = VariationalTree(tree).fly_steps(x, 1000, 0.01)      # x a TreeState, of any leading axes
    VariationalTree(tree).read(flight.x)                         # TreeState again
    reactions(flight.x)                                          # (kept, ..., J, 6)
    """

    tree: Tree

    def __post_init__(self) -> None:
        """Validate once."""
        _ = self.bodies

    @functools.cached_property
    def bodies(self) -> SeparateBodies:
        """The tree taken apart."""
        return SeparateBodies(self.tree)

    def start(self, x: TreeState) -> BodyStates:
        """Return the bodies of a minimal state."""
        return self.bodies.start(x)

    def read(self, y: BodyStates) -> TreeState:
        """Return the minimal state of bodies."""
        return self.bodies.read(y)

    def step(self, y: BodyStates, h: float, load: Loading | None = None, t: float = 0.0) -> BodyStates:
        """Take one step; a trial that does not converge becomes NaN.

        The load is read just after the start of the step and just before its end. There it gets the twist that the load
        of the start would lead to, which is enough for second order.
        """
        parts, here = self.bodies, self.bodies.constraints(y.dq_IC)
        given = load(t + INSIDE * h, self.read(y)) if load else None
        if given is not None and np.any(given.rate_dot):
            raise InputError("load: rate_dot prescribes a joint; a variational tree has none, use integrate.fly_steps")
        p = _momentum(parts.inertias, y.twist_C)
        if given:
            p = p + 0.5 * h * parts.wrenches(y.dq_IC, given)
        x, holding = self._increments(y, p, here, h)
        poses, turn = _end(y.dq_IC, x, parts.inertias, parts.masses)
        p = p + (2.0 / h) * (holding.on_bodies + turn)
        there, gamma = parts.constraints(poses), parts.coordinates(poses, y.gamma)
        if load and given:
            guess = self._compatible(p + 0.5 * h * parts.wrenches(poses, given), there).dx
            end = load(t + h - INSIDE * h, self.read(BodyStates(poses, guess, gamma, y.before, y.after)))
            p = p + 0.5 * h * parts.wrenches(poses, end)
        final = self._compatible(p, there)
        after = parts.at_joints(holding.on_children) * (4.0 / h**2)
        before = parts.at_joints(final.on_children) * (2.0 / h)
        return self._lost(BodyStates(poses, final.dx, gamma, before, after), x, there)

    def _increments(self, y: BodyStates, p: Array, here: Constraint, h: float) -> tuple[Array, Solution]:
        """Solve for the increments of all bodies and the reactions (times h^2/4) that close the joints at the end."""
        parts, target, x = self.bodies, 0.5 * h * p, 0.5 * h * y.twist_C
        improve = _improvement(self.tree.links)
        for _ in range(ITERATIONS):
            found = Solution(*improve(y.dq_IC, x, target, parts.inertias, parts.masses, *parts.joints, *here[1:]))
            x = x + found.dx
        return x, found

    def _compatible(self, p: Array, there: Constraint) -> Solution:
        """Return the twists of momenta p after impulses of the joints have made them compatible."""
        return Solution(*_projection(self.tree.links)(p, self.bodies.inertias, *there[1:]))

    def _lost(self, y: BodyStates, x: Array, there: Constraint) -> BodyStates:
        """Mark the trials that have not converged."""
        good = np.sum(x[..., :3] ** 2, -1).max(-1) < LARGEST_PHI**2
        for i, link in enumerate(self.tree.links):
            good = good & (np.abs(there.psi[..., i, list(KINDS[link.kind].held)]).max(-1) < CLOSED)
        return BodyStates(*(np.where(good.reshape(good.shape + (1,) * (a.ndim - good.ndim)), a, math.nan) for a in y))

    def fly_steps(
        self, x: TreeState, steps: int, h: float, load: Loading | None = None, every: int = 1, t0: float = 0.0
    ) -> Flight:
        """Fly with fixed steps from a minimal state and keep every so many `BodyStates`."""
        return fly(self.start(x), each(lambda y, t: self.step(y, h, load, t), h, t0), steps, every, h, t0)


def reactions(y: BodyStates) -> Array:
    """Return the reaction wrenches at the nodes of a flight of which every step was kept (kept, ..., J, 6).

    At the first and the last node there is one half step only, and its reaction is of first order. Actuation is not
    part of it: `articulated.accelerations` gives both together.
    """
    inner = 0.5 * (y.before[1:-1] + y.after[2:])
    return np.concatenate([y.after[1:2], inner, y.before[-1:]])
