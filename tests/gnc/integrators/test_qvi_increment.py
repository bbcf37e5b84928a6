"""QVI in the form with increments: the same motion as the form with momenta, and the same covariance."""

import numpy as np
import pytest

from gnc.batch import batched, jacobian
from gnc.integrators import qvi, qvi_increment
from gnc.integrators.qvi import (
    increment,
    leading_momentum,
    leading_slope,
    trailing_momentum,
    trailing_slope,
)
from gnc.quaternion import conj, exp, mul
from tests.gnc.integrators.gyrostat import NONE, Q0, RHO, TAU, W0, J, random_trials

H = 0.3
RHO_NEXT = RHO + [0.1, -0.05, 0.08]


def test_the_increment_is_the_inverse_of_the_leading_momentum():
    rng = np.random.default_rng(1)
    _, P_B, _, J, rho_B = random_trials(rng, 50, angle=0.8)
    assert np.max(np.abs(leading_momentum(increment(P_B, J, rho_B, 1.0), J, rho_B, 1.0) - P_B)) < 1e-15


def test_both_momenta_are_those_of_the_drift():
    phi = increment(J @ W0 + RHO, J, RHO, H)
    _, P_1 = qvi.drift(Q0, J @ W0 + RHO, J, RHO, H)
    assert np.allclose(trailing_momentum(phi, J, RHO, H), P_1, rtol=0.0, atol=2e-15)


@pytest.mark.parametrize("momentum, slope", [(leading_momentum, leading_slope), (trailing_momentum, trailing_slope)])
def test_the_slopes_meet_forward_mode(momentum, slope):
    phi = 0.5 * H * W0
    exact = jacobian(momentum, "phi")(phi, J, RHO, H)
    assert np.allclose(slope(phi, J, RHO, H), exact, rtol=0.0, atol=1e-14)


def test_the_motion_is_that_of_the_momentum_form_under_torque_and_with_changing_wheels():
    taus, rhos = [TAU * np.cos(0.4 * k) for k in range(21)], [RHO + 0.02 * k * TAU for k in range(21)]
    q_IB, P_B = Q0, J @ W0 + RHO
    q_inc, phi = Q0, increment(P_B + 0.5 * H * taus[0], J, rhos[0], H)
    for k in range(20):
        q_IB, P_B = qvi.drift(q_IB, P_B + 0.5 * H * taus[k], J, rhos[k], H)
        P_B = P_B + 0.5 * H * taus[k + 1]
        q_inc, phi = qvi_increment.step(q_inc, phi, taus[k + 1], J, rhos[k], rhos[k + 1], H)
        assert np.allclose(q_inc, q_IB, rtol=0.0, atol=1e-14)
        after_the_kick = leading_momentum(phi, J, rhos[k + 1], H)
        assert np.allclose(after_the_kick, P_B + 0.5 * H * taus[k + 1], rtol=0.0, atol=1e-13)


@batched("(9),(4),(4),(3),(3),(3,3),(3),(3),()->(6)")
def ends(x, q_ref, q_IB, phi, tau_B, J, rho_B, rho_next_B, h):
    """Return where a step ends after a disturbance of attitude, increment and torque, as an error state."""
    q_1, phi_1 = qvi_increment.step(mul(q_IB, exp(x[:3])), phi + x[3:6], tau_B + x[6:], J, rho_B, rho_next_B, h)
    return np.concatenate([2.0 * mul(conj(q_ref), q_1)[1:], phi_1])


def test_the_Jacobians_of_a_step_meet_forward_mode():
    q_IB, phi = Q0 / np.linalg.norm(Q0), 0.5 * H * W0
    q_1, phi_1, F, G = qvi_increment.step_jacobian(q_IB, phi, TAU, J, RHO, RHO_NEXT, H)
    exact = jacobian(ends, "x")(np.zeros(9), q_1, q_IB, phi, TAU, J, RHO, RHO_NEXT, H)
    assert np.allclose(np.hstack([F, G]), exact, rtol=0.0, atol=1e-14)
    alone, A, V = qvi_increment.increment_jacobian(phi, TAU, J, RHO, RHO_NEXT, H)
    assert np.array_equal(alone, phi_1) and np.array_equal(A, F[3:, 3:]) and np.array_equal(V, G[3:])


def test_both_forms_propagate_the_same_covariance():
    """The error states are congruent: dP = leading_slope dphi at every node, after the kick."""
    rng = np.random.default_rng(2)
    root = rng.normal(size=(6, 6))
    P_B = J @ W0 + RHO  # momentum at a node, after the kick
    phi, q_IB = increment(P_B, J, RHO, H), Q0
    covariance = root @ root.T
    to_increment = np.linalg.inv(leading_slope(phi, J, RHO, H))
    T = np.block([[np.eye(3), np.zeros((3, 3))], [np.zeros((3, 3)), to_increment]])
    other = T @ covariance @ T.T
    for _ in range(10):
        q_IB, P_B, F = qvi.drift_jacobian(q_IB, P_B, J, RHO, H)
        P_B = P_B + H * TAU  # the end's kick and the next start's
        covariance = F @ covariance @ F.T
        _, phi, F, _ = qvi_increment.step_jacobian(Q0, phi, TAU, J, RHO, RHO, H)
        other = F @ other @ F.T
    back = leading_slope(phi, J, RHO, H)
    T = np.block([[np.eye(3), np.zeros((3, 3))], [np.zeros((3, 3)), back]])
    assert np.max(np.abs(T @ other @ T.T - covariance)) < 1e-11 * np.max(np.abs(covariance))


def test_an_increment_without_successor_is_lost():
    phi, tau_B = np.array([0.0, 0.0, 0.4]), np.array([0.0, 0.0, 100.0])
    assert np.all(np.isnan(qvi_increment.increment_step(phi, tau_B, J, NONE, NONE, H)))
