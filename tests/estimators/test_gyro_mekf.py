"""The gyro-driven MEKF against closed forms, SciPy's Riccati solver, FilterPy, and its own chi-square statistics."""

import dataclasses

import numpy as np
import pytest
from filterpy.kalman import ExtendedKalmanFilter
from numpy.testing import assert_allclose, assert_array_equal
from scipy.linalg import expm, solve_discrete_are
from scipy.spatial.transform import Rotation
from scipy.stats import chi2

from gnc import quaternion
from gnc.errors import InputError
from gnc.estimators.extra_states import SensorBias
from gnc.estimators.gyro_mekf import GyroMekf
from gnc.estimators.kalman import grow_kernel
from gnc.models.environment.table import Environment
from gnc.models.sensors import FineSunSensor, Gyro, Magnetometer, Measurement, StarTracker
from gnc.models.states import AttitudeState

ARCSEC = np.pi / 180 / 3600
ANGLE = 29.09e-6  # [rad] noise of the star tracker about each axis
GYRO = Gyro(rate_hz=1.0, arw=np.sqrt(10) * 1e-7, bias_walk=np.sqrt(10) * 1e-10)
STARS = StarTracker(rate_hz=1.0, sigma_arcsec=ANGLE / ARCSEC)
ORBIT_RATE = np.array([0.0, -2 * np.pi / (91.5 * 60), 0.0])  # [rad/s]
PRIOR = np.diag([np.radians(0.1) ** 2] * 3 + [np.radians(0.2 / 3600) ** 2] * 3)
STILL = Measurement(np.zeros(3), True)


def skew(v):
    return np.cross(np.eye(3), v)


def world(sun_I, B_I=(3e-5, 0.0, 0.0)):
    return Environment(np.zeros(3), np.zeros(3), np.asarray(B_I), np.asarray(sun_I), 0.0)


def transition(w_B, D_SB, arw, walk, h):
    """Return Phi and Q of (a, db) from the continuous model alone. Source: Van Loan, IEEE TAC 23 (1978) 395."""
    D_inverse = np.linalg.inv(D_SB)
    A = np.block([[-skew(w_B), -D_inverse], [np.zeros((3, 6))]])
    density = np.zeros((6, 6))
    density[:3, :3], density[3:, 3:] = arw**2 * D_inverse @ D_inverse.T, walk**2 * np.eye(3)
    both = expm(h * np.block([[-A, density], [np.zeros((6, 6)), A.T]]))
    Phi = both[6:, 6:].T
    return Phi, Phi @ both[:6, 6:]


@pytest.mark.parametrize("scale", [(0.0, 0.0, 0.0), (0.1, -0.05, 0.2)])
@pytest.mark.parametrize("degrees", [0.0, 1.0, 20.0])
def test_the_prediction_is_that_of_the_continuous_model(degrees, scale):
    h, w = 0.5, np.array([0.48, -0.6, 0.64]) * np.radians(degrees) / 0.5
    gyro = Gyro(rate_hz=2.0, arw=1e-3, bias_walk=3e-3, scale=scale, misalignment=[0.1, 0.2, -0.3])
    bias, q, C = np.array([0.01, -0.02, 0.03]), Rotation.from_rotvec([1.0, 2.0, 0.5]), PRIOR + 1e-6 * np.ones((6, 6))
    mekf = GyroMekf(gyro=gyro)
    belief = mekf.start(quaternion.from_scipy(q), C, bias)
    belief = mekf.predict(belief, Measurement(gyro.D_SB @ w + bias, True), h)
    Phi, Q = transition(w, gyro.D_SB, 1e-3, 3e-3, h)
    assert (quaternion.to_scipy(belief.q_IB).inv() * q * Rotation.from_rotvec(h * w)).magnitude() < 1e-14
    assert_allclose(belief.w_B, w, atol=1e-15)
    # Two Gauss points miss 1/180 of s^4: in s^2 Jr M Jr^T, M = (D^T D)^-1, it is |w|^2/12 for M = 1, and at most 7/12
    # of the spread of M beside.
    slack = np.radians(degrees) ** 2 * (1 + 7 * np.ptp(1 / (1 + np.array(scale)) ** 2)) / 720 * 3e-3**2 * h**3 / 3
    assert_allclose(belief.C, Phi @ C @ Phi.T + Q, rtol=1e-13, atol=slack + 1e-20)


def test_the_noise_of_a_gyro_at_rest_is_farrenkopfs():
    h, v, u = 3.0, 1e-3, 2e-4
    mekf = GyroMekf(gyro=Gyro(rate_hz=1 / h, arw=v, bias_walk=u))
    Q = mekf.predict(mekf.start([1.0, 0, 0, 0], np.zeros((6, 6))), STILL, h).C
    one_axis = np.array([[v**2 * h + u**2 * h**3 / 3, -(u**2) * h**2 / 2], [-(u**2) * h**2 / 2, u**2 * h]])
    assert_allclose(Q, np.kron(one_axis, np.eye(3)), rtol=1e-14, atol=1e-25)


def test_the_covariance_settles_where_the_riccati_equation_of_one_axis_does():
    """Crassidis and Junkins, example 7.1: 3.154 microradians after a measurement."""
    h, v2, u2 = 1.0, float(GYRO.arw) ** 2, float(GYRO.bias_walk) ** 2
    Phi, H = np.array([[1.0, -h], [0.0, 1.0]]), np.array([[1.0, 0.0]])
    Q = np.array([[v2 * h + u2 * h**3 / 3, -u2 * h**2 / 2], [-u2 * h**2 / 2, u2 * h]])
    unit = np.diag([1e-6, 1e-8])  # the solver wants numbers near one
    scaled = np.linalg.inv(unit) @ Q @ np.linalg.inv(unit)
    before = unit @ solve_discrete_are((np.linalg.inv(unit) @ Phi @ unit).T, unit @ H.T, scaled, [[ANGLE**2]]) @ unit
    after = np.linalg.inv(np.linalg.inv(before) + H.T @ H / ANGLE**2)
    assert round(1e6 * np.sqrt(after[0, 0]), 3) == 3.154
    mekf = GyroMekf(gyro=GYRO)
    belief = mekf.start([1.0, 0, 0, 0], PRIOR)
    for _ in range(15_000):
        predicted = mekf.predict(belief, STILL, h)
        belief, _ = mekf.update(predicted, STARS, Measurement(predicted.q_IB, True), None)
    assert_allclose(predicted.C, np.kron(before, np.eye(3)), rtol=1e-8, atol=1e-22)
    assert_allclose(belief.C, np.kron(after, np.eye(3)), rtol=1e-8, atol=1e-22)


def fly_example_7_1(trials, seed):
    """Yield (time, belief, errors (a, db)) of the example, flown with many seeds."""
    rng = np.random.default_rng(seed)
    normal = lambda: rng.standard_normal((trials, 3))  # noqa: E731
    q = np.tile([1.0, 0.0, 0.0, 0.0], (trials, 1))
    bias, turn = np.full((trials, 3), np.radians(0.1 / 3600)), quaternion.exp(ORBIT_RATE)
    mekf = GyroMekf(gyro=GYRO, gate_probability=1.0)
    belief = mekf.start(quaternion.mul(q, quaternion.exp(np.radians(0.1) * normal())), PRIOR)
    for k in range(1, 5401):
        later = GYRO.advance_bias(bias, normal(), 1.0)
        # A rate-integrating gyro feels the mean bias of its interval, which wanders by walk sqrt(h/12) about that.
        mean = 0.5 * (bias + later) + GYRO.bias_walk / np.sqrt(12) * normal()
        truth = AttitudeState(q, ORBIT_RATE)
        belief = mekf.predict(belief, GYRO.measure(truth, None, normal(), mean), 1.0)
        q, bias = quaternion.mul(q, turn), later
        truth = AttitudeState(q, ORBIT_RATE)
        belief, _ = mekf.update(belief, STARS, STARS.measure(truth, world([1.0, 0, 0]), normal()), None)
        if k in (1800, 3600, 5400):
            a = quaternion.log(quaternion.mul(quaternion.conj(belief.q_IB), q))
            yield k, belief, np.concatenate([a, bias - belief.bias], axis=-1)


def test_example_7_1_is_consistent_and_as_accurate_as_published():
    """False alarm: 3 times 1e-4 for NEES (6 degrees of freedom) and 1e-4 for the attitude alone."""
    trials = 100
    for _, belief, error in fly_example_7_1(trials, seed=71):  # noqa: B007
        nees = np.einsum("ni,nij,nj->n", error, np.linalg.inv(belief.C), error).sum()
        low, high = chi2.ppf([0.5e-4, 1 - 0.5e-4], 6 * trials)
        assert low < nees < high
    sigma = 3.1545e-6  # the Riccati equation's; the turning of the orbit and 5400 s leave it within 1 %
    assert_allclose(np.sqrt(np.diagonal(belief.C, axis1=-2, axis2=-1)[:, :3]), sigma, rtol=0.01)
    # The three axes are independent to the square of |w| times the filter's time constant.
    low, high = chi2.ppf([0.5e-4, 1 - 0.5e-4], 3 * trials)
    assert low < np.sum(error[:, :3] ** 2) / sigma**2 < high


def filterpy_steps(gyro, sensors, samples, readings, q, C, h):
    """Run FilterPy's EKF on the error state, always zero between steps; attitude by SciPy."""
    ekf, bias = ExtendedKalmanFilter(dim_x=6, dim_z=3), np.zeros(3)
    ekf.P = C.copy()
    for z, reading in zip(samples, readings, strict=True):
        w = np.linalg.solve(gyro.D_SB, z - bias)
        ekf.F, ekf.Q = transition(w, gyro.D_SB, float(gyro.arw), float(gyro.bias_walk), h)
        ekf.predict()
        q = q * Rotation.from_rotvec(h * w)
        for (direction_I, sigma), b in zip(sensors, reading, strict=True):
            expected = q.inv().apply(direction_I)
            H = np.hstack([skew(expected), np.zeros((3, 3))])
            ekf.x = np.zeros((6, 1))
            residual = (b - expected)[:, None]
            ekf.update(residual, lambda x, H=H: H, lambda x: np.zeros((3, 1)), R=sigma**2 * np.eye(3))
            a = ekf.x[:3, 0]
            q, bias = q * Rotation.from_rotvec(a), bias + ekf.x[3:, 0]
            left_over = np.eye(6)  # d log(exp(-a) exp(a + d))/dd is the mean of expm(-s [a]) over s from 0 to 1
            left_over[:3, :3] = expm(np.block([[-skew(a), np.eye(3)], [np.zeros((3, 6))]]))[:3, 3:]
            ekf.P = left_over @ ekf.P @ left_over.T
    return q, bias, ekf.P


def test_it_is_filterpys_extended_kalman_filter_of_the_error_state():
    rng, h, steps = np.random.default_rng(5), 0.5, 60
    gyro = Gyro(rate_hz=2.0, arw=1e-5, bias_walk=1e-7, misalignment=[0.3, -0.2, 0.1])
    sensors = [(np.array([1.0, 0.0, 0.0]), 1e-4), (np.array([0.0, 0.6, 0.8]), 2e-4)]
    w, q0 = np.array([0.01, -0.02, 0.015]), Rotation.from_rotvec([0.3, -0.4, 1.0])
    C = np.diag([1e-3**2] * 3 + [1e-5**2] * 3)
    samples = gyro.D_SB @ w + 1e-5 * rng.standard_normal((steps, 3))
    truth = [q0 * Rotation.from_rotvec((k + 1) * h * w) for k in range(steps)]
    readings = [[q.inv().apply(r) + s * rng.standard_normal(3) for r, s in sensors] for q in truth]
    start = q0 * Rotation.from_rotvec([1e-3, -5e-4, 8e-4])
    q, bias, P = filterpy_steps(gyro, sensors, samples, readings, start, C, h)

    mekf = GyroMekf(gyro=gyro, gate_probability=1.0)
    belief = mekf.start(quaternion.from_scipy(start), C)
    for z, reading in zip(samples, readings, strict=True):
        belief = mekf.predict(belief, Measurement(z, True), h)
        for (direction_I, sigma), b in zip(sensors, reading, strict=True):
            sun = FineSunSensor(rate_hz=2.0, sigma_deg=np.degrees(sigma))
            belief, _ = mekf.update(belief, sun, Measurement(b, True), world(direction_I))
    assert (quaternion.to_scipy(belief.q_IB).inv() * q).magnitude() < 1e-9 * 1e-3
    assert_allclose(belief.bias, bias, rtol=1e-9, atol=1e-15)
    assert_allclose(belief.C, P, rtol=1e-9, atol=1e-9 * 1e-12)


def far_off(trials, degrees, seed):
    """Return attitudes, and beliefs that are off by so many degrees about random axes."""
    rng = np.random.default_rng(seed)
    q = quaternion.normalize(rng.standard_normal((trials, 4)))
    axis = rng.standard_normal((trials, 3))
    return q, quaternion.mul(q, quaternion.from_axis_angle(axis, np.radians(degrees)))


MAGNETOMETER = Magnetometer(rate_hz=1.0, sigma_deg=1.0)
SUN = FineSunSensor(rate_hz=1.0, sigma_deg=1.0)


@pytest.mark.parametrize("sensors", [[STARS], [MAGNETOMETER, SUN]], ids=["star tracker", "two vectors"])
def test_it_converges_from_170_degrees(sensors):
    """All of 200 trials, gated: what was lost by believing the first vectors too much is recovered."""
    trials, rng = 200, np.random.default_rng(17)
    q, q_0 = far_off(trials, 170.0, seed=3)
    gyro = Gyro(rate_hz=1.0, arw=1e-4, bias_walk=1e-6, bias=np.radians([0.05, -0.1, 0.02]))
    mekf, w, env = GyroMekf(gyro=dataclasses.replace(gyro, bias=np.zeros(3))), np.array([0.01, 0.02, -0.01]), None
    belief = mekf.start(q_0, np.diag([np.radians(100.0) ** 2] * 3 + [np.radians(0.1) ** 2] * 3))
    env = world([0.0, 0.8, 0.6])
    for _ in range(300):
        belief = mekf.predict(belief, gyro.measure(AttitudeState(q, w), None, rng.standard_normal((trials, 3))), 1.0)
        q = quaternion.mul(q, quaternion.exp(w))
        for sensor in sensors:
            reading = sensor.measure(AttitudeState(q, w), env, rng.standard_normal((trials, 3)))
            belief, _ = mekf.update(belief, sensor, reading, env)
    assert np.degrees(quaternion.angle_between(belief.q_IB, q)).max() < 1.5
    assert_allclose(belief.bias, np.broadcast_to(gyro.bias, (trials, 3)), atol=np.radians(0.02))


OFFSET = (SensorBias(of=Magnetometer, walk=1e-18),)


def fly_with_magnetometer_bias(mekf, trials, steps, seed):
    """Return the last belief and the errors (a, db, dm), the biases drawn from the prior."""
    rng = np.random.default_rng(seed)
    normal = lambda: rng.standard_normal((trials, 3))  # noqa: E731
    sigma = np.repeat([0.02, 1e-4, 2e-6], 3)
    q, bias, offset = np.tile([1.0, 0, 0, 0], (trials, 1)), 1e-4 * normal(), 2e-6 * normal()
    belief = mekf.start(quaternion.mul(q, quaternion.exp(0.02 * normal())), np.diag(sigma[: mekf.size] ** 2))
    magnetometer, w = Magnetometer(rate_hz=1.0, sigma_T=3e-7), np.array([0.02, 0.03, -0.01])
    for k in range(steps):
        belief = mekf.predict(belief, mekf.gyro.measure(AttitudeState(q, w), None, normal(), bias), 1.0)
        q, bias = quaternion.mul(q, quaternion.exp(w)), mekf.gyro.advance_bias(bias, normal(), 1.0)
        env = world([0.0, 0.8, 0.6], 3e-5 * np.array([np.cos(0.002 * k), np.sin(0.002 * k), 0.3]))
        truth = AttitudeState(q, w)
        belief, _ = mekf.update(belief, magnetometer, magnetometer.measure(truth, env, normal(), offset), env)
        belief, _ = mekf.update(belief, SUN, SUN.measure(truth, env, normal()), env)
    a = quaternion.log(quaternion.mul(quaternion.conj(belief.q_IB), q))
    return belief, np.concatenate([a, bias - belief.bias, offset - belief.extras if mekf.extras else offset], axis=-1)


def test_a_magnetometers_bias_is_estimated_and_its_covariance_is_honest():
    """False alarm of NEES (9 degrees of freedom, 100 trials): 1e-4."""
    gyro = Gyro(rate_hz=1.0, arw=1e-4, bias_walk=1e-7)
    belief, error = fly_with_magnetometer_bias(
        GyroMekf(gyro=gyro, extras=OFFSET, gate_probability=1.0), 100, 400, seed=8
    )
    nees = np.einsum("ni,nij,nj->n", error, np.linalg.inv(belief.C), error).sum()
    low, high = chi2.ppf([0.5e-4, 1 - 0.5e-4], 900)
    assert low < nees < high
    assert np.sqrt(np.mean(error[:, 6:] ** 2)) < 0.05 * 2e-6
    _, without = fly_with_magnetometer_bias(GyroMekf(gyro=gyro), 100, 400, seed=8)
    assert np.sqrt(np.mean(without[:, :3] ** 2)) > 3 * np.sqrt(np.mean(error[:, :3] ** 2))


def test_the_bias_of_a_magnetometer_wanders_as_told():
    mekf = GyroMekf(gyro=GYRO, extras=(SensorBias(of=Magnetometer, walk=2e-8**2),))
    C = mekf.predict(mekf.start([1.0, 0, 0, 0], np.zeros((9, 9))), STILL, 3.0).C
    assert_allclose(C[6:], np.hstack([np.zeros((3, 6)), 3 * 2e-8**2 * np.eye(3)]), rtol=1e-14)


def random_run(rows, seed=11):
    """Return the belief after some steps with drop-outs and outliers, of the trials asked for."""
    rng, trials = np.random.default_rng(seed), 7
    q = quaternion.normalize(rng.standard_normal((trials, 4)))
    mekf = GyroMekf(gyro=Gyro(rate_hz=1.0, arw=1e-4, bias_walk=1e-6, scale=[0.01, 0, 0]), extras=OFFSET)
    belief = mekf.start(q[rows], np.diag([1e-4] * 3 + [1e-6] * 3 + [1e-12] * 3))
    env, rate = world([0.0, 0.8, 0.6]), 0.05 * rng.standard_normal((trials, 3))
    for _ in range(30):
        q, noise, drop = (
            quaternion.mul(q, quaternion.exp(rate)),
            rng.standard_normal((4, trials, 3)),
            rng.random((3, trials)),
        )
        noise[1:][rng.random((3, trials)) < 0.2] *= 50.0
        truth = AttitudeState(q[rows], rate[rows])
        sample = mekf.gyro.measure(truth, None, noise[0][rows])
        belief = mekf.predict(belief, Measurement(sample.z, drop[0][rows] < 0.9), 1.0)
        for i, sensor in enumerate([MAGNETOMETER, SUN]):
            z, _ = sensor.measure(truth, env, noise[i + 1][rows])
            belief, _ = mekf.update(belief, sensor, Measurement(z, drop[i + 1][rows] < 0.8), env)
    return belief


def test_a_batch_is_its_trials_bit_for_bit():
    batch = random_run(slice(None))
    for trial in range(7):
        for whole, alone in zip(batch, random_run(trial), strict=True):
            assert_array_equal(whole[trial], alone)


def test_measurements_that_are_invalid_or_beyond_the_gate_change_no_state():
    mekf = GyroMekf(gyro=GYRO)
    belief = mekf.start([1.0, 0, 0, 0], PRIOR)
    far = quaternion.exp(np.radians([[3.0, 0, 0], [3.0, 0, 0], [0.1, 0, 0]]))
    after, innovation = mekf.update(belief, STARS, Measurement(far, np.array([True, False, True])), None)
    assert_array_equal(innovation.used, [False, False, True])
    assert_array_equal(after.rejected, [1, 0, 0])
    for trial in (0, 1):
        assert_allclose(after.q_IB[trial], belief.q_IB, atol=1e-16)
        assert_allclose(after.C[trial], belief.C, rtol=1e-15)
    assert_allclose(quaternion.log(after.q_IB[2]), np.radians([0.1, 0, 0]), rtol=1e-3)


def test_after_an_update_the_rate_is_that_of_the_last_sample_with_the_new_bias():
    gyro, z = (
        Gyro(rate_hz=1.0, arw=1e-4, bias_walk=1e-5, scale=[0.1, 0, 0], misalignment=[0, 0.2, 0]),
        np.ones(3) * 0.01,
    )
    mekf = GyroMekf(gyro=gyro)
    belief = mekf.predict(mekf.start([1.0, 0, 0, 0], PRIOR + 1e-6 * np.eye(6)), Measurement(z, True), 1.0)
    belief, _ = mekf.update(belief, STARS, Measurement(quaternion.exp(np.array([0.01, 0.012, 0.011])), True), None)
    assert np.linalg.norm(belief.bias) > 1e-5
    assert_allclose(mekf.state(belief).w_B, gyro.in_body(z, belief.bias), rtol=1e-13)


def test_too_many_rejections_in_a_row_make_it_doubt_itself_until_it_has_recovered():
    mekf, truth = GyroMekf(gyro=GYRO), quaternion.exp(np.radians([20.0, 0.0, 0.0]))
    belief = mekf.start([1.0, 0, 0, 0], 1e-2 * PRIOR)
    for _ in range(60):
        belief = mekf.predict(belief, STILL, 1.0)
        belief, _ = mekf.update(belief, STARS, Measurement(truth, True), None)
    assert quaternion.angle_between(belief.q_IB, truth) < 3e-4
    assert belief.recoveries >= 1
    assert belief.rejected == 0


def test_standard_deviations_grow_up_to_the_largest_and_correlations_stay():
    sigma, correlation = np.array([1.0, 2.0, 50.0]), np.array([[1.0, 0.5, -0.2], [0.5, 1.0, 0.3], [-0.2, 0.3, 1.0]])
    grown = grow_kernel(3)(correlation * np.outer(sigma, sigma), 10.0, np.array([100.0, 8.0, 8.0]))
    expected = np.array([10.0, 8.0, 50.0])
    assert_allclose(grown, correlation * np.outer(expected, expected), rtol=1e-14)


def test_a_gyro_that_drops_out_is_bridged_by_its_last_rate():
    mekf, w = GyroMekf(gyro=GYRO, coast_sigma=2e-3), np.array([0.01, -0.02, 0.03])
    belief = mekf.predict(mekf.start([1.0, 0, 0, 0], np.zeros((6, 6))), Measurement(w, True), 1.0)
    after = mekf.predict(belief, Measurement(np.zeros(3), False), 0.5)
    assert_allclose(quaternion.log(after.q_IB), 1.5 * w, rtol=1e-13)
    assert_allclose(np.diag(after.C)[:3], (2e-3 * 0.5) ** 2 + 1.5e-13, rtol=1e-3)


def test_a_lost_trial_stays_lost_and_alone():
    mekf = GyroMekf(gyro=GYRO)
    belief = mekf.start(np.tile([1.0, 0, 0, 0], (2, 1)), PRIOR)
    belief = mekf.predict(belief, Measurement(np.array([[np.nan, 0, 0], [0, 0, 0]]), True), 1.0)
    belief, innovation = mekf.update(belief, STARS, Measurement(np.array([1.0, 0, 0, 0]), True), None)
    assert np.isnan(belief.q_IB[0]).all()
    assert np.isfinite(belief.q_IB[1]).all()
    assert_array_equal(innovation.used, [False, True])


@pytest.mark.parametrize(
    "wrong", [{"gate_probability": 1.5}, {"patience": 0}, {"inflation": -0.5}, {"largest_sigma": (1.0, -1e-3, 1e-5)}]
)
def test_impossible_parameters_are_refused_by_name(wrong):
    with pytest.raises(InputError, match=next(iter(wrong))):
        GyroMekf(gyro=GYRO, **wrong)


def test_a_gyro_is_no_sensor_to_update_with():
    mekf = GyroMekf(gyro=GYRO)
    with pytest.raises(InputError, match="predict"):
        mekf.update(mekf.start([1.0, 0, 0, 0], PRIOR), GYRO, STILL, None)
