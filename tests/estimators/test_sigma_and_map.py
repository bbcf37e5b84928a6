"""The independent checks of the EKFs: sigma points as kernels, and all measurements at once."""

from types import SimpleNamespace

import numpy as np
import pytest

from gnc import noise, quaternion
from gnc.estimators import consistency
from gnc.estimators.attitude_belief import lost
from gnc.estimators.dqekf import DqEkf
from gnc.estimators.map_estimate import MapEstimate
from gnc.estimators.mekf import Mekf
from gnc.estimators.sigma_points import ATTITUDE, SigmaDqEkf, SigmaMekf, drawing_kernel, gathering_kernel
from gnc.estimators.sigma_points import POSE as POINTS
from gnc.models.pose_body import PoseState
from gnc.models.sensors import StarTracker, VectorSensor
from gnc.models.sensors.interface import Measurement
from gnc.models.states import AttitudeState
from gnc.scenarios.study.pose import Target
from tests.estimators.test_pose_motion import CHI, POSE, M
from tests.estimators.tumble import NONE, SENSORS, W_0, J, attitude_error

SKY = SimpleNamespace(sun_I=np.array([1.0, 0, 0]), shadow=np.array(0.0))
NO_TURN, RHO = np.array([1.0, 0, 0, 0]), np.array([0.02, -0.01, 0.03])


def covariance(scale, n):
    A = np.random.default_rng(4).normal(size=(n, n))
    return scale**2 * (A @ A.T + np.eye(n))


CASES = {
    "attitude": (ATTITUDE, np.array([0.5, 0.5, -0.5, 0.5]), J @ W_0, (J, RHO, np.eye(3))),
    "pose": (POINTS, POSE, CHI, (M,)),
}


@pytest.mark.parametrize("case", CASES)
def test_sigma_points_that_have_not_moved_are_the_belief_again(case) -> None:
    points, q, x, given = CASES[case]
    C = covariance(0.02, points.n)
    e, *cloud = drawing_kernel(points, True)(q, x, C, *given)
    again = gathering_kernel(points)(*cloud, np.zeros_like(C), *given)
    for found, expected in zip(again, (q, x, C), strict=True):
        np.testing.assert_allclose(found, expected, atol=1e-10)
    np.testing.assert_allclose(e.sum(axis=0), 0.0, atol=1e-14)


def interval(filter_, h, sigma_deg, readings=None):
    """Start, advance over h with wheels and an unknown torque, and return the belief."""
    fine = [VectorSensor(rate_hz=1.0, r_I=s.r_I, sigma_deg=sigma_deg) for s in SENSORS]
    start = filter_.start(AttitudeState(NO_TURN, W_0), 1e-10 * np.eye(6), RHO)
    truth = filter_.state(filter_.predict(start, NONE, h))
    return start, [(s, s.measure(truth, None, np.array([0.3, -0.2, 0.1]))) for s in fine]


def test_where_all_is_small_sigma_points_are_the_extended_filter() -> None:
    usual, ours = (kind(J, torque_psd=1e-12) for kind in (Mekf, SigmaMekf))
    start, readings = interval(usual, 2.0, 1e-3)
    expected = usual.predict(start, NONE, 2.0)
    for sensor, measurement in readings:
        expected, _ = usual.update(expected, sensor, measurement)
    found, told = ours.advance(start, NONE, 2.0, readings)
    sigma = np.sqrt(np.diag(expected.C))
    assert np.abs(attitude_error(expected.q_IB, found.q_IB)).max() < 1e-3 * sigma[:3].min()
    assert (np.abs(found.P_B - expected.P_B) < 1e-3 * sigma[3:]).all()
    assert (np.abs(found.C - expected.C) < 1e-3 * np.outer(sigma, sigma)).all()
    assert [i.used for i in told] == [True, True]


def test_sensors_of_any_kind_correct_and_a_batch_has_the_bits_of_its_trials() -> None:
    # A star tracker has no kernel of its prediction: the points are drawn outside.
    mekf, trials = SigmaMekf(J), 3
    q = quaternion.exp(0.02 * noise.normal(2, trials, "q", 3))
    belief = mekf.start(AttitudeState(q, W_0), np.diag([4e-4] * 3 + [1e-4] * 3))
    belief = belief._replace(q_IB=np.where(np.arange(trials)[:, None] == 1, np.nan, belief.q_IB))
    tracker = StarTracker(rate_hz=1.0, sigma_arcsec=60.0)
    z = tracker.measure(AttitudeState(NO_TURN, W_0), SKY, np.zeros((trials, tracker.noise_size)))
    for readings in (
        [(tracker, z)],
        [(s, s.measure(AttitudeState(NO_TURN, W_0), None, np.zeros((trials, 3)))) for s in SENSORS],
    ):
        together, _ = mekf.correct(belief, readings, None, False)
        for trial in range(trials):
            alone = [
                (
                    s,
                    Measurement(
                        np.broadcast_to(m.z, (trials, *m.z.shape[-1:]))[trial], np.broadcast_to(m.valid, trials)[trial]
                    ),
                )
                for s, m in readings
            ]
            one, _ = mekf.correct(type(belief)(*[part[trial] for part in belief]), alone, None, False)
            np.testing.assert_array_equal(one.q_IB, together.q_IB[trial])
            np.testing.assert_array_equal(one.C, together.C[trial])
        np.testing.assert_array_equal(lost(together), [False, True, False])
        assert np.trace(together.C[0, :3, :3]) < np.trace(belief.C[0, :3, :3])


def test_all_measurements_at_once_are_the_kalman_filter_where_all_is_linear() -> None:
    # Errors of 1e-6 rad: what the recursive filter finds is then the least-squares solution, to squares of the errors.
    mekf, h, steps = Mekf(J), 2.0, 6
    sensors = [VectorSensor(rate_hz=1.0, r_I=s.r_I, sigma_deg=np.degrees(1e-6)) for s in SENSORS]
    C = np.diag([1e-12] * 3 + [1e-14] * 3)
    x = AttitudeState(quaternion.exp(1e-6 * noise.normal(3, 4, "q", 3)), W_0 + 1e-7 * noise.normal(3, 4, "w", 3))
    belief, readings = mekf.start(x, C, RHO), []
    flight = mekf.start(AttitudeState(NO_TURN, W_0), C, RHO)
    draws = noise.normal(3, 4, "z", (steps, 2, 3))
    for k in range(steps):
        flight, belief = mekf.predict(flight, NONE, h), mekf.predict(belief, NONE, h)
        readings.append([(s, s.measure(mekf.state(flight), None, draws[:, k, i])) for i, s in enumerate(sensors)])
        for sensor, measurement in readings[-1]:
            belief, _ = mekf.update(belief, sensor, measurement, gated=False)
    first, last = MapEstimate(mekf, h, NONE).estimates(mekf.start(x, C, RHO), readings, [2, steps])
    sigma = np.sqrt(np.diagonal(belief.C, axis1=-2, axis2=-1))
    assert (np.abs(attitude_error(last.q_IB, belief.q_IB)) < 1e-3 * sigma[:, :3]).all()
    assert (np.abs(last.P_B - belief.P_B) < 1e-3 * sigma[:, 3:]).all()
    assert (np.abs(last.C - belief.C) < 1e-3 * sigma[:, :, None] * sigma[:, None, :]).all()
    assert np.trace(last.C[0]) < np.trace(first.C[0])


def flown(filter_, data, last):
    """NEES of a pose filter at the end of a flight."""
    belief = filter_.start(data.start, data.C0)
    for k in range(1, last + 1):
        belief, _ = filter_.advance(belief, None, data.h, [(data.camera, data.measured[k])], gated=False)
    return consistency.nees(*filter_.error(belief, data.truth[last]))


def test_of_poses_sigma_points_and_map_are_honest_and_agree_with_the_conserved_chart() -> None:
    # NEES (12) of 200 trials at the end of 300 s at 0.2 Hz, 9 deg/s: bands of 99.9 %. Both know as much as the bound.
    problem = Target(w_deg_s=9.0)
    data, band = problem.simulate(0.2, 200, seed=603), consistency.mean_band(12, 200, 0.999)
    assert band.holds(flown(SigmaDqEkf(problem.M), data, 60).mean())
    conserved = DqEkf(problem.M, chart="conserved")
    readings = [[(data.camera, z)] for z in data.measured[1:]]
    (best,) = MapEstimate(conserved, data.h).estimates(conserved.start(data.start, data.C0), readings, [60])
    assert band.holds(consistency.nees(*conserved.error(best, data.truth[60])).mean())


def test_where_all_is_small_sigma_points_of_poses_are_the_extended_filter() -> None:
    usual, ours = (kind(M, wrench_psd=1e-14) for kind in (DqEkf, SigmaDqEkf))
    camera = Target(sigma_deg=np.degrees(1e-6), sigma_m=1e-6).camera(1.0)
    start = usual.start(PoseState(POSE, CHI), np.diag(np.repeat([1e-6, 1e-6, 1e-8, 1e-8], 3) ** 2))
    wrench = np.array([0.05, -0.02, 0.03, 0.4, -0.3, 0.2])
    truth = usual.state(usual.predict(start, wrench, 1.0))
    z = camera.measure(truth, None, noise.normal(1, 1, "z", camera.noise_size)[0])
    expected, _ = usual.update(usual.predict(start, wrench, 1.0), camera, z)
    found, _ = ours.advance(start, wrench, 1.0, [(camera, z)])
    sigma = np.sqrt(np.diag(expected.C))
    error = usual.error(expected, ours.state(found))[0]
    assert (np.abs(error) < 1e-3 * sigma).all()
    assert (np.abs(found.C - expected.C) < 1e-3 * np.outer(sigma, sigma)).all()
