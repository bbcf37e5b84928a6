"""Rigid bodies in six dimensions: inertia about any point, momentum, energy, and how they change with the point.

All is angular first and in body axes unless a name says otherwise: twist [w, v] with v the velocity of the reference
point, wrench [torque, force] and momentum [angular, linear] with torque and angular momentum about it, and

    M = [[J, m S(r_g)], [-m S(r_g), m 1]]        J about the reference point, r_g from it to the centre of mass

(DQVI eq. (12)). A change of frame, point and axes together, is by a pose: `dual_quaternion.transform_twist`,
`dual_quaternion.transform_wrench` (momentum too) and `transform_inertia`. Every function is a kernel.
"""

import numpy as np

from gnc import dual_quaternion, quaternion
from gnc.batch import batched
from gnc.linalg import block, cross, identity, inv3, mirrored, skew


def _symmetric(A):
    return 0.5 * (A + A.T)


def _assemble(A, B, C):
    """Join the blocks of a symmetric 6x6 matrix, its symmetry exact."""
    return block([[_symmetric(A), B], [B.T, _symmetric(C)]])


def _steiner(m, r_g):
    """Return the inertia of a point mass, m (r.r 1 - r r^T)."""
    return m * ((r_g @ r_g) * identity(3) - np.outer(r_g, r_g))


@batched("(),(3),(3,3)->(6,6)")
def inertia(m, r_g, J_com):
    """Return M of a body with its mass, centre of mass, and inertia about the centre of mass. Source: DQVI eq. (12)."""
    return _assemble(J_com + _steiner(m, r_g), m * skew(r_g), m * identity(3))


@batched("(6,6)->(),(3),(3,3)")
def parts(M):
    """Return mass, centre of mass, and inertia about the centre of mass: the inverse of `inertia`."""
    m = M[3, 3]
    r_g = np.stack([M[2, 4], M[0, 5], M[1, 3]]) / m
    return m, r_g, _symmetric(M[:3, :3] - _steiner(m, r_g))


@batched("(6,6),(3)->(6,6)")
def shift_inertia(M_P, r_PQ):
    """Move the reference point from P to Q: M_Q = X^T M_P X with X = [[1, 0], [S(r_PQ), 1]], twist_P = X twist_Q.

    Right for any symmetric M, added mass included.
    """
    S, B, C = skew(r_PQ), M_P[:3, 3:], M_P[3:, 3:]
    BS = B @ S
    return _assemble(M_P[:3, :3] + (BS + BS.T) + S.T @ C @ S, B + S.T @ C, C)


@batched("(4),(6,6)->(6,6)")
def rotate_inertia(q_AB, M_B):
    """Return M in other axes, about the same point: every block becomes R_AB block R_AB^T."""
    R = quaternion.to_matrix(q_AB)
    A, B, C = (R @ X @ R.T for X in (M_B[:3, :3], M_B[:3, 3:], M_B[3:, 3:]))
    return _assemble(A, B, C)


@batched("(8),(6,6)->(6,6)")
def transform_inertia(dq_AB, M_B):
    """Return M about the origin of A in axes of A from that about the origin of B in axes of B."""
    q_AB, r_AB = dual_quaternion.to_pose(dq_AB)
    return shift_inertia(rotate_inertia(q_AB, M_B), -r_AB)


@batched("(6,6),(6,6)->(6,6)")
def combine(M_1, M_2):
    """Join two bodies rigidly; both about the same point, in the same axes. Source: DQVI section V."""
    return M_1 + M_2


@batched("(6,6),(6,6)->(6,6)")
def split(M, M_1):
    """Return what remains when body 1 leaves; both about the same point, in the same axes. Source: DQVI section V."""
    return M - M_1


@batched("(6,6)->(6,6)")
def inverse(M):
    """Return the inverse of a symmetric positive definite M, by the inertia about the centre of mass.

    That is the Schur complement of the mass block, which holds for added mass too.
    """
    C_inverse = inv3(mirrored(M[3:, 3:]))
    Y = M[:3, 3:] @ C_inverse
    J_inverse = inv3(mirrored(M[:3, :3] - Y @ M[:3, 3:].T))
    B = -(J_inverse @ Y)
    return block([[J_inverse, B], [B.T, mirrored(C_inverse - Y.T @ B)]])


@batched("(6,6),(6)->(6)")
def momentum(M, twist):
    """Return [angular momentum about the reference point, linear momentum]. Source: DQMB eq. (23)."""
    return M @ twist


@batched("(6,6),(6)->()")
def kinetic_energy(M, twist):
    """Return twist . M twist / 2. Source: DQVI eq. (11), DQMB eq. (24).

    Erratum: DQVI eq. (14) is T = 2 |p^dagger pdot|^2 in the metric M, the conjugate is missing
    (test_erratum_dqvi_eq_14_needs_the_conjugate_of_the_pose).
    """
    return 0.5 * (twist @ (M @ twist))


@batched("(6),(3)->(6)")
def shift_twist(twist_P, r_PQ):
    """Move the reference point from P to Q: v_Q = v_P + w x r_PQ. Source: DQMB eq. (20) without rotation."""
    return np.concatenate([twist_P[:3], twist_P[3:] + cross(twist_P[:3], r_PQ)])


@batched("(6),(3)->(6)")
def shift_wrench(wrench_P, r_PQ):
    """Move the reference point of a wrench or a momentum: torque_Q = torque_P - r_PQ x force. Source: DQMB eq. (17)."""
    return np.concatenate([wrench_P[:3] - cross(r_PQ, wrench_P[3:]), wrench_P[3:]])


@batched("(4),(6)->(6)")
def rotate(q_AB, x_B):
    """Return a twist, wrench or momentum in other axes, about the same point."""
    return np.concatenate([quaternion.rotate(q_AB, x_B[:3]), quaternion.rotate(q_AB, x_B[3:])])
