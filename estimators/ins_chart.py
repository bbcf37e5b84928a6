"""Two error states of attitude, position and velocity x = (q_IB, r_I, v_I), errors (theta, rho, nu).

    group-affine      SE_2(3):  q exp(theta),  r + R J(theta) rho,  v + R J(theta) nu       all errors in body axes
    dual-quaternion   SE(3):    q exp(theta),  r + R J(theta) rho,  v + nu                  the velocity's is inertial

J is the left Jacobian of SO(3). In the first the errors of an INS without biases move by a matrix that depends on the
samples alone, not on the estimate; the second is the error of a dual quaternion beside a plain velocity.
Source: Barrau and Bonnabel, IEEE Trans. Automatic Control 62 (2017) 1797; Filipe, Kontitsis and Tsiotras, J. Guidance,
Control, and Dynamics 38 (2015) 1625.
"""

from __future__ import annotations

import numpy as np

from gnc import lie, quaternion
from gnc.estimators.chart import Part
from gnc.linalg import block, identity, zeros
from gnc.typing import Array

Q, R, V = slice(0, 4), slice(4, 7), slice(7, 10)
SIZE = 9


def _turned(q: Array, theta: Array) -> Array:
    return quaternion.normalize(quaternion.mul(q, quaternion.exp(theta)))


def _angle(x: Array, y: Array) -> Array:
    return quaternion.log(quaternion.mul(quaternion.conj(x[Q]), y[Q]))


def _blocks(by_attitude: Array, by_position: Array, by_velocity: Array) -> Array:
    """Return the block-diagonal matrix."""
    whole = zeros(sum(map(len, (by_attitude, by_position, by_velocity))), SIZE)
    row = 0
    for i, part in enumerate((by_attitude, by_position, by_velocity)):
        whole[row : row + len(part), 3 * i : 3 * i + 3] = part
        row += len(part)
    return whole


def _lift(affine: bool, x: Array) -> Array:
    turn = quaternion.to_matrix(x[Q])
    return _blocks(0.5 * quaternion.left_matrix(x[Q])[:, 1:], turn, turn if affine else identity(3))


def _slope(affine: bool, x: Array) -> Array:
    back = quaternion.to_matrix(x[Q]).T
    by_attitude = 2.0 * quaternion.left_matrix(quaternion.conj(x[Q]))[1:]
    lower = block([[back, zeros(3, 3)], [zeros(3, 3), back if affine else identity(3)]])
    return block([[by_attitude, zeros(3, 6)], [zeros(6, 4), lower]])


def _retract(affine: bool, x: Array, e: Array) -> Array:
    J = quaternion.to_matrix(x[Q]) @ lie.so3_left_jacobian(e[:3])
    moved = x[V] + (J @ e[6:] if affine else e[6:])
    return np.concatenate([_turned(x[Q], e[:3]), x[R] + J @ e[3:6], moved])


def _local(affine: bool, x: Array, y: Array) -> Array:
    theta = _angle(x, y)
    back = lie.so3_left_jacobian_inverse(theta) @ quaternion.to_matrix(x[Q]).T
    nu = y[V] - x[V]
    return np.concatenate([theta, back @ (y[R] - x[R]), back @ nu if affine else nu])


def _reset(affine: bool, d: Array) -> Array:
    by_position = lie.se3_right_jacobian(d[:6])
    J, whole = by_position[:3, :3], zeros(SIZE, SIZE)
    whole[:6, :6], whole[6:, 6:] = by_position, J if affine else identity(3)
    if affine:
        whole[6:, :3] = lie.se3_right_jacobian(np.concatenate([d[:3], d[6:]]))[3:, :3]
    return whole


def _part(name: str, affine: bool) -> Part:
    functions = (_lift, _retract, _local, _slope, _reset)
    lift, retract, local, slope, reset = (lambda *x, f=f: f(affine, *x) for f in functions)
    return Part(name, 10, SIZE, lift, retract, local, slope, reset)


FORMS = {"group-affine": _part("group-affine", True), "dual-quaternion": _part("dual-quaternion", False)}
