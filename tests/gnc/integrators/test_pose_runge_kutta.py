"""The comparators of DQVI: their order, their errors in the paper's flights, gimbal lock."""

import math

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from gnc import dual_quaternion, quaternion, spatial
from gnc.dual_quaternion import conj, mul
from gnc.integrators import pose_runge_kutta
from gnc.integrators.pose_runge_kutta import euler_matrix, euler_step, quaternion_step
from tests.gnc.integrators.pose_cases import (
    CHI,
    DQ,
    MASS,
    PAPER_J,
    PAPER_M,
    R_G,
    WRENCH,
    M,
    constant,
    differences,
    distance,
    exact,
    fitted_order,
    paper_start,
    pushed,
)

Q_0, R_0 = dual_quaternion.to_pose(DQ)
ANGLES = Rotation.from_matrix(quaternion.to_matrix(Q_0)).as_euler("ZYX")[::-1]


def by_quaternion(n, h):
    q, r, chi = quaternion_step.repeat(n, Q_0, R_0, CHI, WRENCH, M, h)
    return dual_quaternion.from_pose(q, r), chi


def by_angles(n, h):
    angles, r, chi = euler_step.repeat(n, ANGLES, R_0, CHI, WRENCH, M, h)
    return dual_quaternion.from_pose(quaternion.from_matrix(euler_matrix(angles)), r), chi


def by_dual_quaternion(n, h):
    return pose_runge_kutta.step.repeat(n, DQ, CHI, WRENCH, M, 0.0, h)


@pytest.mark.jit
@pytest.mark.parametrize("method", [by_quaternion, by_angles, by_dual_quaternion])
def test_fourth_order_under_a_constant_body_wrench_about_an_offset_reference_point(method):
    reference, counts = exact(constant, 1.0), [40, 80, 160, 320]
    assert abs(fitted_order([distance(method(n, 1.0 / n), reference) for n in counts], counts) - 4.0) < 0.05


def test_angles_turn_in_the_order_yaw_pitch_roll():
    expected = Rotation.from_euler("ZYX", ANGLES[::-1]).as_matrix()
    assert np.abs(euler_matrix(ANGLES) - expected).max() < 1e-15


def test_angles_are_lost_where_the_pitch_is_a_right_angle():
    level, upright = np.array([0.0, 0.1, 0.0]), np.array([0.0, math.pi / 2, 0.0])
    yaw = [euler_step(angles, R_0, CHI, WRENCH, M, 0.01)[0][2] for angles in (level, upright)]
    assert abs(yaw[0]) < 0.01
    assert not abs(yaw[1]) < 100  # the yaw rate has a pole there


def test_the_motion_does_not_depend_on_the_pose():
    motion = mul(conj(DQ), pose_runge_kutta.step(DQ, CHI, WRENCH, M, 0.0, 0.3)[0])
    assert np.abs(motion - pose_runge_kutta.step(np.eye(8)[0], CHI, WRENCH, M, 0.0, 0.3)[0]).max() < 1e-15


def test_F_and_G_are_the_derivatives_of_the_step():
    dq, chi, F, G = pose_runge_kutta.step_jacobian(DQ, CHI, WRENCH, M, MASS, 0.2)
    assert all(map(np.array_equal, (dq, chi), pose_runge_kutta.step(DQ, CHI, WRENCH, M, MASS, 0.2)))
    numeric = differences(lambda e: pose_runge_kutta.step(*pushed(e), M, MASS, 0.2), 18)
    assert np.abs(F - numeric[:, :12]).max() < 1e-9
    assert np.abs(1e3 * G - numeric[:, 12:]).max() < 1e-9


def test_a_batch_has_the_bits_of_its_trials():
    chi = np.random.default_rng(2).normal(size=(19, 6))
    for step, pose in [(quaternion_step, Q_0), (euler_step, ANGLES)]:
        batch = step(pose, R_0, chi, WRENCH, M, 0.1)
        for i in range(19):
            one = step(pose, R_0, chi[i], WRENCH, M, 0.1)
            assert all(np.array_equal(a, b[i]) for a, b in zip(one, batch, strict=True))


# The reference numbers of the specification: the paper's body about its resting centre of mass, from zero angles


def worst_errors(step, attitude, matrix, w, fps, seconds, stride=1):
    """Return the largest errors of energy, angular momentum (both relative) and centre of mass."""
    state, path = (attitude, np.zeros(3), paper_start(w)[1]), []
    for _ in range(round(seconds * fps) // stride + 1):
        path.append(state)
        state = step.repeat(stride, *state, np.zeros(6), PAPER_M, 1.0 / fps)
    attitude, r, chi = map(np.array, zip(*path, strict=True))
    R = matrix(attitude)
    energy, com = spatial.kinetic_energy(PAPER_M, chi), r + R @ R_G
    L = np.einsum("nij,jk,nk->ni", R, PAPER_J, chi[:, :3])
    angular = np.linalg.norm(L - L[0], axis=1).max() / np.linalg.norm(L[0])
    return np.abs(energy / energy[0] - 1).max(), angular, np.linalg.norm(com - com[0], axis=1).max()


QUAT_RK4 = quaternion_step, np.eye(4)[0], quaternion.to_matrix
EULER_RK4 = euler_step, np.zeros(3), euler_matrix


@pytest.mark.jit
@pytest.mark.parametrize(
    ("w", "fps", "quat", "euler"),
    [
        ([1.0, 1.0, 1.0], 10, (6.4e-4, 1.2e-4, 6.2e-4), (6.4e-4, 5.0e-3, 7.3e-3)),
        ([1.0, 1.0, 1.0], 60, (8.4e-8, 1.7e-8, 4.6e-7), (8.4e-8, 3.9e-6, 5.9e-6)),
        ([3.0, 3.0, 3.0], 60, (6.1e-5, 1.2e-5, 1.1e-4), (6.1e-5, 9.5e-4, 1.4e-3)),
    ],
)
def test_errors_of_the_papers_flights_are_those_of_the_specification(w, fps, quat, euler):
    assert worst_errors(*QUAT_RK4, np.array(w), fps, 240) == pytest.approx(quat, rel=0.04)
    assert worst_errors(*EULER_RK4, np.array(w), fps, 240) == pytest.approx(euler, rel=0.04)


@pytest.mark.jit
def test_gimbal_lock_spoils_the_flight_that_passes_near_it():
    w = np.array([3.0, 2.0, 1.0])
    assert worst_errors(*QUAT_RK4, w, 60, 240) == pytest.approx((1.8e-5, 4.0e-6, 4.0e-5), rel=0.04)
    energy, angular, com = worst_errors(*EULER_RK4, w, 60, 240)
    assert energy == pytest.approx(1.8e-5, rel=0.04)
    # 0.15 and 0.25 in the specification: near the pole a change of 1e-14 in an angle changes them by half
    assert 0.05 < angular < 0.5
    assert 0.08 < com < 0.8


@pytest.mark.jit
def test_errors_of_three_hours_at_60_fps_are_those_of_the_specification():
    w, flight = np.ones(3), (60, 10_800, 160)
    assert worst_errors(*QUAT_RK4, w, *flight) == pytest.approx((3.8e-6, 7.4e-7, 2.1e-5), rel=0.04)
    assert worst_errors(*EULER_RK4, w, *flight) == pytest.approx((3.8e-6, 1.8e-4, 2.6e-4), rel=0.04)
