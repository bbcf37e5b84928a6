"""QVI in the form with increments, as the paper prints it.

State: the attitude q_IB at node k and the increment phi that leads to node k + 1. With the momenta of `qvi`

    q_{k+1} = q_k (s, phi_k),        leading(phi_{k+1}, rho_{k+1}) = trailing(phi_k, rho_k) + h tau_{k+1}

It is the same motion as that of `qvi.step`, whose momentum before the torque acts at a node is the trailing one, and
after it the leading one of the next increment. The error state is (a, dphi), q = q^ exp(a/2); it is congruent to that
of `qvi`, dP_k = leading_slope dphi_k, so that both forms propagate the same covariance.

Erratum: in eq. (63) the torque stands on the side of k + 1, which turns its sign
(test_erratum_63_the_torque_belongs_to_the_side_of_k).
"""

import numpy as np

from gnc.batch import batched
from gnc.integrators.qvi import increment, leading_slope, trailing_momentum, trailing_slope, turn_slope
from gnc.linalg import array, block, inv3, zeros
from gnc.quaternion import conj, mul, to_matrix


@batched("(3),(3),(3,3),(3),(3),()->(3)")
def increment_step(phi, tau_next_B, J, rho_B, rho_next_B, h):
    """Return phi_{k+1}; the torque acts at the node between the two. Source: QVI eqs. (33), (49), (63)."""
    return increment(trailing_momentum(phi, J, rho_B, h) + h * tau_next_B, J, rho_next_B, h)


@batched("(3),(3),(3,3),(3),(3),()->(3),(3,3),(3,3)")
def increment_jacobian(phi, tau_next_B, J, rho_B, rho_next_B, h):
    """Return phi_{k+1}, d phi_{k+1}/d phi_k = K(phi_{k+1})^-1 K(-phi_k), and d phi_{k+1}/d tau_{k+1}.

    Source: QVI eq. (69). Erratum: its second factor is the slope of the trailing momentum
    (test_erratum_69_the_second_factor_is_the_trailing_slope).
    """
    phi_next = increment_step(phi, tau_next_B, J, rho_B, rho_next_B, h)
    inverse = inv3(leading_slope(phi_next, J, rho_next_B, h))
    return phi_next, inverse @ trailing_slope(phi, J, rho_B, h), h * inverse


@batched("(4),(3),(3),(3,3),(3),(3),()->(4),(3)")
def step(q_IB, phi, tau_next_B, J, rho_B, rho_next_B, h):
    """Take the increment and find the one that follows it. Source: QVI section V."""
    q_next = mul(q_IB, array([np.sqrt(1.0 - phi @ phi), *phi]))
    return q_next, increment_step(phi, tau_next_B, J, rho_B, rho_next_B, h)


@batched("(4),(3),(3),(3,3),(3),(3),()->(4),(3),(6,6),(6,3)")
def step_jacobian(q_IB, phi, tau_next_B, J, rho_B, rho_next_B, h):
    """Return what `step` does, F = [[R(f)^T, da/dphi], [0, d phi_{k+1}/d phi_k]], and G = d(a, dphi)/d tau."""
    s = np.sqrt(1.0 - phi @ phi)
    f = array([s, *phi])
    phi_next, A, V = increment_jacobian(phi, tau_next_B, J, rho_B, rho_next_B, h)
    F = block([[to_matrix(conj(f)), 2.0 * turn_slope(phi, s)], [zeros(3, 3), A]])
    return mul(q_IB, f), phi_next, F, block([[zeros(3, 3)], [V]])
