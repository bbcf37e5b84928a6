"""Runge-Kutta comparators: order, what they lose, and their transition matrices."""

import numpy as np
import pytest

from gnc import quaternion
from gnc.integrators import runge_kutta
from tests.gnc.integrators.gyrostat import (
    CASES,
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
    random_trials,
)

P0 = J @ W0 + RHO
PAPER = (np.array([1.0, 0.0, 0.0, 0.0]), PAPER_J @ PAPER_W0)
NAMES = ["midpoint", "rk4", "rk4_normalized"]
EACH = pytest.mark.parametrize("name", NAMES)


def relative_energy(P_B):
    def energy(P_B):
        return np.sum(P_B * P_B / np.diag(PAPER_J), -1)

    return energy(P_B) / energy(PAPER[1]) - 1.0


def relative_momentum(P_B):
    return np.linalg.norm(P_B, axis=-1) / np.linalg.norm(PAPER[1]) - 1.0


@pytest.mark.jit
@EACH
@pytest.mark.parametrize("case", CASES)
def test_order_is_two_for_the_midpoint_rule_and_four_for_rk4(name, case):
    tau, rho = CASES[case]
    counts = [640, 1280, 2560] if name == "midpoint" else [160, 320, 640]
    truth = exact(Q0, W0, J, lambda t: tau, lambda t: rho, 4.0)
    step = getattr(runge_kutta, name)
    errors = [error(step.repeat(n, Q0, J @ W0 + rho, tau, J, rho, 4.0 / n), truth) for n in counts]
    assert abs(order(counts, errors) - (2 if name == "midpoint" else 4)) < 0.05


@pytest.mark.parametrize("h", [0.3, -0.2])
@EACH
def test_F_and_G_are_the_derivatives_of_the_step(name, h):
    step, step_jacobian = getattr(runge_kutta, name), getattr(runge_kutta, f"{name}_jacobian")
    *state, F, G = step_jacobian(Q0, P0, TAU, J, RHO, h)
    assert all(map(np.array_equal, state, step(Q0, P0, TAU, J, RHO, h)))
    F_expected, G_expected = finite_difference(step, Q0, P0, TAU, J, RHO, h)
    np.testing.assert_allclose(F, F_expected, rtol=0, atol=1e-8)
    np.testing.assert_allclose(G, G_expected, rtol=0, atol=1e-8)


def test_a_quaternion_that_has_lost_its_length_has_the_same_F():
    for name in NAMES:
        step_jacobian = getattr(runge_kutta, f"{name}_jacobian")
        expected = step_jacobian(Q0, P0, TAU, J, RHO, 0.3)[2:]
        assert all(map(np.array_equal, step_jacobian(0.9 * Q0, P0, TAU, J, RHO, 0.3)[2:], expected))


@pytest.mark.jit
def test_rk4_loses_energy_and_momentum_as_the_reference_says():
    """The fast body of QVI at h = 0.2: the numbers of the specification at 1000 s and after 1e6 steps."""
    _, P_B = runge_kutta.rk4.repeat(5_000, *PAPER, NONE, PAPER_J, NONE, 0.2)
    assert relative_energy(P_B) == pytest.approx(-1.218e-4, abs=5e-8)
    assert relative_momentum(P_B) == pytest.approx(-5.58e-5, abs=5e-8)
    _, P_B = runge_kutta.rk4.repeat(1_000_000, *PAPER, NONE, PAPER_J, NONE, 0.2)
    assert relative_energy(P_B) == pytest.approx(-2.33e-2, abs=5e-5)


@pytest.mark.jit
def test_the_midpoint_rule_in_figures_1_and_2_ends_percents_away():
    """QVI Figs. 1, 2: 200 s at h = 0.2."""
    states = [PAPER]
    for _ in range(1000):
        states.append(runge_kutta.midpoint(*states[-1], NONE, PAPER_J, NONE, 0.2))
    q, P = (np.array(part) for part in zip(*states, strict=True))
    H = quaternion.rotate(quaternion.normalize(q), P)
    momentum_error = np.linalg.norm(H - PAPER[1], axis=-1) / np.linalg.norm(PAPER[1])
    assert momentum_error.max() == pytest.approx(1.3e-2, abs=5e-4)
    assert np.abs(relative_energy(P)).max() == pytest.approx(2.8e-2, abs=1e-3)


@pytest.mark.jit
def test_only_the_normalized_step_keeps_the_quaternion_of_unit_length():
    lengths = [
        np.linalg.norm(step.repeat(1000, *PAPER, NONE, PAPER_J, NONE, 0.2)[0])
        for step in (runge_kutta.rk4, runge_kutta.rk4_normalized)
    ]
    assert abs(lengths[0] - 1.0) > 1e-6
    assert abs(lengths[1] - 1.0) < 1e-15


@EACH
def test_a_trial_has_the_same_bits_alone_and_in_a_batch(name):
    trials = random_trials(np.random.default_rng(5), 5)
    step = getattr(runge_kutta, name)
    batch = step(*trials, 0.5)
    for k in range(5):
        alone = step(*(x[k] for x in trials), 0.5)
        assert all(np.array_equal(x[k], y) for x, y in zip(batch, alone, strict=True))
