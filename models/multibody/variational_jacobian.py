"""The exact Jacobians of a variational tree, in the error state and in the form with increments.

Columns of the error state of base and joints, (dxi, dgamma, dtwist, drate), become directions of all bodies (`seeded`),
go through the stages of a step (`moved`, see `variational_tangent`), and are read off base and joints at its end.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from gnc import dual_quaternion, lie
from gnc.batch import sized
from gnc.models.multibody import springs
from gnc.models.multibody.assembled import assembled
from gnc.models.multibody.parts import TreeState
from gnc.models.multibody.tree import Link
from gnc.models.multibody.variational_tangent import (
    WIDTH,
    Directions,
    body_maps,
    factoring,
    sweep,
    sweep_nodes,
    turn,
)
from gnc.typing import Array

if TYPE_CHECKING:
    from gnc.models.multibody.integrate import Loading
    from gnc.models.multibody.variational import Stage, VariationalTree
    from gnc.models.multibody.variational_bodies import BodyStates


def of_move(
    method: VariationalTree, x: TreeState, load: Loading | None, h: float, inputs: bool
) -> tuple[TreeState, Array, Array]:
    """Return the state after a step, F, and with `inputs` G with respect to [wrench on the base body, efforts]."""
    y, n, d = method.start(x), method.size, 6 + method.tree.freedoms
    directions = n + d if inputs else n
    along = seeded(method, y, np.eye(n + d, directions))
    for stage in method.stages(h):
        motion = method.stage(y, stage, load)
        along, y = moved(method, y, motion, along, stage), motion.end
    F = _read(method, along, directions)
    return method.read(y), F[..., :n], F[..., n:]


def of_increments(method: VariationalTree, x: TreeState, h: float) -> Array:
    """Return F from the errors of nodes 0 and 1 to those of nodes 1 and 2."""
    d, y = 6 + method.tree.freedoms, method.start(x)
    before = method.stage(y, h)
    after = method.stage(before.end, h)
    first, second = (
        seeded(method, *node) for node in ((y, np.eye(3 * d, 2 * d)), (before.end, np.eye(3 * d, 2 * d, d)))
    )
    xi, gamma = next_node(method, before, after, (first.xi, second.xi, second.gamma), h)
    xi = dual_quaternion.adjoint(method.bodies.centres[..., 0, :]) @ xi
    below = ungrouped(np.concatenate([xi, gamma], -2), 2 * d)
    return np.concatenate([np.broadcast_to(np.eye(d, 2 * d, k=d), below.shape), below], -2)


@sized(lambda d: f"(6,6),(6,6),({d},6),({d},6),(6,6),(6,{d}),(6)->(6,6),(6,6)")
def _seed(xi_parent, chi_parent, gamma, rate, X, S, twist_parent, *, d):
    """Return a child's six directions from those of its parent and its joint."""
    Z = turn(d)(X, twist_parent, S)
    return X @ xi_parent + S @ gamma, X @ chi_parent + S @ rate + Z @ gamma


@functools.cache
def seeding(links: tuple[Link, ...]) -> Callable[..., Any]:
    """Return the function of arrays that gives xi and chi of all bodies from those of base and joints."""
    B, J, D = len(links) + 1, len(links), max((link.rate[1] for link in links), default=0)

    def seeds(xi, chi, gamma, rate, X, axes, twist):
        pairs = [(xi, chi)]
        for i, link in enumerate(links):
            d, mine = link.rate[1] - link.rate[0], slice(*link.rate)
            own = gamma[..., mine, :], rate[..., mine, :], X[..., i, :, :], axes[..., mine], twist[..., link.parent, :]
            pairs.append(_seed(d)(*pairs[link.parent], *own))
        return np.stack([pair[0] for pair in pairs], -3), np.stack([pair[1] for pair in pairs], -3)

    ins = ((6, 6), (6, 6), (D, 6), (D, 6), (J, 6, 6), (6, D), (B, 6))
    return assembled(seeds, B, ins, ((B, 6, 6), (B, 6, 6)))


def grouped(columns: Array, lead: int) -> Array:
    """Return columns (rows, n) as (n/6, 1 ..., rows, 6) with `lead` axes for trials, filled up with zeros."""
    rows, n = columns.shape
    filled = np.concatenate([columns, np.zeros((rows, -n % WIDTH))], -1)
    groups = np.moveaxis(filled.reshape(rows, -1, WIDTH), 1, 0)
    return groups.reshape(len(groups), *(1,) * lead, rows, WIDTH)


def ungrouped(groups: Array, n: int) -> Array:
    """Return the first n columns of groups (..., rows, n)."""
    whole = np.moveaxis(groups, 0, -2)
    return whole.reshape(*whole.shape[:-2], -1)[..., :n]


def seeded(method: VariationalTree, y: BodyStates, columns: Array) -> Directions:
    """Return directions from columns of (dxi, dgamma, dtwist, drate, wrench, effort)."""
    parts, d, lead = method.bodies, method.tree.freedoms, y.dq_IC.ndim - 2
    groups = grouped(columns, lead)
    xi, gamma, twist, rate, wrench, effort = np.split(groups, np.cumsum([6, d, 6, d, 6]), -2)
    centre = parts.centres[..., 0, :]
    to_centre = dual_quaternion.adjoint(dual_quaternion.conj(centre))
    seeds = seeding(method.tree.links)
    pose, chi = seeds(to_centre @ xi, to_centre @ twist, gamma, rate, *parts.node(y.dq_IC), y.twist_C)
    wrench = np.swapaxes(dual_quaternion.adjoint(centre), -1, -2) @ wrench
    return Directions(pose, gamma, chi, rate, effort, wrench)


def _read(method: VariationalTree, along: Directions, n: int) -> Array:
    """Return columns of (dxi, dgamma, dtwist, drate) of base and joints."""
    to_body = dual_quaternion.adjoint(method.bodies.centres[..., 0, :])
    xi, chi = to_body @ along.xi[..., 0, :, :], to_body @ along.chi[..., 0, :, :]
    gamma, rate = (np.broadcast_to(a, xi.shape[:-2] + a.shape[-2:]) for a in (along.gamma, along.rate))
    return ungrouped(np.concatenate([xi, gamma, chi, rate], -2), n)


def moved(method: VariationalTree, y: BodyStates, motion: Stage, along: Directions, h: float) -> Directions:
    """Return directions at the end of a stage of length h from y."""
    parts, links, held = method.bodies, method.tree.links, method.held
    start, end = parts.node(y.dq_IC), parts.node(motion.end.dq_IC)
    A, N, P, Q = body_maps(motion.x, parts.inertias, parts.masses, h)
    chi = motion.end.twist_C
    first = factoring(links, held, False)(
        A, start.X, end.X, start.axes, chi, motion.f_start, *_efforts(method, y, h), 0.25 * h * h
    )
    last = factoring(links, held, True)(
        parts.inertias, end.X, end.X, end.axes, chi, motion.f_end, *_efforts(method, motion.end, h), 0.5 * h
    )
    kicks = 0.25 * h * h * along.wrench, 0.5 * h * along.wrench
    maps = 0.5 * h * parts.inertias, N, P, -Q, start.X, end.X, end.axes
    xi, gamma, twist, rate = sweep(links)(*along[:5], *kicks, *maps, *first[:8], *last)
    return along._replace(xi=xi, gamma=gamma, chi=twist, rate=rate)


def next_node(method: VariationalTree, before: Stage, after: Stage, along: Sequence[Array], h: float) -> Any:
    """Return xi of the base and gamma of the third node, along directions (xi, xi_next, gamma_next) of two nodes.

    g(x_{k+1}) = -g(-x_k) + (h^2/4) (2 W + f- + f+): both halves of the joints' wrenches act as one.
    """
    parts, links = method.bodies, method.tree.links
    start, end = parts.node(before.end.dq_IC), parts.node(after.end.dq_IC)
    A, N, _, _ = body_maps(after.x, parts.inertias, parts.masses, h)
    _, _, P, Q = body_maps(before.x, parts.inertias, parts.masses, h)
    f = after.f_start + 0.5 * h * before.f_end
    inputs = A, start.X, end.X, end.axes, before.end.twist_C, f, *_efforts(method, before.end, h), 0.5 * h * h
    factors = factoring(links, method.held, False)(*inputs)[:8]
    return sweep_nodes(links)(*along, 0.5 * h * P + N, -0.5 * h * Q, start.X, end.X, end.axes, *factors)


def _efforts(method: VariationalTree, y: BodyStates, h: float) -> tuple[Array, Array]:
    """Return the derivatives of the joints' efforts along gamma and rate (..., D, 3), of prescribed ones of gamma'."""
    tree = method.tree
    if not (tree.elastic or any(method.held)):
        return (np.zeros((tree.freedoms, 3)),) * 2
    by_gamma, by_rate = springs.slope(tree, y.gamma), np.zeros((*tree.damping.shape, 3))
    for joint in tree.joints:
        mine = tree.rate_slice(joint.name)
        by_rate[..., mine, : mine.stop - mine.start] = -np.eye(len(joint.type.free)) * joint.damping[..., None, :]
    if any(method.held):
        by_rate = np.array(np.broadcast_to(by_rate, by_gamma.shape))
        rate = method.read(y).rate
        for link in (link for link, held in zip(method.tree.links, method.held, strict=True) if held):
            d, mine = link.rate[1] - link.rate[0], slice(*link.rate)
            turn = h * rate[..., mine]
            spherical = link.kind == "S"
            by_gamma[..., mine, :d] = lie.so3_exp(-turn) if spherical else np.eye(d)
            by_rate[..., mine, :d] = h * lie.so3_right_jacobian(turn) if spherical else h * np.eye(d)
    return by_gamma, by_rate
