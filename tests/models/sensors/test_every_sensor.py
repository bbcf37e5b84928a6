"""Laws that every sensor obeys, over the table of `cases.py`."""

import pickle
from dataclasses import fields, replace

import numpy as np
import pytest

from gnc.models.sensors import Sensor
from tests.models.sensors.cases import CASES, Case, moved, noise

STEP = 1e-4  # of central differences: errors of 2e-9 from the third derivative, 1e-10 from round-off at 50 m
FIVE_SIGMA = 5.0  # two-sided false alarm 5.7e-7 for each number compared

every_case = pytest.mark.parametrize("case", CASES, ids=str)


def trial(x, k):
    return type(x)(*(a[k] for a in x))


def disperse(sensor, n, seed=3):
    """Return the sensor with every parameter that may differ between trials a little different in each of n."""
    rng = np.random.default_rng(seed)
    changes = {}
    for f in fields(sensor):
        value = getattr(sensor, f.name)
        if not f.init or f.name in ("rate_hz", "latency_s") or not np.all(np.isfinite(value)):
            continue
        factor = 1.0 - 0.05 * rng.random((n,) + (1,) * np.ndim(value))
        unit = f.name in ("q_BS", "dq_BS", "normals_B")
        changes[f.name] = np.broadcast_to(value, (n, *np.shape(value))) * (1.0 if unit else factor)
    return replace(sensor, **changes), changes


@every_case
def test_H_is_the_derivative_of_the_residual(case: Case) -> None:
    x, env = case.world((20,))
    z, H, _ = case.sensor.predict(x, env)
    n = 6 if case.kind == "attitude" else 12
    assert H.shape[-1] == n
    columns = []
    for e in STEP * np.eye(n):
        ahead, behind = (case.sensor.predict(moved(x, s * np.broadcast_to(e, (20, n))), env).z for s in (1, -1))
        columns.append((case.sensor.residual(ahead, z) - case.sensor.residual(behind, z)) / (2 * STEP))
    difference = np.stack(columns, -1)
    np.testing.assert_allclose(np.broadcast_to(H, difference.shape), difference, atol=1e-8 * np.abs(H).max(), rtol=0)


@every_case
def test_H_bias_is_the_derivative_of_the_residual_with_respect_to_the_bias(case: Case) -> None:
    x, env = case.world((5,))
    m = case.sensor.predict(x, env).R.shape[-1]
    assert case.sensor.H_bias.shape == (m, case.sensor.bias_size)
    if case.sensor.bias_size:
        b = 1e-3 * np.arange(1.0, case.sensor.bias_size + 1)
        residual = case.sensor.residual
        change = residual(case.sensor.predict(x, env, bias=b).z, case.sensor.predict(x, env, bias=0 * b).z)
        np.testing.assert_allclose(
            change, np.broadcast_to(case.sensor.H_bias @ b, change.shape), rtol=1e-12, atol=1e-13
        )
        still = 0.0 * noise(case.sensor, (5,))
        measured = [case.sensor.measure(x, env, still, bias=s * b).z for s in (1e-3, 0.0)]
        np.testing.assert_allclose(residual(*measured), change * 1e-3, rtol=1e-6, atol=1e-12)


@every_case
def test_without_noise_the_measurement_of_a_state_is_its_prediction(case: Case) -> None:
    x, env = case.world((20,))
    z, valid = case.sensor.measure(x, env, np.zeros((20, case.sensor.noise_size)))
    assert valid.all()
    np.testing.assert_array_equal(z, case.sensor.predict(x, env).z)


@pytest.mark.jit
@every_case
def test_the_residual_of_a_measurement_has_mean_zero_and_covariance_R(case: Case) -> None:
    """False alarm: at most 27 numbers at five sigma, 1.5e-5 for each case."""
    samples = 20_000
    x, env = case.world()
    z, _, R = case.sensor.predict(x, env)
    measured = case.sensor.measure(x, env, noise(case.sensor, (samples,), seed=11))
    assert measured.valid.all()
    white = np.linalg.solve(np.linalg.cholesky(R), case.sensor.residual(measured.z, z).T)
    m = len(white)
    assert np.abs(white.mean(axis=1)).max() < FIVE_SIGMA / np.sqrt(samples)
    spread = np.sqrt((1 + np.eye(m)) / samples)  # of the elements of a sample covariance
    assert (np.abs(white @ white.T / samples - np.eye(m)) / spread).max() < FIVE_SIGMA


@every_case
@pytest.mark.parametrize("shape", [(7,), (2, 3)])
def test_a_batch_has_the_bits_of_its_trials_alone(case: Case, shape: tuple[int, ...]) -> None:
    x, env = case.world(shape)
    draws = noise(case.sensor, shape)
    together, predicted = case.sensor.measure(x, env, draws), case.sensor.predict(x, env)
    residual = case.sensor.residual(together.z, predicted.z)
    assert together.valid.shape == shape and together.valid.dtype == bool
    for k in np.ndindex(shape):
        x_k, env_k = trial(x, k), trial(env, k)
        z, valid = case.sensor.measure(x_k, env_k, draws[k])
        np.testing.assert_array_equal(z, together.z[k])
        assert valid == together.valid[k]
        for alone, batch in zip(case.sensor.predict(x_k, env_k), predicted, strict=True):
            core = batch[k] if batch.shape[: len(shape)] == shape else batch
            np.testing.assert_array_equal(alone, core)
        np.testing.assert_array_equal(case.sensor.residual(z, predicted.z[k]), residual[k])


@every_case
def test_dispersed_parameters_give_each_trial_its_own_sensor(case: Case) -> None:
    n = 4
    x, env = case.world((n,))
    draws = noise(case.sensor, (n,))
    dispersed, changes = disperse(case.sensor, n)
    together, predicted = dispersed.measure(x, env, draws), dispersed.predict(x, env)
    assert len(changes) >= 4
    for k in range(n):
        alone = replace(case.sensor, **{name: value[k] for name, value in changes.items()})
        np.testing.assert_array_equal(alone.measure(trial(x, k), trial(env, k), draws[k]).z, together.z[k])
        for mine, ours in zip(alone.predict(trial(x, k), trial(env, k)), predicted, strict=True):
            np.testing.assert_array_equal(mine, ours[k] if ours.ndim > mine.ndim else ours)


@every_case
def test_dispersed_parameters_spread_one_shared_state_over_the_trials(case: Case) -> None:
    x, env = case.world()
    dispersed, _ = disperse(case.sensor, 3)
    z, valid = dispersed.measure(x, env, np.zeros(case.sensor.noise_size))
    assert z.shape[0] == 3 and valid.shape == (3,)
    assert len(np.unique(z, axis=0)) == 3


@every_case
def test_a_lost_trial_is_not_valid_and_touches_no_other(case: Case) -> None:
    x, env = case.world((3,))
    draws = noise(case.sensor, (3,))
    healthy = case.sensor.measure(x, env, draws)
    lost = type(x)(*(np.where(np.arange(3)[:, None] == 1, np.nan, a) for a in x))
    z, valid = case.sensor.measure(lost, env, draws)
    assert healthy.valid.all() and valid.tolist() == [True, False, True]
    np.testing.assert_array_equal(z[1], 0.0)
    np.testing.assert_array_equal(z[[0, 2]], healthy.z[[0, 2]])


@every_case
def test_z_is_finite_whatever_is_not(case: Case) -> None:
    """NaN in any field of the truth or the environment, by itself, and in the noise, in sunlight and in the umbra."""
    x, env = case.world((2,))
    draws = noise(case.sensor, (2,))
    for here in (env, env._replace(shadow=np.ones(2))) if hasattr(env, "shadow") else (env,):
        attempts = [(x._replace(**{name: np.nan * getattr(x, name)}), here, draws) for name in x._fields]
        attempts += [(x, here._replace(**{name: np.nan * getattr(here, name)}), draws) for name in here._fields]
        attempts += [(x, here, np.nan * draws)]
        for attempt in attempts:
            z, valid = case.sensor.measure(*attempt)
            assert np.isfinite(z).all()
            assert ((z != 0.0).any(axis=-1) == valid).all()
        assert not valid.any()


@every_case
def test_the_residual_of_an_invalid_measurement_is_finite(case: Case) -> None:
    x, env = case.world((3,))
    predicted = case.sensor.predict(x, env).z
    residual = case.sensor.residual(np.zeros_like(predicted), predicted)
    assert residual.shape[-1] == case.sensor.predict(x, env).R.shape[-1]
    assert np.isfinite(residual).all()


@every_case
def test_a_sensor_can_be_replaced_pickled_and_used_as_a_key(case: Case) -> None:
    sensor: Sensor = case.sensor
    x, env = case.world()
    draws = noise(sensor)
    expected = sensor.measure(x, env, draws)
    for copy in (replace(case.sensor), pickle.loads(pickle.dumps(sensor))):
        np.testing.assert_array_equal(copy.measure(x, env, draws).z, expected.z)
    assert {sensor: 1}[sensor] == 1
