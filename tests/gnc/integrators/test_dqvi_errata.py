"""What DQVI prints wrongly about the integrator: the printed form fails, the right one holds."""

import numpy as np
import pytest

from gnc import dual_quaternion
from gnc.dual_quaternion import conj, mul, pure, swap
from gnc.integrators import dqvi_increment
from gnc.integrators.dqvi_equation import increment, momentum, momentum_jacobian, solve, trailing_momentum
from tests.gnc.integrators.pose_cases import (
    ANCHOR,
    CHI,
    DQ,
    HOOK,
    MASS,
    STIFFNESS,
    UNDAMPED,
    WRENCH,
    M,
    exact,
    fitted_order,
    pose_error,
    wrench_of,
)

PDOT = mul(DQ, pure(CHI)) / 2


def potential(p):
    """Return the energy of a spring from a point of the body to a fixed one."""
    return 0.5 * STIFFNESS * np.sum((dual_quaternion.transform_point(p, HOOK) - ANCHOR) ** 2)


def spring(p):
    """Return its wrench."""
    return wrench_of(p, CHI, UNDAMPED)[0]


def gradient(function, at):
    d = 1e-6
    return np.array([(function(at + d * e) - function(at - d * e)) / (2 * d) for e in np.eye(len(at))])


def test_erratum_eqs_30b_31b_the_world_wrench_multiplies_the_pose_itself():
    twist_W = dual_quaternion.vector_part(2 * mul(PDOT, conj(DQ)))
    wrench_W = dual_quaternion.transform_wrench(DQ, WRENCH)
    power = WRENCH @ CHI
    assert wrench_W @ twist_W == pytest.approx(power, rel=1e-14)
    right, printed = (swap(2 * mul(swap(pure(wrench_W)), p)) for p in (DQ, conj(DQ)))
    assert right @ PDOT == pytest.approx(power, rel=1e-14)  # eq. (29), the work of the generalised force
    assert abs(printed @ PDOT / power - 1) > 0.1
    right, printed = (mul(swap(right), p) @ swap(pure(twist_W)) for p in (conj(DQ), DQ))
    assert right == pytest.approx(2 * power, rel=1e-14)
    assert abs(printed / (2 * power) - 1) > 0.1


def test_erratum_eq_34_the_minus_sign_is_missing():
    eta = np.array([0.3, -0.2, 0.5, -0.4, 0.1, 0.6])
    variation = gradient(potential, DQ) @ mul(DQ, pure(eta))  # delta p = p eta
    assert variation == pytest.approx(-2 * spring(DQ) @ eta, rel=1e-8)
    assert abs(variation - 2 * spring(DQ) @ eta) > abs(variation)


def test_erratum_eq_44_a_half_is_missing():
    M8 = np.zeros((8, 8))
    places = [1, 2, 3, 5, 6, 7]
    M8[np.ix_(places, places)] = M

    def kinetic(pdot):
        return 2 * mul(conj(DQ), pdot) @ M8 @ mul(conj(DQ), pdot)

    P = gradient(kinetic, PDOT)
    right = 0.5 * swap(mul(conj(DQ), swap(P)))[places]
    assert np.abs(right - M @ CHI).max() < 1e-6
    assert np.abs(2 * right - M @ CHI).max() > 100  # as printed


def test_erratum_remark_3_the_other_inertia_has_half_the_trace():
    rng = np.random.default_rng(5)
    masses, points = rng.uniform(1, 2, 9), rng.normal(size=(9, 3))
    second_moments = np.einsum("n,ni,nj->ij", masses, points, points)
    J = sum(m * (r @ r * np.eye(3) - np.outer(r, r)) for m, r in zip(masses, points, strict=True))
    assert np.abs(np.trace(J) / 2 * np.eye(3) - J - second_moments).max() < 1e-12
    assert np.abs(np.linalg.det(J) * np.eye(3) - J - second_moments).max() > 100


def test_erratum_algorithm_2_line_4_must_subtract_the_residual():
    x = np.array([0.1, -0.05, 0.08, 0.2, -0.1, 0.15])
    target = momentum(x, M, 0.0)
    right = printed = np.linalg.solve(M, target)
    for _ in range(4):
        right = right - np.linalg.solve(momentum_jacobian(right, M, 0.0), momentum(right, M, 0.0) - target)
        printed = printed - np.linalg.solve(momentum_jacobian(printed, M, 0.0), target)
    assert np.abs(right - x).max() < 1e-14
    assert np.isnan(printed).any() or np.abs(printed - x).max() > 0.1


def test_erratum_eqs_47_48_need_half_a_kick():
    x = dqvi_increment.start(CHI, WRENCH, M, MASS, 0.2)
    assert np.abs(dqvi_increment.twist(x, WRENCH, M, MASS, 0.2) - CHI).max() < 1e-14
    printed = 2 / 0.2 * np.linalg.solve(M, momentum(x, M, MASS))
    assert np.abs(printed - CHI - 0.1 * np.linalg.solve(M, WRENCH)).max() < 1e-14  # wrong by the half kick


def test_erratum_algorithm_1_the_target_is_half_a_step_of_momentum():
    h = 0.2
    x = dqvi_increment.start(CHI, spring(DQ), M, MASS, h)
    assert np.abs(momentum(x, M, MASS) - (h / 2 * M @ CHI + h * h / 4 * spring(DQ))).max() < 1e-11
    assert np.linalg.norm(momentum(x, M, MASS) - M @ CHI) > 0.5 * np.linalg.norm(M @ CHI)  # printed: M chi_0


def loop(n, h, printed):
    """Run Algorithm 1 under the spring; as printed the start lacks the half kick, and f_0 is never taken."""
    p, x = DQ, dqvi_increment.start(CHI, np.zeros(6) if printed else spring(DQ), M, MASS, h)
    for _ in range(n):
        p = p if printed else mul(p, increment(x))
        target = trailing_momentum(x, M, MASS) + h * h / 2 * spring(p)
        x = solve(target, np.linalg.solve(M, target), M, MASS)
        p = mul(p, increment(x)) if printed else p
    return p


@pytest.mark.jit
def test_erratum_algorithm_1_must_advance_by_the_first_increment():
    reference, counts = exact(lambda p, _: spring(p), 1.0)[0], [50, 100, 200]

    def order(printed):
        errors = [np.linalg.norm(pose_error(loop(n, 1.0 / n, printed), reference)) for n in counts]
        return fitted_order(errors, counts)

    assert abs(order(printed=False) - 2.0) < 0.05
    assert abs(order(printed=True) - 1.0) < 0.05
