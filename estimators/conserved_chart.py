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
"""

from __future__ import annotations

import numpy as np

from gnc import quaternion
from gnc.batch import batched, jacobian, maximum
from gnc.estimators.kalman import cholesky
from gnc.lie import so3_right_jacobian
from gnc.linalg import array, identity, inv3

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
