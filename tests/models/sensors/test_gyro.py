from dataclasses import replace

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from gnc import quaternion
from gnc.models.sensors import Gyro
from gnc.models.states import AttitudeState
from tests.models.sensors.cases import GYRO, Case, noise

STILL = AttitudeState(np.array([1.0, 0.0, 0.0, 0.0]), np.zeros(3))
FIVE_SIGMA = 5.0  # two-sided false alarm 5.7e-7


def allan_variance(rates, samples):
    """Half the mean square difference of neighbouring averages over so many samples, and how many there were."""
    means = rates.reshape(len(rates), -1, samples, 3).mean(axis=2)
    differences = np.diff(means, axis=1)
    return 0.5 * np.mean(differences**2), differences.size


def test_the_reading_is_the_scaled_rate_in_misaligned_axes_plus_bias() -> None:
    x, env = Case(GYRO, "pose").world((10,))
    z, _ = GYRO.measure(x, env, np.zeros(3))
    axes = quaternion.to_scipy(GYRO.q_BS) * Rotation.from_rotvec(GYRO.misalignment)
    np.testing.assert_allclose(z, (1 + GYRO.scale) * axes.inv().apply(x.chi_B[:, :3]) + GYRO.bias, rtol=0, atol=1e-15)
    np.testing.assert_allclose(GYRO.in_body(z), x.chi_B[:, :3], rtol=0, atol=1e-15)


@pytest.mark.jit
def test_the_allan_deviation_of_the_angular_random_walk_falls_with_slope_minus_one_half() -> None:
    """For white noise the estimate of Allan's variance from n differences has the relative variance 3/n.

    False alarm: six estimates at five sigma, 3.5e-6; the slope follows from them.
    """
    gyro = Gyro(rate_hz=10.0, arw=3e-5)
    rates = gyro.measure(STILL, None, noise(gyro, (50, 4096), seed=5)).z
    times, variances = [], []
    for samples in (1, 4, 16, 64, 256, 1024):
        tau = samples / gyro.rate_hz
        variance, n = allan_variance(rates, samples)
        assert abs(variance / (gyro.arw**2 / tau) - 1) < FIVE_SIGMA * np.sqrt(3 / n)
        times, variances = [*times, tau], [*variances, variance]
    slope = np.polyfit(np.log(times[:5]), 0.5 * np.log(variances[:5]), 1)[0]
    assert abs(slope + 0.5) < 0.02


@pytest.mark.jit
def test_the_allan_deviation_of_the_bias_walk_rises_with_slope_one_half() -> None:
    """For a random walk the estimate from n differences has the relative variance 2.25/n.

    A walk sampled m times in tau has the Allan variance (K^2 tau / 3)(1 + 1/(2 m^2)). False alarm: four estimates at
    five sigma, 2.3e-6.
    """
    gyro = Gyro(rate_hz=10.0, bias_walk=2e-6)
    draws = noise(gyro, (4096, 50), seed=6)
    bias, biases = np.zeros((50, 3)), []
    for k in range(4096):
        biases.append(gyro.measure(STILL, None, np.zeros(3), bias=bias).z)
        bias = gyro.advance_bias(bias, draws[k], 1.0 / gyro.rate_hz)
    rates = np.stack(biases, axis=1)
    times, variances = [], []
    for samples in (4, 16, 64, 256):
        tau = samples / gyro.rate_hz
        variance, n = allan_variance(rates, samples)
        expected = gyro.bias_walk**2 * tau / 3 * (1 + 0.5 / samples**2)
        assert abs(variance / expected - 1) < FIVE_SIGMA * np.sqrt(2.25 / n)
        times, variances = [*times, tau], [*variances, variance / (1 + 0.5 / samples**2)]
    assert abs(np.polyfit(np.log(times), 0.5 * np.log(variances), 1)[0] - 0.5) < 0.03


def test_the_bias_walks_as_far_in_many_short_steps_as_in_one_long() -> None:
    """False alarm: two variances of 30 000 numbers at five sigma, 1.1e-6."""
    gyro = Gyro(rate_hz=1.0, bias_walk=0.5)
    draws = noise(gyro, (8, 10_000), seed=7)
    many = np.zeros((10_000, 3))
    for k in range(8):
        many = gyro.advance_bias(many, draws[k], 0.25)
    once = gyro.advance_bias(np.zeros((10_000, 3)), draws[0], 2.0)
    for walked in (many, once):
        assert abs(np.mean(walked**2) / (0.25 * 2.0) - 1) < FIVE_SIGMA * np.sqrt(2 / walked.size)


def test_advancing_the_bias_broadcasts_a_dispersed_walk() -> None:
    gyro = Gyro(rate_hz=1.0, bias_walk=[1.0, 2.0])
    np.testing.assert_array_equal(gyro.advance_bias(np.zeros(3), np.ones(3), 4.0), [[2.0] * 3, [4.0] * 3])


@pytest.mark.parametrize(("ranges", "expected"), [(10.0, [1, 1]), (1e-3, [0, 0]), ([10.0, 1e-3], [1, 0])])
def test_an_axis_beyond_its_range_makes_a_trial_invalid(ranges, expected) -> None:
    x, env = Case(GYRO, "attitude").world((2,))
    z, valid = replace(GYRO, range_rad_s=ranges).measure(x, env, noise(GYRO, (2,)))
    assert valid.tolist() == [bool(v) for v in expected]
    assert (z[~valid] == 0.0).all() and (z[valid] != 0.0).all()
