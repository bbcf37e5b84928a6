"""DQVI in the form with twists: order, structure, Jacobians, and what the filler is for."""

import math

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from gnc import dual_quaternion, lie, quaternion, spatial
from gnc.integrators import dqvi, qvi
from gnc.integrators.dqvi_equation import increment_jacobian, momentum_jacobian

MASS, R_G = 1000.0, np.array([1.0, 0.8, 0.5])
J_COM = np.array([[300.0, 50, 40], [50, 350, 30], [40, 30, 400]])
M = spatial.inertia(MASS, R_G, J_COM)
DQ = dual_quaternion.from_pose([0.5, 0.5, -0.1, 0.7], [1.0, -2.0, 0.5])
CHI = np.array([0.4, -0.5, 0.6, 0.7, 0.2, -0.3])
WRENCH = np.array([120.0, -80.0, 60.0, 300.0, -200.0, 150.0])
BOTH_FORMS = pytest.mark.parametrize("filler", [0.0, MASS], ids=["printed", "filled"])


# A wrench that depends on pose and twist: a spring from a point of the body to a fixed one, and damping.

ANCHOR, HOOK, STIFFNESS = np.array([2.0, -1.0, 1.5]), np.array([0.4, -0.3, 0.6]), 800.0
DAMPING = np.diag([60.0, 80.0, 70.0, 200.0, 150.0, 180.0])


def wrench_of(dq_IB, chi_B, damping):
    """Return the wrench and its derivatives with respect to xi and chi."""
    s = dual_quaternion.inverse_transform_point(dq_IB, ANCHOR)
    force = STIFFNESS * (s - HOOK)
    by_pose = STIFFNESS * np.hstack([lie.hat(s), -np.eye(3)])
    T = np.vstack([lie.hat(HOOK) @ by_pose, by_pose])
    return np.concatenate([np.cross(HOOK, force), force]) - damping @ chi_B, T, -damping


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


# An independent solution: quaternion, centre of mass and its velocity in inertial axes, and the body rate.


def exact(wrench, T):
    """Integrate Newton's and Euler's equations about the centre of mass with DOP853; wrench is a function (dq, chi)."""

    def at_reference(y):
        q = y[:4] / np.linalg.norm(y[:4])
        v = quaternion.inverse_rotate(q, y[7:10]) - np.cross(y[10:], R_G)
        return dual_quaternion.from_pose(q, y[4:7] - quaternion.rotate(q, R_G)), np.concatenate([y[10:], v])

    def rate(_, y):
        dq, chi = at_reference(y)
        torque, force = np.split(wrench(dq, chi), 2)
        spin = np.linalg.solve(J_COM, torque - np.cross(R_G, force) - np.cross(y[10:], J_COM @ y[10:]))
        return np.concatenate(
            [quaternion.derivative(y[:4], y[10:]), y[7:10], quaternion.rotate(dq[:4], force) / MASS, spin]
        )

    velocity = quaternion.rotate(DQ[:4], CHI[3:] + np.cross(CHI[:3], R_G))
    start = np.concatenate([DQ[:4], dual_quaternion.transform_point(DQ, R_G), velocity, CHI[:3]])
    return at_reference(solve_ivp(rate, (0.0, T), start, "DOP853", rtol=1e-13, atol=1e-14).y[:, -1])


def distance(state, reference):
    """Return the norm of the error state."""
    error = dual_quaternion.log(dual_quaternion.mul(dual_quaternion.conj(reference[0]), state[0]))
    return np.linalg.norm(np.concatenate([error, state[1] - reference[1]]))


def fitted_order(errors, counts):
    return -np.polyfit(np.log(counts), np.log(errors), 1)[0]


@BOTH_FORMS
def test_second_order_under_a_constant_body_wrench_about_an_offset_reference_point(filler):
    reference, counts = exact(lambda dq, chi: WRENCH, 2.0), [160, 320, 640, 1280]
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


def test_second_order_under_wrenches_of_pose_and_twist():
    counts = [40, 80, 160]
    assert abs(fitted_order(forced_errors(counts, DAMPING, 2), counts) - 2.0) < 0.05
    assert abs(fitted_order(forced_errors(counts, DAMPING, math.inf), counts) - 2.0) < 0.05
    assert abs(fitted_order(forced_errors(counts, 0 * DAMPING, 1), counts) - 2.0) < 0.05


def test_one_evaluation_of_a_damping_wrench_at_the_end_makes_it_first_order():
    counts = [160, 320, 640]
    assert abs(fitted_order(forced_errors(counts, DAMPING, 1), counts) - 1.0) < 0.05


# Jacobians


def differences(motion, size, d=1e-5):
    """Return the central differences of the error state that a perturbation of `motion` makes."""
    nominal = motion(np.zeros(size))

    def error(e):
        dq, chi = motion(e)[:2]
        return np.concatenate([dual_quaternion.log(dual_quaternion.mul(dual_quaternion.conj(nominal[0]), dq)), chi])

    return np.transpose([(error(d * e) - error(-d * e)) / (2 * d) for e in np.eye(size)])


def perturbed(e):
    return dual_quaternion.mul(DQ, dual_quaternion.exp(e[:6])), CHI + e[6:12]


@BOTH_FORMS
def test_F_and_G_of_a_step_are_its_derivatives(filler):
    dq, chi, F, G = dqvi.step_jacobian(DQ, CHI, WRENCH, M, filler, 0.2)
    assert all(map(np.array_equal, (dq, chi), dqvi.step(DQ, CHI, WRENCH, M, filler, 0.2)))
    numeric = differences(lambda e: dqvi.step(*perturbed(e), WRENCH + 1e3 * e[12:], M, filler, 0.2), 18)
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
    wrench, T, _ = wrench_of(DQ, CHI, 0 * DAMPING)
    kicked = dqvi.kick(CHI, wrench, M, h)
    dq, chi, F_drift = dqvi.drift_jacobian(DQ, kicked, M, MASS, h)
    _, T_next, _ = wrench_of(dq, chi, 0 * DAMPING)
    F = dqvi.forced_jacobian(F_drift, T, np.zeros((6, 6)), T_next, np.zeros((6, 6)), M, h)[0]
    f = dual_quaternion.mul(dual_quaternion.conj(DQ), dq)
    x = f[[1, 2, 3, 5, 6, 7]]
    J, trailing, twice_E = momentum_jacobian(x, M, MASS), momentum_jacobian(-x, M, MASS), 2 * increment_jacobian(x)
    X_xi, X_chi = np.linalg.solve(J, half * half * T), np.linalg.solve(J, half * M)
    F11, F12 = dual_quaternion.adjoint(dual_quaternion.conj(f)) + twice_E @ X_xi, twice_E @ X_chi
    F21 = np.linalg.solve(M, trailing @ X_xi / half + half * T_next @ F11)
    F22 = np.linalg.solve(M, trailing @ X_chi / half + half * T_next @ F12)
    assert np.abs(F - np.block([[F11, F12], [F21, F22]])).max() < 1e-13


# Structure


def symplectic_defect(F, chi, chi_next):
    """Return how far F^T Om(mu_next) F is from Om(mu), with mu = M chi and K_ij = mu.[e_i, e_j]."""

    def form(chi):
        K = np.array([[(M @ chi) @ (lie.ad(a) @ b) for b in np.eye(6)] for a in np.eye(6)])
        return np.block([[K, np.eye(6)], [-np.eye(6), np.zeros((6, 6))]])

    to_momentum = np.block([[np.eye(6), np.zeros((6, 6))], [np.zeros((6, 6)), M]])
    F = to_momentum @ F @ np.linalg.inv(to_momentum)
    return np.abs(F.T @ form(chi_next) @ F - form(chi)).max() / np.abs(form(chi)).max()


@BOTH_FORMS
def test_a_free_step_is_symplectic_and_keeps_phase_volume(filler):
    _, chi, F = dqvi.drift_jacobian(DQ, CHI, M, filler, 0.2)
    assert symplectic_defect(F, CHI, chi) < 5e-15
    assert abs(np.linalg.det(F) - 1.0) < 1e-13


@BOTH_FORMS
def test_a_step_under_a_conservative_wrench_is_symplectic_and_keeps_phase_volume(filler):
    _, chi, F = forced_step(DQ, CHI, filler, 0.2, 0 * DAMPING, 1)
    assert symplectic_defect(F, CHI, chi) < 5e-15
    assert abs(np.linalg.det(F) - 1.0) < 1e-13


def test_a_damped_step_is_neither():
    _, chi, F = forced_step(DQ, CHI, MASS, 0.2, DAMPING, 2)
    assert symplectic_defect(F, CHI, chi) > 1e-4
    assert np.linalg.det(F) < 0.95


@BOTH_FORMS
def test_momentum_in_space_is_exact(filler):
    before = dual_quaternion.transform_wrench(DQ, M @ CHI)
    dq, chi = dqvi.drift.repeat(10_000, DQ, CHI, M, filler, 0.1)
    after = dual_quaternion.transform_wrench(dq, M @ chi)
    far = np.linalg.norm(dual_quaternion.to_pose(dq)[1])  # the lever arm of the momentum, some 800 m
    assert np.abs(after - before)[3:].max() < 1e-12 * np.linalg.norm(before[3:])
    assert np.abs(after - before)[:3].max() < 1e-12 * far * np.linalg.norm(before[3:])


def test_energy_of_a_free_rigid_body_is_exact():
    before = spatial.kinetic_energy(M, CHI)
    after = spatial.kinetic_energy(M, dqvi.drift.repeat(10_000, DQ, CHI, M, MASS, 0.1)[1])
    assert abs(after / before - 1.0) < 1e-13


@BOTH_FORMS
def test_a_step_back_undoes_a_step(filler):
    dq, chi = dqvi.step(*dqvi.step(DQ, CHI, WRENCH, M, filler, 0.2), WRENCH, M, filler, -0.2)
    assert distance((dq, chi), (DQ, CHI)) < 1e-14


def test_a_step_of_no_length_changes_nothing():
    dq, chi, F, G = dqvi.step_jacobian(DQ, CHI, WRENCH, M, MASS, 0.0)
    assert distance((dq, chi), (DQ, CHI)) < 1e-15
    assert np.abs(F - np.eye(12)).max() < 1e-14
    assert not G.any()


# What the method is, and the filler


@BOTH_FORMS
def test_the_same_body_described_about_two_points_flies_the_same(filler):
    shift = np.array([-0.7, 1.2, 0.4])
    to_Q = dual_quaternion.from_pose([1.0, 0.0, 0.0, 0.0], shift)
    start_Q = dual_quaternion.mul(DQ, to_Q), spatial.shift_twist(CHI, shift), spatial.shift_wrench(WRENCH, shift)
    dq, chi = dqvi.step.repeat(100, DQ, CHI, WRENCH, M, filler, 0.1)
    other = dqvi.step.repeat(100, *start_Q, spatial.shift_inertia(M, shift), filler, 0.1)
    assert distance(other, (dual_quaternion.mul(dq, to_Q), spatial.shift_twist(chi, shift))) < 3e-12


def qvi_step(q, w, h):
    q, P = qvi.drift(q, J_COM @ w, J_COM, np.zeros(3), h)
    return q, np.linalg.solve(J_COM, P)


@BOTH_FORMS
def test_about_a_resting_centre_of_mass_it_is_the_quaternion_variational_integrator(filler):
    M_com, q, w = spatial.inertia(MASS, np.zeros(3), J_COM), np.array([0.6, 0.0, 0.8, 0.0]), np.array([0.9, -1.1, 0.7])
    dq, chi = dual_quaternion.from_pose(q, np.zeros(3)), np.concatenate([w, np.zeros(3)])
    for _ in range(50):
        q, w = qvi_step(q, w, 0.2)
        dq, chi = dqvi.drift(dq, chi, M_com, filler, 0.2)
    assert np.abs(dq - dual_quaternion.from_pose(q, np.zeros(3))).max() < 1e-13
    assert np.abs(chi - np.concatenate([w, np.zeros(3)])).max() < 1e-13


def test_with_the_filler_it_is_that_integrator_about_any_point_and_a_uniform_centre_of_mass():
    q, w, dq, chi = DQ[:4], CHI[:3], DQ, CHI
    velocity = quaternion.rotate(q, chi[3:] + np.cross(w, R_G))
    for _ in range(50):
        q, w = qvi_step(q, w, 0.2)
        dq, chi = dqvi.drift(dq, chi, M, MASS, 0.2)
    com = dual_quaternion.transform_point(DQ, R_G) + 10.0 * velocity
    v = quaternion.inverse_rotate(q, velocity) - np.cross(w, R_G)
    reference = dual_quaternion.from_pose(q, com - quaternion.rotate(q, R_G)), np.concatenate([w, v])
    assert distance((dq, chi), reference) < 1e-12


# The data of DQVI section V, which are no rigid body's; the centre of mass moves at (2, -1, 0.5) m/s.
PAPER_M = spatial.inertia(MASS, R_G, np.array([[200.0, 100, 100], [100, 300, 100], [100, 100, 400]]))
DRIFTING = np.array([2.0, -1.0, 0.5])


def departure(filler):
    """Return how far the centre of mass leaves its line in 60 s at 10 fps, and the largest relative energy error."""
    w = np.ones(3)
    dq = dual_quaternion.from_pose([1.0, 0.0, 0.0, 0.0], np.zeros(3))
    chi = np.concatenate([w, DRIFTING - np.cross(w, R_G)])
    gaps, energies = [], []
    for k in range(601):
        gaps.append(np.linalg.norm(dual_quaternion.transform_point(dq, R_G) - R_G - 0.1 * k * DRIFTING))
        energies.append(spatial.kinetic_energy(PAPER_M, chi))
        dq, chi = dqvi.drift(dq, chi, PAPER_M, filler, 0.1)
    return max(gaps), np.abs(np.array(energies) / energies[0] - 1.0).max()


def test_erratum_remark_3_the_filler_is_not_arbitrary():
    gap, energy = departure(0.0)
    assert gap == pytest.approx(0.311, abs=5e-4)
    assert energy == pytest.approx(8.9e-4, abs=5e-6)


def test_with_the_filler_a_turning_body_flies_straight_and_keeps_its_energy():
    gap, energy = departure(MASS)
    assert gap < 3e-12  # round-off of a path of 137 m in 600 steps
    assert energy < 2e-14


# Trials


def dispersed(n):
    rng = np.random.default_rng(7)
    q = rng.normal(size=(n, 4))
    dq = dual_quaternion.from_pose(q / np.linalg.norm(q, axis=1)[:, None], rng.normal(size=(n, 3)))
    return dq, 0.5 * rng.normal(size=(n, 6)), 100 * rng.normal(size=(n, 6))


def test_a_batch_has_the_bits_of_its_trials():
    dq, chi, wrench = dispersed(23)
    for kernel in (dqvi.step, dqvi.step_jacobian):
        batch = kernel(dq, chi, wrench, M, MASS, 0.2)
        for i in range(23):
            for one, all_of_them in zip(kernel(dq[i], chi[i], wrench[i], M, MASS, 0.2), batch, strict=True):
                assert np.array_equal(one, all_of_them[i])


def test_a_step_too_long_marks_only_its_own_trial():
    dq, chi, wrench = dispersed(5)
    chi[3, :3] = [8.0, -6.0, 3.0]
    after, twist = dqvi.step(dq, chi, wrench, M, MASS, 0.2)
    assert np.isnan(after[3]).all()
    assert np.isnan(twist[3]).all()
    assert not np.isnan(np.delete(after, 3, axis=0)).any()


# The reference numbers of the specification: DQVI with printed data and four iterations


def run(w, fps, seconds):
    """Fly the paper's body about its resting centre of mass; return the three worst errors, sampled 4000 times."""
    w = np.array(w)
    state = dual_quaternion.from_pose([1.0, 0.0, 0.0, 0.0], np.zeros(3)), np.concatenate([w, -np.cross(w, R_G)])
    path, stride = [state], max(1, round(fps * seconds) // 4000)
    for _ in range(round(fps * seconds) // stride):
        path.append(dqvi.drift.repeat(stride, *path[-1], PAPER_M, 0.0, 1.0 / fps))
    dq, chi = map(np.array, zip(*path, strict=True))
    energy = spatial.kinetic_energy(PAPER_M, chi)
    L = dual_quaternion.transform_wrench(dq, chi @ PAPER_M)[:, :3]
    com = dual_quaternion.transform_point(dq, R_G)
    angular = np.linalg.norm(L - L[0], axis=1).max() / np.linalg.norm(L[0])
    return np.abs(energy / energy[0] - 1).max(), angular, np.linalg.norm(com - com[0], axis=1).max()


@pytest.mark.parametrize(
    ("w", "fps", "limits"),
    [
        ([1.0, 1.0, 1.0], 10, (2.3e-14, 3.7e-14, 1.3e-12)),
        ([1.0, 1.0, 1.0], 60, (2.3e-13, 1.3e-13, 5e-12)),
        ([3.0, 3.0, 3.0], 60, (2.3e-13, 1.1e-13, 1e-11)),
        ([3.0, 2.0, 1.0], 60, (1.8e-13, 1.0e-13, 1e-11)),
    ],
)
def test_errors_of_the_papers_flights_stay_at_round_off(w, fps, limits):
    assert all(error < limit for error, limit in zip(run(w, fps, 240.0), limits, strict=True))


def test_errors_of_three_hours_at_60_fps_stay_at_round_off():
    energy, angular, com = run([1.0, 1.0, 1.0], 60, 10_800.0)
    assert energy < 7.5e-13
    assert angular < 6e-13
    assert com < 1.6e-9
