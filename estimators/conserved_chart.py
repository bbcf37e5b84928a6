"""A chart of attitude and momentum in which the constants of the motion are linear, for kernels.

A free body keeps the length of its momentum and its energy, y = (|P|^2/2, T), T = (P - rho).J^-1 (P - rho)/2. They set
the frequencies of its motion and become known like t^-3/2, phases and the direction of the momentum like t^-1/2. Over
errors (a, dP) the level sets of y are bent by sigma^2/t, against a belief of width sigma t^-3/2: a Kalman filter takes
a bent sheet for a plane, and its NEES grows by sigma^2 t. Here the estimate moves by (a, dP) to q exp(a/2) and

    P' = P_1 + B(P_1) (y(P) + A(P) dP - y(P_1)),   P_1 = P + dP,   A = dy/dP = [P, w]^T,   w = J^-1 (P - rho)
    B = [b_1 - k b_2, b_2],   b_1 = P g^3/(g^4 + 1000^2 S_11^4),   b_2 = f w_n/h + (1 - f) (w.P/|w|^2) b_1
    k = w.P/g,   w_n = w - k P,   g = |P|^2,   h = |w_n|^2,   f = h^4/(h^4 + 1000^2 s^4)

and once more from there, so that y is linear in dP: what is left of its bend has one sign at every correction and adds
up. S = E[dA dA^T] from the covariance of dP, s that of w_n. With f = 1, B is the least change of
momentum that changes y, length first, then of the energy what is not along P. S and s let go of a gradient that is
known to less than a 1000^(1/4)-th of itself: of both, in a rate not yet known; of one, in a spin about a principal axis
and of a round body. The one that is kept there, with f = 0, is the energy: the frequency of such a spin is
|P|/J_3 + E_n/|P|, E_n = T - |P|^2/(2 J_3) the energy of its nutation, which is constant where T is, to second order in
the nutation, and not where |P| is. To first order the chart is (a, dP): the covariance C of `attitude_belief` stays
what it is, and goes to the chart of the new estimate by the exact derivative of the move. Derivation and figures:
docs/conserved_chart.md.

The conserved chart for poses: about the centre of mass rotation is that of `conserved_chart`, the rest is linear.

Errors d = (dxi, dchi, extras) become those about the centre of mass, (a, r, dP, u), by `pose_taylor.to_centre`. The
estimate moves by them to

    q exp(a/2),   centre r_c + R r,   velocity v + R u,   P' = pulled(P + dP)        all of r, v in inertial axes

so that what a free body keeps is linear in d: velocity, and length and energy of the angular momentum. With the inertia
among the extra states the energy is no function that is known: the angular momentum, dP = J dw + N de, is then moved in
inertial axes, P' = exp(-a) (P + dP - P x a), and the rate follows by the new inertia.
"""

import functools

import numpy as np

from gnc import dual_quaternion, quaternion, spatial
from gnc.batch import batched, jacobian, maximum
from gnc.estimators.extra_states import FORMS, change
from gnc.estimators.kalman import cholesky, symmetric_product
from gnc.integrators.pose_taylor import to_centre, to_reference
from gnc.lie import so3_right_jacobian
from gnc.linalg import array, block, cross, identity, inv3, skew, zeros

DAMPING = 1000.0
ROUND = 1e-12  # added to S, as a part of itself and of G: a sphere has no second constant
SMALLEST = 1e-200  # stands for zero in a denominator
PULLS = 2  # Newton steps to y: one leaves the square of the bend
ITERATIONS = 8  # of `conserved_error`: each leaves about |dP|/|P| of what was left


def constants(P, rho, J_inverse):
    """Return y."""
    p = P - rho
    return array([0.5 * (P @ P), 0.5 * (p @ J_inverse @ p)])


def slope(P, rho, J_inverse):
    """Return A = dy/dP (2, 3)."""
    return array([P, J_inverse @ (P - rho)])


def slack(P, C_P, J_inverse):
    """Return S (2, 2), how much the gradients are uncertain."""
    CJ, w = C_P @ J_inverse, J_inverse @ P
    first, mixed = CJ[0, 0] + CJ[1, 1] + CJ[2, 2], sum((J_inverse * CJ).ravel(), 0.0)
    length = C_P[0, 0] + C_P[1, 1] + C_P[2, 2]
    return array([[length + ROUND * (length + P @ P), first], [first, mixed + ROUND * (mixed + w @ w)]])


def _held(square, variance):
    """Return 1/square where a gradient of that square is known, fading to zero where its variance is not small."""
    known, unknown = square * square, DAMPING * variance * variance
    return square * known / maximum(known * known + unknown * unknown, SMALLEST)


def _pull(A, S):
    """Return B (3, 2)."""
    P, w = A
    g = P @ P
    along = (w @ P) / maximum(g, SMALLEST)
    rest = w - along * P
    h, s = rest @ rest, S[1, 1] - 2.0 * along * S[0, 1] + along * along * S[0, 0]
    length, held = P * _held(g, S[0, 0]), _held(h, s)
    energy = held * rest + ((1.0 - h * held) * (w @ P) / maximum(w @ w, SMALLEST)) * length
    return array([length - along * energy, energy]).T


@batched("(3),(2),(3),(3,3),(2,2)->(3)")
def pulled(P, y, rho, J_inverse, S):
    """Return the momentum near P whose constants are y."""
    for _ in range(PULLS):
        P = P + _pull(slope(P, rho, J_inverse), S) @ (y - constants(P, rho, J_inverse))
    return P


pulled_slopes = jacobian(pulled, ("P", "y"), value=True)


def retract(q, x, d, C, J, rho):
    """Return the state (q, x) moved by d, and the derivative that takes errors about the old to those about the new.

    x = (P, extras), d and C over (a, dP, extras); S comes from C.
    """
    P, J_inverse = x[:3], inv3(J)
    A, S = slope(P, rho, J_inverse), slack(P, C[3:6, 3:6], J_inverse)
    P_new, by_P, B = pulled_slopes(P + d[3:6], constants(P, rho, J_inverse) + A @ d[3:6], rho, J_inverse, S)
    g = identity(len(d))
    g[:3, :3], g[3:6, 3:6] = so3_right_jacobian(d[:3]), by_P + B @ A
    turned = quaternion.normalize(quaternion.mul(q, quaternion.exp(d[:3])))
    return turned, np.concatenate([P_new, x[3:] + d[6:]]), g


@batched("(4),(3),(6,6),(3,3),(3),(4),(3)->(6)")
def conserved_error(q_IB, P_B, C, J, rho_B, q_true, P_true):
    """Return the error d of the chart, with retract(q, P, d) the truth: what the covariance C is of. For NEES."""
    J_inverse, dP = inv3(J), P_true - P_B
    y, A, S = constants(P_B, rho_B, J_inverse), slope(P_B, rho_B, J_inverse), slack(P_B, C[3:6, 3:6], J_inverse)
    for _ in range(ITERATIONS):
        dP = dP + (P_true - pulled(P_B + dP, y + A @ dP, rho_B, J_inverse, S))
    return np.concatenate([quaternion.log(quaternion.mul(quaternion.conj(q_IB), q_true)), dP])


@batched("(4),(3),(6,6),(3,3),(3),(4),(3)->(6),(6,6)")
def conserved_inertial_error(q_IB, P_B, C, J, rho_B, q_true, P_true):
    """Return the error (a, l) less its mean, and its covariance, by sigma points of this chart.

    l = exp(a) P' - P, that of the inertial momentum, is bent in this chart: to first order its NEES reads too much
    after a long time.
    """
    J_inverse = inv3(J)
    y, A, S = constants(P_B, rho_B, J_inverse), slope(P_B, rho_B, J_inverse), slack(P_B, C[3:6, 3:6], J_inverse)
    columns = (np.sqrt(6.0) * cholesky(C)).T
    points = []
    for x in [*columns, *(-columns)]:
        P = pulled(P_B + x[3:], y + A @ x[3:], rho_B, J_inverse, S)
        points.append(np.concatenate([x[:3], quaternion.rotate(quaternion.exp(x[:3]), P) - P_B]))
    mean = sum(points[1:], points[0]) * (1.0 / 12.0)
    spread = array(points) - mean
    C_l = spread.T @ spread * (1.0 / 12.0)
    a = quaternion.log(quaternion.mul(quaternion.conj(q_IB), q_true))
    return np.concatenate([a, quaternion.rotate(quaternion.exp(a), P_true) - P_B]) - mean, C_l


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


def pose_retract(dq, x, d, C, M, unknown):
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
def pose_conserved_error(dq_IB, chi_B, C, M, dq_true, chi_true):
    """Return the error (dxi, dchi) of the chart, with pose_retract(...) the truth: what C is of. For NEES, J known."""
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
