from dataclasses import replace

import numpy as np
import pytest

from gnc import quaternion
from gnc.errors import InputError
from gnc.models.environment.table import Environment
from gnc.models.sensors import StarTracker
from gnc.models.states import AttitudeState
from tests.models.sensors.cases import STARS, Case, noise

ARCSEC = np.pi / 648_000
LEVEL = np.array([1.0, 0.0, 0.0, 0.0])


def sun_at(angle_deg, shadow) -> Environment:
    angle = np.radians(angle_deg)
    direction = np.stack([np.sin(angle), 0.0 * angle, np.cos(angle)], -1)
    zero = np.zeros_like(direction)
    return Environment(zero, zero, zero, direction, np.asarray(shadow, float))


def test_the_reading_is_the_attitude_of_the_misaligned_axes_turned_by_the_noise_about_them() -> None:
    x, env = Case(STARS, "attitude").world((10,))
    draws = noise(STARS, (10,))
    z, _ = STARS.measure(x, env, draws)
    axes = quaternion.to_scipy(STARS.q_BS) * quaternion.to_scipy(quaternion.exp(STARS.misalignment))
    true = quaternion.to_scipy(x.q_IB) * axes
    turned = (true.inv() * quaternion.to_scipy(z)).as_rotvec()
    np.testing.assert_allclose(turned, draws * ARCSEC * [10.0, 12.0, 80.0], rtol=0, atol=1e-14)


@pytest.mark.parametrize(
    ("rate_deg_s", "angle_deg", "shadow", "expected"),
    [
        ([0.0, 1.9], [26.0, 180.0], [0.0, 0.0], [True, True]),
        ([2.1, 5.0], [90.0, 90.0], [0.0, 0.0], [False, False]),
        ([0.0, 0.0], [0.0, 24.0], [0.0, 0.9], [False, False]),
        ([1.9, 2.1], [90.0, 90.0], [0.0, 0.0], [True, False]),
        ([0.0, 0.0], [24.0, 26.0], [0.0, 0.0], [False, True]),
        ([0.0, 0.0], [0.0, 0.0], [1.0, 0.0], [True, False]),  # no Sun to fear in the umbra
    ],
)
def test_it_is_valid_when_slow_and_away_from_the_sun(rate_deg_s, angle_deg, shadow, expected) -> None:
    sensor = StarTracker(rate_hz=1.0, sigma_arcsec=20.0, max_rate_deg_s=2.0, sun_exclusion_deg=25.0)
    w_B = np.radians(rate_deg_s)[:, None] * [0.6, 0.0, -0.8]
    z, valid = sensor.measure(AttitudeState(LEVEL, w_B), sun_at(np.array(angle_deg), shadow), noise(sensor, (2,)))
    assert valid.tolist() == expected
    assert (z[~valid] == 0.0).all() and (z[valid] != 0.0).all()


def test_without_exclusion_no_environment_is_needed_and_with_it_one_is_asked_for() -> None:
    free = StarTracker(rate_hz=1.0, sigma_arcsec=20.0)
    assert free.measure(AttitudeState(LEVEL, np.zeros(3)), None, np.zeros(3)).valid
    for angle in ("sun_exclusion_deg", "earth_exclusion_deg", "moon_exclusion_deg"):
        with pytest.raises(InputError, match="^env: "):
            replace(free, **{angle: 10.0}).measure(AttitudeState(LEVEL, np.zeros(3)), None, np.zeros(3))


def test_the_residual_of_an_invalid_measurement_is_zero() -> None:
    x, env = Case(STARS, "attitude").world()
    np.testing.assert_array_equal(STARS.residual(np.zeros(4), STARS.predict(x, env).z), 0.0)


def test_both_covers_of_a_reading_give_the_same_residual() -> None:
    x, env = Case(STARS, "attitude").world()
    z, predicted = STARS.measure(x, env, noise(STARS)).z, STARS.predict(x, env).z
    np.testing.assert_array_equal(STARS.residual(-z, predicted), STARS.residual(z, predicted))


@pytest.mark.parametrize(
    ("wrong", "named"),
    [({"sigma_arcsec": -1.0}, "sigma_arcsec"), ({"sun_exclusion_deg": 200.0}, "sun_exclusion_deg")],
)
def test_a_wrong_parameter_is_named(wrong, named) -> None:
    with pytest.raises(InputError, match=f"^{named}: "):
        replace(STARS, **wrong)
