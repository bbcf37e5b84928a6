"""Joints between bodies that are described one by one, and the O(B) solution of systems with their structure.

xi_b is the error of a body's pose, p exp(xi/2), in its axes; X = Ad(p_c^-1 p_p) brings twists of a parent to the axes
of its child, and S has the free directions of the joint in child axes, which are constant. Each linear problem of a
step is

    A_b xi_b = s_b + f_b - sum over joints on b of X_start^T f_c,        xi_c = X_end xi_p + S y + bias,
    S^T f_c = drive - resistance y

for the errors xi, the joints' own changes y and the wrenches f_c on the children. It is solved from the leaves to the
root: with t = s_c - A_c bias and D = S^T A_c S + resistance

    y = D^-1 (drive + S^T t) - K xi_p,    K = D^-1 S^T A_c X_end
    A_p += X_start^T (A_c X_end - A_c S K),        s_p += X_start^T (t - A_c S D^-1 (drive + S^T t))

A joint that is prescribed has its y given as `drive`. The saddle matrix of DQMB eq. (50) is the same problem with the
multipliers as further unknowns; here they are in f.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from gnc import dual_quaternion, quaternion
from gnc.batch import batched, copysign, sized
from gnc.linalg import array, identity, solve, zeros
from gnc.models.multibody.joints import KINDS
from gnc.models.multibody.tree import Link

Array = Any


class Node(NamedTuple):
    """What the joints are at a node, in the order of the links; `axes` does not depend on the node."""

    X: Array  # (..., J, 6, 6) from the parent's twists to the child's axes
    axes: Array  # (..., 6, D) S of all joints beside each other, at the places of their velocities


class Solution(NamedTuple):
    """What `solve_tree` finds, in the order of the links; wrenches are in the axes of the body they act on."""

    xi: Array  # (..., B, 6)
    y: Array  # (..., D)
    on_bodies: Array  # (..., B, 6) sum of the joints' wrenches on a body
    on_children: Array  # (..., J, 6)


@batched("(8),(8)->(6,6)")
def carried(dq_parent, dq_child):
    """Return X = Ad(p_c^-1 p_p)."""
    return dual_quaternion.adjoint(dual_quaternion.mul(dual_quaternion.conj(dq_child), dq_parent))


def node(links: tuple[Link, ...], poses: Array, axes: Array) -> Node:
    """Return X of all joints, from the poses of all bodies in the order of the links."""
    return Node(carried(poses[..., [link.parent for link in links], :], poses[..., 1:, :]), axes)


@sized(lambda kind, prescribed: "(8),(8),(8),(8)->(6)")
def gap(dq_parent, dq_child, dq_PJ, dq_CJ, *, kind, prescribed):
    """Return the kernel of how far a joint is open: the error of its distal frame in the directions that it holds.

    rho = (p_P dq_PJ)^-1 p_C dq_CJ = rho_free exp(gap/2) with rho_free a pose that the joint allows; of a prescribed
    joint dq_PJ has the wanted pose in it, and rho should be 1.
    """
    free = () if prescribed else KINDS[kind].free
    turns = [k for k in free if k < 3]
    back = dual_quaternion.conj(dual_quaternion.mul(dq_parent, dq_PJ))
    q, place = dual_quaternion.to_pose(dual_quaternion.mul(back, dual_quaternion.mul(dq_child, dq_CJ)))
    shift = quaternion.inverse_rotate(q, place)
    if len(turns) == 3:
        turn = zeros(3)
    elif turns:  # about z: what is left is a turn about an axis across it
        length = np.sqrt(q[0] * q[0] + q[3] * q[3])
        turn = array([q[0] * q[1] + q[3] * q[2], q[0] * q[2] - q[3] * q[1], 0.0]) * (2.0 / length)
    else:
        turn = q[1:] * copysign(2.0, q[0])
    return array([0.0 if k in free else x for k, x in enumerate([*turn, *shift])])


@sized(lambda d, prescribed: f"(6,6),(6),(6),(6,6),(6,6),(6,{d}),({d}),({d})->(6,6),(6),({d}),({d},6)")
def inward(A, s, bias, X_start, X_end, S, drive, resistance, *, d, prescribed):
    """Return what the parent gets, and y = first - K xi_p."""
    t, AX = s - A @ bias, A @ X_end
    if prescribed:
        return X_start.T @ AX, X_start.T @ (t - A @ (S @ drive)), drive, zeros(d, 6)
    AS = A @ S
    D = S.T @ AS + identity(d) * resistance
    both = solve(D, np.concatenate([(drive + S.T @ t)[:, None], S.T @ AX], axis=1))
    first, K = both[:, 0], both[:, 1:]
    return X_start.T @ (AX - AS @ K), X_start.T @ (t - AS @ first), first, K


@sized(lambda d: f"(6,6),(6),(6),(6,6),(6,6),(6,{d}),({d}),({d},6),(6)->(6),({d}),(6),(6)")
def outward(A, s, bias, X_start, X_end, S, first, K, xi_parent):
    """Return xi_c, y and the wrenches on child and parent."""
    y = first - K @ xi_parent
    xi = X_end @ xi_parent + S @ y + bias
    f = A @ xi - s
    return xi, y, f, -(X_start.T @ f)


@batched("(6,6),(6)->(6)")
def _base(A, s):
    return solve(A, s)


def solve_tree(
    links: tuple[Link, ...],
    prescribed: tuple[bool, ...],
    A: Array,
    s: Array,
    start: Node,
    end: Node,
    bias: Array,
    drive: Array,
    resistance: Array,
) -> Solution:
    """Solve for the errors of all bodies and the wrenches of all joints, on arrays of trials or in an assembly.

    Bodies and joints are in the order of the links; `drive` and `resistance` (..., D) in that of the velocities.
    """
    count = len(links) + 1
    matrix, vector = [A[..., i, :, :] for i in range(count)], [s[..., i, :] for i in range(count)]
    gains: list[Any] = [None] * len(links)
    for i, link in reversed(list(enumerate(links))):
        d, mine = link.rate[1] - link.rate[0], slice(*link.rate)
        A_more, s_more, *gains[i] = inward(d, prescribed[i])(
            matrix[i + 1], vector[i + 1], bias[..., i, :], start.X[..., i, :, :], end.X[..., i, :, :],
            end.axes[..., mine], drive[..., mine], resistance[..., mine],
        )  # fmt: skip
        matrix[link.parent] = matrix[link.parent] + A_more
        vector[link.parent] = vector[link.parent] + s_more
    y: list[Any] = [None] * len(links)
    xi, loads = [_base(matrix[0], vector[0])], []
    for i, link in enumerate(links):
        moved, y[link.joint], *pair = outward(link.rate[1] - link.rate[0])(
            matrix[i + 1], vector[i + 1], bias[..., i, :], start.X[..., i, :, :], end.X[..., i, :, :],
            end.axes[..., slice(*link.rate)], *gains[i], xi[link.parent],
        )  # fmt: skip
        xi.append(moved)
        loads.append(pair)
    none = np.zeros((*xi[0].shape[:-1], 0))
    return Solution(np.stack(xi, -2), np.concatenate(y, -1) if y else none, *_on_bodies(links, xi[0], loads))


def _on_bodies(links: tuple[Link, ...], like: Array, loads: list[Any]) -> tuple[Array, Array]:
    """Return the sum of the joints' wrenches on every body, and those on the children."""
    total: list[Any] = [np.zeros_like(like) for _ in range(len(links) + 1)]
    for i, (link, (on_child, on_parent)) in enumerate(zip(links, loads, strict=True)):
        total[i + 1] = total[i + 1] + on_child
        total[link.parent] = total[link.parent] + on_parent
    children = [on_child for on_child, _ in loads]
    return np.stack(total, -2), np.stack(children, -2) if children else np.zeros((*like.shape[:-1], 0, 6))
