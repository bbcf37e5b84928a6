"""A body, its wheels, and a Kane damper: a ball of inertia J_D in a viscous fluid that fills a cavity of the body.

    P_B' = P_B x w + C (w_D - w) + tau        P_B = J w + rho       J is the body's inertia without the ball
    P_D' = P_D x w - C (w_D - w)              P_D = J_D w_D         all in body axes

A step turns body and ball by phi and gamma. `step1` is the paper's method: the whole viscous impulse, 2 C (gamma -
phi), acts at its start; first order in the damping. `step` has one half at the start and the other, with gamma in the
new axes, at the end: it is its own adjoint, hence second order. Both are exact in the momentum of the whole.

Under stiff damping, h C >> J_D, slip dies out at once in `step1`, while in `step` it rings on with alternating sign, as
in the trapezoidal rule: start with the ball at rest in the body, or take one `step1` first.

`step4` is Suzuki's composition. Its third stage goes backwards by 0.658 h and feeds energy to the slip, which the
others take away again. That converges at order 4, but the stage has a solution only for h C (1/J_D + 1/J_1) < 3.04, J_1
the least inertia; beyond, the trial is lost. At two thirds of this limit it is still 20 times as accurate as `step` at
equal cost.

The error state is (a, dP_B, dP_D), q = q^ exp(a/2). h may be negative. |w| h and |w_D| h must stay below 1 rad; a trial
without a solution becomes NaN. Source: QVI section VIII.

The equations that a body and its Kane damper fulfil over a step, and their solution.

Body and ball turn by phi and gamma, quaternions (s, phi) with s = sqrt(1 - phi.phi), in the axes of the step's start.
With g(phi) = s u + phi x u, u = J phi + (h/2) rho, and c the viscous constant times h or h/2,

    g(phi) - c (gamma - phi) = (h/2) P_B
    s_gamma J_D gamma + c (gamma - phi) = (h/2) P_D

Newton's matrix is [[K + c, -c], [-c, D]]; D is a multiple of 1 plus a dyad, so that gamma is eliminated in closed form.
Source: QVI eqs. (66), (67).

Erratum: the viscous terms are printed with the opposite signs, and eq. (67) lacks gamma_k on its left side
(test_erratum_eqs_66_67_the_printed_signs_feed_the_slip).
"""

import numpy as np

from gnc.batch import batched, where
from gnc.integrators.composition import SUZUKI4, compose
from gnc.linalg import array, block, cross, det3, identity, skew, solve3, zeros
from gnc.quaternion import inverse_rotate, mul, to_matrix

ITERATIONS = 6  # the first, from zero, is the linear guess
RESIDUAL = 1e-11  # relative, of a solution
LARGEST = 0.5  # |phi|^2 of a turn of 90 deg, where the solutions end


def _body(phi, J, half_rho):
    """Return g(phi) and its derivative K. Source: QVI eqs. (37), (38), (50)."""
    s, u = np.sqrt(1.0 - phi @ phi), J @ phi + half_rho
    return s * u + cross(phi, u), s * J - np.outer(u, phi / s) + skew(phi) @ J - skew(u)


def _damper(gamma, J_D, c):
    """Return s J_D gamma, and the inverse of D = J_D (s 1 - gamma gamma^T/s) + c 1 by Sherman and Morrison."""
    square = gamma @ gamma
    s = np.sqrt(1.0 - square)
    across, along = J_D * s + c, J_D / s
    dyad = np.outer(gamma * (along / (across - along * square)), gamma)
    return (s * J_D) * gamma, (identity(3) + dyad) * (1.0 / across)


def _eliminated(K, D_inverse, c):
    """Return the matrix that is left for phi."""
    return K + c * identity(3) - (c * c) * D_inverse


def solve(target_B, target_D, J, J_D, c, half_rho):
    """Return phi and gamma by Newton's method on all six unknowns, NaN where there is no solution."""
    phi, gamma = zeros(3), zeros(3)
    for _ in range(ITERATIONS):
        (g, K), (d, D_inverse) = _body(phi, J, half_rho), _damper(gamma, J_D, c)
        slip = c * (gamma - phi)
        off_B, off_D = g - slip - target_B, d + slip - target_D
        change = solve3(_eliminated(K, D_inverse, c), off_B + c * (D_inverse @ off_D))
        phi, gamma = phi - change, gamma - D_inverse @ (off_D + c * change)
    found = _is_solution(phi, gamma, target_B, target_D, J, J_D, c, half_rho)
    return where(found, phi, np.nan), where(found, gamma, np.nan)


def _is_solution(phi, gamma, target_B, target_D, J, J_D, c, half_rho):
    """Tell whether the equations hold, on the branch that begins at rest.

    The negative c of a step backwards takes inertia away from slip: what is left must be positive (Sylvester).
    """
    (g, K), (d, D_inverse) = _body(phi, J, half_rho), _damper(gamma, J_D, c)
    slip = c * (gamma - phi)
    off = abs(g - slip - target_B).sum() + abs(d + slip - target_D).sum()
    size = abs(target_B).sum() + abs(target_D).sum() + abs(half_rho).sum()
    left = J + (c * J_D / (J_D + c)) * identity(3)
    positive = (J_D + c > 0.0) & (left[0, 0] > 0.0) & (left[0, 0] * left[1, 1] > left[0, 1] * left[1, 0])
    positive = positive & (det3(left) > 0.0) & (det3(_eliminated(K, D_inverse, c)) > 0.0)
    return positive & (off <= RESIDUAL * size) & (phi @ phi < LARGEST) & (gamma @ gamma < LARGEST)


def slopes(phi, gamma, J, J_D, c, half_rho):
    """Return the derivatives of phi and of gamma with respect to both targets, (3, 6) each."""
    (_, K), (_, D_inverse) = _body(phi, J, half_rho), _damper(gamma, J_D, c)
    by_B = solve3(_eliminated(K, D_inverse, c), identity(3))
    by_D = c * (by_B @ D_inverse)
    phi_slope = np.concatenate([by_B, by_D], axis=1)
    return phi_slope, D_inverse @ (c * phi_slope + np.concatenate([zeros(3, 3), identity(3)], axis=1))


PAPER, SYMMETRIC = 1.0, 0.5  # the part of the viscous impulse that acts at the start of a step


def _increments(P_B, P_D, J, J_D, C, rho_B, part, h):
    half = 0.5 * h
    return solve(half * P_B, half * P_D, J, J_D, part * h * C, half * rho_B)


def _move(q_IB, P_B, P_D, phi, gamma, J, C, rho_B, part, h):
    """Return the state after a drift of increments phi, gamma; adding to momenta loses less than computing them anew.

    Erratum: the paper rotates the damper's momentum "by f_k"; into the new body axes it is by the inverse, R(f)^T
    (test_erratum_the_dampers_momentum_is_rotated_by_the_inverse).
    """
    f = array([np.sqrt(1.0 - phi @ phi), *phi])
    turn = cross(phi, J @ phi + (0.5 * h) * rho_B) * (4.0 / where(h == 0.0, 1.0, h))
    first = (2.0 * part * C) * (gamma - phi)
    last = (2.0 * (1.0 - part) * C) * (inverse_rotate(f, gamma) - phi)
    return mul(q_IB, f), P_B + first - turn + last, inverse_rotate(f, P_D - first) - last


def _step(q_IB, P_B, P_D, tau_B, J, J_D, C, rho_B, part, h):
    """Kick, drift, kick."""
    kick = (0.5 * h) * tau_B
    P_B = P_B + kick
    phi, gamma = _increments(P_B, P_D, J, J_D, C, rho_B, part, h)
    q_IB, P_B, P_D = _move(q_IB, P_B, P_D, phi, gamma, J, C, rho_B, part, h)
    return q_IB, P_B + kick, P_D


@batched("(4),(3),(3),(3),(3,3),(),(),(3),()->(4),(3),(3)")
def step1(q_IB, P_B, P_D, tau_B, J, J_D, C, rho_B, h):
    """Take the paper's step, first order in the damping, under a torque that is constant in body axes.

    Source: QVI eqs. (65) to (67), in momentum form.
    """
    return _step(q_IB, P_B, P_D, tau_B, J, J_D, C, rho_B, PAPER, h)


@batched("(4),(3),(3),(3),(3,3),(),(),(3),()->(4),(3),(3)")
def step(q_IB, P_B, P_D, tau_B, J, J_D, C, rho_B, h):
    """Take a step of second order under a torque that is constant in body axes.

    Source: QVI eqs. (65) to (67), the viscous impulse divided between the ends of the step.
    """
    return _step(q_IB, P_B, P_D, tau_B, J, J_D, C, rho_B, SYMMETRIC, h)


def _transition(P_B, P_D, phi, gamma, J, J_D, C, rho_B, part, h):
    """Return F of a drift, [[R(f)^T, B dphi], [0, d(P_B', P_D')]] with B = 2 (s 1 + phi phi^T/s - [phi]).

    The momenta end as P_B' = R(f)^T (P_B + first) + last and P_D' = R(f)^T (P_D - first) - last, and a turn b of the
    body changes R(f)^T v by (R(f)^T v) x b.
    """
    half = 0.5 * h
    d_phi, d_gamma = (half * d for d in slopes(phi, gamma, J, J_D, part * h * C, half * rho_B))
    s = np.sqrt(1.0 - phi @ phi)
    f = array([s, *phi])
    R_T, first, d_first = to_matrix(f).T, (2.0 * part * C) * (gamma - phi), (2.0 * part * C) * (d_gamma - d_phi)
    turn = 2.0 * (s * identity(3) + np.outer(phi, phi / s) - skew(phi)) @ d_phi

    def rotated(v, d_v):
        return R_T @ d_v + skew(R_T @ v) @ turn

    d_last = (2.0 * (1.0 - part) * C) * (rotated(gamma, d_gamma) - d_phi)
    d_B = rotated(P_B + first, identity(6)[:3] + d_first) + d_last
    d_D = rotated(P_D - first, identity(6)[3:] - d_first) - d_last
    return block([[R_T, turn], [zeros(3, 3), d_B], [zeros(3, 3), d_D]])


def _step_jacobian(q_IB, P_B, P_D, tau_B, J, J_D, C, rho_B, part, h):
    half = 0.5 * h
    P_B = P_B + half * tau_B
    phi, gamma = _increments(P_B, P_D, J, J_D, C, rho_B, part, h)
    F = _transition(P_B, P_D, phi, gamma, J, J_D, C, rho_B, part, h)
    q_IB, P_B, P_D = _move(q_IB, P_B, P_D, phi, gamma, J, C, rho_B, part, h)
    return q_IB, P_B + half * tau_B, P_D, F, half * (F[:, 3:6] + identity(9)[:, 3:6])


@batched("(4),(3),(3),(3),(3,3),(),(),(3),()->(4),(3),(3),(9,9),(9,3)")
def step1_jacobian(q_IB, P_B, P_D, tau_B, J, J_D, C, rho_B, h):
    """Return what `step1` does, its exact Jacobian F, and G with respect to the torque."""
    return _step_jacobian(q_IB, P_B, P_D, tau_B, J, J_D, C, rho_B, PAPER, h)


@batched("(4),(3),(3),(3),(3,3),(),(),(3),()->(4),(3),(3),(9,9),(9,3)")
def step_jacobian(q_IB, P_B, P_D, tau_B, J, J_D, C, rho_B, h):
    """Return what `step` does, its exact Jacobian F, and G with respect to the torque. Source: QVI eqs. (38), (69)."""
    return _step_jacobian(q_IB, P_B, P_D, tau_B, J, J_D, C, rho_B, SYMMETRIC, h)


step4, step4_jacobian = compose(step, step_jacobian, SUZUKI4, name="step4")
