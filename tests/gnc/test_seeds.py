"""Generators of many trials: the numbers of NumPy's SeedSequence, to the bit."""

import numpy as np
import pytest

from gnc.noise import generators

TRIALS = [0, 1, 2, 1000, 2**31, 2**32 - 1]


@pytest.mark.parametrize("seed", [0, 1, 12345, 2**32 - 1, 2**32, 2**63 + 7, 2**64 - 1])
@pytest.mark.parametrize("words", [(0, 0), (1, 2**32 - 1), (0x9E3779B9, 0x7F4A7C15)])
def test_they_are_seeded_as_one_by_one(seed, words):
    for trial, made in zip(TRIALS, generators(seed, TRIALS, words), strict=True):
        known = np.random.Generator(np.random.PCG64(np.random.SeedSequence(seed, spawn_key=(trial, *words))))
        assert made.bit_generator.state == known.bit_generator.state
        np.testing.assert_array_equal(made.standard_normal(5), known.standard_normal(5))


def test_random_seeds_and_keys_too():
    rng = np.random.default_rng(0)
    for _ in range(200):
        seed, trial, *words = (int(x) for x in rng.integers(0, [2**63, 2**32, 2**32, 2**32]))
        known = np.random.PCG64(np.random.SeedSequence(seed, spawn_key=(trial, *words)))
        for alone_or_not in ([trial], [trial, 0, 1, 2, 3]):
            assert generators(seed, alone_or_not, words)[0].bit_generator.state == known.state


def test_no_trials_make_no_generators():
    assert generators(3, [], (1, 2)) == []
