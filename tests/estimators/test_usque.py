"""The sigma-point filter: FilterPy's statistics on the manifold, the EKF where all is small, better where it is not."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.spatial.transform import Rotation

from gnc import quaternion
from gnc.errors import InputError
from gnc.estimators.extra_states import SteadyTorque
from gnc.estimators.mekf import Mekf
from gnc.estimators.usque import Usque, error_between, moved
from gnc.models.sensors import Gyro, Magnetometer, Measurement, StarTracker
from gnc.models.states import AttitudeState
from tests.estimators import free_tumble
from tests.estimators.free_tumble import SENSOR, W_0, WORLDS, J, truth

NONE = np.zeros(3)


def test_attitude_errors_are_four_tangents_of_a_quarter_of_the_angle():
    axis, angles = np.array([0.48, -0.6, 0.64]), np.radians([1e-6, 0.1, 30.0, 90.0, 170.0])
    turned = quaternion.from_scipy(Rotation.from_rotvec(angles[:, None] * axis))
    error = error_between(np.array([1.0, 0, 0, 0]), NONE, turned, np.ones(3))
    assert_allclose(error[:, :3], 4 * np.tan(angles / 4)[:, None] * axis, rtol=1e-14)
    assert_array_equal(error[:, 3:], 1.0)


def test_moved_and_error_between_undo_each_other():
    rng = np.random.default_rng(1)
    q, P = quaternion.normalize(rng.standard_normal((50, 4))), rng.standard_normal((50, 3))
    error = rng.standard_normal((50, 6))  # up to 150 deg or so
    assert_allclose(error_between(q, P, *moved(q, P, error)), error, atol=1e-14)


def small_run(mekf):
    """Return attitude, momentum and covariance after steps with several sensors, all noise of the order of 1e-6."""
    rng, motion = np.random.default_rng(4), truth(1.0)
    sensors = [
        StarTracker(rate_hz=1.0, sigma_arcsec=[0.2, 0.3, 1.0]),
        Magnetometer(rate_hz=1.0, sigma_T=1e-11),
        Gyro(rate_hz=1.0, arw=1e-7, scale=[0.01, 0.0, -0.02]),
    ]
    env = WORLDS[0]._replace(B_I=np.array([1e-5, -2e-5, 3e-5]))
    start = quaternion.mul(motion.q_IB[0], quaternion.exp(np.array([1e-6, -2e-6, 1e-6])))
    belief = mekf.start(AttitudeState(start, W_0 + 1e-7), np.diag([4e-12] * 3 + [4e-14] * 3))
    for k in range(1, 31):
        x = AttitudeState(motion.q_IB[k], motion.w_B[k])
        belief = mekf.predict(belief, NONE, 1.0)
        for sensor in sensors:
            belief, _ = mekf.update(belief, sensor, sensor.measure(x, env, rng.standard_normal(3)), env)
    return belief


def test_where_all_is_small_it_is_the_extended_kalman_filter():
    """Errors of 1e-6 rad leave a relative difference of that order, of the second-order terms."""
    points, extended = (small_run(f(J, torque_psd=1e-16)) for f in (Usque, Mekf))
    sigma = np.sqrt(np.diag(extended.C))
    apart = error_between(extended.q_IB, extended.P_B, points.q_IB, points.P_B)
    assert np.all(np.abs(apart) < 1e-5 * sigma)
    assert np.all(np.abs(points.C - extended.C) < 1e-5 * np.outer(sigma, sigma))
    np.testing.assert_allclose(points.watch, extended.watch, rtol=1e-3, atol=1e-9)


def cloud_mean(belief, h, samples=40_000):
    """Return mean attitude and momentum after h, and standard deviations of (a, dP), of a cloud of states."""
    errors = np.random.default_rng(9).multivariate_normal(np.zeros(6), belief.C, samples)
    q, P = moved(belief.q_IB, belief.P_B, errors)
    cloud = Mekf(J).start(AttitudeState(q, NONE), np.eye(6))
    flown = Mekf(J).predict(cloud._replace(P_B=P), NONE, h)
    q_mean, P_mean = quaternion.from_scipy(quaternion.to_scipy(flown.q_IB).mean()), flown.P_B.mean(axis=0)
    return q_mean, P_mean, error_between(q_mean, P_mean, flown.q_IB, flown.P_B).std(axis=0)


def test_the_mean_of_an_uncertain_motion_is_that_of_monte_carlo_which_linearisation_misses():
    """A mean of 40 000 is known to 0.005 sigma; 4 times that is missed by chance with a probability of 4e-4."""
    x, C = AttitudeState(np.array([1.0, 0, 0, 0]), W_0), np.diag([0.1**2] * 3 + [0.02**2] * 3)
    q, P, sigma = cloud_mean(Mekf(J).start(x, C), 10.0)
    off = {}
    for kind in (Usque, Mekf):
        belief = kind(J).predict(kind(J).start(x, C), NONE, 10.0)
        off[kind] = np.abs(error_between(q, P, belief.q_IB, belief.P_B) / sigma).max()
    assert off[Usque] < 0.02
    assert off[Mekf] > 0.06


def test_the_innovation_knows_that_a_vector_seen_with_an_uncertain_attitude_is_short_and_uncertain():
    """A cloud tells its mean to 1 % and, along itself where H is blind, its variance: tr C^2 and not R alone."""
    sigma, env, one = 0.3, WORLDS[0], np.array([1.0, 0, 0, 0])
    mekf = Usque(J)
    belief = mekf.start(AttitudeState(one, W_0), np.diag([sigma**2] * 3 + [1e-6] * 3))
    errors = np.random.default_rng(2).multivariate_normal(np.zeros(6), belief.C, 40_000)
    seen = SENSOR.predict(AttitudeState(moved(one, NONE, errors)[0], NONE), env).z
    z = np.array([0.9, 0.1, -0.2])
    _, innovation = mekf.update(belief, SENSOR, Measurement(z, True), env)
    assert_allclose(innovation.y, z - seen.mean(axis=0), atol=0.01)
    assert_allclose(innovation.S[1:, 1:], np.cov(seen[:, 1:].T) + np.radians(1.0) ** 2 * np.eye(2), atol=0.1 * sigma**2)
    # Thirteen points know the second moments, not the fourth: 2.5 times too much for a Gaussian.
    assert 1.0 < innovation.S[0, 0] / seen[:, 0].var() < 3.0


def angles_after(mekf, degrees, seconds, trials=40):
    """Return the errors in degrees at the end, from so many degrees about random axes; 1 Hz, no gate."""
    rng, motion = np.random.default_rng(3), truth(1.0)
    start = quaternion.from_axis_angle(rng.standard_normal((trials, 3)), np.radians(degrees))
    w = W_0 + np.radians(0.5) * rng.standard_normal((trials, 3))
    C = np.diag([np.radians(50.0) ** 2] * 3 + [np.radians(0.5) ** 2] * 3)
    belief = mekf.start(AttitudeState(start, w), C)
    for k in range(1, seconds + 1):
        x = AttitudeState(motion.q_IB[k], motion.w_B[k])
        belief = mekf.predict(belief, NONE, 1.0)
        for env in WORLDS:
            measurement = SENSOR.measure(x, env, rng.standard_normal((trials, 3)))
            belief, _ = mekf.update(belief, SENSOR, measurement, env, gated=False)
    return np.degrees(quaternion.angle_between(belief.q_IB, x.q_IB))


@pytest.mark.parametrize(
    ("degrees", "torque_psd", "seconds"), [(60.0, 1e-9, 60), (120.0, 1e-6, 60), (170.0, 1e-6, 150)]
)
def test_it_converges_from_large_errors(degrees, torque_psd, seconds):
    """All of 20 trials; from 120 deg on only if the process noise lets it forget what it first took for true."""
    assert angles_after(Usque(J, torque_psd=torque_psd), degrees, seconds, trials=20).max() < 2.0


def test_at_a_tenth_of_a_hertz_it_is_as_good_as_the_exact_extended_filter():
    """The same noise for both: what differs are terms of second order."""
    points, extended = (free_tumble.rms_deg(f(J, gate_probability=1.0), 0.1, trials=30) for f in (Usque, Mekf))
    assert_allclose(points, extended, rtol=0.03)


def test_refused_measurements_make_it_doubt_up_to_a_limit_and_it_recovers():
    mekf = Usque(J, torque_psd=1e-9, widest=(0.5, 0.1), patience_s=3.0, inflation=1e8)
    belief = mekf.start(AttitudeState(quaternion.exp(np.radians([30.0, -20.0, 10.0])), W_0), 1e-6 * np.eye(6))
    motion, widest = truth(1.0), np.zeros(6)
    for k in range(1, 61):
        belief = mekf.predict(belief, NONE, 1.0)
        for env in WORLDS:
            z = SENSOR.predict(AttitudeState(motion.q_IB[k], motion.w_B[k]), env).z
            belief, _ = mekf.update(belief, SENSOR, Measurement(z, True), env)
            widest = np.maximum(widest, np.sqrt(np.diag(belief.C)))
    assert belief.recoveries > 0
    assert quaternion.angle_between(belief.q_IB, motion.q_IB[60]) < np.radians(2.0)
    assert_allclose(widest[3:], 0.1 * np.diag(J), rtol=0.2)  # a rate known to 0.1 rad/s, less what a measurement took


def mixed_run(rows):
    """Return the belief of some of four dispersed trials, with wheels, torque, drop-outs and an outlier."""
    rng = np.random.default_rng(6)
    inertia, q = J * (1 + 0.1 * rng.random((4, 1, 1))), quaternion.normalize(rng.standard_normal((4, 4)))
    z, valid = rng.standard_normal((12, 4, 3)), rng.random((12, 4)) < 0.7
    mekf = Usque(inertia[rows], torque_psd=1e-6, patience_s=1.0)
    C = np.diag([1e-2] * 3 + [1e-3] * 3)
    belief = mekf.start(AttitudeState(q[rows], W_0), C, rho_B=np.array([0.1, 0.0, -0.1]))
    for k in range(12):
        belief = mekf.predict(belief, np.array([0.01, 0.0, 0.02]), 0.7, rho_B=np.array([0.1, 0.05 * k, -0.1]))
        belief, _ = mekf.update(belief, SENSOR, Measurement(z[k][rows], valid[k][rows]), WORLDS[0])
    return belief


def test_a_batch_is_its_trials_bit_for_bit():
    batch = mixed_run(slice(None))
    assert batch.recoveries.any()
    for trial in range(4):
        for whole, alone in zip(batch, mixed_run(trial), strict=True):
            assert_array_equal(whole[trial], alone)


def test_a_trial_without_a_positive_definite_covariance_is_lost_and_alone():
    mekf = Usque(J)
    belief = mekf.start(AttitudeState(np.tile([1.0, 0, 0, 0], (3, 1)), W_0), 1e-4 * np.eye(6))
    belief.C[0, 2, 2], belief.C[1, 4, 4] = -1e-4, np.nan
    belief = mekf.predict(belief, NONE, 1.0)
    belief, innovation = mekf.update(belief, SENSOR, Measurement(np.array([1.0, 0, 0]), True), WORLDS[0], gated=False)
    assert np.isnan(belief.q_IB[:2]).all()
    assert np.isfinite(belief.q_IB[2]).all()
    assert_array_equal(innovation.used, [False, False, True])


def test_extra_states_are_refused():
    with pytest.raises(InputError, match="extras"):
        Usque(J, extras=(SteadyTorque(),))
