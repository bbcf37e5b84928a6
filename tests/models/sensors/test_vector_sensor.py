import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from gnc import quaternion
from gnc.errors import InputError
from gnc.models.sensors.direction import VectorSensor
from gnc.models.states import AttitudeState

SENSOR = VectorSensor(rate_hz=1.0, r_I=[0.6, 0.0, 0.8], sigma_deg=2.0)


def states(n):
    return AttitudeState(quaternion.from_scipy(Rotation.random(n, random_state=0)), np.zeros((n, 3)))


def test_it_reads_the_vector_in_body_axes_with_noise_in_each_component() -> None:
    x, noise = states(5), np.arange(15.0).reshape(5, 3)
    z, valid = SENSOR.measure(x, None, noise)
    expected = quaternion.to_scipy(x.q_IB).inv().apply([0.6, 0.0, 0.8]) + np.radians(2.0) * noise
    np.testing.assert_allclose(z, expected, rtol=1e-13, atol=1e-15)
    assert valid.all()
    np.testing.assert_allclose(SENSOR.predict(x).R, np.tile(np.radians(2.0) ** 2 * np.eye(3), (5, 1, 1)), rtol=1e-14)


def test_H_is_the_derivative_of_the_reading() -> None:
    x = states(4)
    z, H, _ = SENSOR.predict(x)
    for i in range(3):
        d = 1e-6 * np.eye(3)[i]
        turned = [
            SENSOR.predict(AttitudeState(quaternion.mul(x.q_IB, quaternion.exp(s * d)), x.w_B)).z for s in (1, -1)
        ]
        np.testing.assert_allclose(H[..., i], SENSOR.residual(*turned) / 2e-6, atol=1e-9)
    np.testing.assert_array_equal(H[..., 3:], 0.0)
    np.testing.assert_array_equal(SENSOR.in_body(z), z)


def test_a_lost_trial_is_not_valid_and_reads_zero() -> None:
    x = states(3)
    x.q_IB[1] = np.nan
    z, valid = SENSOR.measure(x, None, np.zeros(3))
    assert valid.tolist() == [True, False, True] and (z[1] == 0.0).all()


def test_a_vector_that_is_not_a_unit_vector_is_refused() -> None:
    with pytest.raises(InputError, match="r_I: expected unit vectors"):
        VectorSensor(rate_hz=1.0, r_I=[1.0, 1.0, 0.0], sigma_deg=1.0)
