"""A trial's numbers come from (seed, trial, stream name), and from nothing else."""

import multiprocessing

import numpy as np
import pytest
from scipy import stats

from gnc import noise
from gnc.errors import InputError

DRAWS = [noise.normal, noise.uniform]
PINNED_NORMAL = [-0.400212455351529, 0.265812251849745]
PINNED_UNIFORM = [0.660876500816953, 0.6680588232739122]


@pytest.mark.parametrize("draw", DRAWS)
def test_a_trial_does_not_depend_on_how_many_run_with_it(draw) -> None:
    many = draw(7, 1000, "gyro", (5, 3))
    for trial in (0, 137, 999):
        assert draw(7, [trial], "gyro", (5, 3)).tobytes() == many[trial].tobytes()
    assert draw(7, 138, "gyro", (5, 3)).tobytes() == many[:138].tobytes()


@pytest.mark.parametrize("draw", DRAWS)
def test_a_trial_does_not_depend_on_chunks_or_order(draw) -> None:
    whole = draw(7, 100, "gyro", 4)
    chunks = [draw(7, np.arange(start, min(start + 33, 100)), "gyro", 4) for start in range(0, 100, 33)]
    assert np.concatenate(chunks).tobytes() == whole.tobytes()
    order = np.roll(np.arange(100), 41)[::-1]
    assert draw(7, order, "gyro", 4).tobytes() == whole[order].tobytes()


def test_a_trial_does_not_depend_on_the_process() -> None:
    here = noise.normal(7, 12, "gyro", (2, 3))
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        there = pool.starmap(noise.normal, [(7, [trial], "gyro", (2, 3)) for trial in range(12)])
    assert np.concatenate(there).tobytes() == here.tobytes()


def test_a_longer_run_begins_with_the_numbers_of_the_shorter_one() -> None:
    assert (noise.normal(7, 3, "gyro", (200, 3))[:, :50] == noise.normal(7, 3, "gyro", (50, 3))).all()


def test_the_batch_draws_what_the_stream_of_the_trial_draws() -> None:
    assert (noise.stream(7, 2, "gyro").standard_normal((4, 3)) == noise.normal(7, 3, "gyro", (4, 3))[2]).all()
    assert (noise.stream(7, 2, "gyro").random((4, 3)) == noise.uniform(7, 3, "gyro", (4, 3))[2]).all()


def test_the_numbers_of_a_seed_stay_what_they_are() -> None:
    """Written down once: a change of NumPy's streams or of the key would silently change every published result."""
    assert noise.normal(2024, [0, 137], "gyro").tolist() == PINNED_NORMAL
    assert noise.uniform(2024, [0, 137], "gyro").tolist() == PINNED_UNIFORM


def test_another_seed_trial_or_name_gives_another_stream() -> None:
    keys = [(s, t, n) for s in (0, 1, 2**32, 2**63) for t in (0, 1, 2**31) for n in ("a", "b", "ab", "A", "\u03c9")]
    first = {float(noise.stream(*key).random()) for key in keys}
    assert len(first) == len(keys)


def test_streams_are_uncorrelated() -> None:
    """40 streams that differ in one of seed, trial and name; false alarm below 1e-6 for a random choice of seeds.

    The correlation of two independent normal streams of n numbers, times sqrt(n), is standard normal to good
    approximation, so with m pairs the largest exceeds norm.isf(1e-6 / 2 m) with probability below 1e-6.
    """
    n = 20_000
    streams = [(11, trial, "gyro") for trial in range(20)]
    streams += [(11, 0, f"gyro{k}") for k in range(10)] + [(seed, 0, "gyro") for seed in range(10)]
    x = np.array([noise.stream(*key).standard_normal(n) for key in streams])
    correlation = np.corrcoef(x)[np.triu_indices(len(streams), k=1)]
    assert np.abs(correlation).max() * np.sqrt(n) < stats.norm.isf(1e-6 / (2 * correlation.size))


def test_numbers_across_trials_are_normal_and_uniform() -> None:
    """Kolmogorov-Smirnov on the first number of each of 10 000 trials; false alarm 1e-6 each for a random seed."""
    assert stats.kstest(noise.normal(3, 10_000, "first"), "norm").pvalue > 1e-6
    assert stats.kstest(noise.uniform(3, 10_000, "first"), "uniform").pvalue > 1e-6


def test_mean_and_variance_are_those_of_the_standard_normal() -> None:
    """A million numbers; each bound at the two-sided 1e-6 quantile, so a random seed fails with 2e-6."""
    x = noise.normal(3, 1000, "moments", 1000).ravel()
    z = stats.norm.isf(0.5e-6)
    assert abs(x.mean()) < z / np.sqrt(x.size)
    assert abs((x**2).mean() - 1) < z * np.sqrt(2 / x.size)


@pytest.mark.parametrize(
    ("trials", "shape", "expected"),
    [(3, (), (3,)), (3, 2, (3, 2)), (0, 2, (0, 2)), ([], (2, 2), (0, 2, 2)), ([9], (0, 2), (1, 0, 2))],
)
def test_the_shape_is_trials_first(trials, shape, expected) -> None:
    assert noise.normal(1, trials, "a", shape).shape == expected


def test_a_single_trial_number_in_an_array_is_a_trial_and_not_a_count() -> None:
    assert noise.normal(1, np.array([7]), "a").tolist() == [noise.normal(1, 8, "a")[7]]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ((-1, 3, "a"), "seed: expected a whole number from 0 to 18446744073709551615, got -1"),
        ((2**64, 3, "a"), "seed: expected a whole number from 0"),
        ((1.5, 3, "a"), "seed: expected a whole number, got 1.5"),
        ((True, 3, "a"), "seed: expected a whole number"),
        ((1, -3, "a"), "trials: expected a whole number from 0 to 4294967295, got -3"),
        ((1, [0, -3], "a"), "trials: expected a whole number from 0 to 4294967295, got -3"),
        ((1, [0.5], "a"), "trials: expected a whole number, got 0.5"),
        ((1, 3, ""), "name: expected the name of a stream, got ''"),
        ((1, 3, 5), "name: expected the name of a stream, got 5"),
        ((1, 3, "a", -1), "shape: expected a whole number from 0"),
    ],
)
def test_wrong_input_is_named(arguments, says: str) -> None:
    with pytest.raises(InputError) as caught:
        noise.normal(*arguments)
    assert str(caught.value).startswith(says)


def test_a_stream_refuses_what_the_batch_refuses() -> None:
    for arguments in ((-1, 0, "a"), (0, -1, "a"), (0, 2**32, "a"), (0, 0, "")):
        with pytest.raises(InputError):
            noise.stream(*arguments)


def test_a_walk_is_the_sum_of_its_steps_across_blocks_and_given_back() -> None:
    steps = noise.normal(3, [5, 1], "walk", (200, 2))
    walk = noise.Walk(noise.Stream(3, [5, 1], "walk", 2))
    for k in range(100):
        np.testing.assert_allclose(walk.next(), steps[:, : k + 1].sum(axis=1), rtol=0, atol=1e-13)
    taken = walk.take(20).copy()
    walk.give_back(20)
    assert np.array_equal(taken, walk.take(20))
    np.testing.assert_allclose(taken[:, -1], steps[:, :120].sum(axis=1), rtol=0, atol=1e-13)
