"""DQVI in the form with increments: the same motion, its Jacobian, and the paper's iteration counts."""

import math

import numpy as np
import pytest

from gnc import dual_quaternion, spatial
from gnc.integrators import dqvi, dqvi_increment
from gnc.integrators.dqvi_equation import momentum_jacobian, trailing_momentum, with_newton
from tests.gnc.integrators.pose_cases import (
    BOTH_FORMS,
    CHI,
    DAMPING,
    DQ,
    MASS,
    PAPER_M,
    WRENCH,
    M,
    differences,
    paper_start,
    wrench_of,
)

H, NOTHING = 0.2, np.zeros((6, 6))


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
    wrench, T, D = wrench_of(dq_next, chi, DAMPING)
    return dqvi_increment.step_jacobian(dq, x, wrench + push, T, D, M, filler, H)


@BOTH_FORMS
def test_F_and_G_under_wrenches_of_pose_and_twist_are_the_derivatives(filler):
    x = dqvi_increment.start(CHI, WRENCH, M, filler, H)
    _, _, F, G = forced_step(DQ, x, filler)

    def motion(e):
        return forced_step(dual_quaternion.mul(DQ, dual_quaternion.exp(e[:6])), x + e[6:12], filler, 1e3 * e[12:])

    numeric = differences(motion, 18)
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


def energy_after_three_hours(iterations):
    """Return the relative change of energy in the paper's flight at 10 fps."""
    dq, chi = paper_start(np.ones(3))
    start, step = (with_newton(k, iterations, math.inf) for k in (dqvi_increment.start, dqvi_increment.step))
    x = start(chi, np.zeros(6), PAPER_M, 0.0, 0.1)
    x = step.repeat(108_000, dq, x, np.zeros(6), PAPER_M, 0.0, 0.1)[1]
    chi_end = dqvi_increment.twist(x, np.zeros(6), PAPER_M, 0.0, 0.1)
    return spatial.kinetic_energy(PAPER_M, chi_end) / spatial.kinetic_energy(PAPER_M, chi) - 1.0


@pytest.mark.jit
def test_one_and_two_iterations_lose_the_energy_that_the_specification_says():
    assert energy_after_three_hours(1) == pytest.approx(-0.56, abs=5e-3)
    assert energy_after_three_hours(2) == pytest.approx(-8.5e-7, abs=5e-9)


@pytest.mark.jit
@pytest.mark.parametrize("iterations", [3, 4])
def test_three_iterations_are_enough(iterations):
    assert abs(energy_after_three_hours(iterations)) < 1e-12
