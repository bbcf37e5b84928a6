"""Work that only some trials need: the bits of `where`, without the work."""

from typing import NamedTuple

import numpy as np
import pytest

from gnc.batch import Assembly, batched, chosen, when, where
from gnc.batch.layout import Layout
from gnc.batch.program import Recorder, of_steps

pytestmark = pytest.mark.jit


class Pair(NamedTuple):
    x: np.ndarray
    on: np.ndarray
    name: str = "pair"


@batched("(3),()->(3)")
def turn(x, h):
    return np.sin(x) + h * x[::-1]


@batched("(3)->(3)")
def shrink(x):
    return 0.5 * x


def mode(pair, h):
    """A function of kernels, with arithmetic, a test and a repeated kernel."""
    x = turn(pair.x, h) + 1.0
    x = when(pair.x[..., 1] > 0.0, lambda y: shrink.repeat(2, y), (x,), x)
    return Pair(x, pair.x[..., 0] > 0.5)


def step(x):
    pair = Pair(x, x[..., 0] > 2.0)
    return when(x[..., 0] > 0.0, mode, (pair, 0.1), pair)


def recorded(trials):
    recorder = Recorder(trials)
    symbols = recorder.state((3,))
    with recorder.recording():
        pair = step(symbols)
        return recorder.program(list(pair.x), [pair.on])


@pytest.mark.parametrize("trials", [1, 3, 4, 9, 64])
@pytest.mark.parametrize("share", [0.0, 0.1, 1.0], ids=["in no trial", "in some", "in all"])
def test_a_recorded_choice_has_the_bits_of_one_on_arrays(trials, share):
    rng = np.random.default_rng(trials)
    x = rng.normal(size=(trials, 3))
    x[:, 0] = np.where(rng.uniform(size=trials) < share, 1.0, -1.0) * np.abs(x[:, 0])
    state, on = x.copy(), np.empty((4, trials, 1))
    recorded(trials).run(state, [], 4, of_steps(on))
    for k in range(4):
        pair = step(x)
        x = pair.x
        assert np.array_equal(on[k, :, 0] != 0.0, pair.on)
    assert state.tobytes() == x.tobytes()


def test_a_call_that_no_trial_of_a_tile_needs_is_skipped():
    """What a skipped call leaves are zeros; a result that is not selected by the test shows them."""
    recorder = Recorder(8)
    x, on = recorder.state((3,)), recorder.state(())
    with recorder.recording(), recorder.masked(on > 0.5):
        skipped = turn(x, 1.0)
    program = recorder.program([*skipped, on])
    state = np.ones((8, 4))
    state[:4, 3] = 0.0  # one tile, or half of one
    state[7, 3] = 0.0
    program.run(state, [], 1)
    assert (state[4:, :3] == np.sin(1.0) + 1.0).all()  # a tile in which any trial needs the call computes all of it
    assert (state[:4, :3] == 0.0).all() or (state[:4, :3] == state[4, :3]).all()


def test_the_same_call_outside_is_another_call():
    recorder = Recorder(2)
    x = recorder.state((3,))
    with recorder.recording():
        with recorder.masked(x[0] > 100.0):
            turn(x, 0.5)
        program = recorder.program(list(turn(x, 0.5)))
    state = np.full((2, 3), 0.3)
    program.run(state, [], 1)
    np.testing.assert_array_equal(state, turn(np.full((2, 3), 0.3), 0.5))


def test_inside_kernels_and_assemblies_it_is_a_where():
    def function(x):
        return when(x[0] > 0.0, turn, (x, 0.1), x)

    layout = Layout.parse("(3)->(3)", ("x",))
    x = np.random.default_rng(0).normal(size=(7, 3))
    expected = np.where(x[:, :1] > 0.0, turn(x, 0.1), x)
    for kernel in (batched("(3)->(3)")(function), Assembly(function, layout)):
        np.testing.assert_array_equal(kernel(x), expected)


def test_on_arrays_nothing_is_called_for_no_trial():
    assert when(np.zeros(3, bool), pytest.fail, ("called",), "otherwise") == "otherwise"


def test_states_are_chosen_leaf_by_leaf():
    a, b = Pair(np.ones((2, 3)), np.ones(2, bool)), Pair(np.zeros((2, 3)), np.zeros(2, bool))
    pair = chosen(np.array([True, False]), a, b)
    np.testing.assert_array_equal(pair.x, [[1.0] * 3, [0.0] * 3])
    np.testing.assert_array_equal(pair.on, [True, False])
    assert pair.name == "pair" and where(True, 1.0, 2.0) == 1.0
