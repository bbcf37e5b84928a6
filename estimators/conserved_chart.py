"""A chart of attitude and momentum in which the constants of the motion are linear, for kernels.

A free body keeps the length of its momentum and its energy, y = (|P|^2/2, T), T = (P - rho).J^-1 (P - rho)/2. They set
the frequencies of its motion and become known like t^-3/2, phases and the direction of the momentum like t^-1/2. Over
errors (a, dP) the level sets of y are bent by sigma^2/t, against a belief of width sigma t^-3/2: a Kalman filter takes
a bent sheet for a plane, and its NEES grows by sigma^2 t. Here the estimate moves by (a, dP) to

    P_1 = exp(-a) (P + dP - P x a)                      momentum corrected in inertial axes, where it is conserved
    P' = P_1 + B(P_1) (y(P) + A(P) dP - y(P_1)),        A = dy/dP = [P, w]^T,   w = J^-1 (P - rho)
    B = D (G + 1000 S G^-1 S)^-1,   D = A^T,   G = D^T D,   S = E[dD^T dD] from the covariance of dP

so that y is linear in dP. B is the least change of momentum that changes y. S lets go of y where its gradients are
known to less than a 1000^(1/4)-th of themselves: spin about a principal axis, a round body, a rate not yet known. The
covariance goes to the new estimate by g of the first line, and then g_P += B (A(P) - A(P') g). To first order the chart
is (a, dP): C of `attitude_belief` stays what it is. Derivation: docs/conserved_chart.md.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gnc import quaternion
from gnc.batch import batched, where
from gnc.lie import so3_right_jacobian
from gnc.linalg import array, cross, identity, inv3, skew

DAMPING = 1000.0
ROUND = 1e-12  # of |P|^2 and |J^-1 P|^2, added to S: a sphere has no second constant
ITERATIONS = 12  # of `error_between`: each leaves about |a| of what was left

Array = Any


def _trace(A):
    return A[0, 0] + A[1, 1] + A[2, 2]


def in_inertial_axes(P, C):
    """Tell whether the momentum is known better in inertial axes than in body axes, from C over (a, dP)."""
    S = skew(P)
    mixed = S @ C[:3, 3:6]
    return _trace(S @ C[:3, :3] @ S.T) < 2.0 * _trace(mixed)


def moved(P, a, dP, inertial):
    """Return the momentum before it is pulled, and its Jacobian g over (a, dP); the attitude is q exp(a/2).

    In body axes P + dP, where the attitude is unknown and the body rate is not.
    """
    turn = quaternion.exp(a)
    R, J_r, one = quaternion.to_matrix(turn).T, so3_right_jacobian(a), identity(3)
    P_1 = where(inertial, R @ (P + dP - cross(P, a)), P + dP)
    return turn, P_1, J_r, where(inertial, R, one)


def slope(P, rho, J_inverse):
    """Return A = dy/dP (2, 3)."""
    return array([P, J_inverse @ (P - rho)])


def constants(P, rho, J_inverse):
    """Return y."""
    p = P - rho
    return array([0.5 * (P @ P), 0.5 * (p @ J_inverse @ p)])


def slack(P, C_P, J_inverse):
    """Return S (2, 2)."""
    CJ = C_P @ J_inverse
    w = J_inverse @ P
    off = _trace(CJ)
    return array([[_trace(C_P) + ROUND * (P @ P), off], [off, sum((J_inverse * CJ).ravel(), 0.0) + ROUND * (w @ w)]])


def _inverse(N):
    (a, b), (c, d) = N
    return array([[d, -b], [-c, a]]) * (1.0 / (a * d - b * c))


def pull(A, S):
    """Return B (3, 2) = D (G S^-1 G + 1000 S)^-1 G S^-1, which is the B above without the inverse of G."""
    G = A @ A.T
    M = G @ _inverse(S)
    return A.T @ (_inverse(M @ G + DAMPING * S) @ M)


def retract(q, x, d, C, J, rho, conserved):
    """Return the state (q, x) moved by d, and the matrix that takes the error about the old to that about the new.

    x = (P, extras), d and C over (a, dP, extras); C tells the axes and S. Without `conserved` B is zero.
    """
    P, a, dP, J_inverse = x[:3], d[:3], d[3:6], inv3(J)
    inertial = in_inertial_axes(P, C)
    turn, P_1, J_r, R = moved(P, a, dP, inertial)
    if conserved:
        A, S = slope(P, rho, J_inverse), slack(P, C[3:6, 3:6], J_inverse)
        missing = constants(P, rho, J_inverse) + A @ dP - constants(P_1, rho, J_inverse)
        P_1 = P_1 + pull(slope(P_1, rho, J_inverse), S) @ missing
    g = identity(len(d))
    g[:3, :3] = J_r
    g[3:6, :3] = where(inertial, skew(P_1) @ J_r - R @ skew(P), 0.0)
    g[3:6, 3:6] = R
    if conserved:
        A_1 = slope(P_1, rho, J_inverse)
        change = -(A_1 @ g[3:6, :6])
        change[:, 3:] = change[:, 3:] + A
        g[3:6, :6] = g[3:6, :6] + pull(A_1, S) @ change
    return quaternion.normalize(quaternion.mul(q, turn)), np.concatenate([P_1, x[3:] + d[6:]]), g


def _error_between(q, P, C, J, rho, q_true, P_true, conserved):
    a, J_inverse = quaternion.log(quaternion.mul(quaternion.conj(q), q_true)), inv3(J)
    inertial = in_inertial_axes(P, C)
    turn = quaternion.exp(a)
    axes = where(inertial, quaternion.to_matrix(turn), identity(3))
    dP = where(inertial, axes @ P_true - P + cross(P, a), P_true - P)
    A, S = slope(P, rho, J_inverse), slack(P, C[3:6, 3:6], J_inverse)
    for _ in range(ITERATIONS if conserved else 0):
        _, P_1, _, _ = moved(P, a, dP, inertial)
        missing = constants(P, rho, J_inverse) + A @ dP - constants(P_1, rho, J_inverse)
        dP = dP + axes @ (P_true - P_1 - pull(slope(P_1, rho, J_inverse), S) @ missing)
    return np.concatenate([a, dP])


@batched("(4),(3),(6,6),(3,3),(3),(4),(3)->(6)")
def conserved_error(q_IB, P_B, C, J, rho_B, q_true, P_true):
    """Return the error d of the chart, with retract(q, P, d) the truth: what the covariance C is of. For NEES."""
    return _error_between(q_IB, P_B, C, J, rho_B, q_true, P_true, conserved=True)


@batched("(4),(3),(6,6),(3,3),(3),(4),(3)->(6)")
def plain_error(q_IB, P_B, C, J, rho_B, q_true, P_true):
    """Return the error d without the constants: momentum in inertial axes, or in body axes where it is known there."""
    return _error_between(q_IB, P_B, C, J, rho_B, q_true, P_true, conserved=False)
