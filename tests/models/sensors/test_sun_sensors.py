from dataclasses import replace

import numpy as np
import pytest

from gnc import quaternion
from gnc.errors import InputError
from gnc.models.environment.table import Environment
from gnc.models.sensors import CoarseSunSensor, FineSunSensor
from gnc.models.sensors.coarse_sun_sensor import SIX_FACES
from gnc.models.states import AttitudeState
from tests.models.sensors.cases import COARSE, FINE, Case, noise

LEVEL = AttitudeState(np.array([1.0, 0.0, 0.0, 0.0]), np.zeros(3))


def sun_at(angle_deg, shadow=0.0) -> Environment:
    """The Sun so far from the z axis, towards x."""
    angle = np.radians(angle_deg)
    direction = np.stack([np.sin(angle), 0.0 * angle, np.cos(angle)], -1)
    zero = np.zeros_like(direction)
    return Environment(zero, zero, zero, direction, np.asarray(shadow, float))


def test_the_fine_sensor_reads_the_direction_in_its_axes() -> None:
    x, env = Case(FINE, "attitude").world((10,))
    z, _ = FINE.measure(x, env, np.zeros(3))
    axes = quaternion.to_scipy(FINE.q_BS) * quaternion.to_scipy(quaternion.exp(FINE.misalignment))
    np.testing.assert_allclose(z, (quaternion.to_scipy(x.q_IB) * axes).inv().apply(env.sun_I), rtol=0, atol=1e-14)
    in_body = quaternion.to_scipy(x.q_IB).inv().apply(env.sun_I)
    np.testing.assert_allclose(FINE.in_body(z), in_body, rtol=0, atol=1e-14)


@pytest.mark.parametrize(
    ("angle_deg", "shadow", "expected"),
    [
        ([0.0, 59.9], [0.0, 0.5], [True, True]),
        ([60.1, 180.0], [0.0, 0.0], [False, False]),
        ([0.0, 0.0], [1.0, 0.51], [False, False]),
        ([10.0, 70.0], [0.0, 0.0], [True, False]),
        ([10.0, 10.0], [1.0, 0.0], [False, True]),
    ],
)
def test_the_fine_sensor_is_valid_in_its_cone_and_in_sunlight(angle_deg, shadow, expected) -> None:
    sensor = FineSunSensor(rate_hz=1.0, sigma_deg=0.1, half_cone_deg=60.0)
    z, valid = sensor.measure(LEVEL, sun_at(np.array(angle_deg), shadow), noise(sensor, (2,)))
    assert valid.tolist() == expected
    assert (z[~valid] == 0.0).all() and (z[valid] != 0.0).all()


def test_a_fine_sensor_of_half_cone_180_deg_sees_all_around() -> None:
    sensor = FineSunSensor(rate_hz=1.0, sigma_deg=0.1)
    assert sensor.measure(LEVEL, sun_at(np.linspace(0.0, 180.0, 101)), noise(sensor, (101,))).valid.all()
    x, env = Case(sensor, "attitude").world((300,))
    behind = env._replace(sun_I=-quaternion.to_matrix(x.q_IB)[:, :, 2])  # where rounding might cut
    assert sensor.measure(x, behind, noise(sensor, (300,))).valid.all()


def test_photodiodes_read_the_cosine_in_front_and_nothing_behind() -> None:
    sensor = CoarseSunSensor(rate_hz=1.0, sigma=0.0)
    z, valid = sensor.measure(LEVEL, sun_at(30.0), np.zeros(6))
    assert valid
    np.testing.assert_allclose(z, [0.5, 0.0, 0.0, 0.0, np.sqrt(0.75), 0.0], atol=1e-15)


def test_photodiodes_dim_in_the_penumbra_with_scale_and_bias_on_top() -> None:
    sensor = CoarseSunSensor(rate_hz=1.0, sigma=0.0, scale=0.1, bias=0.02, normals_B=[[0.0, 0.0, 1.0]])
    z, _ = sensor.measure(LEVEL, sun_at(60.0, shadow=0.25), np.zeros(1))
    np.testing.assert_allclose(z, [1.1 * 0.75 * 0.5 + 0.02], rtol=1e-14)


@pytest.mark.parametrize(
    ("angle_deg", "shadow", "expected"),
    [
        ([0.0, 80.0], [0.0, 0.5], [True, True]),
        ([100.0, 180.0], [0.0, 0.0], [False, False]),
        ([0.0, 0.0], [1.0, 0.51], [False, False]),
        ([80.0, 100.0], [0.0, 0.0], [True, False]),
    ],
)
def test_the_coarse_sensor_is_valid_where_a_photodiode_is_lit(angle_deg, shadow, expected) -> None:
    sensor = CoarseSunSensor(rate_hz=1.0, sigma=0.01, normals_B=[[0.0, 0.0, 1.0], [0.0, 0.6, 0.8]])
    z, valid = sensor.measure(LEVEL, sun_at(np.array(angle_deg), shadow), noise(sensor, (2,)))
    assert valid.tolist() == expected
    assert (z[~valid] == 0.0).all() and (z[valid] != 0.0).all()


def test_a_dark_photodiode_says_nothing_about_the_attitude() -> None:
    H = CoarseSunSensor(rate_hz=1.0, sigma=0.1).predict(LEVEL, sun_at(30.0)).H
    np.testing.assert_array_equal(np.abs(H).max(axis=1) > 0, [True, False, False, False, True, False])


@pytest.mark.parametrize(
    ("sensor", "wrong", "named"),
    [
        (FINE, {"half_cone_deg": 181.0}, "half_cone_deg"),
        (FINE, {"max_shadow": 1.5}, "max_shadow"),
        (COARSE, {"normals_B": [1.0, 0.0, 0.0]}, "normals_B"),
        (COARSE, {"normals_B": [[1.0, 1.0, 0.0]]}, "normals_B"),
        (COARSE, {"scale": [0.1, 0.2]}, "scale"),
        (COARSE, {"sigma": -0.1}, "sigma"),
    ],
)
def test_a_wrong_parameter_is_named(sensor, wrong, named) -> None:
    with pytest.raises(InputError, match=f"^{named}: "):
        replace(sensor, **wrong)


def test_photodiodes_tell_the_direction_of_the_sun_to_their_noise() -> None:
    """Six faces, and a tilted set of eight, beside the covariance of least squares over the lit ones."""
    rng, sigma = np.random.default_rng(21), 0.01
    q = quaternion.normalize(rng.normal(size=(4000, 4)))
    tilted = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)]) / np.sqrt(3.0)
    env = sun_at(np.array(37.0))
    sun_B = quaternion.inverse_rotate(q, env.sun_I)
    for normals in (np.array(SIX_FACES), tilted):
        sensor = CoarseSunSensor(rate_hz=1.0, sigma=sigma, normals_B=normals)
        z = sensor.measure(AttitudeState(q, np.zeros(3)), env, rng.normal(size=(4000, sensor.noise_size))).z
        off = np.linalg.norm(sensor.in_body(z) - sun_B, axis=-1)
        cosines = sun_B @ normals.T
        clear = ((cosines > 6.0 * sigma) | (cosines < 0.0)).all(axis=-1)  # which ones are lit does not hang on noise
        lit = cosines[clear] > 0.0
        covariance = sigma**2 * np.linalg.inv(np.einsum("nk,ki,kj->nij", lit, normals, normals))
        sun = sun_B[clear]
        across = np.trace(covariance, axis1=1, axis2=2) - np.einsum("ni,nij,nj->n", sun, covariance, sun)
        assert clear.mean() > 0.5  # a ratio of chi-square sums over about 3000 directions: 4 sigma is 0.09
        assert abs(np.mean(off[clear] ** 2 / across) - 1.0) < 0.09 and off.max() < 12.0 * sigma
