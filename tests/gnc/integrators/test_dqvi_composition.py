"""DQVI to the fourth order and in substeps."""

import math

import numpy as np
import pytest

from gnc.integrators import dqvi, pose_runge_kutta
from gnc.integrators.dqvi import (
    MIDDLE,
    OUTER,
    chained_step_jacobian,
    step4,
    step4_jacobian,
    substeps,
)
from tests.gnc.integrators.pose_cases import (
    CHI,
    DQ,
    MASS,
    PAPER_J,
    PAPER_M,
    WRENCH,
    M,
    constant,
    differences,
    distance,
    exact,
    fitted_order,
    free,
    paper_start,
    pose_error,
    pushed,
)


def propagate(dq_IB, chi_B, wrench_B, M, filler, h, order=4):
    """Move over h under a wrench that is constant in body axes, in as many substeps as each trial needs."""
    n = substeps(chi_B, h, order)
    if order == 2:
        return dqvi.step.repeat(n, dq_IB, chi_B, wrench_B, M, filler, h / n)
    return step4(dq_IB, chi_B, wrench_B, M, filler, h / n, n)


def propagate_jacobian(dq_IB, chi_B, wrench_B, M, filler, h, order=4):
    """Return what `propagate` does, and F and G of the whole."""
    n = substeps(chi_B, h, order)
    if order == 2:
        F, G = np.eye(12), np.zeros((12, 6))
        return chained_step_jacobian.repeat(n, dq_IB, chi_B, F, G, wrench_B, M, filler, h / n)
    return step4_jacobian(dq_IB, chi_B, wrench_B, M, filler, h / n, n)


def test_the_composition_satisfies_the_conditions_of_order_four():
    fractions = np.array([OUTER, OUTER, MIDDLE, OUTER, OUTER])
    assert abs(fractions.sum() - 1.0) < 1e-15
    assert abs((fractions**3).sum()) < 1e-15


@pytest.mark.jit
@pytest.mark.parametrize("filler", [0.0, MASS])
def test_fourth_order_under_a_constant_body_wrench_about_an_offset_reference_point(filler):
    reference, counts = exact(constant, 2.0), [40, 80, 160, 320]
    errors = [distance(step4(DQ, CHI, WRENCH, M, filler, 2.0 / n, n), reference) for n in counts]
    assert abs(fitted_order(errors, counts) - 4.0) < 0.05


def test_n_steps_are_a_step_n_times():
    state = DQ, CHI
    for _ in range(3):
        state = step4(*state, WRENCH, M, MASS, 0.1)
    assert all(map(np.array_equal, state, step4(DQ, CHI, WRENCH, M, MASS, 0.1, 3)))


def test_jacobians_come_with_the_same_motion():
    composed = step4_jacobian(DQ, CHI, WRENCH, M, MASS, 0.3, 2)
    assert all(map(np.array_equal, composed[:2], step4(DQ, CHI, WRENCH, M, MASS, 0.3, 2)))
    for order in (2, 4):
        propagated = propagate_jacobian(DQ, CHI, WRENCH, M, MASS, 1.1, order)
        assert all(map(np.array_equal, propagated[:2], propagate(DQ, CHI, WRENCH, M, MASS, 1.1, order)))


@pytest.mark.jit
def test_F_and_G_of_the_composition_are_its_derivatives():
    _, _, F, G = step4_jacobian(DQ, CHI, WRENCH, M, MASS, 0.3, 2)
    numeric = differences(lambda e: step4(*pushed(e), M, MASS, 0.3, 2), 18)
    assert np.abs(F - numeric[:, :12]).max() < 1e-8
    assert np.abs(1e3 * G - numeric[:, 12:]).max() < 1e-8
    assert abs(np.linalg.det(F) - 1.0) < 1e-12


@pytest.mark.jit
@pytest.mark.parametrize("order", [2, 4])
def test_F_and_G_of_a_propagation_are_its_derivatives(order):
    _, _, F, G = propagate_jacobian(DQ, CHI, WRENCH, M, MASS, 1.1, order)
    assert substeps(CHI, 1.1, order) > 1
    numeric = differences(lambda e: propagate(*pushed(e), M, MASS, 1.1, order), 18)
    assert np.abs(F - numeric[:, :12]).max() < 1e-8
    assert np.abs(1e3 * G - numeric[:, 12:]).max() < 1e-8


def test_no_stage_turns_by_more_than_the_rule_allows():
    chi = np.array([[0.3, 0.0, 0.4, 9.0, 9.0, 9.0], [3.0, 0.0, 4.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 1.0, 1.0, 1.0]])
    assert substeps(chi, 1.0, order=2).tolist() == [2, 13, 1]  # 0.5, 5 and 0 rad
    assert substeps(chi, -1.0, order=4).tolist() == [1, 9, 1]  # 0.33, 3.3 and 0 rad


@pytest.mark.jit
def test_trials_take_their_own_number_of_substeps_and_a_lost_one_stays_lost():
    chi = np.array([CHI, 4 * CHI, CHI * math.nan, 1e9 * CHI, CHI])
    batch = propagate(DQ, chi, WRENCH, M, MASS, 0.9)
    for i in (0, 1, 4):
        one = propagate(DQ, chi[i], WRENCH, M, MASS, 0.9)
        assert all(np.array_equal(a, b[i]) for a, b in zip(one, batch, strict=True))
    assert np.isnan(batch[0][[2, 3]]).all()


def test_a_fast_turn_is_followed_where_a_single_step_has_no_solution():
    chi = np.array([3.0, -2.0, 1.0, 0.5, 0.0, 0.0])  # 3.7 rad in one second
    assert np.isnan(dqvi.step(DQ, chi, WRENCH, M, MASS, 1.0)[0]).all()
    assert distance(propagate(DQ, chi, WRENCH, M, MASS, 1.0), exact(constant, 1.0, (DQ, chi))) < 0.05


# The reference numbers of the specification: the paper's body, 111, about its resting centre of mass

START = paper_start(np.ones(3))
FREE = np.zeros(6)


def turned_wrong(state, reference):
    return np.linalg.norm(pose_error(state[0], reference[0])[:3])


def yoshida(state, h, n):
    """Take n steps of the three-stage composition that the specification's numbers were computed with."""
    outer = 1 / (2 - 2 ** (1 / 3))
    for _ in range(n):
        for fraction in (outer, 1 - 2 * outer, outer):
            state = dqvi.drift(*state, PAPER_M, 0.0, fraction * h)
    return state


@pytest.mark.jit
def test_phase_errors_of_a_composition_are_those_of_the_specification():
    reference = exact(free, 10.0, START, PAPER_J)
    for fps, expected in [(10, 6.0e-3), (20, 3.5e-4), (40, 2.2e-5), (80, 1.4e-6)]:
        error = turned_wrong(yoshida(START, 1 / fps, 10 * fps), reference)
        assert error == pytest.approx(expected, rel=0.03)
        assert turned_wrong(step4(*START, FREE, PAPER_M, 0.0, 1 / fps, 10 * fps), reference) < error


@pytest.mark.jit
def test_phase_errors_of_second_order_are_those_of_the_specification():
    reference = pose_runge_kutta.step.repeat(240_000, *START, FREE, PAPER_M, 0.0, 0.001)  # 1e-9 rad wrong
    second = dqvi.drift.repeat(2400, *START, PAPER_M, 0.0, 0.1)
    classical = pose_runge_kutta.step.repeat(2400, *START, FREE, PAPER_M, 0.0, 0.1)
    assert turned_wrong(second, reference) == pytest.approx(1.93, abs=0.01)
    assert turned_wrong(classical, reference) == pytest.approx(0.067, abs=0.001)
    assert turned_wrong(step4(*START, FREE, PAPER_M, 0.0, 0.1, 2400), reference) < 0.01
