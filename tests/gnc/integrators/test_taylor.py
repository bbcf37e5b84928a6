"""The Taylor step: exact to round-off within its reach, with wheels and torque, and its Jacobians too."""

import numpy as np
import pytest

from gnc.integrators import taylor
from tests.gnc.integrators.free_body import attitude_error, flow, flow_jacobian, momentum_error
from tests.gnc.integrators.gyrostat import NONE, Q0, RHO, TAU, W0, J, finite_difference, random_trials, symplectic_form

START = Q0 / np.linalg.norm(Q0)


def reach(P, rho, angle):
    """The step for which (Om + |rho|/J_min) h is the angle, Om the fastest rate that the energy allows."""
    least = np.linalg.eigvalsh(J)[0]
    v = P - rho
    return angle / (np.sqrt(v @ np.linalg.solve(J, v) / least) + np.linalg.norm(rho) / least)


@pytest.mark.parametrize(("tau", "rho"), [(NONE, NONE), (TAU, NONE), (NONE, RHO), (TAU, RHO)])
@pytest.mark.parametrize(
    ("step", "angle"),
    [(taylor.step, 0.1), (taylor.step, 0.75), (taylor.step, -0.75), (taylor.step_slow, 0.1), (taylor.step_slow, -0.1)],
)
def test_a_step_within_its_reach_is_exact_to_round_off(tau, rho, step, angle):
    P = J @ W0 + rho
    h = reach(P, rho, angle)
    q_1, P_1 = flow(START, P, J, h, tau, rho)
    q, P = step(START, P, tau, J, rho, h)
    assert attitude_error(q, q_1) < 4e-15
    assert momentum_error(P, P_1) < 4e-15


@pytest.mark.parametrize(("step", "order", "least"), [(taylor.step, 20, 2.0), (taylor.step_slow, 10, 0.8)])
def test_beyond_its_reach_the_error_grows_as_the_power_after_the_order(step, order, least):
    P = J @ W0 + RHO
    angles = least * np.array([1.0, 1.25, 1.5])
    errors = []
    for angle in angles:
        h = reach(P, RHO, angle)
        errors.append(momentum_error(step(START, P, TAU, J, RHO, h)[1], flow(START, P, J, h, TAU, RHO)[1]))
    assert np.polyfit(np.log(angles), np.log(errors), 1)[0] == pytest.approx(order + 1, abs=0.1 * order)


@pytest.mark.parametrize("rho", [NONE, RHO], ids=["free", "wheels"])
@pytest.mark.parametrize(
    ("step_jacobian", "angle"), [(taylor.step_jacobian, 0.7), (taylor.step_jacobian_slow, taylor.SLOW_REACH)]
)
def test_the_jacobians_are_exact(rho, step_jacobian, angle):
    P = J @ W0 + rho
    h = reach(P, rho, angle)
    *_, F, G = step_jacobian(START, P, TAU, J, rho, h)
    F_0, G_0 = flow_jacobian(START, P, J, h, TAU, rho)
    np.testing.assert_allclose(F, F_0, atol=1e-14)
    np.testing.assert_allclose(G, G_0, atol=1e-14)
    F_1, G_1 = finite_difference(taylor.step, START, P, TAU, J, rho, h)
    np.testing.assert_allclose(F, F_1, atol=1e-8)
    np.testing.assert_allclose(G, G_1, atol=1e-8)


def test_the_free_jacobian_is_symplectic_with_wheels():
    P = J @ W0 + RHO
    _, P_1, F = taylor.drift_jacobian(START, P, J, RHO, reach(P, RHO, 0.7))
    np.testing.assert_allclose(F.T @ symplectic_form(P_1) @ F, symplectic_form(P), atol=2e-14)


def test_a_drift_is_a_step_without_torque():
    P = J @ W0 + RHO
    for a, b in zip(taylor.drift(START, P, J, RHO, 0.2), taylor.step(START, P, NONE, J, RHO, 0.2), strict=True):
        np.testing.assert_array_equal(a, b)


def test_a_trial_has_the_same_bits_alone_and_in_a_batch():
    q, P, tau, inertia, rho = random_trials(np.random.default_rng(1), 9)
    together = taylor.step(q, P, tau, inertia, rho, 0.3)
    for k in range(9):
        alone = taylor.step(q[k], P[k], tau[k], inertia[k], rho[k], 0.3)
        assert all(np.array_equal(a, b[k]) for a, b in zip(alone, together, strict=True))
