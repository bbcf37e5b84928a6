"""The conserved chart for poses: about the centre of mass rotation is that of `conserved_chart`, the rest is linear.

Errors d = (dxi, dchi, extras) become those about the centre of mass, (a, r, dP, u), by `pose_taylor.to_centre`. The
estimate moves by them to

    q exp(a/2),   centre r_c + R r,   velocity v + R u,   P' = pulled(P + dP)        all of r, v in inertial axes

so that what a free body keeps is linear in d: velocity, and length and energy of the angular momentum. With the inertia
among the extra states the energy is no function that is known: the angular momentum, dP = J dw + N de, is then moved in
inertial axes, P' = exp(-a) (P + dP - P x a), and the rate follows by the new inertia.
"""

from __future__ import annotations

import functools

import numpy as np

from gnc import dual_quaternion, quaternion, spatial
from gnc.batch import batched
from gnc.estimators.conserved_chart import ITERATIONS, constants, pulled, pulled_slopes, slack, slope
from gnc.estimators.inertia_states import FORMS, change
from gnc.estimators.kalman import symmetric_product
from gnc.integrators.pose_taylor import to_centre, to_reference
from gnc.lie import so3_right_jacobian
from gnc.linalg import array, block, cross, identity, inv3, skew, zeros

Unknown = tuple[int, str] | None  # where the inertia begins among the extra states, and its form

NO_WHEELS = zeros(3)


def about_centre(dq, chi, M):
    """Return attitude, position and velocity of the centre of mass in inertial axes."""
    r_g = spatial.parts(M)[1]
    v = quaternion.rotate(dq[:4], spatial.shift_twist(chi, r_g)[3:])
    return dq[:4], dual_quaternion.transform_point(dq, r_g), v


def at_reference(q, centre, v, w, r_g):
    """Return pose and twist of the reference point."""
    chi = np.concatenate([w, quaternion.inverse_rotate(q, v)])
    return dual_quaternion.from_pose(q, centre - quaternion.rotate(q, r_g)), spatial.shift_twist(chi, -r_g)


def _deviation(de, unknown):
    """Return dJ of the extra states."""
    start, form = unknown
    xx, yy, zz, xy, xz, yz = array(FORMS[form].tolist()) @ de[start : start + FORMS[form].shape[1]]
    return array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])


def _inertia_columns(w, unknown, k):
    """Return N over all extra states (3, k)."""
    N = zeros(3, k)
    if unknown is not None:
        start, form = unknown
        N[:, start : start + FORMS[form].shape[1]] = change(w, form)
    return N


def retract(dq, x, d, C, M, unknown):
    """Return the state (dq, x) moved by d, and the derivative that takes errors about the old to those about the new.

    x = (chi, extras), d and C over (dxi, dchi, extras), M the inertia at x; S comes from C.
    """
    m, r_g, J = spatial.parts(M)
    (q, centre, v), w, de = about_centre(dq, x[:6], M), x[:3], d[12:]
    inner = to_centre(x[:6], M) @ d[:12]
    N, turn = _inertia_columns(w, unknown, len(de)), quaternion.exp(inner[:3])
    J_new = J if unknown is None else J + _deviation(de, unknown)
    moving = _in_inertial_axes if unknown is not None else functools.partial(_conserved, C=C, J=J)
    P, by_a, by_P = moving(J @ w, inner[:3], inner[6:9] + N @ de, turn)
    w_new, q_new = inv3(J_new) @ P, quaternion.normalize(quaternion.mul(q, turn))
    moved = centre + quaternion.rotate(q, inner[3:6]), v + quaternion.rotate(q, inner[9:])
    dq_new, chi_new = at_reference(q_new, *moved, w_new, r_g)
    outer = to_reference(chi_new, spatial.inertia(m, r_g, J_new))
    whole = identity(len(d))
    whole[:12, :12] = outer @ _centre_reset(inner[:3], turn, by_a, by_P) @ to_centre(x[:6], M)
    rows = zeros(12, len(de))
    rows[6:9] = by_P @ N - _inertia_columns(w_new, unknown, len(de))  # of J' dw' = dP' - N' de
    whole[:12, 12:] = outer @ rows
    return dq_new, np.concatenate([chi_new, x[6:] + de]), whole


def _conserved(P, a, dP, turn, C, J):
    """Return the momentum moved with its constants linear, and its derivatives for a and dP."""
    J_inverse = inv3(J)
    A, S = slope(P, NO_WHEELS, J_inverse), slack(P, symmetric_product(J, C[6:9, 6:9]), J_inverse)
    P_new, by_P, B = pulled_slopes(P + dP, constants(P, NO_WHEELS, J_inverse) + A @ dP, NO_WHEELS, J_inverse, S)
    return P_new, zeros(3, 3), by_P + B @ A


def _in_inertial_axes(P, a, dP, turn):
    """Return the momentum moved in inertial axes, which a free body of any inertia keeps, and its derivatives."""
    R = quaternion.to_matrix(turn).T
    P_new = R @ (P + dP - cross(P, a))
    return P_new, skew(P_new) @ so3_right_jacobian(a) - R @ skew(P), R


def _centre_reset(a, turn, by_a, by_P):
    """Return the derivative about the centre of mass: a' = J_r a, r' and u' turned back, dP' = by_a a + by_P dP."""
    R, nil = quaternion.to_matrix(turn).T, zeros(3, 3)
    return block(
        [[so3_right_jacobian(a), nil, nil, nil], [nil, R, nil, nil], [by_a, nil, by_P, nil], [nil, nil, nil, R]]
    )


@batched("(8),(6),(12,12),(6,6),(8),(6)->(12)")
def conserved_error(dq_IB, chi_B, C, M, dq_true, chi_true):
    """Return the error (dxi, dchi) of the chart, with retract(...) the truth: what C is of. For NEES, J known."""
    J = spatial.parts(M)[2]
    (q, centre, v), (q_true, centre_true, v_true) = about_centre(dq_IB, chi_B, M), about_centre(dq_true, chi_true, M)
    J_inverse, P, P_true = inv3(J), J @ chi_B[:3], J @ chi_true[:3]
    y, A = constants(P, NO_WHEELS, J_inverse), slope(P, NO_WHEELS, J_inverse)
    S, dP = slack(P, symmetric_product(J, C[6:9, 6:9]), J_inverse), P_true - P
    for _ in range(ITERATIONS):
        dP = dP + (P_true - pulled(P + dP, y + A @ dP, NO_WHEELS, J_inverse, S))
    a = quaternion.log(quaternion.mul(quaternion.conj(q), q_true))
    r, u = quaternion.inverse_rotate(q, centre_true - centre), quaternion.inverse_rotate(q, v_true - v)
    return to_reference(chi_B, M) @ np.concatenate([a, r, dP, u])
