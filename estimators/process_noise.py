"""Process noise of a body that turns: what white torque does to the error state (a, dP) over a step of any length.

A torque of power spectral density Q_w (body axes, [N^2 m^2 s]) adds over a step the covariance

    Q = int_0^h G(s) Q_w G(s)^T ds,        G(s) = Phi(h, s) [0; 1]

taken by Simpson's rule, Q = (h/6) (G0 Q_w G0^T + 4 Gm Q_w Gm^T + G1 Q_w G1^T), on panels of at most 0.15 rad. Each
is two classical Runge-Kutta steps with the transition matrices F_1 and F_2: G0 = (F_2 F_1)[:, P], Gm = F_2[:, P],
G1 = [0; 1]. It does not depend on the method that moves the mean. The matrices are not those of QVI, whose second order
would limit the accuracy here: 5e-3 instead of 5e-4 of the exact integral, per element and relative to the standard
deviations, at 1 to 90 deg per step (test_process_noise_is_the_integral_of_the_variational_equation).

Process noise of a body that turns and moves: what a white wrench does to the error state (dxi, dchi) over a step.

A wrench of spectral density W about the reference point (body axes, angular first) adds over a step the covariance

    Q = int_0^h G(s) W G(s)^T ds,        G(s) = Phi(h, s) [0; M^-1]

The integral is taken about the centre of mass, in the errors e = (a, r, dP, u) of attitude, position, angular momentum
and inertial velocity, all in body axes. There torque and force do not mix, but for a known force in body axes, f:

    a' = -w x a + J^-1 dP,   dP' = -w x dP + P x J^-1 dP + torque
    r' = -w x r + u,         u' = -w x u - (f/m) x a + force/m

On panels of at most 0.15 rad, one Runge-Kutta step gives the transition matrix F; with it, G and its slope are known at
both ends, and between them by Hermite's cubic; three Gauss points make Q, positive whatever its accuracy, which is 1e-4
of the standard deviations (test_process_noise_is_the_integral_of_the_variational_equation). It does not depend on the
method that moves the mean.
"""

import math

import numpy as np

from gnc import spatial
from gnc.batch import batched, maximum, where
from gnc.estimators.kalman import symmetric_product
from gnc.integrators import composition
from gnc.integrators.pose_taylor import to_reference
from gnc.integrators.runge_kutta import rk4_jacobian
from gnc.linalg import array, block, cross, identity, inv3, skew, zeros
from gnc.typing import Array

PANEL = 0.15  # [rad] the largest turn of a panel: |w| h, of bodies with wheels (|w| + |rho|/J_min) h


@batched("(3),(6,6),(3),(3,3),(3),(3,3),()->(3),(6,6)")
def add_panel(P_B, Q, tau_B, J, rho_B, torque_psd, h):
    """Return the momentum at the end of a panel, and F Q F^T plus the noise of the panel; made to be repeated."""
    still = array([1.0, 0.0, 0.0, 0.0])  # neither F nor the momentum depends on the attitude
    _, P_B, F_1, _ = rk4_jacobian(still, P_B, tau_B, J, rho_B, 0.5 * h)
    _, P_B, F_2, _ = rk4_jacobian(still, P_B, tau_B, J, rho_B, 0.5 * h)
    F = F_2 @ F_1
    start, middle = symmetric_product(F[:, 3:], torque_psd), symmetric_product(F_2[:, 3:], torque_psd)
    end = block([[zeros(3, 3), zeros(3, 3)], [zeros(3, 3), torque_psd]])
    return P_B, symmetric_product(F, Q) + (h / 6.0) * (start + 4.0 * middle + end)


def torque_noise(P_B: Array, tau_B: Array, J: Array, rho_B: Array, torque_psd: Array, h: Array) -> Array:
    """Return Q (..., 6, 6) over (a, dP) of a step that starts with momentum P_B; NaN marks a lost trial."""
    n = composition.count(P_B, tau_B, J, rho_B, h, composition.ANGLE / PANEL)
    return add_panel.repeat(n, P_B, NOTHING, tau_B, J, rho_B, torque_psd, h / n)[1]


NOTHING = np.zeros((6, 6))


MOST = 10_000  # panels or substeps; a trial that needs more is lost
GAUSS = ((0.5 - math.sqrt(0.15), 5.0 / 18.0), (0.5, 8.0 / 18.0), (0.5 + math.sqrt(0.15), 5.0 / 18.0))
NIL = zeros(3, 3)


@batched("(6),(6),(6,6),(),()->()")
def count(chi_B, wrench_B, M, h, largest):
    """Return in how many parts to divide a step, so that none turns by more than `largest`; NaN if it is lost.

    The rate is the faster of those before and after the wrench acted.
    """
    w_0, w_1 = chi_B[:3], (chi_B + spatial.inverse(M) @ (h * wrench_B))[:3]
    n = -np.floor(np.sqrt(maximum(w_0 @ w_0, w_1 @ w_1)) * abs(h) * (-1.0 / largest))
    return where(n <= MOST, maximum(n, 1.0), math.nan)


@batched("()->()")
def taken(n):
    """Return how many parts to take; a lost trial takes one, whose length of NaN marks it."""
    return where(n > 0.0, n, 1.0)


def _between(t, start, start_slope, end, end_slope, h):
    """Return Hermite's cubic at the part t of a panel."""
    a, b = (1.0 + 2.0 * t) * (1.0 - t) ** 2, t * (1.0 - t) ** 2
    c, d = t * t * (3.0 - 2.0 * t), t * t * (t - 1.0)
    return a * start + (b * h) * start_slope + c * end + (d * h) * end_slope


def _pose_slope(P, push, J_inverse):
    """Return A of e' = A e, at a momentum P and a specific force."""
    W = skew(J_inverse @ P)
    torque_free = skew(P) @ J_inverse - W
    return block(
        [
            [-W, NIL, J_inverse, NIL],
            [NIL, -W, NIL, identity(3)],
            [NIL, NIL, torque_free, NIL],
            [-skew(push), NIL, NIL, -W],
        ]
    )


def _runge_kutta(P, tau, push, J_inverse, h):
    """Return the momentum after h, and the transition matrix."""

    def rate(P, F):
        return cross(P, J_inverse @ P) + tau, _pose_slope(P, push, J_inverse) @ F

    one = identity(12)
    p1, f1 = rate(P, one)
    p2, f2 = rate(P + (0.5 * h) * p1, one + (0.5 * h) * f1)
    p3, f3 = rate(P + (0.5 * h) * p2, one + (0.5 * h) * f2)
    p4, f4 = rate(P + h * p3, one + h * f3)
    return P + (h / 6.0) * (p1 + 2.0 * (p2 + p3) + p4), one + (h / 6.0) * (f1 + 2.0 * (f2 + f3) + f4)


@batched("(3),(12,12),(3),(3),(3,3),(),(6,6),()->(3),(12,12)")
def add_wrench_panel(P_B, Q, tau_B, force_B, J, m, wrench_psd, h):
    """Return the momentum at the end of a panel, and F Q F^T plus the noise of the panel; made to be repeated.

    Torque, momentum and density about the centre of mass, Q of (a, r, dP, u).
    """
    J_inverse, push = inv3(J), force_B / m
    P_1, F = _runge_kutta(P_B, tau_B, push, J_inverse, h)
    end = block([[NIL, NIL], [NIL, NIL], [identity(3), NIL], [NIL, identity(3) / m]])
    slopes = -(F @ (_pose_slope(P_B, push, J_inverse) @ end)), -(_pose_slope(P_1, push, J_inverse) @ end)
    Q = symmetric_product(F, Q)
    for t, weight in GAUSS:
        G = _between(t, F @ end, slopes[0], end, slopes[1], h)
        Q = Q + (weight * h) * symmetric_product(G, wrench_psd)
    return P_1, Q


@batched("(6),(6),(6,6),(6,6)->(3),(3),(3),(3,3),(),(6,6)")
def _about_centre(chi_B, wrench_B, M, wrench_psd):
    """Return angular momentum, torque, force, inertia, mass and density about the centre of mass."""
    m, r_g, J = spatial.parts(M)
    X = block([[identity(3), -skew(r_g)], [NIL, identity(3)]])  # spatial.shift_wrench
    return J @ chi_B[:3], (X @ wrench_B)[:3], wrench_B[3:], J, m, symmetric_product(X, wrench_psd)


@batched("(12,12),(6),(6,6)->(12,12)")
def _about_reference(Q, chi_B, M):
    """Return the covariance of (dxi, dchi) from that of (a, r, dP, u), at the twist of the end."""
    return symmetric_product(to_reference(chi_B, M), Q)


def wrench_noise(chi_B: Array, chi_next: Array, wrench_B: Array, M: Array, wrench_psd: Array, h: Array) -> Array:
    """Return Q (..., 12, 12) over (dxi, dchi) of a step from one twist to another; NaN marks a lost trial."""
    n = count(chi_B, wrench_B, M, h, PANEL)
    counts = taken(n)
    P_B, *given = _about_centre(chi_B, wrench_B, M, wrench_psd)
    Q = add_wrench_panel.repeat(counts, P_B, NO_WRENCH_NOISE, *given, np.asarray(h) / n)[1]
    return _about_reference(Q, chi_next, M)


NO_WRENCH_NOISE = np.zeros((12, 12))
