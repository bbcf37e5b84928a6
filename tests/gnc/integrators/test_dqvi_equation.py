"""The equation of DQVI and its solver."""

import math

import numpy as np
import pytest

from gnc import dual_quaternion, quaternion, spatial
from gnc.batch import jacobian
from gnc.integrators import dqvi
from gnc.integrators.dqvi_equation import (
    DAMPED,
    increment,
    increment_change,
    increment_jacobian,
    momentum,
    momentum_jacobian,
    solve,
    trailing_momentum,
    with_newton,
)
from tests.gnc.integrators.pose_cases import MASS, M

FILLERS = [0.0, MASS, 321.0]


def increments(n=20):
    """Return random x with |Phi| up to 0.6."""
    rng = np.random.default_rng(1)
    x = rng.normal(size=(n, 6))
    x[:, :3] *= (rng.uniform(0.0, 0.6, n) / np.linalg.norm(x[:, :3], axis=1))[:, None]
    return x


def test_the_increment_is_a_unit_dual_quaternion():
    f = increment(increments())
    product = dual_quaternion.mul(dual_quaternion.conj(f), f)
    assert np.abs(product - np.eye(8)[0]).max() < 1e-15


@pytest.mark.parametrize("filler", FILLERS)
def test_g_is_the_momentum_of_the_discrete_kinetic_energy(filler):
    # Ld = (2/h) f.M8 f with f = p_k^-1 p_{k+1}: moving p_k by exp(e/2) changes it by -(2/h) g.e, moving p_{k+1} by
    # the trailing momentum.
    M8 = np.zeros((8, 8))
    places = [1, 2, 3, 5, 6, 7]
    M8[np.ix_(places, places)], M8[4, 4] = M, filler
    x, d = increments(), 1e-5

    def energy(start, end):
        f = dual_quaternion.mul(dual_quaternion.exp(-start), increment(x))
        f = dual_quaternion.mul(f, dual_quaternion.exp(end))
        return np.einsum("ni,ij,nj->n", f, M8, f)

    still = np.zeros(6)
    leading = [(energy(d * e, still) - energy(-d * e, still)) / (2 * d) for e in np.eye(6)]
    trailing = [(energy(still, d * e) - energy(still, -d * e)) / (2 * d) for e in np.eye(6)]
    assert np.abs(momentum(x, M, filler) + np.transpose(leading)).max() < 1e-7 * MASS
    assert np.abs(trailing_momentum(x, M, filler) - np.transpose(trailing)).max() < 1e-7 * MASS


@pytest.mark.parametrize("filler", FILLERS)
def test_the_trailing_momentum_is_the_leading_one_of_the_reversed_increment(filler):
    x = increments()
    assert np.array_equal(trailing_momentum(x, M, filler), -momentum(-x, M, filler))


@pytest.mark.parametrize("filler", FILLERS)
def test_the_trailing_momentum_is_the_leading_one_seen_from_the_end(filler):
    # transform_wrench by f takes a momentum from the frame at the end to the frame at the start
    x = increments()
    seen = dual_quaternion.transform_wrench(increment(x), trailing_momentum(x, M, filler))
    assert np.abs(seen - momentum(x, M, filler)).max() < 1e-12 * MASS


@pytest.mark.parametrize("filler", FILLERS)
def test_J_is_the_derivative_of_g(filler):
    x = increments()
    exact = jacobian(momentum, "x")(x, M, filler)
    assert np.abs(momentum_jacobian(x, M, filler) - exact).max() < 1e-14 * np.abs(exact).max()
    trailing = jacobian(trailing_momentum, "x")(x, M, filler)
    assert np.abs(momentum_jacobian(-x, M, filler) - trailing).max() < 1e-14 * np.abs(exact).max()


def test_E_is_the_pose_error_of_an_error_of_the_increment():
    x = increments()
    slope = jacobian(increment, "x")(x)
    error = dual_quaternion.left_matrix(dual_quaternion.conj(increment(x))) @ slope
    assert np.abs(error[:, [1, 2, 3, 5, 6, 7]] - increment_jacobian(x)).max() < 1e-14
    assert np.abs(error[:, [0, 4]]).max() < 1e-14  # a change of f within the group has no scalars


@pytest.mark.parametrize("filler", FILLERS)
def test_newton_finds_the_increment_it_is_asked_for(filler):
    x = increments() * np.array([0.3, 0.3, 0.3, 0.1, 0.1, 0.1])
    target = momentum(x, M, filler)
    found = solve(target, np.linalg.solve(M, target[..., None])[..., 0], M, filler)
    assert np.abs(found - x).max() < 1e-13


def test_a_body_at_rest_has_no_increment():
    assert np.array_equal(solve(np.zeros(6), np.zeros(6), M, MASS), np.zeros(6))


def test_a_step_too_long_marks_only_its_own_trial():
    x = np.array([[0.1, 0.0, 0.0, 0.2, 0.1, 0.0], [0.7, 0.6, 0.5, 0.0, 0.0, 0.0], [0.0, 0.1, 0.05, 0.0, 0.0, 0.3]])
    found = solve((M @ x[..., None])[..., 0], x, M, MASS)
    assert np.isnan(found[1]).all()
    assert not np.isnan(found[[0, 2]]).any()


def test_the_printed_form_has_no_solution_for_a_body_that_flies_fast_while_it_turns():
    # 0.17 rad and 60 m in one step; with the filler the translation does not matter
    x = 0.5 * 0.1 * np.array([1.0, 1.0, 1.0, 360.0, -300.0, 180.0])
    target = M @ x
    assert np.isnan(solve(target, x, M, 0.0)).all()
    assert np.linalg.norm(momentum(solve(target, x, M, MASS), M, MASS) - target) < 1e-12 * np.linalg.norm(target)


def test_newton_converges_quadratically_and_is_refused_before():
    guess = np.array([0.12, -0.1, 0.12, 0.1, -0.05, 0.2])
    target = M @ guess
    residuals = []
    for n in range(1, 5):
        x = with_newton(solve, n, tolerance=math.inf)(target, guess, M, MASS)
        residuals.append(np.linalg.norm(momentum(x, M, MASS) - target) / np.linalg.norm(target))
    assert residuals[0] > 1e-4
    assert all(later < 2 * former**2 + 1e-15 for former, later in zip(residuals, residuals[1:], strict=False))
    assert np.isnan(with_newton(solve, 1)(target, guess, M, MASS)).all()
    assert np.abs(solve(target, guess, M, MASS) - x).max() < 1e-15


def random_inertias(rng, n, added):
    """Return the inertias of n bodies about any point, plates and needles among them, with added mass or none."""
    moments = rng.uniform(0.01, 1.0, (n, 3))
    axes = np.linalg.qr(rng.normal(size=(n, 3, 3)))[0]
    J = axes @ ((moments.sum(axis=1, keepdims=True) - moments)[..., None] * axes.swapaxes(1, 2))
    root = added * rng.normal(size=(n, 6, 6))
    mass = rng.uniform(0.5, 5.0, n)
    return spatial.inertia(mass, rng.normal(size=(n, 3)), J) + root @ root.swapaxes(1, 2), mass


@pytest.mark.jit
@pytest.mark.parametrize("angle", [0.1, 0.4, 0.9])
def test_newton_reaches_round_off_up_to_0_9_rad_wherever_the_reference_point_is(angle):
    rng = np.random.default_rng(2)
    M, mass = random_inertias(rng, 3000, added=0.0)
    chi = rng.normal(size=(3000, 6))
    chi[:, :3] *= angle / np.linalg.norm(chi[:, :3], axis=1, keepdims=True)
    target = 0.5 * spatial.momentum(M, chi)
    found = solve(target, 0.5 * chi, M, mass)
    # as much as the terms of the balance lose to rounding
    size = np.linalg.norm(np.abs(M) @ np.abs(found)[..., None], axis=(1, 2))
    assert np.max(np.linalg.norm(momentum(found, M, mass) - target, axis=1) / size) < 2e-15


@pytest.mark.jit
@pytest.mark.parametrize("angle", [0.4, 0.6, 0.8, 0.95])
def test_the_rule_of_the_steps_loses_no_more_trials_than_four_plain_iterations(angle):
    rng = np.random.default_rng(3)
    plain = with_newton(solve, 4)
    for added in (0.0, 0.3):
        M, mass = random_inertias(rng, 3000, added)
        chi = rng.normal(size=(3000, 6)) * [1.0, 1.0, 1.0, 0.1, 0.1, 0.1]
        chi[:, :3] *= angle / np.linalg.norm(chi[:, :3], axis=1, keepdims=True)
        given = 0.5 * spatial.momentum(M, chi), 0.5 * chi, M, 0.0 if added else mass
        lost, lost_by_four = (np.isnan(rule(*given)).any(axis=1).sum() for rule in (solve, plain))
        assert lost <= lost_by_four


@pytest.mark.jit
def test_the_rule_of_the_steps_rounds_no_worse_than_five_plain_iterations():
    # rounding makes the centre of mass walk at random; medians of 200 flights of 4 minutes differ by 6 % at one sigma
    rates = np.ones(3) * (1.0 + 1e-6 * np.arange(200)[:, None])
    _, r_g, _ = spatial.parts(M)
    start = np.tile(np.eye(8)[0], (200, 1)), np.concatenate([rates, -np.cross(rates, r_g)], axis=-1)

    def departure(drift):
        q_IB, r_IB = dual_quaternion.to_pose(drift.repeat(14400, *start, M, MASS, 1.0 / 60.0)[0])
        return np.median(np.linalg.norm(r_IB + quaternion.rotate(q_IB, r_g) - r_g, axis=-1))

    assert departure(dqvi.drift) < 1.25 * departure(with_newton(dqvi.drift, 5))


def test_adaptive_iteration_leaves_a_converged_trial_alone():
    x = increments() * np.geomspace(1e-3, 0.5, 20)[:, None]
    target = momentum(x, M, MASS)
    few, many = (with_newton(solve, n, adaptive=True)(target, 0.5 * x, M, MASS) for n in (6, 7))
    assert np.array_equal(few, many)
    assert np.abs(few - x).max() < 1e-10


def test_a_variant_is_a_kernel_of_its_own():
    twice = with_newton(dqvi.drift, 2)
    assert len(twice.tape[0].entries) < len(dqvi.drift.tape[0].entries)
    assert twice.layout == dqvi.drift.layout


def test_the_change_of_an_increment_is_the_inverse_of_its_error():
    x = np.array([0.2, -0.1, 0.3, 0.5, -0.4, 0.1])
    np.testing.assert_allclose(increment_change(x) @ (2.0 * increment_jacobian(x)), np.eye(6), atol=1e-14)


@pytest.mark.jit
def test_damped_newton_finds_every_solution_on_the_branch_from_rest():
    """400 random bodies, filler 0, |w| h in 0.5 to 0.6 rad, against the branch of solutions followed from rest.

    Where damping finds none, the branch folds before the target: there is none. Measured: the plain iteration loses
    39, of which 5 have a solution.
    """
    rng, n = np.random.default_rng(0), 400
    points = rng.normal(size=(n, 6, 3)) * rng.uniform(0.3, 1.0, (n, 1, 3))
    points -= points.mean(1, keepdims=True)
    J = np.einsum("npi,npi->n", points, points)[:, None, None] * np.eye(3) - np.einsum("npi,npj->nij", points, points)
    M = spatial.inertia(rng.uniform(0.5, 3.0, n), 0.4 * rng.normal(size=(n, 3)), J)
    w = rng.normal(size=(n, 3))
    w *= (rng.uniform(0.5, 0.6, n) / np.linalg.norm(w, axis=1))[:, None]
    half = 0.5 * np.concatenate([w, 0.5 * rng.normal(size=(n, 3))], 1)  # h = 1
    target = (M @ half[..., None])[..., 0]
    plain, damped = solve(target, half, M, 0.0), with_newton(solve, 12, lengths=DAMPED)(target, half, M, 0.0)
    lost, still = (np.isnan(x).any(1) for x in (plain, damped))
    for k in [*np.flatnonzero(lost | still), *range(10)]:
        end = _followed(target[k], M[k])
        assert (end is None) == still[k]
        if end is not None:
            np.testing.assert_allclose(damped[k], end, atol=1e-10)
    assert lost.sum() > 20 and (lost & ~still).any()


def _followed(target, M, length=0.01):
    """Follow g(x) = s target from rest in steps of arc length: the solution at s = 1, or None where s turns back."""

    def sloped(y):
        return np.concatenate([momentum_jacobian(y[:6], M, 0.0), -target[:, None]], axis=1)

    y, along = np.zeros(7), np.eye(7)[6]
    while y[6] < 1.0:
        tangent = np.linalg.svd(sloped(y))[2][-1]
        along = tangent * np.sign(tangent @ along)
        if along[6] <= 0.0:
            return None
        new = y + length * along
        for _ in range(6):
            off = np.append(momentum(new[:6], M, 0.0) - new[6] * target, (new - y) @ along - length)
            new = new - np.linalg.solve(np.vstack([sloped(new), along]), off)
        y = new
    x = y[:6]
    for _ in range(8):
        x = x - np.linalg.solve(momentum_jacobian(x, M, 0.0), momentum(x, M, 0.0) - target)
    return x
