"""Process noise of a body that turns: what white torque does to the error state (a, dP) over a step of any length.

A torque of power spectral density Q_w (body axes, [N^2 m^2 s]) adds over a step the covariance

    Q = int_0^h G(s) Q_w G(s)^T ds,        G(s) = Phi(h, s) [0; 1]

taken by Simpson's rule, Q = (h/6) (G0 Q_w G0^T + 4 Gm Q_w Gm^T + G1 Q_w G1^T), on panels of at most 0.15 rad. Each
is two classical Runge-Kutta steps with the transition matrices F_1 and F_2: G0 = (F_2 F_1)[:, P], Gm = F_2[:, P],
G1 = [0; 1]. It does not depend on the method that moves the mean. The matrices are not those of QVI, whose second order
would limit the accuracy here: 5e-3 instead of 5e-4 of the exact integral, per element and relative to the standard
deviations, at 1 to 90 deg per step (test_process_noise_is_the_integral_of_the_variational_equation).
"""

from __future__ import annotations

import numpy as np

from gnc.batch import batched
from gnc.estimators.kalman import symmetric_product
from gnc.integrators import composition as substeps
from gnc.integrators.runge_kutta import rk4_jacobian
from gnc.linalg import array, block, zeros
from gnc.typing import Array

PANEL = 0.15  # [rad] the largest (|w| + |rho|/J_min) h of one panel of Simpson's rule


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
    n = substeps.count(P_B, tau_B, J, rho_B, h, substeps.ANGLE / PANEL)
    return add_panel.repeat(n, P_B, NOTHING, tau_B, J, rho_B, torque_psd, h / n)[1]


NOTHING = np.zeros((6, 6))
