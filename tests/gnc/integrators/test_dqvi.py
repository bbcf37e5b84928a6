"""DQVI in the form with twists: order, Jacobians, trials."""

import math

import numpy as np
import pytest

from gnc import dual_quaternion
from gnc.integrators import dqvi
from gnc.integrators.dqvi_equation import increment_jacobian, momentum_jacobian
from tests.gnc.integrators.pose_cases import (
    BOTH_FORMS,
    CHI,
    DAMPING,
    DQ,
    MASS,
    UNDAMPED,
    WRENCH,
    M,
    constant,
    differences,
    distance,
    exact,
    fitted_order,
    perturbed,
    pushed,
    wrench_of,
)


def forced_step(dq_IB, chi_B, filler, h, damping, evaluations):
    """Take a step under `wrench_of` by one of the rules of `dqvi.forced_jacobian`; return it with its F."""
    wrench, T, D = wrench_of(dq_IB, chi_B, damping)
    dq_IB, drifted, F = dqvi.drift_jacobian(dq_IB, dqvi.kick(chi_B, wrench, M, h), M, filler, h)
    wrench, T_next, D_next = wrench_of(dq_IB, drifted, damping)
    half = 0.5 * h * np.linalg.inv(M)
    if evaluations == math.inf:
        agreement = np.linalg.inv(np.eye(6) - D_next @ half)  # the wrench is linear in the twist
        wrench, T_next, D_next = agreement @ wrench, agreement @ T_next, agreement @ D_next
    if evaluations == 2:
        wrench, T_2, D_2 = wrench_of(dq_IB, dqvi.kick(drifted, wrench, M, h), damping)
        T_next, D_next = T_2 + D_2 @ half @ T_next, D_2 @ (np.eye(6) + half @ D_next)
    F, _ = dqvi.forced_jacobian(F, T, D, T_next, D_next, M, h)
    return dq_IB, dqvi.kick(drifted, wrench, M, h), F


@pytest.mark.jit
@BOTH_FORMS
def test_second_order_under_a_constant_body_wrench_about_an_offset_reference_point(filler):
    reference, counts = exact(constant, 2.0), [160, 320, 640, 1280]
    errors = [distance(dqvi.step.repeat(n, DQ, CHI, WRENCH, M, filler, 2.0 / n), reference) for n in counts]
    assert abs(fitted_order(errors, counts) - 2.0) < 0.05


def forced_errors(counts, damping, evaluations):
    reference, errors = exact(lambda dq, chi: wrench_of(dq, chi, damping)[0], 1.0), []
    for n in counts:
        state = DQ, CHI
        for _ in range(n):
            state = forced_step(*state, MASS, 1.0 / n, damping, evaluations)[:2]
        errors.append(distance(state, reference))
    return errors


@pytest.mark.jit
def test_second_order_under_wrenches_of_pose_and_twist():
    counts = [40, 80, 160]
    assert abs(fitted_order(forced_errors(counts, DAMPING, 2), counts) - 2.0) < 0.05
    assert abs(fitted_order(forced_errors(counts, DAMPING, math.inf), counts) - 2.0) < 0.05
    assert abs(fitted_order(forced_errors(counts, UNDAMPED, 1), counts) - 2.0) < 0.05


@pytest.mark.jit
def test_one_evaluation_of_a_damping_wrench_at_the_end_makes_it_first_order():
    counts = [160, 320, 640]
    assert abs(fitted_order(forced_errors(counts, DAMPING, 1), counts) - 1.0) < 0.05


# Jacobians


@BOTH_FORMS
def test_F_and_G_of_a_step_are_its_derivatives(filler):
    dq, chi, F, G = dqvi.step_jacobian(DQ, CHI, WRENCH, M, filler, 0.2)
    assert all(map(np.array_equal, (dq, chi), dqvi.step(DQ, CHI, WRENCH, M, filler, 0.2)))
    numeric = differences(lambda e: dqvi.step(*pushed(e), M, filler, 0.2), 18)
    assert np.abs(F - numeric[:, :12]).max() < 1e-9
    assert np.abs(1e3 * G - numeric[:, 12:]).max() < 1e-9


@BOTH_FORMS
def test_F_of_a_drift_is_its_derivative(filler):
    F = dqvi.drift_jacobian(DQ, CHI, M, filler, 0.2)[2]
    assert np.abs(F - differences(lambda e: dqvi.drift(*perturbed(e), M, filler, 0.2), 12)).max() < 1e-9


@BOTH_FORMS
@pytest.mark.parametrize("evaluations", [1, 2, math.inf])
def test_F_under_wrenches_of_pose_and_twist_is_the_derivative(filler, evaluations):
    F = forced_step(DQ, CHI, filler, 0.2, DAMPING, evaluations)[2]
    numeric = differences(lambda e: forced_step(*perturbed(e), filler, 0.2, DAMPING, evaluations), 12)
    assert np.abs(F - numeric).max() < 1e-8


def test_G_under_wrenches_of_pose_and_twist_is_the_derivative():
    def motion(e):
        push, h = 1e3 * e, 0.2
        dq, chi = dqvi.drift(DQ, dqvi.kick(CHI, wrench_of(DQ, CHI, DAMPING)[0] + push, M, h), M, MASS, h)
        return dq, dqvi.kick(chi, wrench_of(dq, chi, DAMPING)[0] + push, M, h)

    _, T, D = wrench_of(DQ, CHI, DAMPING)
    kicked = dqvi.kick(CHI, wrench_of(DQ, CHI, DAMPING)[0], M, 0.2)
    dq, chi, F = dqvi.drift_jacobian(DQ, kicked, M, MASS, 0.2)
    _, T_next, D_next = wrench_of(dq, chi, DAMPING)
    G = dqvi.forced_jacobian(F, T, D, T_next, D_next, M, 0.2)[1]
    assert np.abs(1e3 * G - differences(motion, 6)).max() < 1e-8


def test_F_with_a_conservative_wrench_is_that_of_the_specification():
    h, half = 0.2, 0.1
    wrench, T, _ = wrench_of(DQ, CHI, UNDAMPED)
    kicked = dqvi.kick(CHI, wrench, M, h)
    dq, chi, F_drift = dqvi.drift_jacobian(DQ, kicked, M, MASS, h)
    _, T_next, _ = wrench_of(dq, chi, UNDAMPED)
    F = dqvi.forced_jacobian(F_drift, T, np.zeros((6, 6)), T_next, np.zeros((6, 6)), M, h)[0]
    f = dual_quaternion.mul(dual_quaternion.conj(DQ), dq)
    x = f[[1, 2, 3, 5, 6, 7]]
    J, trailing, twice_E = momentum_jacobian(x, M, MASS), momentum_jacobian(-x, M, MASS), 2 * increment_jacobian(x)
    X_xi, X_chi = np.linalg.solve(J, half * half * T), np.linalg.solve(J, half * M)
    F11, F12 = dual_quaternion.adjoint(dual_quaternion.conj(f)) + twice_E @ X_xi, twice_E @ X_chi
    F21 = np.linalg.solve(M, trailing @ X_xi / half + half * T_next @ F11)
    F22 = np.linalg.solve(M, trailing @ X_chi / half + half * T_next @ F12)
    assert np.abs(F - np.block([[F11, F12], [F21, F22]])).max() < 1e-13


# Trials


def dispersed(n):
    rng = np.random.default_rng(7)
    q = rng.normal(size=(n, 4))
    dq = dual_quaternion.from_pose(q / np.linalg.norm(q, axis=1)[:, None], rng.normal(size=(n, 3)))
    return dq, 0.5 * rng.normal(size=(n, 6)), 100 * rng.normal(size=(n, 6))


def test_a_batch_has_the_bits_of_its_trials():
    dq, chi, wrench = dispersed(9)
    for kernel in (dqvi.step, dqvi.step_jacobian):
        batch = kernel(dq, chi, wrench, M, MASS, 0.2)
        for i in range(9):
            for one, all_of_them in zip(kernel(dq[i], chi[i], wrench[i], M, MASS, 0.2), batch, strict=True):
                assert np.array_equal(one, all_of_them[i])


def test_a_step_too_long_marks_only_its_own_trial():
    dq, chi, wrench = dispersed(5)
    chi[3, :3] = [8.0, -6.0, 3.0]
    after, twist = dqvi.step(dq, chi, wrench, M, MASS, 0.2)
    assert np.isnan(after[3]).all()
    assert np.isnan(twist[3]).all()
    assert not np.isnan(np.delete(after, 3, axis=0)).any()
