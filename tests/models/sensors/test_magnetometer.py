from dataclasses import replace

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from gnc import quaternion
from gnc.errors import InputError
from gnc.models.sensors import Magnetometer
from gnc.models.states import AttitudeState
from tests.models.sensors.cases import MAGNETOMETER, Case, noise

CASE = Case(MAGNETOMETER, "attitude")


def test_the_reading_is_the_scaled_field_in_misaligned_axes_plus_bias() -> None:
    x, env = CASE.world((10,))
    z, _ = MAGNETOMETER.measure(x, env, np.zeros((10, 3)))
    body = quaternion.to_scipy(x.q_IB)
    axes = quaternion.to_scipy(MAGNETOMETER.q_BS) * Rotation.from_rotvec(MAGNETOMETER.misalignment)
    field_S = (body * axes).inv().apply(env.B_I)
    np.testing.assert_allclose(z, (1.0 + MAGNETOMETER.scale) * field_S + MAGNETOMETER.bias, rtol=1e-12, atol=1e-18)


def test_without_errors_H_is_the_cross_matrix_of_the_field_in_body_axes() -> None:
    x, env = CASE.world()
    b_B = quaternion.to_scipy(x.q_IB).inv().apply(env.B_I)
    H = Magnetometer(rate_hz=1.0, sigma_deg=1.0).predict(x, env).H
    np.testing.assert_allclose(H[:, :3], np.cross(b_B, np.eye(3)).T, rtol=0, atol=1e-12 * np.abs(b_B).max())
    np.testing.assert_array_equal(H[:, 3:], 0.0)


def test_the_noise_is_the_root_sum_square_of_tesla_and_of_the_angle_at_the_strength_of_the_field() -> None:
    x, env = CASE.world()
    strength = np.linalg.norm(env.B_I)
    both = Magnetometer(rate_hz=1.0, sigma_T=3e-7, sigma_deg=np.degrees(4e-7 / strength))
    np.testing.assert_allclose(both.predict(x, env).R, 25e-14 * np.eye(3), rtol=1e-12)


@pytest.mark.parametrize(("ranges", "expected"), [(1e-4, [1, 1]), (1e-7, [0, 0]), ([1e-4, 1e-7], [1, 0])])
def test_an_axis_beyond_its_range_makes_a_trial_invalid(ranges, expected) -> None:
    x, env = CASE.world((2,))
    z, valid = replace(MAGNETOMETER, range_T=ranges).measure(x, env, noise(MAGNETOMETER, (2,)))
    assert valid.tolist() == [bool(v) for v in expected]
    assert (z[~valid] == 0.0).all() and (z[valid] != 0.0).all()


def test_the_body_vector_of_a_reading_is_the_field_in_body_axes() -> None:
    x, env = CASE.world((10,))
    z, _ = MAGNETOMETER.measure(x, env, np.zeros(3), bias=np.full(3, 2e-6))
    expected = quaternion.to_scipy(x.q_IB).inv().apply(env.B_I)
    np.testing.assert_allclose(MAGNETOMETER.in_body(z, np.full(3, 2e-6)), expected, rtol=0, atol=1e-17)


def test_the_filter_predicts_with_the_parameters_of_its_own_copy() -> None:
    x, env = CASE.world()
    believed = replace(MAGNETOMETER, bias=np.zeros(3), scale=np.zeros(3), misalignment=np.zeros(3))
    ideal = Magnetometer(rate_hz=1.0, q_BS=MAGNETOMETER.q_BS)
    np.testing.assert_array_equal(believed.predict(x, env).z, ideal.measure(x, env, np.zeros(3)).z)
    assert (believed.predict(x, env).z != MAGNETOMETER.predict(x, env).z).all()


@pytest.mark.parametrize(
    ("wrong", "named"),
    [
        ({"rate_hz": 0.0}, "rate_hz"),
        ({"sigma_T": -1.0}, "sigma_T"),
        ({"bias": [1.0, 2.0]}, "bias"),
        ({"scale": np.nan * np.ones(3)}, "scale"),
        ({"misalignment": 1.0}, "misalignment"),
        ({"q_BS": [1.0, 1.0, 0.0, 0.0]}, "q_BS"),
        ({"range_T": -1.0}, "range_T"),
        ({"range_T": np.nan}, "range_T"),
    ],
)
def test_a_wrong_parameter_is_named(wrong, named) -> None:
    with pytest.raises(InputError, match=f"^{named}: "):
        replace(MAGNETOMETER, **wrong)


def test_a_state_with_a_field_attitude_is_enough() -> None:
    x, env = CASE.world()
    assert MAGNETOMETER.predict(AttitudeState(x.q_IB, None), env).H.shape == (3, 6)
