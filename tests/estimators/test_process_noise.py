import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.linalg import expm

from gnc.estimators import process_noise

J = np.array([[1.0, 0.05, -0.03], [0.05, 2.0, 0.08], [-0.03, 0.08, 2.6]])
PSD = np.array([[1.0, 0.3, 0.0], [0.3, 2.0, -0.2], [0.0, -0.2, 0.5]]) * 1e-6
TAU = np.array([0.01, -0.02, 0.015])
NO_WHEELS = np.zeros(3)
SPIN = np.array([4.0, -5.0, 6.0]) / np.sqrt(77.0)


def skew(a):
    return np.cross(np.eye(3), a)


def dynamics(P_B, rho_B):
    """The matrix A of (a, dP)' = A (a, dP): a' = -w x a + dw, P' = P x w + tau."""
    J_inverse = np.linalg.inv(J)
    w = J_inverse @ (P_B - rho_B)
    return np.block([[-skew(w), J_inverse], [np.zeros((3, 3)), skew(P_B) @ J_inverse - skew(w)]])


def lyapunov(P_B, tau_B, rho_B, h):
    """Q' = A Q + Q A^T + [0; 1] Q_w [0, 1], by SciPy's DOP853: knows nothing of QVI or of Simpson's rule."""
    noise = np.zeros((6, 6))
    noise[3:, 3:] = PSD

    def rate(_, y):
        P, Q = y[:3], y[3:].reshape(6, 6)
        A = dynamics(P, rho_B)
        w = np.linalg.solve(J, P - rho_B)
        return np.concatenate([np.cross(P, w) + tau_B, (A @ Q + Q @ A.T + noise).ravel()])

    y = solve_ivp(rate, (0, h), np.concatenate([P_B, np.zeros(36)]), method="DOP853", rtol=1e-11, atol=1e-18).y[:, -1]
    return y[3:].reshape(6, 6)


def relative(Q, exact):
    """The largest error of an element, relative to the standard deviations of its row and column."""
    sigma = np.sqrt(np.diag(exact))
    return np.abs((Q - exact) / np.outer(sigma, sigma)).max()


@pytest.mark.parametrize("angle_deg", [1.0, 8.5, 12.6, 25.0, 90.0])
@pytest.mark.parametrize("rho_B", [NO_WHEELS, np.array([0.05, -0.1, 0.08])], ids=["rigid", "wheels"])
def test_process_noise_is_the_integral_of_the_variational_equation(angle_deg, rho_B) -> None:
    P_B, h = J @ (np.radians(8.8) * SPIN) + rho_B, angle_deg / 8.8
    Q = process_noise.torque_noise(P_B, TAU, J, rho_B, PSD, h)
    assert relative(Q, lyapunov(P_B, TAU, rho_B, h)) < 5e-4


def test_one_panel_of_simpson_is_not_enough_at_25_deg_per_step_where_the_panels_are() -> None:
    P_B, h = J @ (np.radians(8.8) * SPIN), 25.0 / 8.8
    exact = lyapunov(P_B, NO_WHEELS, NO_WHEELS, h)
    one = process_noise.add_panel(P_B, np.zeros((6, 6)), NO_WHEELS, J, NO_WHEELS, PSD, h)[1]
    assert relative(one, exact) > 10 * relative(process_noise.torque_noise(P_B, NO_WHEELS, J, NO_WHEELS, PSD, h), exact)


def test_at_rest_the_noise_is_that_of_a_double_integrator() -> None:
    h, J_inverse = 3.0, np.linalg.inv(J)
    Q = process_noise.torque_noise(np.zeros(3), NO_WHEELS, J, NO_WHEELS, PSD, h)
    W = J_inverse @ PSD
    expected = np.block([[h**3 / 3 * W @ J_inverse, h**2 / 2 * W], [h**2 / 2 * W.T, h * PSD]])
    np.testing.assert_allclose(Q, expected, rtol=1e-13, atol=1e-20)


def test_two_steps_make_the_noise_of_one_step_of_twice_the_length() -> None:
    w_B = np.radians(8.8) * SPIN
    P_B, h = J @ w_B, 2.0
    first = process_noise.torque_noise(P_B, NO_WHEELS, J, NO_WHEELS, PSD, h)
    middle = solve_ivp(lambda _, P: np.cross(P, np.linalg.solve(J, P)), (0, h), P_B, rtol=1e-12, atol=1e-15).y[:, -1]
    second = process_noise.torque_noise(middle, NO_WHEELS, J, NO_WHEELS, PSD, h)
    n = 2000
    F, P = np.eye(6), middle
    for _ in range(n):
        half = P + 0.5 * h / n * np.cross(P, np.linalg.solve(J, P))
        F = expm(dynamics(half, NO_WHEELS) * h / n) @ F
        P = P + h / n * np.cross(half, np.linalg.solve(J, half))
    whole = process_noise.torque_noise(P_B, NO_WHEELS, J, NO_WHEELS, PSD, 2 * h)
    assert relative(F @ first @ F.T + second, whole) < 5e-4


def test_noise_is_symmetric_and_positive_at_any_angle() -> None:
    h = np.array([1e-6, 0.1, 1.0, 10.0, 60.0])
    Q = process_noise.torque_noise(J @ (np.radians(8.8) * SPIN), TAU * 0.01, J, NO_WHEELS, PSD, h)
    np.testing.assert_array_equal(Q, np.swapaxes(Q, -1, -2))
    sigma = np.sqrt(np.diagonal(Q, axis1=-2, axis2=-1))
    assert np.linalg.eigvalsh(Q / (sigma[:, :, None] * sigma[:, None, :])).min() > 0.0


def test_a_trial_that_is_lost_marks_only_itself_and_the_batch_has_the_bits_of_the_single() -> None:
    P_B = J @ (np.radians(8.8) * SPIN) * np.array([1.0, np.nan, 3.0])[:, None]
    h = np.array([1.0, 1.0, 5.0])
    Q = process_noise.torque_noise(P_B, TAU, J, NO_WHEELS, PSD, h)
    assert np.isnan(Q[1]).all() and np.isfinite(Q[[0, 2]]).all()
    for k in (0, 2):
        np.testing.assert_array_equal(Q[k], process_noise.torque_noise(P_B[k], TAU, J, NO_WHEELS, PSD, h[k]))
