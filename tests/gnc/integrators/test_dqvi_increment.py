"""DQVI in the form with increments: the same motion, its Jacobian, and the paper's iteration counts."""

import math

import numpy as np
import pytest

from gnc import dual_quaternion, lie, spatial
from gnc.integrators import dqvi, dqvi_increment
from gnc.integrators.dqvi_equation import momentum_jacobian, trailing_momentum, with_newton

MASS, R_G, H = 1000.0, np.array([1.0, 0.8, 0.5]), 0.2
M = spatial.inertia(MASS, R_G, np.array([[300.0, 50, 40], [50, 350, 30], [40, 30, 400]]))
DQ = dual_quaternion.from_pose([0.5, 0.5, -0.1, 0.7], [1.0, -2.0, 0.5])
CHI = np.array([0.4, -0.5, 0.6, 0.7, 0.2, -0.3])
WRENCH = np.array([120.0, -80.0, 60.0, 300.0, -200.0, 150.0])
BOTH_FORMS = pytest.mark.parametrize("filler", [0.0, MASS], ids=["printed", "filled"])
NOTHING = np.zeros((6, 6))

# A wrench that depends on pose and twist: a spring from a point of the body to a fixed one, and damping.
ANCHOR, HOOK, STIFFNESS = np.array([2.0, -1.0, 1.5]), np.array([0.4, -0.3, 0.6]), 800.0
DAMPING = np.diag([60.0, 80.0, 70.0, 200.0, 150.0, 180.0])


def wrench_of(dq_IB, chi_B):
    """Return the wrench and its derivatives with respect to xi and chi."""
    s = dual_quaternion.inverse_transform_point(dq_IB, ANCHOR)
    force = STIFFNESS * (s - HOOK)
    by_pose = STIFFNESS * np.hstack([lie.hat(s), -np.eye(3)])
    T = np.vstack([lie.hat(HOOK) @ by_pose, by_pose])
    return np.concatenate([np.cross(HOOK, force), force]) - DAMPING @ chi_B, T, -DAMPING


@BOTH_FORMS
def test_both_forms_make_the_same_motion(filler):
    dq, chi, x = DQ, CHI, dqvi_increment.start(CHI, WRENCH, M, filler, H)
    other = DQ
    for _ in range(10):
        dq, chi = dqvi.step(dq, chi, WRENCH, M, filler, H)
        other, x = dqvi_increment.step(other, x, WRENCH, M, filler, H)
    assert np.abs(other - dq).max() < 1e-12
    assert np.abs(dqvi_increment.twist(x, WRENCH, M, filler, H) - chi).max() < 1e-12


def test_start_and_twist_are_inverse():
    x = dqvi_increment.start(CHI, WRENCH, M, MASS, H)
    assert np.abs(dqvi_increment.twist(x, WRENCH, M, MASS, H) - CHI).max() < 1e-14


def test_the_next_pose_is_that_of_the_step():
    x = dqvi_increment.start(CHI, WRENCH, M, MASS, H)
    assert np.array_equal(dqvi_increment.next_pose(DQ, x), dqvi_increment.step(DQ, x, WRENCH, M, MASS, H)[0])


def forced_step(dq, x, filler, push=0.0):
    """Take a step under `wrench_of`, evaluated at the next pose with the twist before it acts."""
    dq_next = dqvi_increment.next_pose(dq, x)
    chi = 2 / H * np.linalg.solve(M, trailing_momentum(x, M, filler))
    wrench, T, D = wrench_of(dq_next, chi)
    return dqvi_increment.step_jacobian(dq, x, wrench + push, T, D, M, filler, H)


@BOTH_FORMS
def test_F_and_G_under_wrenches_of_pose_and_twist_are_the_derivatives(filler):
    x = dqvi_increment.start(CHI, WRENCH, M, filler, H)
    dq_next, _, F, G = forced_step(DQ, x, filler)

    def error(e):
        dq = dual_quaternion.mul(DQ, dual_quaternion.exp(e[:6]))
        dq, x_next = forced_step(dq, x + e[6:12], filler, 1e3 * e[12:])[:2]
        return np.concatenate([dual_quaternion.log(dual_quaternion.mul(dual_quaternion.conj(dq_next), dq)), x_next])

    d = 1e-5
    numeric = np.transpose([(error(d * e) - error(-d * e)) / (2 * d) for e in np.eye(18)])
    assert np.abs(F - numeric[:, :12]).max() < 1e-8
    assert np.abs(1e3 * G - numeric[:, 12:]).max() < 1e-8


@BOTH_FORMS
def test_the_jacobians_of_both_forms_are_congruent(filler):
    # x is a function of chi, dx = (h/2) J^-1 M dchi, at both ends of a free step
    x = dqvi_increment.start(CHI, np.zeros(6), M, filler, H)
    _, x_next, F_increment, _ = dqvi_increment.step_jacobian(DQ, x, np.zeros(6), NOTHING, NOTHING, M, filler, H)
    _, _, F_twist = dqvi.drift_jacobian(DQ, CHI, M, filler, H)

    def legendre(x):
        return np.block([[np.eye(6), NOTHING], [NOTHING, 2 / H * np.linalg.solve(M, momentum_jacobian(x, M, filler))]])

    assert np.abs(legendre(x_next) @ F_increment - F_twist @ legendre(x)).max() < 1e-12


def test_phase_volume_is_kept_in_the_measure_of_increments():
    # det F of increments is det J(x_k)/det J(x_{k+1}), since (xi, mu) keep theirs
    x = dqvi_increment.start(CHI, np.zeros(6), M, MASS, H)
    _, x_next, F, _ = dqvi_increment.step_jacobian(DQ, x, np.zeros(6), NOTHING, NOTHING, M, MASS, H)
    ratio = np.linalg.det(momentum_jacobian(x, M, MASS)) / np.linalg.det(momentum_jacobian(x_next, M, MASS))
    assert np.linalg.det(F) == pytest.approx(ratio, rel=1e-12)


def test_a_batch_has_the_bits_of_its_trials():
    chi = 0.5 * np.random.default_rng(3).normal(size=(11, 6))
    x = dqvi_increment.start(chi, WRENCH, M, MASS, H)
    batch = dqvi_increment.step_jacobian(DQ, x, WRENCH, NOTHING, NOTHING, M, MASS, H)
    for i in range(11):
        one = dqvi_increment.step_jacobian(DQ, x[i], WRENCH, NOTHING, NOTHING, M, MASS, H)
        assert all(np.array_equal(a, b[i]) for a, b in zip(one, batch, strict=True))


PAPER_M = spatial.inertia(MASS, R_G, np.array([[200.0, 100, 100], [100, 300, 100], [100, 100, 400]]))


def energy_after_three_hours(iterations):
    """Return the relative change of energy in the paper's flight at 10 fps."""
    w = np.ones(3)
    chi = np.concatenate([w, -np.cross(w, R_G)])
    start, step = (with_newton(k, iterations, math.inf) for k in (dqvi_increment.start, dqvi_increment.step))
    x = start(chi, np.zeros(6), PAPER_M, 0.0, 0.1)
    x = step.repeat(108_000, np.eye(8)[0], x, np.zeros(6), PAPER_M, 0.0, 0.1)[1]
    chi_end = dqvi_increment.twist(x, np.zeros(6), PAPER_M, 0.0, 0.1)
    return spatial.kinetic_energy(PAPER_M, chi_end) / spatial.kinetic_energy(PAPER_M, chi) - 1.0


def test_one_and_two_iterations_lose_the_energy_that_the_specification_says():
    assert energy_after_three_hours(1) == pytest.approx(-0.56, abs=5e-3)
    assert energy_after_three_hours(2) == pytest.approx(-8.5e-7, abs=5e-9)


@pytest.mark.parametrize("iterations", [3, 4])
def test_three_iterations_are_enough(iterations):
    assert abs(energy_after_three_hours(iterations)) < 1e-12
