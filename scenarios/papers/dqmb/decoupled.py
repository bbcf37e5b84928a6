"""The comparator of Fig. 6: Newton and Euler apart, every body with a place, an attitude, a velocity and a rate.

For bodies i with mass m, inertia J and rotation R, and revolute joints j with force F and torque T on the child:

    m vdot = sum of +-F                                   in inertial axes
    J wdot + w x J w = R^T (sum of +-(T + d x F))         in body axes, d the joint from the centre of mass
    both ends of a joint have the same acceleration; across its axis both bodies have the same angular acceleration

Unknowns: vdot, wdot of all bodies, F and the two parts of T across the axis, in one dense system. This is the
formulation of E. Stoneking, "Newton-Euler dynamic equations of motion for a multi-body spacecraft", AIAA 2007-6441,
written down here from its principle, with the axis of a revolute joint held by two equations as DQMB section 4 says.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from gnc import dual_quaternion, quaternion
from gnc.models.multibody import Tree, kinematics
from gnc.scenarios.papers.dqmb.runs import Efforts, Reading, march, read

Array = Any


class Moving(NamedTuple):
    """All bodies, (..., B, 3) and (..., B, 4)."""

    r: Array  # centres of mass in inertial axes
    q: Array
    v: Array  # inertial axes
    w: Array  # body axes


def _unpack(row: Array, B: int) -> Moving:
    parts = np.split(row, np.cumsum([3 * B, 4 * B, 3 * B]), axis=-1)
    return Moving(*(a.reshape(*row.shape[:-1], B, -1) for a in parts))


def decoupled(tree: Tree, efforts: Efforts, end: float, stops: Sequence[float]) -> Reading:
    """Integrate a tree of revolute joints from rest."""
    B = len(tree.bodies)

    def rate(t: float, row: Array) -> Array:
        x = _unpack(row, B)
        v_dot, w_dot = accelerations(tree, x, efforts(t))
        return np.concatenate([a.ravel() for a in (x.v, quaternion.derivative(x.q, x.w), v_dot, w_dot)])

    q, r = dual_quaternion.to_pose(kinematics.bodies(tree, tree.state()).dq_IB)
    t, rows = march(rate, np.concatenate([r.ravel(), q.ravel(), np.zeros(6 * B)]), end, stops)
    x = _unpack(rows, B)
    q = quaternion.normalize(x.q)
    twists = np.concatenate([x.w, quaternion.inverse_rotate(q, x.v)], axis=-1)
    return read(tree, t, dual_quaternion.from_pose(q, x.r), twists)


def accelerations(tree: Tree, x: Moving, effort: Array) -> tuple[Array, Array]:
    """Return vdot in inertial and wdot in body axes, (B, 3) each."""
    B, J = len(tree.bodies), len(tree.joints)
    R = quaternion.to_matrix(x.q)
    A, b = np.zeros((6 * B + 5 * J, 6 * B + 5 * J)), np.zeros(6 * B + 5 * J)
    for i, (body, w) in enumerate(zip(tree.bodies, x.w, strict=True)):
        translation, rotation = _rows(B, i)
        A[translation, translation] = body.mass * np.eye(3)
        A[rotation, rotation] = body.J_com
        b[rotation] = -np.cross(w, body.J_com @ w)
    for j, joint in enumerate(tree.joints):
        _join(A, b, tree, j, (tree.body(joint.child), tree.body(joint.parent)), R, x.w, effort[j])
    solution = np.linalg.solve(A, b)
    return solution[: 3 * B].reshape(B, 3), solution[3 * B : 6 * B].reshape(B, 3)


def _rows(B: int, i: int) -> tuple[slice, slice]:
    """Return where the translation and the rotation of a body are."""
    return slice(3 * i, 3 * i + 3), slice(3 * B + 3 * i, 3 * B + 3 * i + 3)


def _join(A: Array, b: Array, tree: Tree, j: int, ends: tuple[int, int], R: Array, w: Array, effort: float) -> None:
    """Enter a joint: its force and torque into the equations of both bodies, and its five constraints."""
    B, joint = len(tree.bodies), tree.joints[j]
    force, torque = slice(6 * B + 5 * j, 6 * B + 5 * j + 3), slice(6 * B + 5 * j + 3, 6 * B + 5 * j + 5)
    child, parent = ends
    axes = R[parent] @ quaternion.to_matrix(joint.dq_PJ[:4])
    across, axis = axes[:, :2], axes[:, 2]
    for i, dq, sign in ((child, joint.dq_CJ, 1.0), (parent, joint.dq_PJ, -1.0)):
        translation, rotation = _rows(B, i)
        d = dual_quaternion.to_pose(dq)[1]
        lever = R[i] @ _skew(d)  # transposed it is minus the moment of a force
        A[translation, force] = -sign * np.eye(3)
        A[rotation, force] = sign * lever.T
        A[rotation, torque] = -sign * R[i].T @ across
        b[rotation] += sign * effort * (R[i].T @ axis)
        A[force, translation] = sign * np.eye(3)
        A[force, rotation] = -sign * lever
        A[torque, rotation] = sign * across.T @ R[i]
        b[force] -= sign * R[i] @ np.cross(w[i], np.cross(w[i], d))
    turning = R[parent] @ w[parent]
    b[torque] = -np.cross(turning, across.T) @ (R[child] @ w[child] - turning)


def _skew(a: Array) -> Array:
    return np.array([[0.0, -a[2], a[1]], [a[2], 0.0, -a[0]], [-a[1], a[0], 0.0]])
