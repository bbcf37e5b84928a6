"""The derivative of a whole tick against finite differences of the loop as it is flown."""

import dataclasses

import numpy as np
import pytest

from gnc.flying import Flying, State
from gnc.linear_flight import LinearFlight
from gnc.loop import Controller, Instrument, Loop
from gnc.part_slopes import part_slopes
from tests.gnc.test_compiled_loop import STOP, Branching, Cart, Filter, H, Law, Line, Track, look

pytestmark = pytest.mark.jit
STEP = 1e-6


class Given:
    """Noise that a test chooses."""

    size, BLOCK = 2, 1

    def __init__(self):
        self.values = np.zeros((1, 2))

    def next(self):
        return self.values


def made(law=None, latency=0.0, events=()):
    """A loop of one trial and its start."""
    instruments = [Instrument("a", 1.0, look, Given(), latency), Instrument("b", 1.5, look, Given())]
    controller = Controller(law or Law(), 2.0, (np.zeros(1),))
    loop = Loop(H, 20.0, Cart(np.array([1.3])), instruments, Filter(), controller, events)
    belief = Track(np.array([0.2]), np.array([-0.1]), np.tile(np.diag([0.5, 0.3]), (1, 1, 1)), (np.ones(1), None))
    truth = Line(np.array([0.3]), np.array([0.4]), "cart")
    return loop, State(truth, belief, loop.controller.idle, (np.zeros(1),))


def flown(flight, passage, numbers):
    """One tick from Python, of numbers in slots."""
    flying = Flying(flight.loop)
    flying.put(passage.k, flight.slots.unpack(numbers[None], passage.waiting), passage.waiting)
    flying.tick()
    flying.move()
    return flight.slots.pack(flying.state(), flying.waiting(), numbers[None])[0, flight.numbers[passage.rows]]


CASES = {"plain": {}, "late": {"latency": 1.0}, "event": {"events": [STOP]}, "law in Python": {"law": Branching()}}


@pytest.mark.parametrize("case", CASES)
def test_derivatives_of_a_tick_are_those_of_finite_differences(case):
    flight = LinearFlight(*made(**CASES[case]), lambda y: np.zeros((0, y.shape[1])))
    flight._moving[:] = True  # every number may differ
    passage = next(p for p in flight.passages(lambda k: False) if p.k == 12)
    assert flight.differenced == ({"controller"} if "Python" in case else set())
    start = passage.z[np.searchsorted(flight.numbers, flight.owner)]

    def difference(change):
        return (change(STEP) - change(-STEP)) / (2.0 * STEP)

    def of_state(column):
        own = flight.owner == flight.numbers[column]
        return lambda d: flown(flight, passage, start + d * own)

    def of_noise(instrument, i):
        def fly(d):
            instrument.noise.values = d * (np.arange(2) == i)[None]
            end = flown(flight, passage, start)
            instrument.noise.values = np.zeros((1, 2))
            return end

        return fly

    due = [one for one, schedule in flight.loop.measured if schedule.due(passage.k)]
    assert due and set(passage.B) == {one.name for one in due}
    columns = [difference(of_state(i)) for i in passage.columns]
    columns += [difference(of_noise(one, i)) for one in due for i in range(2)]
    whole = np.concatenate([passage.A, *passage.B.values()], axis=1)
    np.testing.assert_allclose(whole, np.array(columns).T, rtol=1e-7, atol=2e-9)


class Ball:
    """A plant in Python: it falls on the ground at zero, from which it bounces by half of its speed.

    It touches where it would be below the ground half a step later.
    """

    def step(self, x, command, t, h):
        after = np.where(x.x + 0.5 * h * x.v < 0.0, -0.5 * x.v, x.v)
        return Line(x.x + 0.5 * h * (x.v + after), after, "ball")

    def report(self, x):
        return 2.0 * x.v


@pytest.mark.parametrize("depth", [1e-1, 1e-4, 1e-6, -1e-6, -1e-1])
def test_an_impact_has_the_derivative_of_what_touches_however_nearly(depth):
    """By hand: x' = x + h (v + v') / 2, with v' = -v / 2 where the ball touches; the ground is within most steps."""
    loop, state = made()
    v = -2.0
    loop = dataclasses.replace(loop, plant=Ball())
    start = state._replace(truth=Line(np.array([-0.5 * H * v - depth]), np.array([v]), "ball"))
    flight = LinearFlight(loop, start, lambda y: np.zeros((0, y.shape[1])), by_all=True)
    passage = next(flight.passages(lambda k: False))
    assert "plant.step" in flight.differenced and not flight.kinks
    names = flight.names
    rows = [list(passage.rows).index(i) for i, name in enumerate(names) if name in ("truth_x", "truth_v")]
    columns = [list(passage.columns).index(i) for i, name in enumerate(names) if name in ("truth_x", "truth_v")]
    e = -0.5 if depth > 0.0 else 1.0
    expected = [[1.0, 0.5 * H * (1.0 + e)], [0.0, e]]
    np.testing.assert_allclose(passage.A[np.ix_(rows, columns)], expected, atol=1e-7)


@pytest.mark.parametrize("width", [1e-3, 1e-5])
def test_a_gate_beyond_which_nothing_changes_does_not_hide_the_derivative(width):
    gated = lambda rows, step: np.where(step < width, 3.0 * step, 0.0)[:, None]  # noqa: E731
    slopes, kinks, _ = part_slopes(gated, 1, np.ones(1))
    np.testing.assert_allclose(slopes, [[3.0]], rtol=1e-7)
    assert not kinks


def test_steps_of_the_tick_before_give_the_same_derivative_with_fewer_of_them():
    """Of sines as quick as 1 and 1000 per size, which take other steps; rounded as a part that is solved to 1e-13."""
    w, tried, rng = np.array([1.0, 1000.0]), [], np.random.default_rng(0)

    def change(rows, step):
        tried.append(step)
        return (np.sin(w[rows] * step) * np.cos(0.3) + 1e-13 * rng.standard_normal(len(rows)))[:, None]

    expected = (w * np.cos(0.3))[:, None]
    first, _, known = part_slopes(change, 2, np.ones(1))
    many = len(tried)
    again, kinks, _ = part_slopes(change, 2, np.ones(1), known)
    np.testing.assert_allclose(first, expected, rtol=1e-7)
    np.testing.assert_allclose(again, expected, rtol=1e-7)
    assert not kinks and len(tried) - many < many and known[1] > known[0]
