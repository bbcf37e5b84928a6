"""Substeps: how many, that they are the steps they stand for, and that no trial is lost for want of them."""

import math
import pickle

import numpy as np
import pytest

from gnc.integrators import qvi
from gnc.integrators.composition import SUZUKI4, YOSHIDA4, angle, compose, count, largest_stage, substepped
from tests.gnc.integrators.gyrostat import (
    NONE,
    PAPER_J,
    Q0,
    RHO,
    TAU,
    W0,
    J,
    finite_difference,
    random_bodies,
    random_directions,
    random_trials,
    symplectic_form,
)

STEP, STEP_JACOBIAN = substepped(qvi.step, qvi.step_jacobian)
STEP4, STEP4_JACOBIAN = substepped(qvi.step4, qvi.step4_jacobian, largest_stage(SUZUKI4))
ARGS = Q0 / np.linalg.norm(Q0), J @ W0 + RHO, TAU, J, RHO


# The rule


@pytest.mark.parametrize(
    "w_B, tau_B, rho_B, h, expected",
    [
        ([0.0, 0.6, 0.0], NONE, NONE, 2.0, 1.2),
        ([0.0, 0.6, 0.0], NONE, NONE, -2.0, 1.2),
        ([0.3, 0.0, -0.4], NONE, [0.0, 0.0, 0.2], 2.0, 2.0 * (0.5 + 0.2 / 1.0)),
        ([0.0, 0.6, 0.0], [0.0, 0.4, 0.0], NONE, 2.0, 2.0 * (0.6 + 2.0 * 0.4 / 2.0)),
        ([0.0, 0.6, 0.0], [0.0, -0.4, 0.0], NONE, 2.0, 1.2),
        ([0.0, 0.6, 0.0], [0.0, -2.0, 0.0], NONE, 2.0, 2.0 * (2.0 * 2.0 / 2.0 - 0.6)),
    ],
    ids=["rate", "backward", "wheels", "faster", "slower", "reversed"],
)
def test_the_angle_counts_rate_torque_and_wheels(w_B, tau_B, rho_B, h, expected):
    assert angle(PAPER_J @ w_B + rho_B, tau_B, PAPER_J, rho_B, h) == pytest.approx(expected, rel=1e-14)


def test_the_angle_of_the_wheels_is_never_too_small_and_at_most_sqrt_3_too_large():
    rng = np.random.default_rng(1)
    J, rho_B = random_bodies(rng, 1000, 0.001), random_directions(rng, 1000)
    ratio = angle(rho_B, NONE, J, rho_B, 1.0) * np.linalg.eigvalsh(J)[:, 0]
    assert np.min(ratio) >= 1.0 - 1e-12 and np.max(ratio) <= math.sqrt(3.0)


@pytest.mark.parametrize(
    "h, stage, expected",
    [
        (0.0, 1.0, 1),
        (0.39, 1.0, 1),
        (0.41, 1.0, 2),
        (-4.1, 1.0, 11),
        (0.6, largest_stage(SUZUKI4), 1),
        (0.62, largest_stage(SUZUKI4), 2),
        (0.24, largest_stage(YOSHIDA4), 2),
        (3999.9, 1.0, 10_000),
    ],
)
def test_the_count_rounds_up_0_4_rad_per_longest_stage(h, stage, expected):
    assert count([0.0, 2.0, 0.0], NONE, PAPER_J, NONE, h, stage) == expected


@pytest.mark.parametrize("h", [4000.1, 1e300, math.inf, math.nan])
def test_too_many_substeps_are_none(h):
    assert np.isnan(count([0.0, 2.0, 0.0], NONE, PAPER_J, NONE, h, 1.0))


# What is done with it


def test_a_short_step_is_the_step_itself():
    for divided, kernel in ((STEP, qvi.step), (STEP_JACOBIAN, qvi.step_jacobian)):
        results = zip(divided(*ARGS, 0.1), kernel(*ARGS, 0.1), strict=True)
        assert all(np.array_equal(a, b) for a, b in results)


def test_a_long_step_is_as_many_equal_steps_as_the_rule_says():
    n = count(*ARGS[1:], 3.0, 1.0)
    assert n > 5
    x = ARGS[:2]
    for _ in range(int(n)):
        x = qvi.step(*x, TAU, J, RHO, 3.0 / n)
    assert all(np.array_equal(a, b) for a, b in zip(STEP(*ARGS, 3.0), x, strict=True))
    assert all(np.array_equal(a, b) for a, b in zip(STEP_JACOBIAN(*ARGS, 3.0), x, strict=False))


@pytest.mark.parametrize("divided, with_jacobian", [(STEP, STEP_JACOBIAN), (STEP4, STEP4_JACOBIAN)], ids=["2", "4"])
def test_F_and_G_of_a_divided_step_meet_finite_differences(divided, with_jacobian):
    _, _, F, G = with_jacobian(*ARGS, 1.5)
    F_fd, G_fd = finite_difference(divided, *ARGS, 1.5, eps=3e-6)
    assert np.max(np.abs(F - F_fd)) < 1e-8 and np.max(np.abs(G - G_fd)) < 1e-8


def test_a_divided_drift_takes_no_torque_and_stays_symplectic():
    drift, drift_jacobian = substepped(qvi.drift, qvi.drift_jacobian)
    q_IB, P_B = ARGS[:2]
    q_1, P_1, F = drift_jacobian(q_IB, P_B, J, RHO, 5.0)
    assert all(np.array_equal(a, b) for a, b in zip(drift(q_IB, P_B, J, RHO, 5.0), (q_1, P_1), strict=True))
    assert np.max(np.abs(F.T @ symplectic_form(P_1) @ F - symplectic_form(P_B))) < 1e-12


@pytest.mark.jit
def test_trials_with_different_counts_have_the_bits_they_have_alone():
    rng = np.random.default_rng(2)
    args = random_trials(rng, 13, angle=1.0)
    h = np.geomspace(0.1, 50.0, 13) * np.where(np.arange(13) % 2, -1.0, 1.0)
    assert len(set(count(*args[1:], h, 1.0))) > 8
    batch = STEP_JACOBIAN(*args, h)
    for i in range(13):
        alone = STEP_JACOBIAN(*[a[i] for a in args], h[i])
        assert all(np.array_equal(a, b[i]) for a, b in zip(alone, batch, strict=True))


def test_a_lost_trial_is_nan_and_its_neighbours_fly_on():
    h = np.array([0.1, 1e6, 0.1, math.nan])
    batch, alone = STEP_JACOBIAN(*ARGS, h), STEP_JACOBIAN(*ARGS, 0.1)
    for a, b in zip(alone, batch, strict=True):
        assert np.array_equal(a, b[0]) and np.array_equal(a, b[2])
    assert np.all(np.isnan(batch[0][1::2])) and np.all(np.isnan(batch[1][1::2])) and np.all(np.isnan(batch[3][1::2]))
    assert all(np.all(np.isnan(x)) for x in STEP(ARGS[0], np.full(3, np.nan), *ARGS[2:], 0.1))


@pytest.mark.jit
@pytest.mark.parametrize("wheels", [0.0, 0.3, 3.0])
@pytest.mark.parametrize("divided", [STEP, STEP4], ids=["2", "4"])
def test_no_random_body_is_lost_over_ten_radians(divided, wheels):
    rng = np.random.default_rng(3)
    n = 2000
    J = random_bodies(rng, n, 0.001)
    least = np.linalg.eigvalsh(J)[:, :1]
    rho_B = wheels * random_directions(rng, n) * least
    P_B = np.einsum("nij,nj->ni", J, random_directions(rng, n)) + rho_B
    tau_B = 0.1 * random_directions(rng, n) * least
    q_IB, _ = divided(random_directions(rng, n, 4), P_B, tau_B, J, rho_B, 10.0)
    assert np.all(np.isfinite(q_IB))


def test_longer_stages_need_more_substeps():
    yoshida = compose(qvi.step, qvi.step_jacobian, YOSHIDA4)
    assert np.any(np.isnan(yoshida[0](*ARGS, 0.9)[0])) and np.all(np.isfinite(qvi.step4(*ARGS, 0.9)[0]))
    divided, _ = substepped(*yoshida, largest_stage(YOSHIDA4))
    assert np.all(np.isfinite(divided(*ARGS, 0.9)[0]))


def test_divided_steps_pickle():
    there = pickle.loads(pickle.dumps(STEP_JACOBIAN))
    STEP_JACOBIAN(*ARGS, 0.1)
    again = pickle.loads(pickle.dumps(STEP_JACOBIAN))
    assert np.array_equal(there(*ARGS, 0.5)[2], STEP_JACOBIAN(*ARGS, 0.5)[2])
    assert np.array_equal(again(*ARGS, 0.5)[2], STEP_JACOBIAN(*ARGS, 0.5)[2])
