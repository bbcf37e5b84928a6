"""The equations that a body and its Kane damper fulfil over a step, and their solution.

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

from gnc.batch import where
from gnc.linalg import cross, det3, identity, skew, solve3, zeros

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
