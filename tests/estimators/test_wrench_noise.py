import numpy as np
import pytest

from gnc import dual_quaternion, spatial
from gnc.estimators.cramer_rao import pose_flow
from gnc.estimators.process_noise import wrench_noise
from gnc.models.pose_body import PoseState

J_COM = np.array([[120.0, 6, -4], [6, 90, 5], [-4, 5, 60]])
R_G = np.array([-1.0, 0.2, -0.1])
M = spatial.inertia(200.0, R_G, J_COM)
PSD = np.diag([1e-6, 2e-6, 3e-6, 4e-6, 5e-6, 6e-6]) + 1e-7
START = dual_quaternion.from_pose([0.5, 0.5, -0.5, 0.5], [1.0, 2.0, 3.0])


def relative(Q, expected):
    """Differences per element, relative to the standard deviations."""
    sigma = np.sqrt(np.diagonal(expected, axis1=-2, axis2=-1))
    return np.abs(Q - expected) / (sigma[..., :, None] * sigma[..., None, :])


@pytest.mark.parametrize("degrees", [1.0, 10.0, 23.0, 90.0, 330.0])
def test_process_noise_is_the_integral_of_the_variational_equation(degrees):
    chi, h = np.array([0.03, -0.04, 0.02, 0.2, -0.1, 0.3]), 4.0
    chi = chi * (np.radians(degrees) / h / np.linalg.norm(chi[:3]))
    wrench = np.array([0.3, -0.2, 0.1, 1.0, -0.5, 0.8])
    flow = pose_flow(M, PoseState(START, chi), [0.0, h], wrench, PSD)
    assert relative(wrench_noise(chi, flow.x[1, 8:], wrench, M, PSD, h), flow.Q[0]).max() < 1e-4


def test_without_rotation_it_is_the_closed_form():
    """A body that slides at v, a white torque and a white force at the centre of mass: moments of h - s up to s^4."""
    v, h, J, m = np.array([3.0, 0.0, 0.0]), 10.0, np.diag([2.0, 3.0, 4.0]), 5.0
    chi = np.r_[np.zeros(3), v]
    Q = wrench_noise(chi, chi, np.zeros(6), spatial.inertia(m, np.zeros(3), J), np.eye(6), h)
    # about z: a' = dw, dw' = torque/J;   along y: dr' = dv - v a,  dv' = force/m - v dw (the velocity is in body axes)
    a, w, r, y = 2, 8, 4, 10
    assert Q[a, a] == pytest.approx(h**3 / 3 / 16)
    assert Q[a, w] == pytest.approx(h**2 / 2 / 16)
    assert Q[w, w] == pytest.approx(h / 16)
    assert Q[y, y] == pytest.approx(h / 25 + 9 * h**3 / 3 / 16)
    # the position moves with the inertial velocity, which feels the force alone
    assert Q[r, r] == pytest.approx(h**3 / 3 / 25)


def test_it_is_positive_definite_for_torque_and_force_at_any_size():
    chi = np.array([0.4, -0.3, 0.5, 8.0, -6.0, 9.0]) * np.logspace(-3, 1, 5)[:, None]
    Q = wrench_noise(chi, chi, np.zeros(6), M, PSD, 3.0)
    sigma = np.sqrt(np.diagonal(Q, axis1=-2, axis2=-1))
    assert (np.linalg.eigvalsh(Q / sigma[..., :, None] / sigma[..., None, :]) > 0).all()


def test_it_adds_up_over_two_steps():
    chi = np.array([0.03, -0.04, 0.02, 0.2, -0.1, 0.3])
    flow = pose_flow(M, PoseState(START, chi), [0.0, 2.0, 4.0])
    first, second = wrench_noise(flow.x[:2, 8:], flow.x[1:, 8:], np.zeros(6), M, PSD, 2.0)
    whole = wrench_noise(chi, flow.x[2, 8:], np.zeros(6), M, PSD, 4.0)
    assert relative(flow.F[1] @ first @ flow.F[1].T + second, whole).max() < 1e-4


def test_it_belongs_to_the_body_and_not_to_the_point():
    """About another point: errors and wrenches change by the adjoint, and so must the noise."""
    chi, shift = np.array([0.3, -0.4, 0.2, 0.2, -0.1, 0.3]), np.array([0.7, -0.4, 0.9])
    X = dual_quaternion.adjoint(dual_quaternion.conj(dual_quaternion.from_pose([1.0, 0, 0, 0], shift)))
    there = np.linalg.inv(X).T
    end = pose_flow(M, PoseState(START, chi), [0.0, 4.0]).x[1, 8:]
    Q = wrench_noise(X @ chi, X @ end, np.zeros(6), spatial.shift_inertia(M, shift), there @ PSD @ there.T, 4.0)
    XX = np.block([[X, np.zeros((6, 6))], [np.zeros((6, 6)), X]])
    assert relative(Q, XX @ wrench_noise(chi, end, np.zeros(6), M, PSD, 4.0) @ XX.T).max() < 1e-11


def test_a_trial_has_the_same_bits_alone_and_in_a_batch_and_a_lost_one_marks_itself():
    chi = np.array([0.3, -0.4, 0.2, 0.2, -0.1, 0.3]) * np.array([1.0, 5.0, np.nan, 1e9])[:, None]
    together = wrench_noise(chi, chi, np.zeros(6), M, PSD, 4.0)
    for k in range(2):
        np.testing.assert_array_equal(together[k], wrench_noise(chi[k], chi[k], np.zeros(6), M, PSD, 4.0))
    assert np.isnan(together[2:]).all()
