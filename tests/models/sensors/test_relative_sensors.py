from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import binom

from gnc import dual_quaternion, quaternion
from gnc.errors import InputError
from gnc.models.pose_body import PoseState
from gnc.models.sensors import RelativePose, RelativePosition
from tests.models.sensors.cases import POSE, POSITION, Case, noise

SENSORS = [RelativePose(rate_hz=1.0), RelativePosition(rate_hz=1.0)]
both = pytest.mark.parametrize("sensor", SENSORS, ids=lambda s: type(s).__name__)


def target(r_S) -> PoseState:
    """A target at r from a sensor in the inertial frame."""
    r_S = np.asarray(r_S, float)
    turned = np.broadcast_to([0.5, 0.5, 0.5, -0.5], (*r_S.shape[:-1], 4))
    return PoseState(dual_quaternion.from_pose(turned, r_S), np.zeros((*r_S.shape[:-1], 6)))


def test_the_reading_is_the_targets_pose_in_the_axes_of_the_displaced_sensor() -> None:
    """Homogeneous matrices are the oracle."""
    x, chaser = Case(POSE, "target").world((10,))
    mounted = dual_quaternion.to_matrix(POSE.dq_BS) @ dual_quaternion.to_matrix(dual_quaternion.exp(POSE.misalignment))
    T_IS = dual_quaternion.to_matrix(chaser.dq_IB) @ mounted
    expected = np.linalg.inv(T_IS) @ dual_quaternion.to_matrix(x.dq_IB)
    seen = POSE.measure(x, chaser, np.zeros(8)).z
    np.testing.assert_allclose(dual_quaternion.to_matrix(seen), expected, rtol=0, atol=1e-12)
    position = POSITION.measure(x, chaser, np.zeros(5)).z
    np.testing.assert_allclose(position, expected[:, :3, 3] + POSITION.bias, rtol=0, atol=1e-12)


@both
def test_without_an_observer_the_sensor_is_at_the_inertial_origin(sensor) -> None:
    x, _ = Case(sensor, "target").world()
    origin = PoseState(np.array([1.0, *np.zeros(7)]), np.zeros(6))
    np.testing.assert_array_equal(sensor.predict(x, None).z, sensor.predict(x, origin).z)


@pytest.mark.parametrize(
    ("distance", "sigma_m", "sigma_deg"),
    [(0.5, 0.01, 0.5), (2.0, 0.01, 0.5), (5.0, 0.025, 0.5), (27.5, 0.1375, 1.75), (50.0, 0.25, 3.0), (100.0, 0.5, 3.0)],
)
def test_the_noise_grows_with_the_range_as_the_rendezvous_scenario_has_it(distance, sigma_m, sigma_deg) -> None:
    x = target([0.6 * distance, 0.0, 0.8 * distance])
    R = RelativePose(rate_hz=1.0).predict(x, None).R
    expected = np.repeat([np.radians(sigma_deg), sigma_m], 3)
    np.testing.assert_allclose(R, np.diag(expected**2), rtol=1e-12, atol=0)
    np.testing.assert_allclose(RelativePosition(rate_hz=1.0).predict(x, None).R, sigma_m**2 * np.eye(3), rtol=1e-12)


def test_errors_of_attitude_and_position_are_the_two_parts_of_the_noise() -> None:
    x = target([0.0, 0.0, 2.0])
    draws = 1e-3 * noise(POSE, (5,))
    z = RelativePose(rate_hz=1.0).measure(x, None, draws).z
    q, r = dual_quaternion.to_pose(z)
    true = quaternion.to_scipy(x.dq_IB[:4])
    turned = (true.inv() * quaternion.to_scipy(q)).as_rotvec()
    np.testing.assert_allclose(turned, np.radians(0.5) * draws[:, :3], rtol=0, atol=1e-14)
    np.testing.assert_allclose(true.inv().apply(r - [0.0, 0.0, 2.0]), 0.01 * draws[:, 3:6], rtol=0, atol=1e-9)


@both
@pytest.mark.parametrize(
    ("r_S", "expected"),
    [
        ([[0, 0, 5], [2, 0, 5]], [True, True]),
        ([[0, 0, -5], [5, 0, 1]], [False, False]),
        ([[0, 0, 31], [0, 0, 100]], [False, False]),
        ([[0, 0, 5], [0, 4, 5]], [True, False]),
        ([[0, 0, 31], [0, 0, 29]], [False, True]),
    ],
)
def test_a_target_is_seen_within_cone_and_range(sensor, r_S, expected) -> None:
    narrow = replace(sensor, half_cone_deg=30.0, max_range_m=30.0)
    z, valid = narrow.measure(target(r_S), None, noise(sensor, (2,)))
    assert valid.tolist() == expected
    assert (z[~valid] == 0.0).all() and (z[valid] != 0.0).any(axis=-1).all()


@pytest.mark.jit
@both
def test_drop_outs_and_outliers_have_their_probabilities_and_are_independent(sensor) -> None:
    """False alarm: two binomial counts outside of their central 1 - 1e-6."""
    n, x = 40_000, target([0.0, 0.0, 2.0])
    draws = noise(sensor, (n,), seed=21)
    z, valid = replace(sensor, dropout=0.05, outlier=0.1, outlier_factor=3.0).measure(x, None, draws)
    usual = sensor.measure(x, None, draws)
    wild = (z != usual.z).any(axis=-1) & valid
    for count, p in (((~valid).sum(), 0.05), (wild.sum(), 0.095)):
        assert binom.ppf(5e-7, n, p) <= count <= binom.ppf(1 - 5e-7, n, p)
    errors = [sensor.residual(readings[wild], sensor.predict(x, None).z) for readings in (z, usual.z)]
    np.testing.assert_allclose(errors[0], 3.0 * errors[1], rtol=0, atol=1e-12)


@both
@pytest.mark.parametrize(("dropout", "expected"), [(0.0, [1, 1]), (1.0, [0, 0]), ([0.0, 1.0], [1, 0])])
def test_certain_and_impossible_drop_outs(sensor, dropout, expected) -> None:
    z, valid = replace(sensor, dropout=dropout).measure(target([[0, 0, 5], [0, 0, 5]]), None, noise(sensor, (2,)))
    assert valid.tolist() == [bool(v) for v in expected]
    assert (z[~valid] == 0.0).all()


def test_the_residual_of_an_invalid_pose_is_zero() -> None:
    x, env = Case(POSE, "target").world()
    np.testing.assert_array_equal(POSE.residual(np.zeros(8), POSE.predict(x, env).z), 0.0)


@both
def test_latency_is_kept_for_the_loop(sensor) -> None:
    assert sensor.latency_s == 0.0
    assert replace(sensor, latency_s=0.2).latency_s == 0.2


@both
@pytest.mark.parametrize(
    ("wrong", "named"),
    [
        ({"dropout": 1.1}, "dropout"),
        ({"outlier": -0.1}, "outlier"),
        ({"latency_s": -1.0}, "latency_s"),
        ({"max_range_m": 0.0}, "max_range_m"),
        ({"dq_BS": [1.0, 0, 0, 0, 0.5, 0, 0, 0]}, "dq_BS"),
        ({"misalignment": [0.0, 0.0, 0.0]}, "misalignment"),
    ],
)
def test_a_wrong_parameter_is_named(sensor, wrong, named) -> None:
    with pytest.raises(InputError, match=f"^{named}: "):
        replace(sensor, **wrong)


def test_the_far_range_is_beyond_the_near_one() -> None:
    with pytest.raises(InputError, match="^far_m: "):
        RelativePose(rate_hz=1.0, near_m=5.0, far_m=5.0)
