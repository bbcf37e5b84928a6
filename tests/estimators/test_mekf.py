import pickle

import numpy as np
import pytest
from filterpy.kalman import ExtendedKalmanFilter
from scipy.spatial.transform import Rotation
from scipy.stats import chi2

from gnc import noise, quaternion
from gnc.batch import batched
from gnc.errors import InputError
from gnc.estimators import attitude_belief, corrections, initialise
from gnc.estimators.attitude_belief import lost
from gnc.estimators.extra_states import SteadyTorque
from gnc.estimators.mekf import Mekf
from gnc.integrators import qvi, qvi_increment
from gnc.integrators.qvi import increment
from gnc.integrators.table import METHODS, AttitudeMethod
from gnc.models import rates
from gnc.models.environment import Environment
from gnc.models.sensors import FineSunSensor, Gyro, Magnetometer, StarTracker
from gnc.models.sensors.direction import VectorSensor
from gnc.models.sensors.interface import Measurement
from gnc.models.states import AttitudeState
from tests.estimators.tumble import NONE, RATE_SIGMA, SENSORS, W_0, J, attitude_error, flown, measured, run

RNG = np.random.default_rng(3)
TILTED = np.array([[1.0, 0.05, -0.03], [0.05, 2.0, 0.08], [-0.03, 0.08, 2.6]])


def covariance(*lead, n=6, scale=0.02):
    A = scale * RNG.standard_normal((*lead, n, n))
    return A @ np.swapaxes(A, -1, -2) + scale**2 * 0.1 * np.eye(n)


def beliefs(mekf, trials=5, rho_B=NONE):
    q_IB = quaternion.from_scipy(Rotation.random(trials, random_state=1))
    w_B = W_0 * (1.0 + 0.2 * RNG.standard_normal((trials, 3)))
    return mekf.start(AttitudeState(q_IB, w_B), covariance(trials), rho_B)


def errors(belief, other):
    """The error state (a, dP, extras) that leads from one belief to another."""
    a = attitude_error(belief.q_IB, other.q_IB)
    return np.concatenate([a, other.P_B - belief.P_B, other.extras - belief.extras], axis=-1)


# Coordinates


def test_what_was_started_is_read_back() -> None:
    mekf, C = Mekf(TILTED), covariance(4)
    q_IB, w_B = quaternion.from_scipy(Rotation.random(4, random_state=1)), RNG.standard_normal((4, 3))
    belief = mekf.start(AttitudeState(q_IB, w_B), C, rho_B=[0.1, 0.2, -0.3])
    np.testing.assert_array_equal(mekf.state(belief).q_IB, q_IB)
    np.testing.assert_allclose(mekf.state(belief).w_B, w_B, rtol=1e-13)
    np.testing.assert_allclose(mekf.covariance(belief), C, rtol=1e-12, atol=1e-18)
    np.testing.assert_allclose(belief.P_B, w_B @ TILTED + [0.1, 0.2, -0.3], rtol=1e-13)


def test_momentum_rates_and_increments_propagate_the_same_covariance() -> None:
    # vi2 without torque: C over (a, dP), (a, dw) and (a, dphi), each by its own F, converted only at the end.
    mekf, h = Mekf(TILTED, "vi2", substeps=False), 1.3
    belief = beliefs(mekf)
    after = mekf.predict(belief, NONE, h)
    F_P = qvi.step_jacobian(belief.q_IB, belief.P_B, NONE, TILTED, NONE, h)[2]
    F_w, _ = rates.to_rate_error(F_P, np.zeros((6, 3)), TILTED)
    by_rates = F_w @ mekf.covariance(belief) @ np.swapaxes(F_w, -1, -2)
    np.testing.assert_allclose(mekf.covariance(after), by_rates, rtol=1e-11, atol=1e-16)

    phi = increment(belief.P_B, TILTED, NONE, h)
    F_phi = qvi_increment.step_jacobian(belief.q_IB, phi, NONE, TILTED, NONE, NONE, h)[2]
    C_phi = attitude_belief.to_increments(belief.C, belief.P_B, TILTED, NONE, h)
    by_increments = F_phi @ C_phi @ np.swapaxes(F_phi, -1, -2)
    np.testing.assert_allclose(
        attitude_belief.to_increments(after.C, after.P_B, TILTED, NONE, h), by_increments, rtol=1e-11, atol=1e-17
    )


# Predict


@pytest.mark.parametrize("method", [m.name for m in METHODS.values() if isinstance(m, AttitudeMethod)])
@pytest.mark.parametrize("h", [0.1, 3.0, 12.0])
def test_the_covariance_moves_by_the_derivative_of_the_step(method, h) -> None:
    mekf, tau_B = Mekf(TILTED, method), np.array([1e-3, 2e-3, -1e-3])
    rho_B = np.array([0.02, -0.01, 0.03]) * METHODS[method].wheels
    belief = mekf.start(AttitudeState([0.5, 0.5, 0.5, 0.5], W_0), np.eye(6), rho_B)
    end, columns = mekf.predict(belief, tau_B, h), []
    for i in range(6):
        sides = []
        for eps in (1e-6, -1e-6):
            d = eps * np.eye(6)[i]
            moved = belief._replace(q_IB=quaternion.mul(belief.q_IB, quaternion.exp(d[:3])), P_B=belief.P_B + d[3:])
            sides.append(errors(end, mekf.predict(moved, tau_B, h)) / eps)
        columns.append(0.5 * (sides[0] + sides[1]))
    F = np.stack(columns, axis=-1)
    np.testing.assert_allclose(end.C, F @ belief.C @ F.T, rtol=1e-7, atol=1e-7 * np.abs(end.C).max())


def test_two_predictions_are_one_over_both_intervals() -> None:
    mekf = Mekf(J, torque_psd=1e-9)
    belief = beliefs(mekf)
    once = mekf.predict(belief, NONE, 3.0)
    twice = mekf.predict(mekf.predict(belief, NONE, 1.1), NONE, 1.9)
    assert np.abs(errors(once, twice)).max() < 3e-5  # truncation of vi4 at 0.2 rad per substep
    sigma = np.sqrt(np.diagonal(once.C, axis1=-2, axis2=-1))
    assert np.abs((once.C - twice.C) / (sigma[:, :, None] * sigma[:, None, :])).max() < 1e-3


def test_wheels_take_momentum_from_the_body_and_the_total_stays() -> None:
    mekf = Mekf(J)
    belief = mekf.start(AttitudeState([1.0, 0, 0, 0], NONE), np.eye(6) * 1e-6)
    after = mekf.predict(belief, NONE, 2.0, rho_B=[0.1, 0.0, 0.0])
    np.testing.assert_allclose(after.P_B, 0.0, atol=1e-15)
    np.testing.assert_allclose(mekf.state(after).w_B, [-0.1, 0.0, 0.0], rtol=1e-12, atol=1e-15)
    # Run up at a constant rate, the body turns by half of what the end rate would make it turn.
    np.testing.assert_allclose(quaternion.log(after.q_IB), [-0.1, 0.0, 0.0], rtol=1e-3, atol=1e-15)


# Update


def test_it_is_filterpys_extended_kalman_filter_on_a_small_angle_problem() -> None:
    # Angles of 1e-5 rad at rest: FilterPy's x + K y and ours differ by squares, 1e-10.
    h, sigma, psd, trials = 0.5, 1e-5, 1e-12, 40
    mekf = Mekf(J, torque_psd=psd, gate_probability=1.0)
    sensors = [VectorSensor(rate_hz=2.0, r_I=s.r_I, sigma_deg=np.degrees(sigma)) for s in SENSORS]
    C_0 = np.diag([sigma**2] * 3 + [(1e-6) ** 2] * 3)
    belief = mekf.start(AttitudeState([1.0, 0, 0, 0], NONE), C_0)
    ekf = ExtendedKalmanFilter(6, 3)
    J_inverse = np.linalg.inv(J)
    ekf.P = mekf.start(AttitudeState([1.0, 0, 0, 0], NONE), C_0).C.copy()
    ekf.F = np.block([[np.eye(3), h * J_inverse], [np.zeros((3, 3)), np.eye(3)]])
    ekf.Q = psd * np.block(
        [[h**3 / 3 * J_inverse @ J_inverse, h**2 / 2 * J_inverse], [h**2 / 2 * J_inverse, h * np.eye(3)]]
    )
    ekf.R = sigma**2 * np.eye(3)

    def expected(x, r):
        return Rotation.from_rotvec(x[:3, 0]).inv().apply(r)[:, None]

    def slope(x, r):
        return np.hstack([np.cross(np.eye(3), expected(x, r)[:, 0]), np.zeros((3, 3))])

    truth = AttitudeState(quaternion.exp(np.array([1.0, -2.0, 0.5]) * sigma), NONE)
    ekf.x = np.zeros((6, 1))
    for _ in range(trials):
        belief = mekf.predict(belief, NONE, h)
        ekf.predict()
        for sensor in sensors:
            measurement = sensor.measure(truth, None, RNG.standard_normal(3))
            belief, _ = mekf.update(belief, sensor, measurement)
            ekf.update(measurement.z[:, None], slope, expected, args=(sensor.r_I,), hx_args=(sensor.r_I,))
        found = np.concatenate([quaternion.log(belief.q_IB), belief.P_B])
        np.testing.assert_allclose(found, ekf.x[:, 0], rtol=0, atol=1e-9)
        np.testing.assert_allclose(belief.C, ekf.P, rtol=0, atol=1e-4 * np.abs(np.diag(ekf.P)).max())


@batched("(4),(6),(6),(6,6)->(4),(6),(6,6)")
def retracted(q_IB, x, d, C):
    """What an update does with a correction; P in x, and three extra states."""
    d_9 = np.concatenate([d, d[:3]])
    C_9 = np.zeros((9, 9), dtype=object)
    C_9[:6, :6] = C
    q_new, x_new, reset = attitude_belief._retracted(q_IB, x, d_9, C_9)
    return q_new, x_new, reset[:6, :6]


@pytest.mark.parametrize("axes", ["body", "inertial"])
def test_the_reset_is_the_derivative_of_the_error_about_the_new_estimate(axes) -> None:
    P, d = np.array([0.3, -0.5, 0.8]), np.array([0.2, -0.3, 0.4, 0.05, 0.02, -0.03])
    P_hat = np.cross(np.eye(3), P)
    T = np.block([[np.eye(3), np.zeros((3, 3))], [P_hat if axes == "inertial" else np.zeros((3, 3)), np.eye(3)]])
    C = T @ np.diag([1e-2] * 3 + [1e-6] * 3) @ T.T
    q_0, x_0 = np.array([1.0, 0, 0, 0]), np.concatenate([P, NONE])
    q_new, x_new, reset = retracted(q_0, x_0, d, C)
    columns = []
    for i in range(6):
        sides = [retracted(q_0, x_0, d + eps * np.eye(6)[i], C) for eps in (1e-6, -1e-6)]
        ends = [np.concatenate([attitude_error(q_new, q), x[:3] - x_new[:3]]) for q, x, _ in sides]
        columns.append((ends[0] - ends[1]) / 2e-6)
    np.testing.assert_allclose(reset, np.stack(columns, axis=-1), rtol=0, atol=1e-8)
    if axes == "inertial":  # the correction l = dP - [P] a is that of the inertial momentum
        l_B = d[3:] - np.cross(P, d[:3])
        np.testing.assert_allclose(quaternion.rotate(q_new, x_new[:3]), P + l_B, rtol=1e-14)


def test_a_measurement_that_is_not_valid_leaves_its_trial_as_it_was_to_the_bit() -> None:
    mekf = Mekf(J)
    belief = beliefs(mekf, 3)
    z = SENSORS[0].measure(AttitudeState(belief.q_IB, W_0), None, np.ones(3)).z
    after, innovation = mekf.update(belief, SENSORS[0], Measurement(z * [[1.0], [0.0], [1.0]], [True, False, True]))
    assert innovation.used.tolist() == [True, False, True]
    for new, old in zip(after, belief, strict=True):
        np.testing.assert_array_equal(new[1], old[1])
    assert (np.trace(after.C[0]) < np.trace(belief.C[0])) and (after.q_IB[0] != belief.q_IB[0]).any()


def test_the_gate_refuses_what_is_too_far_off_unless_it_is_opened() -> None:
    mekf = Mekf(J)
    belief = mekf.start(AttitudeState([1.0, 0, 0, 0], W_0), 1e-6 * np.eye(6))
    wrong = Measurement(quaternion.rotate(quaternion.exp([0.0, 0.3, 0.0]), SENSORS[0].r_I), True)
    kept, innovation = mekf.update(belief, SENSORS[0], wrong)
    assert not innovation.used and innovation.nis > chi2.ppf(0.999, 3)
    np.testing.assert_array_equal(kept.q_IB, belief.q_IB)
    moved, innovation = mekf.update(belief, SENSORS[0], wrong, gated=False)
    assert innovation.used and (moved.q_IB != belief.q_IB).any()


def test_gyro_and_star_tracker_correct_rate_and_attitude() -> None:
    mekf, rho_B = Mekf(TILTED), np.array([0.1, -0.2, 0.3])
    belief = mekf.start(AttitudeState([1.0, 0, 0, 0], W_0), 1e-2 * np.eye(6), rho_B)
    truth = AttitudeState(quaternion.exp([0.05, -0.02, 0.03]), W_0 + [0.01, -0.02, 0.03])
    stars, gyro = StarTracker(rate_hz=1.0, sigma_arcsec=1.0), Gyro(rate_hz=1.0, arw=1e-8)
    sky = type("Sky", (), {"sun_I": np.array([0.0, 0.0, -1.0]), "shadow": 0.0})
    belief, _ = mekf.update(belief, stars, stars.measure(truth, sky, np.zeros(3)), sky, gated=False)
    belief, _ = mekf.update(belief, gyro, gyro.measure(truth, None, np.zeros(3)))
    x = mekf.state(belief)
    np.testing.assert_allclose(attitude_error(x.q_IB, truth.q_IB), 0.0, atol=2e-5)
    np.testing.assert_allclose(x.w_B, truth.w_B, atol=1e-9)


# Recovery, and trials that are lost


def test_a_covariance_that_is_not_positive_marks_only_its_own_trial() -> None:
    mekf = Mekf(J)
    belief = beliefs(mekf, 3)
    belief.C[1, 0, 0] = -1.0
    belief.P_B[2] = np.inf
    belief = mekf.predict(belief, NONE, 1.0)
    belief, innovation = mekf.update(belief, SENSORS[0], Measurement(np.ones(3), True), gated=False)
    assert lost(belief).tolist() == [False, True, True]
    assert not innovation.used[2]
    belief = mekf.predict(belief, NONE, 1.0)
    assert np.isfinite(belief.C[0]).all() and np.isnan(belief.q_IB[2]).all()


def test_curvature_is_felt_by_a_vector_and_not_at_all_by_a_star_tracker_or_a_gyro() -> None:
    # Attitude known to 0.2 rad: S beyond H C H^T + R is that of the quadratic part.
    mekf, sky = Mekf(J), type("Sky", (), {"sun_I": np.array([0.0, 0.0, -1.0]), "shadow": 0.0})
    belief = mekf.start(AttitudeState([0.5, 0.5, 0.5, 0.5], W_0), np.diag([0.04] * 3 + [1e-4] * 3))
    for sensor, along in [
        (SENSORS[0], 1.0),
        (StarTracker(rate_hz=1.0, sigma_arcsec=5.0), 0.0),
        (Gyro(rate_hz=1.0), 0.0),
    ]:
        z, H, R = sensor.predict(mekf.state(belief), sky)
        _, innovation = mekf.update(belief, sensor, Measurement(z, True), sky)
        extra = innovation.S - (H @ mekf.covariance(belief) @ H.T + R)
        np.testing.assert_allclose(extra, along * (0.5 * 0.12) ** 2 * np.eye(3), atol=1e-15)


def test_the_quadratic_part_of_a_vector_measurement_is_as_large_as_the_filter_takes_it_for() -> None:
    # Second moment of b . (R(a)^T b - b) for a of variance s^2 per axis is 2 s^4; (3 s^2/2)^2 is taken.
    a, b = 0.1 * RNG.standard_normal((20_000, 3)), np.array([0.0, 0.6, 0.8])
    along = (quaternion.inverse_rotate(quaternion.exp(a), b) - b) @ b
    assert 0.75 < np.mean(along**2) / (1.5 * 0.1**2) ** 2 < 1.0


@pytest.mark.parametrize("hz", [10.0, 1.0])
def test_it_converges_from_170_degrees(hz) -> None:
    mekf, trials = Mekf(J), 50
    axis = noise.normal(9, trials, "axis", 3)
    q_IB = quaternion.from_axis_angle(axis, np.radians(170.0))
    w_B = W_0 + RATE_SIGMA * noise.normal(9, trials, "rate", 3)
    C = initialise.attitude_covariance(np.radians(170.0) ** 2 * np.eye(3), RATE_SIGMA)
    found = run(mekf, hz, trials, belief=mekf.start(AttitudeState(q_IB, w_B), C))
    assert found.each_rms_deg().max() < 1.0  # 5 times the bound at 1 Hz


# Consistency and accuracy. The mean over trials and times of NEES has at most the variance it has if a trial's values
# are all the same: chi-square with 6 x trials degrees. The false-alarm probabilities are upper bounds for that reason.


# Without process noise in the truth a filter needs some at 0.1 Hz: 5 deg of attitude error in the first interval are
# beyond what a linear F describes, and F of the first steps is what the rate hangs on for ever after.
FILTER_PSD = {10.0: 0.0, 1.0: 0.0, 0.2: 0.0, 0.1: 2e-11}
SPEC_RMS_DEG = {10.0: 0.056, 1.0: 0.189, 0.2: 0.419, 0.1: 0.559}


@pytest.mark.parametrize(
    ("method", "hz"), [("vi4", 10.0), ("vi4", 1.0), ("vi4", 0.2), ("vi4", 0.1), ("exact", 0.2), ("exact", 0.1)]
)
def test_order_four_and_the_exact_drift_are_consistent_and_accurate_at_every_rate(method, hz) -> None:
    trials = 60 if hz == 10.0 else 100
    found = run(Mekf(J, method, FILTER_PSD[hz], gate_probability=1.0), hz, trials)
    low, high = chi2.ppf([5e-4, 1 - 5e-4], 6 * trials) / trials  # false alarm <= 1e-3
    assert low < found.mean_nees() < high
    # NIS is white: independent over times and both sensors, false alarm 1e-3.
    count = found.nis.size
    low, high = chi2.ppf([5e-4, 1 - 5e-4], 3 * count) / count
    assert low < found.nis.mean() < high
    # The table's and our mean square have the same scatter; 4 sigma of the difference: false alarm 6e-5.
    squares = found.each_rms_deg() ** 2
    scatter = squares.std() / np.sqrt(trials) * np.sqrt(1 + trials / 100)
    assert abs(squares.mean() - SPEC_RMS_DEG[hz] ** 2) < 4 * scatter + 2 * 0.0005 * SPEC_RMS_DEG[hz]


def test_second_order_at_one_second_does_not_know_its_own_error() -> None:
    # The table has RMS .235 and ANEES 485, at the process noise that suits it.
    found = run(Mekf(J, "vi2", 1e-10, gate_probability=1.0, substeps=False), 1.0, 60)
    assert 0.20 < found.rms_deg() < 0.27
    assert 150 < found.mean_nees() < 1500


def test_an_update_that_predicts_the_measurement_itself_has_the_bits_of_one_that_is_told() -> None:
    class Told:
        """A sensor that shows a filter no kernel."""

        def __init__(self, sensor):
            self.predict, self.residual = sensor.predict, sensor.residual

    rng = np.random.default_rng(4)
    mekf, n = Mekf(J, extras=(SteadyTorque(walk=1e-9),)), 5
    x = AttitudeState(quaternion.exp(rng.normal(size=(n, 3))), 0.1 * rng.normal(size=(n, 3)))
    belief = mekf.start(x, np.diag([0.1] * 3 + [0.01] * 3), C_extras=1e-6 * np.eye(3))
    belief = mekf.predict(belief, np.zeros(3), 1.0)
    env = Environment(*[rng.normal(size=3) for _ in range(4)], shadow=0.0)
    magnetometer = Magnetometer(rate_hz=1.0, sigma_T=0.1, bias=rng.normal(size=3), scale=0.1 * rng.normal(size=3))
    vector = VectorSensor(rate_hz=1.0, r_I=np.eye(3)[1], sigma_deg=3.0)
    for sensor in (magnetometer, FineSunSensor(rate_hz=1.0, sigma_deg=2.0), vector):
        z = sensor.measure(x, env, rng.normal(size=(n, 3)))
        fused, told = mekf.update(belief, sensor, z, env), mekf.update(belief, Told(sensor), z, env)
        for a, b in zip((*fused[0], *fused[1]), (*told[0], *told[1]), strict=True):
            np.testing.assert_array_equal(a, b)


def test_the_momentum_is_corrected_in_inertial_axes(monkeypatch) -> None:
    ours = run(Mekf(J, gate_probability=1.0), 0.1, 200, seed=3).mean_nees()
    monkeypatch.setattr(attitude_belief, "_inertial_covariance", lambda P, C: 1e9 * C[3:6, 3:6])
    kernels = corrections.correction_kernel, corrections.measuring_kernel
    for kernel in kernels:
        kernel.cache_clear()
    try:
        additive = run(Mekf(J, gate_probability=1.0), 0.1, 200, seed=3).mean_nees()
    finally:
        for kernel in kernels:
            kernel.cache_clear()
    assert ours < 7.2 and additive > ours + 0.8


def test_outliers_and_dropouts_lose_no_trial() -> None:
    clean = run(Mekf(J), 1.0, 200)
    spoiled = run(Mekf(J), 1.0, 200, outliers=0.1, dropouts=0.3)
    assert not lost(spoiled.belief).any()
    assert spoiled.each_rms_deg().max() < 1.0
    assert spoiled.rms_deg() < 1.5 * clean.rms_deg()


# Batches, round-off


def test_a_batch_has_the_bits_of_its_trials_alone() -> None:
    mekf = Mekf(J, torque_psd=1e-9)
    x, trials = flown(np.arange(6.0)), 9
    z = measured(x, trials, 2, outliers=0.2, dropouts=0.2)
    start = beliefs(mekf, trials)

    def filtered(belief, pick):
        for k in range(1, 6):
            belief = mekf.predict(belief, NONE, 1.0)
            for sensor, m in zip(SENSORS, z, strict=True):
                belief, _ = mekf.update(belief, sensor, Measurement(m.z[k][pick], m.valid[k][pick]))
        return belief

    together = filtered(start, slice(None))
    for trial in range(trials):
        alone = filtered(type(start)(*[part[trial] for part in start]), trial)
        for a, b in zip(alone, together, strict=True):
            np.testing.assert_array_equal(a, b[trial])


def _covariances_after(steps, psd):
    mekf = Mekf(J, torque_psd=np.array(psd)[:, None, None] * np.eye(3), gate_probability=1.0)
    C_0 = initialise.attitude_covariance(1e-4 * np.eye(3), 1e-2)
    belief = mekf.start(AttitudeState(np.tile([1.0, 0, 0, 0], (len(psd), 1)), W_0), C_0)
    for k in range(steps):
        belief = mekf.predict(belief, NONE, 0.1)
        z, _, _ = SENSORS[k % 2].predict(mekf.state(belief))
        belief, _ = mekf.update(belief, SENSORS[k % 2], Measurement(z, True))
    return belief.C


@pytest.mark.parametrize("steps", [20_000, pytest.param(1_000_000, marks=pytest.mark.slow)])
def test_the_covariance_stays_symmetric_and_positive(steps) -> None:
    for C in _covariances_after(steps, (1e-12, 0.0)):
        np.testing.assert_array_equal(C, C.T)
        sigma = np.sqrt(np.diag(C))
        assert np.linalg.eigvalsh(C / np.outer(sigma, sigma)).min() > 1e-12


# At the door


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"method": "vi3"}, "method: 'vi3'"),
        ({"torque_psd": -1.0}, "torque_psd"),
        ({"gate_probability": 1.5}, "gate_probability: 1.5"),
        ({"patience_s": 0}, "patience_s: 0"),
        ({"widest": (1.0, -1.0)}, "widest"),
    ],
)
def test_wrong_parameters_are_named(wrong, message) -> None:
    with pytest.raises(InputError, match=message):
        Mekf(**{"J": J, **wrong})


def test_wheels_are_refused_where_the_method_has_none() -> None:
    mekf = Mekf(J, "preprocessed")
    with pytest.raises(InputError, match="'preprocessed' is for bodies without wheels"):
        mekf.predict(beliefs(mekf), NONE, 1.0, rho_B=[0.1, 0.0, 0.0])


def test_a_filter_can_be_sent_to_a_worker() -> None:
    mekf = pickle.loads(pickle.dumps(Mekf(J, torque_psd=1e-9)))
    assert np.isfinite(mekf.predict(beliefs(mekf), NONE, 1.0).C).all()
