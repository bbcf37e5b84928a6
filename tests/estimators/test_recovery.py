"""When a filter doubts itself: in seconds whatever the rate, and never against what other sensors say."""

import numpy as np
import pytest

from gnc import quaternion
from gnc.estimators.mekf import Mekf
from gnc.models.sensors import Gyro
from gnc.models.sensors.interface import Measurement
from gnc.models.states import AttitudeState
from tests.estimators.tumble import NONE, SENSORS, J

STILL = AttitudeState(np.array([1.0, 0, 0, 0]), NONE)
SURE = np.diag([1e-6] * 3 + [1e-12] * 3)


def seen(turn, sensor):
    """What a sensor says of a body at rest that is turned."""
    return Measurement(sensor.predict(AttitudeState(quaternion.exp(np.asarray(turn, float)), NONE)).z, True)


def watched(mekf, turns, h, duration, refused=()):
    """Fly a body at rest whose sensors each see their own turn of it; return belief and the times of recoveries."""
    belief, times = mekf.start(STILL, SURE), []
    for k in range(round(duration / h)):
        belief = mekf.predict(belief, NONE, h)
        before = belief.recoveries
        for sensor, turn in zip(SENSORS, turns, strict=True):
            belief, told = mekf.update(belief, sensor, seen(turn, sensor))
            assert not (told.used and sensor in refused)
        if belief.recoveries > before:
            times.append((k + 1) * h)
    return belief, times


@pytest.mark.parametrize("h", [0.05, 0.5, 1.0])
def test_a_wrong_filter_recovers_after_its_patience_in_seconds_at_any_rate(h) -> None:
    belief, times = watched(Mekf(J, patience_s=5.0), [[0.0, 0.0, 1.0]] * 2, h, 40.0)
    assert abs(times[0] - 5.0) < 1.01 * h
    assert quaternion.angle_between(belief.q_IB, quaternion.exp(np.array([0.0, 0.0, 1.0]))) < np.radians(1.0)


def test_with_slow_sensors_at_least_five_refusals_are_needed() -> None:
    assert watched(Mekf(J, patience_s=5.0), [[0.0, 0.0, 1.0]] * 2, 20.0, 140.0)[1][0] == 100.0


def test_a_sensor_that_contradicts_the_others_is_refused_for_ever_and_does_no_harm() -> None:
    # The second vector is turned about an axis that the first sensor sees too: no attitude pleases both.
    mekf = Mekf(J)
    belief, times = watched(mekf, [NONE, [0.0, 0.0, 0.5]], 0.5, 600.0, refused=SENSORS[1:])
    assert times == [] and belief.watch[0] == 0.0
    assert quaternion.angle_between(belief.q_IB, STILL.q_IB) < 1e-6


def test_a_sensor_that_agrees_does_not_hide_an_error_it_cannot_see() -> None:
    turn = np.array([1.0, 0.0, 0.0])  # about the first sensor's vector
    belief, times = watched(Mekf(J), [turn, turn], 0.5, 60.0)
    assert times and quaternion.angle_between(belief.q_IB, quaternion.exp(turn)) < np.radians(1.0)


def test_single_outliers_among_good_measurements_never_add_up() -> None:
    mekf, rng = Mekf(J), np.random.default_rng(604)
    belief = mekf.start(STILL, SURE)
    for _ in range(3000):
        belief = mekf.predict(belief, NONE, 0.5)
        for sensor in SENSORS:
            wild = rng.normal(size=3) if rng.uniform() < 0.3 else NONE
            belief, _ = mekf.update(belief, sensor, seen(wild, sensor))
    assert belief.recoveries == 0.0 and quaternion.angle_between(belief.q_IB, STILL.q_IB) < np.radians(0.2)


def test_inflation_takes_correlations_away_and_stops_at_the_widest() -> None:
    mekf = Mekf(J, inflation=1e4, widest=(0.5, 0.05))
    belief = mekf.start(STILL, np.diag([1e-8] * 3 + [1e-10] * 3))
    gyro, sizes = Gyro(rate_hz=1.0, arw=1e-8), []
    for _ in range(15):
        belief = belief._replace(idle=np.array(1.0))
        belief, told = mekf.update(belief, gyro, Measurement(np.array([10.0, 0.0, 0.0]), True))
        assert not told.used
        sizes.append(np.sqrt(np.diag(mekf.covariance(belief))))
    assert belief.recoveries == 3.0
    np.testing.assert_allclose(np.array(sizes)[[3, 4, 9, 14], 0], [1e-4, 1e-2, 0.5, 0.5], rtol=1e-12)
    np.testing.assert_allclose(np.array(sizes)[[3, 4, 9, 14], 3], [1e-5, 1e-3, 0.05, 0.05], rtol=1e-12)


def test_a_gyro_that_nobody_contradicts_counts() -> None:
    mekf, gyro = Mekf(J), Gyro(rate_hz=1.0, arw=1e-8)
    belief = mekf.start(STILL, SURE)
    for _ in range(40):
        belief = mekf.predict(belief, NONE, 1.0)
        belief, _ = mekf.update(belief, gyro, Measurement(np.array([0.1, 0.0, 0.0]), True))
    assert belief.recoveries >= 1.0
    np.testing.assert_allclose(mekf.state(belief).w_B, [0.1, 0.0, 0.0], atol=1e-3)
