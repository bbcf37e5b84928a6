"""The groups SO(3) and SE(3) as matrices: exponential, logarithm, Jacobians, adjoint.

Elements of the algebras are vectors: a rotation vector w, and a twist [w, v], angular first. Group elements are R_AB
and T_AB = [[R_AB, r_AB], [0, 1]]; exp(twist) is the motion of a body twist held for one second. Jacobians:

    exp(x + d) = exp(left_jacobian(x) d) exp(x) = exp(x) exp(right_jacobian(x) d)      to first order in d

A twist is a dual vector w + eps v (eps^2 = 0), so each 6x6 matrix of SE(3) is [[M, 0], [D, M]] with M(w) the matrix of
SO(3) and D its derivative along v. Inverse Jacobians are singular at |w| = 2 pi. Every function is a kernel.

Source: Barfoot, "State Estimation for Robotics", ch. 7 (linear part first there; its Q block is D).
"""

import numpy as np

from gnc import quaternion
from gnc.batch import batched
from gnc.coefficients import cot_gap, cot_gap_slope, sinc, sine_gap, sine_gap_slope, versine, versine_slope
from gnc.linalg import array, block, identity, skew, zeros

# SO(3)


@batched("(3)->(3,3)")
def hat(w):
    """Return the matrix [w] with [w] x = w cross x."""
    return skew(w)


@batched("(3,3)->(3)")
def vee(W):
    """Return w of the skew matrix [w]."""
    return array([W[2, 1], W[0, 2], W[1, 0]])


@batched("(3)->(3,3)")
def so3_exp(w):
    """Return the rotation matrix 1 + sin t/t [w] + (1 - cos t)/t^2 [w]^2, t = |w|."""
    z = w @ w
    return _matrix(w, 1.0, sinc(z), versine(z))


@batched("(3,3)->(3)")
def so3_log(R):
    """Return the rotation vector of a matrix, at most pi long."""
    return quaternion.log(quaternion.from_matrix(R))


@batched("(3)->(3,3)")
def so3_left_jacobian(w):
    """Return 1 + (1 - cos t)/t^2 [w] + (t - sin t)/t^3 [w]^2."""
    z = w @ w
    return _matrix(w, 1.0, versine(z), sine_gap(z))


@batched("(3)->(3,3)")
def so3_right_jacobian(w):
    """Return left_jacobian(-w), its transpose."""
    return so3_left_jacobian(-w)


@batched("(3)->(3,3)")
def so3_left_jacobian_inverse(w):
    """Return 1 - [w]/2 + (1/t^2 - (1 + cos t)/(2 t sin t)) [w]^2."""
    return _matrix(w, 1.0, -0.5, cot_gap(w @ w))


@batched("(3)->(3,3)")
def so3_right_jacobian_inverse(w):
    """Return left_jacobian_inverse(-w), its transpose."""
    return so3_left_jacobian_inverse(-w)


def _matrix(w, a, b, c):
    """Return a + b [w] + c [w]^2."""
    W = skew(w)
    return a * identity(3) + b * W + c * (W @ W)


# SE(3)


@batched("(6)->(4,4)")
def se3_exp(twist):
    """Return T = [[exp(w), left_jacobian(w) v], [0, 1]]."""
    w, v = twist[:3], twist[3:]
    return _pose(so3_exp(w), so3_left_jacobian(w) @ v)


@batched("(4,4)->(6)")
def se3_log(T):
    """Return the twist of a pose, its rotation at most pi."""
    w = so3_log(T[:3, :3])
    return np.concatenate([w, so3_left_jacobian_inverse(w) @ T[:3, 3]])


@batched("(4,4)->(4,4)")
def se3_inverse(T_AB):
    """Return T_BA = [[R^T, -R^T r], [0, 1]]."""
    R_BA = T_AB[:3, :3].T
    return _pose(R_BA, -(R_BA @ T_AB[:3, 3]))


@batched("(4,4)->(6,6)")
def Ad(T_AB):
    """Return the matrix that takes twists from B to A, [[R, 0], [[r] R, R]]: T exp(x) T^-1 = exp(Ad x)."""
    R = T_AB[:3, :3]
    return _dual(R, skew(T_AB[:3, 3]) @ R)


@batched("(6)->(6,6)")
def ad(twist):
    """Return the matrix of the Lie bracket, [[[w], 0], [[v], [w]]], whose matrix exponential is Ad of se3_exp."""
    return _dual(skew(twist[:3]), skew(twist[3:]))


@batched("(6)->(6,6)")
def se3_left_jacobian(twist):
    """Return the sum of ad^n/(n + 1)!: SO(3)'s left Jacobian, and below the diagonal its derivative along v."""
    w, v = twist[:3], twist[3:]
    z = w @ w
    slope = _slope(w, v, versine(z), sine_gap(z), versine_slope(z), sine_gap_slope(z))
    return _dual(so3_left_jacobian(w), slope)


@batched("(6)->(6,6)")
def se3_right_jacobian(twist):
    """Return left_jacobian(-twist)."""
    return se3_left_jacobian(-twist)


@batched("(6)->(6,6)")
def se3_left_jacobian_inverse(twist):
    """Return SO(3)'s inverse left Jacobian, and below the diagonal its derivative along v."""
    w, v = twist[:3], twist[3:]
    z = w @ w
    return _dual(so3_left_jacobian_inverse(w), _slope(w, v, -0.5, cot_gap(z), 0.0, cot_gap_slope(z)))


@batched("(6)->(6,6)")
def se3_right_jacobian_inverse(twist):
    """Return left_jacobian_inverse(-twist)."""
    return se3_left_jacobian_inverse(-twist)


def _slope(w, v, b, c, db, dc):
    """Return the derivative along v of b [w] + c [w]^2, with db, dc the derivatives of b, c with respect to w.w."""
    W, V = skew(w), skew(v)
    along = 2.0 * (w @ v)
    return b * V + c * (W @ V + V @ W) + along * (db * W + dc * (W @ W))


def _dual(M, D):
    return block([[M, zeros(3, 3)], [D, M]])


def _pose(R, r):
    return array([[*R[0], r[0]], [*R[1], r[1]], [*R[2], r[2]], [0.0, 0.0, 0.0, 1.0]])
