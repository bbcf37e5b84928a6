"""What blinds sensors, what they quantise, and light that is not the Sun's: by geometry written here."""

import numpy as np
import pytest

from gnc import quaternion
from gnc.errors import InputError
from gnc.models.environment import Environment, Epoch
from gnc.models.environment.sun import moon_direction
from gnc.models.environment.table import Surroundings
from gnc.models.pose_body import PoseState
from gnc.models.sensors import CoarseSunSensor, Gyro, Magnetometer, RelativePose, StarTracker
from gnc.models.sensors.inertial import GyroPart
from gnc.models.sensors.interface import Vantage
from gnc.models.sensors.star_tracker import StarTrackerPart
from gnc.models.states import AttitudeState

X, Z, NONE = np.array([1.0, 0.0, 0.0]), np.array([0.0, 0.0, 1.0]), np.zeros(3)
R = 7000e3


def around(r_I=R * Z, sun_I=X, shadow=0.0, moon_I=X):
    return Surroundings(r_I, NONE, NONE, sun_I, np.array(shadow), NONE, np.array(0.0), moon_I)


def turned(angle_deg):
    """Return a craft whose z axis is turned away from the zenith, towards x."""
    return AttitudeState(quaternion.exp(np.radians(angle_deg) * np.array([0.0, 1.0, 0.0])), NONE)


@pytest.mark.parametrize("side", [-0.1, 0.1])
def test_a_tracker_is_blind_near_the_limb_of_the_earth(side):
    """The limb is 180 deg less its radius from the zenith; 15 deg before it the tracker sees no more."""
    limb = 180.0 - np.degrees(np.arcsin(6378137.0 / R))
    tracker = StarTracker(rate_hz=1.0, sigma_arcsec=10.0, earth_exclusion_deg=15.0)
    z, valid = tracker.measure(turned(limb - 15.0 + side), around(), NONE)
    assert valid == (side < 0.0) and np.any(z) == (side < 0.0)
    harmless = StarTrackerPart().belief().measure(turned(180.0), around(), NONE)
    assert harmless.valid


@pytest.mark.parametrize("side", [-0.1, 0.1])
def test_a_tracker_is_blind_near_the_moon(side):
    tracker = StarTracker(rate_hz=1.0, sigma_arcsec=10.0, moon_exclusion_deg=20.0)
    assert tracker.measure(turned(70.0 + side), around(), NONE).valid == (side < 0.0)


def test_a_tracker_without_exclusion_needs_no_environment():
    assert StarTracker(rate_hz=1.0, sigma_arcsec=10.0).measure(turned(10.0), None, NONE).valid


def test_the_moon_is_where_it_was_at_an_eclipse():
    """Greatest eclipse of 2024-04-08, 18:17:18 UT: the shadow's axis passed 0.3431 radii from the Earth's centre."""
    from gnc.models.environment import sun_position

    epoch, t = Epoch.of("2024-04-08T18:17:18"), np.array([0.0, 10.0])
    sun = sun_position(epoch, t)
    moon = moon_direction(epoch, t, np.zeros((2, 3)))
    apart = np.degrees(np.arccos(np.sum(moon * sun, -1) / np.linalg.norm(sun, axis=-1)))
    gamma = np.degrees(0.3431 * 6378.137 / 359.8e3)  # distance of the shadow's axis from the Earth's centre
    assert np.all(np.abs(apart - gamma) < 0.01)


def test_a_gyro_reads_in_quanta_and_saturates():
    part = GyroPart(range_deg_s=2.0, saturates=True, quantum_deg_s=0.25, angle_random_walk_deg_rth=0.0)
    state = AttitudeState(np.array([1.0, 0.0, 0.0, 0.0]), np.radians([0.3, -0.13, 5.0]))
    z, valid = part.belief().measure(state, None, NONE)
    np.testing.assert_allclose(np.degrees(z), [0.25, -0.25, 2.0], atol=1e-12)
    assert valid and not Gyro(rate_hz=1.0, range_rad_s=0.03).measure(state, None, NONE).valid


def test_earthshine_lights_the_face_that_looks_down():
    """Over the subsolar point the Earth's albedo adds 0.3 (R/r)^2 to the face below, which the Sun does not light."""
    state, env = turned(0.0), around(r_I=R * Z, sun_I=Z)
    z = CoarseSunSensor(rate_hz=1.0, sigma=0.0, albedo=0.3).measure(state, env, np.zeros(6)).z
    np.testing.assert_allclose(z, [0.0, 0.0, 0.0, 0.0, 1.0, 0.3 * (6378137.0 / R) ** 2], atol=1e-12)
    night = CoarseSunSensor(rate_hz=1.0, sigma=0.0, albedo=0.3).measure(state, around(sun_I=-Z), np.zeros(6)).z
    np.testing.assert_allclose(night, [0.0, 0.0, 0.0, 0.0, 0.0, 1.0], atol=1e-12)


def test_soft_iron_turns_the_field():
    soft = np.array([[0.0, 0.1, 0.0], [0.1, 0.0, 0.0], [0.0, 0.0, 0.2]])
    field = np.array([1e-5, 2e-5, 3e-5])
    env = Environment(NONE, NONE, field, X, np.array(0.0))
    z = Magnetometer(rate_hz=1.0, soft_iron=soft).measure(turned(0.0), env, NONE).z
    np.testing.assert_allclose(z, [1.2e-5, 2.1e-5, 3.6e-5], rtol=1e-12)


def test_a_camera_needs_light_and_no_sun_in_its_picture():
    """It looks along z at a target 10 m ahead."""
    camera = RelativePose(rate_hz=1.0, max_shadow=0.5, sun_exclusion_deg=30.0)
    target = PoseState(np.array([1.0, 0, 0, 0, 0, 0, 0, 5.0]), np.zeros(6))
    own = np.eye(8)[0], np.zeros(6)
    away = np.array([np.sin(np.radians(31.0)), 0.0, np.cos(np.radians(31.0))])
    near = np.array([np.sin(np.radians(29.0)), 0.0, np.cos(np.radians(29.0))])
    luck = np.array([0.0] * 6 + [5.0, 5.0])
    seen = [
        camera.measure(target, Vantage(*own, sun, np.array(s)), luck).valid
        for sun, s in ((away, 0.0), (near, 0.0), (away, 0.6))
    ]
    assert seen == [True, False, False]


def test_a_camera_sees_worse_from_behind():
    """Noise is 1 + aspect times as large where the port looks away, and as without aspect where it faces the camera."""
    camera = RelativePose(rate_hz=1.0, aspect=2.0, sigma_m=0.1, sigma_fraction=0.0)
    sigmas = []
    for q in (quaternion.from_two_vectors(X, -Z), quaternion.from_two_vectors(X, Z)):
        target = PoseState(np.concatenate([q, 0.5 * quaternion.mul(np.array([0.0, 0.0, 0.0, 10.0]), q)]), np.zeros(6))
        sigmas.append(np.sqrt(camera.predict(target, None).R[5, 5]))
    np.testing.assert_allclose(sigmas, [0.1, 0.3], rtol=1e-12)


def test_rates_and_periods_may_be_fractions():
    assert GyroPart(rate_hz="1/30").interval_s == pytest.approx(30.0)
    assert GyroPart(period_s="1/30").rate == pytest.approx(30.0)
    for wrong in ("1/0", "a/b", "1/2/3"):
        with pytest.raises((InputError, ValueError), match="no fraction"):
            GyroPart(rate_hz=wrong)
