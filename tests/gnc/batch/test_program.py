"""Programs of kernels: the bits of calls from Python, for any number of trials and steps."""

import numpy as np
import pytest

from gnc.batch import as_numbers, batched, chosen, when
from gnc.batch.kernel import recording
from gnc.batch.program import Recorder, of_all, of_steps, of_trials

pytestmark = pytest.mark.jit


@batched("(3),(3,3),()->(3),()")
def push(x, A, h):
    """Return the next x, and its square."""
    return x + h * (A @ x), x @ x


@batched("(2)->(2)")
def halve(x):
    """Return half of x: made to be repeated."""
    return 0.5 * x


def flat(*arrays):
    return [x for a in arrays for x in np.ravel(np.asarray(a, object))]


def drawn(trials, steps=7):
    rng = np.random.default_rng(3)
    return rng.normal(size=(trials, 3)), rng.normal(size=(trials, 3, 3)), rng.normal(size=(trials, steps, 3))


def move(x, noise, A):
    """Kernels with arithmetic between them."""
    x, square = push(x, A, 0.1)
    return x + 0.25 * noise, chosen(square > 1.0, square, -1.0)


def moving(trials, A):
    """The program of `move`, without what comes out of every step."""
    recorder = Recorder(trials)
    symbols, draw = recorder.state((3,)), recorder.timed((3,))
    with recorder.recording():
        return recorder.program(flat(move(symbols, draw, A)[0]))


@pytest.mark.parametrize("trials", [1, 2, 3, 4, 5, 8, 9, 100])
@pytest.mark.parametrize("own", [True, False], ids=["each its own matrix", "one matrix"])
def test_a_program_has_the_bits_of_its_kernels_called_from_python(trials, own):
    x, A, noise = drawn(trials)
    A = A if own else A[0]
    recorder = Recorder(trials)
    symbols, draw = recorder.state((3,)), recorder.timed((3,))
    with recorder.recording():
        moved, made = move(symbols, draw, A)
        program = recorder.program(flat(moved), flat(made))
    state, out = x.copy(), np.empty((7, trials, 1))
    program.run(state, [of_trials(noise)], 7, of_steps(out))
    for k in range(7):
        x, made = move(x, noise[:, k], A)
        assert out[k, :, 0].tobytes() == made.tobytes()
    assert state.tobytes() == x.tobytes()


@pytest.mark.parametrize("trials", [1, 9])
def test_a_state_may_trade_places_and_stay_while_what_it_was_comes_out(trials):
    rng = np.random.default_rng(5)
    start = rng.normal(size=(trials, 30))
    recorder = Recorder(trials)
    x = recorder.state((30,))
    with recorder.recording():
        moved = [x[1], x[0], *halve(x[3:5]), x[2] + x[0], *x[5:28], x[29], x[28] * x[28]]
        program = recorder.program(moved, [x[0], x[28], x[20]])
    state, out = start.copy(), np.empty((3, trials, 3))
    program.run(state, [], 3, of_steps(out))
    y = start.copy()
    for k in range(3):
        assert out[k].tobytes() == y[:, [0, 28, 20]].tobytes()
        new = y.copy()
        new[:, 0], new[:, 1], new[:, 2:4], new[:, 4] = y[:, 1], y[:, 0], 0.5 * y[:, 3:5], y[:, 2] + y[:, 0]
        new[:, 28], new[:, 29] = y[:, 29], y[:, 28] * y[:, 28]
        y = new
    assert state.tobytes() == y.tobytes()


@batched("(2),(2)->(2)")
def halved_beside(x, y):
    """Return half of x, and y: made to be repeated."""
    return 0.5 * x + y


@pytest.mark.parametrize("trials", [1, 9])
def test_what_a_repeated_kernel_works_on_is_left_to_those_who_need_it(trials):
    x = np.random.default_rng(4).normal(size=(trials, 2))

    def made(x):
        a = halve.repeat(2, x)
        b = halve.repeat(3, a)  # the only one that needs a: it may work on a itself
        c = halved_beside.repeat(2, b, b)  # needs b twice
        d = halve.repeat(1, c)
        return d, halved_beside.repeat(2, c, d)  # needs c once more

    recorder = Recorder(trials)
    symbols = recorder.state((2,))
    with recorder.recording():
        program = recorder.program(flat(symbols + 1.0), flat(*made(symbols)))
    state, out = x.copy(), np.empty((2, trials, 4))
    program.run(state, [], 2, of_steps(out))
    for k in range(2):
        assert out[k].tobytes() == np.concatenate(made(x + k), axis=-1).tobytes()


def test_two_runs_are_one_long_run():
    x, A, noise = drawn(6)
    program = moving(6, A)
    once, twice = x.copy(), x.copy()
    program.run(once, [of_trials(noise)], 7)
    program.run(twice, [of_trials(noise[:, :3])], 3)
    program.run(twice, [of_trials(noise[:, 3:])], 4)
    assert once.tobytes() == twice.tobytes()


def test_repeated_kernels_take_counts_of_each_trial_and_lose_a_trial_whose_count_is_nan():
    recorder = Recorder(5)
    x, n = recorder.state((2,)), recorder.state(())
    with recorder.recording():
        program = recorder.program(flat(halve.repeat(n, x), n))
    state = np.array([[8.0, 4.0, c] for c in (0.0, 1.0, 3.0, np.nan, 2.0)])
    expected = halve.repeat(state[:, 2].copy(), state[:, :2].copy())
    program.run(state, [], 1)
    np.testing.assert_array_equal(state[:, :2], expected)
    np.testing.assert_array_equal(state[:, :2], [[8, 4], [4, 2], [1, 0.5], [np.nan] * 2, [2, 1]])


def test_a_lost_trial_harms_no_other():
    x, A, noise = drawn(4)
    program = moving(4, A)
    good, bad = x.copy(), x.copy()
    bad[1, 0] = np.nan
    for state in (good, bad):
        program.run(state, [of_trials(noise)], 7)
    assert np.isnan(bad[1]).any() and bad[[0, 2, 3]].tobytes() == good[[0, 2, 3]].tobytes()


def test_an_input_that_all_trials_share_and_one_that_nothing_depends_on():
    recorder = Recorder(3)
    x, _, shared = recorder.state(()), recorder.timed((2,)), recorder.timed(())
    with recorder.recording():
        program = recorder.program(flat(x + shared))
    assert program.used == [False, True]
    state = np.array([[1.0], [2.0], [3.0]])
    program.run(state, [None, of_all(np.array([10.0, 20.0]))], 2)
    np.testing.assert_array_equal(state, [[31.0], [32.0], [33.0]])


def test_other_values_of_a_parameter_need_no_other_code():
    def recorded(A):
        recorder = Recorder(2)
        x = recorder.state((3,))
        with recorder.recording():
            push(x, A, 0.1)
        return recorder.tape.entries

    assert recorded(np.eye(3)) == recorded(np.ones((3, 3)))


def test_zeros_are_computed_with_as_numpy_does():
    """In kernels a zero that is a constant vanishes; between them 0 * NaN is NaN and 0 + -0 is 0."""

    def blend(x):
        return np.zeros(3) * x + (0.0 + 1.0 * x)

    x = np.array([[np.nan, -0.0, 2.0], [np.inf, 1.0, -3.0]])
    recorder = Recorder(2)
    symbols = recorder.state((3,))
    with recorder.recording():
        program = recorder.program(flat(blend(symbols)))
    state = x.copy()
    program.run(state, [], 1)
    with np.errstate(invalid="ignore"):
        expected = blend(x)
    np.testing.assert_array_equal(state, expected)
    np.testing.assert_array_equal(np.signbit(state[:, 1]), np.signbit(expected[:, 1]))


def test_what_numpy_does_elementwise_is_recorded():
    def function(x):
        on = np.isnan(x) | ~(np.abs(x) <= 1.0) & (x[..., :1] > 0.0)
        y = np.where(on, np.copysign(0.5, x), np.sqrt(np.abs(x)) / np.square(x[..., ::-1]))
        return np.where(np.isfinite(y) & np.logical_not(on), y, -x)

    x = np.random.default_rng(1).normal(size=(9, 3))
    x[3, 1], x[5, 2] = np.nan, 0.0
    recorder = Recorder(9)
    symbols = recorder.state((3,))
    with recorder.recording():
        program = recorder.program(flat(function(symbols)))
    state = x.copy()
    program.run(state, [], 1)
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(state, function(x))


def test_a_number_of_every_trial_is_like_an_array_without_its_axis():
    recorder = Recorder(2)
    x, y = recorder.state(()), recorder.state((1,))
    assert np.shape(x) == x.shape == () and hasattr(x, "shape") and x.reshape(1).shape == y.shape
    with recorder.recording():
        program = recorder.program([x.reshape(1)[0] + y[0], y.reshape() * 2.0])
    state = np.array([[1.0, 2.0], [3.0, 4.0]])
    program.run(state, [], 1)
    np.testing.assert_array_equal(state, [[3.0, 4.0], [7.0, 8.0]])


def test_tests_are_carried_as_ones_and_zeros():
    recorder = Recorder(2)
    x = recorder.state(())
    with recorder.recording():
        program = recorder.program(flat(as_numbers(x > 0.5)), flat(x > 0.5))
    state, out = np.array([[0.0], [1.0]]), np.empty((1, 2, 1))
    program.run(state, [], 1, of_steps(out))
    np.testing.assert_array_equal(state, [[0.0], [1.0]])
    np.testing.assert_array_equal(out[0], [[0.0], [1.0]])


def test_outside_of_programs_as_numbers_gives_floats():
    np.testing.assert_array_equal(as_numbers(np.array([True, False])), [1.0, 0.0])
    assert as_numbers(True).dtype == float and not recording()


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (lambda x: push(x, np.ones((4, 3, 3)), 0.1), r"push: A: expected \(3, 3\) or \(2, 3, 3\), got \(4, 3, 3\)"),
        (lambda x: push(x[:2], np.ones((3, 3)), 0.1), r"push: x: expected \(3,\), got \(2,\)"),
        (lambda x: push(x, np.ones((3, 3))), "push: expected 3 arguments, got 2"),
        (lambda x: 1.0 if x[0] > 0.0 else 2.0, "may not branch"),
        (lambda x: float(x[0]), "has no float value"),
        (lambda x: np.sin(x), "sin between kernels would not have NumPy's bits"),
        (lambda x: x**3, "a power between kernels would not have NumPy's bits"),
        (lambda x: np.clip(x, 0.0, 1.0), "may not branch"),
        (lambda x: np.sum(x), r"add.reduce between kernels"),
        (lambda x: np.ones((3, 3)) @ x, r"matmul between kernels"),
    ],
)
def test_what_cannot_be_recorded_says_so(wrong, message):
    recorder = Recorder(2)
    x = recorder.state((3,))
    with recorder.recording(), pytest.raises((TypeError, ValueError), match=message):
        wrong(x)
    assert not recording()


def test_a_state_that_changes_its_size_is_refused():
    recorder = Recorder(2)
    x = recorder.state((3,))
    with pytest.raises(ValueError, match="3 numbers before a step and 2 after"):
        recorder.program(flat(x[:2]))


def test_a_program_is_run_on_what_it_was_recorded_for_only():
    recorder = Recorder(2)
    x = recorder.state((3,))
    program = recorder.program(flat(x), flat(x[0]))
    for state in (np.zeros((3, 3)), np.zeros((2, 3), np.float32), np.zeros((3, 2)).T):
        with pytest.raises(ValueError, match=r"expected an array of floats \(2, 3\)"):
            program.run(state, [], 1)
    with pytest.raises(ValueError, match="made: expected rows"):
        program.run(np.zeros((2, 3)), [], 1)


def test_a_program_that_is_recorded_again_is_not_linked_again():
    def recorded(A):
        recorder = Recorder(2)
        x = recorder.state((3,))
        with recorder.recording():
            return recorder.program(flat(push(x, A, 0.1)[0]))

    assert recorded(np.eye(3)).tile == recorded(np.ones((3, 3))).tile


def test_a_call_that_writes_into_an_array_cannot_be_recorded():
    recorder = Recorder(2)
    x = recorder.state((2,))
    with recorder.recording(), pytest.raises(TypeError, match="no array to write into"):
        halve(x, out=np.zeros(2))


def test_inside_a_kernel_repeat_is_refused_with_a_remedy():
    @batched("(2)->(2)")
    def nested(x):
        return halve.repeat(2, x)

    with pytest.raises(TypeError, match="write a for loop"):
        nested(np.ones(2))


@pytest.mark.parametrize("size", range(1, 10))
@pytest.mark.parametrize("trials", [1, 3, 8, 13])
def test_numbers_come_and_go_whatever_their_count_and_nothing_beside_them_is_touched(trials, size):
    rng, steps = np.random.default_rng(size), 3
    recorder = Recorder(trials)
    x, u = recorder.state((size,)), recorder.timed((size,))
    with recorder.recording():
        program = recorder.program(list(x + u), list(x - u))
    state, given = rng.normal(size=(trials, size)), rng.normal(size=(trials, steps, size))
    kept = np.full((steps, trials, size + 5), 7.0)  # what comes out goes between others
    expected, before = state.copy(), []
    for k in range(steps):
        before.append(expected - given[:, k])
        expected = expected + given[:, k]
    program.run(state, [of_trials(given)], steps, of_steps(kept[:, :, 2:-3]))
    assert np.array_equal(state, expected) and np.array_equal(kept[:, :, 2:-3], before)
    assert np.all(kept[:, :, :2] == 7.0) and np.all(kept[:, :, -3:] == 7.0)


CHOICES = {
    "over the state": lambda x, test: when(test, halve, (x,), x),
    "over what a kernel made": lambda x, test: when(test, halve, (x,), halve(x + 1.0)),
    "over a constant": lambda x, test: when(test, halve, (x,), np.array([3.0, 4.0])),
    "over what was computed": lambda x, test: when(test, halve, (x,), 2.0 * x),
    "used again by the same choice": lambda x, test: halve(when(test, halve, (x,), x)) + when(test, halve, (x,), x),
    "used with two others": lambda x, test: when(test, halve, (x,), x) + when(test, halve, (x,), 5.0 * x),
    "the other way round": lambda x, test: when(test, halve, (x,), x) + chosen(test, x, halve(x)),
    "within another choice": lambda x, test: when(
        test, lambda x: when(x[..., 0] > 0.0, halve, (x,), -x) + 1.0, (x,), x
    ),
    "repeated": lambda x, test: when(test, lambda x: halve.repeat(np.array(3.0), x), (x,), x),
    "moved on in its place": lambda x, test: halve.repeat(np.array(2.0), when(test, halve, (x,), x)),
}


@pytest.mark.parametrize("how", CHOICES)
@pytest.mark.parametrize("wanted", ["none", "some", "all"])
def test_what_is_chosen_from_a_masked_call_has_the_bits_of_arrays(how, wanted):
    trials, steps = 21, 3
    x = np.random.default_rng(4).normal(size=(trials, 2))
    mask = {"none": np.zeros(trials), "some": np.arange(trials) // 4 % 2 * 1.0, "all": np.ones(trials)}[wanted]
    recorder = Recorder(trials)
    symbols, test = recorder.state((2,)), recorder.timed((), test=True)
    with recorder.recording():
        program = recorder.program(flat(CHOICES[how](symbols, test)))
    state = x.copy()
    program.run(state, [of_trials(np.repeat(mask[:, None], steps, axis=1))], steps)
    for _ in range(steps):
        x = np.where(
            mask[:, None] > 0.5, CHOICES[how](x, np.ones(trials, bool)), CHOICES[how](x, np.zeros(trials, bool))
        )
    assert state.tobytes() == x.tobytes()
