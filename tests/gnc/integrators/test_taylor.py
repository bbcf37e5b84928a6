"""The Taylor step: exact to round-off within its reach, with wheels and torque, and its Jacobians too."""

import numpy as np
import pytest

from gnc import quaternion
from gnc.batch import batched
from gnc.integrators import taylor
from tests.gnc.integrators.free_body import attitude_error, flow, flow_jacobian, momentum_error
from tests.gnc.integrators.gyrostat import (
    NONE,
    Q0,
    RHO,
    TAU,
    W0,
    J,
    exact,
    finite_difference,
    random_bodies,
    random_trials,
    symplectic_form,
)

angle = batched("(3),(3),(3,3),(3),(3),()->()")(taylor.angle)
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


@pytest.mark.parametrize(
    ("step", "order", "least"), [(taylor.step, 20, 2.0), (taylor.step_slow, 10, 0.8), (taylor.step_gentle, 7, 0.4)]
)
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


RAMP = np.array([-0.1, 0.25, 0.15])


def ramped(q, P, tau, J, rho, ramp, h, parts=1, step=taylor.ramp_jacobian):
    for _ in range(parts):
        q, P, rho, *_ = step(q, P, rho, tau, J, ramp / parts, h / parts)
    return q, P, rho


def test_wheels_that_run_up_evenly_are_part_of_the_series():
    # DOP853 at 1e-13; held at their mean, the same wheels leave an error of the second order.
    h = 0.6
    q_1, P_1 = exact(START, W0, J, lambda t: TAU, lambda t: RHO + RAMP * t / h, h)
    q, P, rho = ramped(START, J @ W0 + RHO, TAU, J, RHO, RAMP, h, parts=8)
    assert attitude_error(q, q_1) < 1e-12
    np.testing.assert_allclose(P, P_1, atol=1e-12)
    np.testing.assert_allclose(rho, RHO + RAMP, rtol=1e-15)
    held = taylor.step(START, J @ W0 + RHO, TAU, J, RHO + 0.5 * RAMP, h)
    assert attitude_error(held[0], q_1) > 1e-4


def test_the_jacobians_of_a_run_up_are_those_of_finite_differences():
    h = 0.15  # F and the step are truncated each by itself: at 0.3 they part by 1e-7

    def step(q, P, tau, J, rho, h):
        return ramped(q, P, tau, J, rho, RAMP, h)[:2]

    *_, F, G = taylor.ramp_jacobian(START, J @ W0 + RHO, RHO, TAU, J, RAMP, h)
    F_1, G_1 = finite_difference(step, START, J @ W0 + RHO, TAU, J, RHO, h)
    np.testing.assert_allclose(F, F_1, atol=1e-8)
    np.testing.assert_allclose(G, G_1, atol=1e-8)


@pytest.mark.parametrize(
    ("step", "order", "radius", "largest"),
    [(taylor.ramp_jacobian, 8, taylor.RADIUS, 0.8), (taylor.ramp_jacobian_gentle, 5, taylor.GENTLE_RADIUS, 0.3)],
)
def test_the_truncation_error_is_below_its_bound_on_random_bodies(step, order, radius, largest):
    rng = np.random.default_rng(5)
    n = 2000
    bodies = random_bodies(rng, n, least=0.01)
    rho, ramp, tau = (scale * rng.normal(size=(n, 3)) * rng.integers(0, 2, (n, 1)) for scale in (1.0, 0.5, 0.5))
    P = np.einsum("nij,nj->ni", bodies, rng.normal(size=(n, 3))) + rho
    x = angle(P, tau, bodies, rho, ramp, np.ones(n))
    h = largest / x  # the angle has powers of h below 1 where torque or wheels push: it is then more than the largest
    x, start = angle(P, tau, bodies, rho, ramp, h), np.tile(START, (n, 1))
    one, many = ramped(start, P, tau, bodies, rho, ramp, h, 1, step), ramped(start, P, tau, bodies, rho, ramp, h, 16)
    errors = np.linalg.norm(one[1] - many[1], axis=-1) / np.linalg.norm(P, axis=-1)
    errors = np.maximum(errors, quaternion.angle_between(*(quaternion.normalize(q) for q, *_ in (one, many))))
    assert (errors <= (x / radius) ** (order + 1) + 1e-15).all()


def test_where_a_body_is_moved_gently_the_step_is_exact_to_round_off():
    # Against order 20. The reach was chosen on seeds 0 to 5: 2.5e-15 at most, four times that at 0.06 rad.
    rng, n = np.random.default_rng(7), 2000
    bodies, start = random_bodies(rng, n, least=0.01), np.tile(START, (n, 1))
    rho, tau = (scale * rng.normal(size=(n, 3)) * rng.integers(0, 2, (n, 1)) for scale in (1.0, 0.5))
    P = np.einsum("nij,nj->ni", bodies, rng.normal(size=(n, 3))) + rho
    near, far = np.zeros(n), np.ones(n)
    for _ in range(60):
        h = 0.5 * (near + far)
        within = angle(P, tau, bodies, rho, NONE, h) <= taylor.GENTLE_REACH
        near, far = np.where(within, h, near), np.where(within, far, h)
    for h, gentle in ((near, 1.0), (1.001 * near, 0.0)):
        counts = taylor.shared_out(P, tau, bodies, rho, h, np.ones(n))
        assert (counts[0] == gentle).all() and (counts[1] == 1.0 - gentle).all()
    (q, P_1), (q_20, P_20) = (step(start, P, tau, bodies, rho, near) for step in (taylor.step_gentle, taylor.step))
    assert np.abs(q - q_20).max() < 4e-15
    assert (np.linalg.norm(P_1 - P_20, axis=-1) < 4e-15 * np.linalg.norm(P, axis=-1)).all()
