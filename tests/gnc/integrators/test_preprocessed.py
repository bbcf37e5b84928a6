"""The preprocessed step: fourth order for one solve, momentum and energy exact, no wheels."""

import numpy as np
import pytest

from gnc import lie, quaternion
from gnc.integrators import preprocessed, qvi
from tests.gnc.integrators.gyrostat import (
    NONE,
    PAPER_J,
    PAPER_W0,
    Q0,
    RHO,
    TAU,
    W0,
    J,
    error,
    exact,
    finite_difference,
    order,
    path,
    random_trials,
    symplectic_form,
)


def test_a_free_body_is_of_fourth_order_in_any_axes():
    truth, counts = exact(Q0, W0, J, lambda t: NONE, lambda t: NONE, 4.0), [20, 40, 80]
    errors = [error(preprocessed.drift.repeat(n, Q0, J @ W0, J, NONE, 4.0 / n), truth) for n in counts]
    assert order(counts, errors) == pytest.approx(4, abs=0.05)


def test_a_torque_enters_with_second_order_and_an_error_proportional_to_it():
    counts, first = [80, 160, 320], {}
    for scale in (1.0, 0.1):
        truth = exact(Q0, W0, J, lambda t, s=scale: s * TAU, lambda t: NONE, 4.0)
        errors = [error(preprocessed.step.repeat(n, Q0, J @ W0, scale * TAU, J, NONE, 4.0 / n), truth) for n in counts]
        assert order(counts, errors) == pytest.approx(2, abs=0.05)
        first[scale] = errors[0]
    assert first[1.0] / first[0.1] == pytest.approx(10, rel=0.5)


@pytest.mark.parametrize(("steps", "published_deg"), [(50, 0.33), (100, 0.020), (400, 7.6e-5)])
def test_the_attitude_error_after_20_s_is_the_published_one(steps, published_deg):
    q_0 = np.array([1.0, 0.0, 0.0, 0.0])
    truth = path(q_0, PAPER_W0, PAPER_J, [0.0, 20.0])[-1]
    q, _ = preprocessed.drift.repeat(steps, q_0, PAPER_J @ PAPER_W0, PAPER_J, NONE, 20.0 / steps)
    found = np.degrees(quaternion.angle_between(q, truth / np.linalg.norm(truth)))
    assert found == pytest.approx(published_deg, rel=0.03)


@pytest.mark.jit
def test_momentum_and_energy_are_exact_where_the_attitude_is_not():
    q_0, P_0 = np.array([1.0, 0.0, 0.0, 0.0]), PAPER_J @ PAPER_W0
    q, P = preprocessed.drift.repeat(100_000, q_0, P_0, PAPER_J, NONE, 0.2)
    assert np.linalg.norm(quaternion.rotate(q, P) - P_0) / np.linalg.norm(P_0) < 5e-13
    assert abs(P @ np.linalg.solve(PAPER_J, P) / (P_0 @ PAPER_W0) - 1) < 5e-13


def test_the_modified_inertia_turns_qvi_into_it():
    # One solve of QVI's equation with another inertia: the increments are those of qvi with the modified body.
    P, h = J @ W0, 0.3
    J_m = preprocessed.modified_inertia(P, J, h)[0]
    q, _ = preprocessed.drift(Q0, P, J, NONE, h)
    expected, _ = qvi.drift(Q0, P, J_m, NONE, h)
    np.testing.assert_allclose(q, expected, atol=1e-15)


@pytest.mark.parametrize("h", [0.3, -0.4])
def test_the_jacobians_are_the_derivatives_of_the_step(h):
    *_, F, G = preprocessed.step_jacobian(Q0, J @ W0, TAU, J, NONE, h)
    F_0, G_0 = finite_difference(preprocessed.step, Q0, J @ W0, TAU, J, NONE, h)
    np.testing.assert_allclose(F, F_0, atol=1e-8)
    np.testing.assert_allclose(G, G_0, atol=1e-8)


def test_the_motion_of_the_momentum_preserves_areas_and_the_whole_step_the_symplectic_form_to_fourth_order():
    """Its inertia changes from orbit to orbit: one that is fixed keeps the form exactly."""
    P, steps = J @ W0, np.array([0.05, 0.1, 0.2])
    _, P_1, F = preprocessed.drift_jacobian(Q0, P, J, NONE, steps)
    M = F[:, 3:, 3:]
    np.testing.assert_allclose(M @ lie.hat(P) @ np.swapaxes(M, 1, 2), lie.hat(P_1), atol=1e-14)
    defects = np.swapaxes(F, 1, 2) @ symplectic_form(P_1) @ F - symplectic_form(P)
    assert order(1 / steps, np.abs(defects).max(axis=(1, 2))) == pytest.approx(5, abs=0.05)


def test_time_reversed_leads_back_to_the_start():
    q, P = preprocessed.drift(*preprocessed.drift(Q0, J @ W0, J, NONE, 0.4), J, NONE, -0.4)
    np.testing.assert_allclose(q, Q0, atol=2e-15)
    np.testing.assert_allclose(P, J @ W0, atol=4e-15)


def test_wheels_and_too_long_steps_lose_their_trial():
    assert np.isnan(preprocessed.drift(Q0, J @ W0 + RHO, J, RHO, 0.1)[1]).all()
    assert np.isnan(preprocessed.drift(Q0, J @ W0, J, NONE, 3.0)[1]).all()


def test_a_trial_has_the_same_bits_alone_and_in_a_batch():
    q, P, tau, inertia, _ = random_trials(np.random.default_rng(1), 9, wheels=0.0)
    together = preprocessed.step(q, P, tau, inertia, NONE, 0.3)
    for k in range(9):
        alone = preprocessed.step(q[k], P[k], tau[k], inertia[k], NONE, 0.3)
        assert all(np.array_equal(a, b[k]) for a, b in zip(alone, together, strict=True))
