"""Directions of unit length: two numbers, with their derivative and their noise."""

import numpy as np
import pytest
from scipy.stats import chi2

from gnc import quaternion
from gnc.estimators.gyro_mekf import GyroMekf
from gnc.models.sensors import FineSunSensor, Gyro, Measurement, UnitDirection, VectorSensor
from gnc.models.states import AttitudeState
from gnc.scenarios.replay.sensors import SensorSurroundings

RNG = np.random.default_rng(31)


def unit(v):
    return v / np.linalg.norm(v, axis=-1, keepdims=True)


@pytest.mark.parametrize("mounted", [False, True])
def test_h_is_the_derivative_of_the_residual_whatever_the_direction(mounted):
    q_BS = unit(RNG.standard_normal(4)) if mounted else np.array([1.0, 0.0, 0.0, 0.0])
    for q, sun in zip(unit(RNG.standard_normal((20, 4))), unit(RNG.standard_normal((20, 3))), strict=True):
        env = SensorSurroundings(sun, sun)
        sensor = UnitDirection(FineSunSensor(rate_hz=1.0, sigma_deg=0.1, q_BS=q_BS))
        expected, h = sensor.predict(AttitudeState(q, np.zeros(3)), env), 1e-6
        moved = [quaternion.mul(q, quaternion.exp(sign * h * e)) for e in np.eye(3) for sign in (1.0, -1.0)]
        y = [sensor.residual(sensor.predict(AttitudeState(m, np.zeros(3)), env).z, expected.z) for m in moved]
        slope = np.stack([(y[2 * i] - y[2 * i + 1]) / (2.0 * h) for i in range(3)], axis=1)
        np.testing.assert_allclose(expected.H[:, :3], slope, atol=1e-9)
        np.testing.assert_allclose(sensor.residual(expected.z, expected.z), 0.0, atol=1e-15)
        np.testing.assert_allclose(expected.H[:, :3] @ expected.H[:, :3].T, np.eye(2), atol=1e-14)


def test_nis_of_normalised_readings_has_two_degrees_of_freedom():
    """The filter knows the attitude to 0.2 deg, 4000 trials; false alarm 1e-4."""
    n, sigma, known = 4000, np.radians(0.5), np.radians(0.2)
    q = unit(RNG.standard_normal((n, 4)))
    believed = quaternion.mul(q, quaternion.exp(known * RNG.standard_normal((n, 3))))
    r_I = np.array([0.6, 0.0, -0.8])
    z = unit(quaternion.inverse_rotate(q, r_I) + sigma * RNG.standard_normal((n, 3)))
    mekf = GyroMekf(gyro=Gyro(rate_hz=1.0, arw=1e-4), gate_probability=1.0)
    C = np.diag([known**2] * 3 + [1e-8] * 3)
    belief = mekf.start(believed, np.broadcast_to(C, (n, 6, 6)), np.zeros((n, 3)))
    sensor = UnitDirection(VectorSensor(rate_hz=1.0, r_I=r_I, sigma_deg=np.degrees(sigma)))
    _, innovation = mekf.update(belief, sensor, Measurement(z, np.ones(n, bool)))
    assert innovation.y.shape == (n, 2)
    low, high = chi2.ppf([5e-5, 1.0 - 5e-5], 2 * n) / n
    assert low < innovation.nis.mean() < high
