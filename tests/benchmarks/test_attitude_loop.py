import numpy as np
import pytest
from scipy.integrate import solve_ivp

from benchmarks import attitude_loop
from benchmarks.attitude_loop import H_S, SIGMA_0, W_0, J, K, P
from gnc import quaternion

SECONDS = 30.0


def of_sigma(sigma):
    return np.array([1.0 - sigma @ sigma, *(2.0 * sigma)]) / (1.0 + sigma @ sigma)


def flown_by_dop853():
    """The example in Basilisk's own coordinates, modified Rodrigues parameters, torque held over each step."""
    moments, x = np.diag(J), np.concatenate([SIGMA_0, W_0])
    for _ in range(round(SECONDS / H_S)):
        tau = -K * x[:3] - P * x[3:]

        def rate(t, x, tau=tau):
            s, w = x[:3], x[3:]
            turn = 0.25 * ((1.0 - s @ s) * w + 2.0 * np.cross(s, w) + 2.0 * s * (s @ w))
            return np.concatenate([turn, (tau - np.cross(w, moments * w)) / moments])

        x = solve_ivp(rate, (0.0, H_S), x, method="DOP853", rtol=1e-12, atol=1e-14).y[:, -1]
    return of_sigma(x[:3]), x[3:]


def test_the_loop_flies_what_dop853_flies():
    q_IB, w_B = flown_by_dop853()
    flown = attitude_loop.perfect(1, SECONDS).fly()
    assert quaternion.angle_between(flown.q_IB[0], q_IB) < 1e-10
    np.testing.assert_allclose(flown.w_B[0], w_B, atol=1e-11)


def test_with_the_filter_every_trial_ends_within_a_sensor_sigma_of_the_target():
    """The loop averages some hundred pairs of measurements, so a sigma of the sensor is ten of the end."""
    end = attitude_loop.with_filter(8).fly()
    assert np.degrees(quaternion.angle_between(end.q_IB, np.eye(4)[0])).max() < attitude_loop.SENSOR_DEG


def test_basilisk_flies_the_same():
    pytest.importorskip("Basilisk")
    from benchmarks import basilisk

    theirs = basilisk.attitude_feedback(J, SIGMA_0, W_0, float(K), float(P), H_S)
    theirs.run(SECONDS)
    ours = attitude_loop.perfect(1, SECONDS).fly().q_IB[0]
    assert quaternion.angle_between(ours, theirs.q_IB) < 1e-10
