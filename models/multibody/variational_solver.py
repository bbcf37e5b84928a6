"""Joint constraints of bodies that are described one by one, and the O(B) solution of systems with their structure.

A joint sees the pose rho = (p_P dq_PJ)^-1 p_C dq_CJ of its distal frame in its proximal one: rotation q, translation l.
It forbids some of psi = (q_x, q_y, q_z, l_x, l_y, l_z):

    R  q_x, q_y, l       P  q_x, q_y, q_z, l_x, l_y       S  l       C  q_x, q_y, l_x, l_y       U  q_x, q_y, q_z

which are the components of the wrench that it transmits (`Kind.held`). D is the derivative of psi with respect to the
pose errors xi of child and parent, p exp(xi/2), and D^T lambda the wrenches of the joint on both. Each iteration solves

    J_b dx_b - sum over joints of C_jb^T mu_j = r_b,        psi_j + A_jc dx_c + A_jp dx_p = 0

from the leaves to the root: with X = J_c^-1 (r_c + C_c^T mu) the constraint of a leaf's joint gives mu = alpha + beta
dx_p, which is put into the equation of the parent. The saddle matrix is that of DQMB eq. (50) with J in place of the
inertia.
"""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

import numpy as np

from gnc import dual_quaternion, quaternion
from gnc.batch import Kernel, batched
from gnc.linalg import block, identity, skew, solve, zeros
from gnc.models.multibody.joints import KINDS
from gnc.models.multibody.tree import Link

Array = Any


class Constraint(NamedTuple):
    """All that joints could forbid, and its derivatives; one joint or many on leading axes."""

    psi: Array  # (..., 6)
    D_child: Array  # (..., 6, 6)
    D_parent: Array  # (..., 6, 6)


class Solution(NamedTuple):
    """What `solve_tree` finds, in the order of the links; wrenches are in the axes of the body they act on."""

    dx: Array  # (..., B, 6)
    on_bodies: Array  # (..., B, 6) sum of C^T mu over the joints of a body
    on_children: Array  # (..., J, 6)


@batched("(8),(8),(8),(8)->(6),(6,6),(6,6)")
def constraint(dq_parent, dq_child, dq_PJ, dq_CJ):
    """Return psi of a joint, and its derivatives with respect to the errors of child and parent.

    rho exp(xi/2) has q + q xi_a/2 and l + R(q) xi_d; xi = Ad(dq_CJ^-1) xi_C - Ad(rho^-1 dq_PJ^-1) xi_P.
    """
    back = dual_quaternion.conj(dual_quaternion.mul(dq_parent, dq_PJ))
    rho = dual_quaternion.mul(back, dual_quaternion.mul(dq_child, dq_CJ))
    q, place = dual_quaternion.to_pose(rho)
    turn = 0.5 * (q[0] * identity(3) + skew(q[1:]))
    G = block([[turn, zeros(3, 3)], [zeros(3, 3), quaternion.to_matrix(q)]])
    carried = dual_quaternion.conj(dual_quaternion.mul(dq_PJ, rho))
    D_child = G @ dual_quaternion.adjoint(dual_quaternion.conj(dq_CJ))
    return np.concatenate([q[1:], place]), D_child, -(G @ dual_quaternion.adjoint(carried))


def constraints(links: tuple[Link, ...], poses: Array, dq_PJ: Array, dq_CJ: Array) -> Constraint:
    """Return psi and its derivatives of all joints, from the poses of all bodies in the order of the links."""
    parents = [link.parent for link in links]
    return Constraint(*constraint(poses[..., parents, :], poses[..., 1:, :], dq_PJ, dq_CJ))


@functools.cache
def inward(kind: str) -> Kernel:
    """Return the kernel that eliminates a child and its joint."""
    held = list(KINDS[kind].held)
    r = len(held)

    @batched(f"(6,6),(6),(6),(6,6),(6,6),(6,6),(6,6),(6,6),(6,6)->(6,6),(6),({r}),({r},6),(6),(6,{r})")
    def inward(J, right, psi, D_child, D_parent, E_child, E_parent, C_child, C_parent):
        """Return what the parent gets, mu = alpha + beta dx_p, and dx_c = y + Y mu."""
        A_child, A_parent = (2.0 * (D[held] @ E) for D, E in ((D_child, E_child), (D_parent, E_parent)))
        Y = solve(J, np.concatenate([right[:, None], C_child[held].T], axis=1))
        K = A_child @ Y
        wanted = np.concatenate([(-psi[held] - K[:, 0])[:, None], -A_parent], axis=1)
        mu = solve(K[:, 1:], wanted)
        alpha, beta, C = mu[:, 0], mu[:, 1:], C_parent[held].T
        return -(C @ beta), C @ alpha, alpha, beta, Y[:, 0], Y[:, 1:]

    return inward


@functools.cache
def outward(kind: str) -> Kernel:
    """Return the kernel that finds a child and its joint from the parent."""
    held = list(KINDS[kind].held)
    r = len(held)

    @batched(f"({r}),({r},6),(6),(6,{r}),(6),(6,6),(6,6)->(6),(6),(6)")
    def outward(alpha, beta, y, Y, dx_parent, C_child, C_parent):
        """Return dx_c and the wrenches C^T mu on child and parent."""
        mu = alpha + beta @ dx_parent
        return y + Y @ mu, mu @ C_child[held], mu @ C_parent[held]

    return outward


@batched("(6,6),(6)->(6)")
def _base(J, right):
    return solve(J, right)


def solve_tree(
    links: tuple[Link, ...], J: Array, right: Array, end: Constraint, E: Array, D_child: Array, D_parent: Array
) -> Solution:
    """Solve for the increments of all bodies and the wrenches of all joints, on arrays of trials or in an assembly.

    Bodies and joints are in the order of the links. The constraints are those of the end, the directions D of the
    wrenches those of the start.
    """
    matrix, vector = [J[..., i, :, :] for i in range(len(links) + 1)], [right[..., i, :] for i in range(len(links) + 1)]
    found: list[Any] = [None] * len(links)
    for i, link in reversed(list(enumerate(links))):
        J_more, r_more, *found[i] = inward(link.kind)(
            matrix[i + 1], vector[i + 1], end.psi[..., i, :], end.D_child[..., i, :, :], end.D_parent[..., i, :, :],
            E[..., i + 1, :, :], E[..., link.parent, :, :], D_child[..., i, :, :], D_parent[..., i, :, :],
        )  # fmt: skip
        matrix[link.parent] = matrix[link.parent] + J_more
        vector[link.parent] = vector[link.parent] + r_more
    dx, loads = [_base(matrix[0], vector[0])], []
    for i, link in enumerate(links):
        directions = D_child[..., i, :, :], D_parent[..., i, :, :]
        moved, *pair = outward(link.kind)(*found[i], dx[link.parent], *directions)
        dx.append(moved)
        loads.append(pair)
    return Solution(np.stack(dx, -2), *_on_bodies(links, dx[0], loads))


def _on_bodies(links: tuple[Link, ...], like: Array, loads: list[Any]) -> tuple[Array, Array]:
    """Return the sum of the joints' wrenches on every body, and those on the children."""
    total: list[Any] = [np.zeros_like(like) for _ in range(len(links) + 1)]
    for i, (link, (on_child, on_parent)) in enumerate(zip(links, loads, strict=True)):
        total[i + 1] = total[i + 1] + on_child
        total[link.parent] = total[link.parent] + on_parent
    children = [on_child for on_child, _ in loads]
    return np.stack(total, -2), np.stack(children, -2) if children else np.zeros((*like.shape[:-1], 0, 6))
