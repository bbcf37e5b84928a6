"""Tiles are read and written right whatever lies where, and vectors of trials that take turns do not mix."""

import numpy as np
import pytest

from gnc.batch import batched, compiled
from gnc.batch.tape import Tape
from gnc.batch.vector_code import TURN

DOUBLES = {
    shape: batched(f"({','.join(map(str, shape))})->({','.join(map(str, shape))})")(lambda x: x * 2.0)
    for shape in [(), (1,), (2,), (3,), (4,), (5,), (7,), (8,), (3, 3), (2, 4), (6, 6)]
}
ARRANGED = {
    "side by side": lambda x: x.copy(),
    "trials innermost": np.asfortranarray,
    "every second trial": lambda x: np.repeat(x, 2, axis=0)[::2],
    "backwards": lambda x: x[::-1].copy()[::-1],
    "numbers apart": lambda x: np.repeat(x, 3, axis=-1)[..., ::3],
    "part of a row": lambda x: np.concatenate([x, x + 1.0], axis=-1)[..., : x.shape[-1]],
}


@pytest.mark.parametrize("arrange", ARRANGED.values(), ids=ARRANGED.keys())
@pytest.mark.parametrize("shape", DOUBLES, ids=str)
def test_every_number_goes_to_its_place(shape, arrange):
    kernel = DOUBLES[shape]
    for trials in (1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 33, 70):
        x = np.arange(1.0, trials * np.prod(shape, dtype=int) + 1.0).reshape(trials, *shape)
        given = arrange(x) if shape else x
        assert np.array_equal(kernel(given), 2.0 * x)
        wide = np.zeros((2 * trials, *shape))
        kernel(given, out=wide[::2])
        assert np.array_equal(wide[::2], 2.0 * x) and not wide[1::2].any()


@batched("(3),(3)->(3)")
def _waiting(x, a):
    """Take square roots by Newton's method: operations that wait for each other, for several turns."""
    for _ in range(40):
        x = 0.5 * (x + a / x)
    return x


def test_vectors_that_take_turns_keep_their_trials_apart():
    tape, _ = _waiting.tape
    assert compiled._vectors(tape) == 2 and len(tape.entries) > 2 * TURN
    rng = np.random.default_rng(0)
    for trials in (2, 4, 7, 8, 13, 16, 40):
        a = rng.uniform(0.1, 10.0, (trials, 3))
        a[trials // 2] = np.nan  # in the second vector of a full tile
        x = np.ones((trials, 3))
        assert np.array_equal(_waiting(x, a), _waiting._interpret(np.ones(()), (x, a)), equal_nan=True)
        counts = rng.integers(0, 4, trials).astype(float)
        assert np.array_equal(_waiting.repeat(counts, x, a), _waiting._interpret(counts, (x, a)), equal_nan=True)
        healthy = np.arange(trials) != trials // 2
        assert np.abs(_waiting(x, a) - np.sqrt(a))[healthy].max() < 1e-15 * 10.0


def test_the_longest_chain_counts_what_waits_and_not_what_could_run_beside_it():
    tape = Tape()
    x, y = tape.input(), tape.input()
    assert tape.chain() == 0
    _ = (x + 1.0) * (y + 2.0) + (x - y)  # three deep, and two that wait for nothing else
    assert tape.chain() == 3
    np.sqrt(x / y)
    assert tape.chain() == 10


def test_sums_and_products_are_recorded_once_in_either_order():
    tape = Tape()
    x, y = tape.input(), tape.input()
    assert (x + y).index == (y + x).index and (x * y).index == (y * x).index
    assert (x - y).index != (y - x).index and (x / y).index != (y / x).index
