"""The derivative of a whole tick against finite differences of the loop as it is flown."""

import numpy as np
import pytest

from gnc.flying import NOTHING, Flying, State
from gnc.loop import Controller, Instrument, Loop
from gnc.tick_derivative import TickPoint, tick_derivatives
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


def observe(moment):
    return moment.truth.x - moment.belief.x, moment.command[0]


def made(law=None, latency=0.0, events=()):
    """A loop of one trial and a state in the middle of its flight."""
    mass = np.array([1.3])
    instruments = [Instrument("a", 1.0, look, Given(), latency), Instrument("b", 1.5, look, Given())]
    controller = Controller(law or Law(), 2.0, (np.zeros(1),))
    loop = Loop(H, 20.0, Cart(mass), instruments, Filter(), controller, events)
    flying = Flying(loop)
    belief = Track(np.array([0.2]), np.array([-0.1]), np.tile(np.diag([0.5, 0.3]), (1, 1, 1)), (np.ones(1), None))
    truth = Line(np.array([0.3]), np.array([0.4]), "cart")
    flying.put(0, State(truth, belief, loop.controller.idle, (np.zeros(1),)))
    examples = {}
    while flying.k < 12:
        flying.tick()
        examples |= dict(zip((n for _, n in flying.waiting().taken), flying.state().taken, strict=True))
        flying.move()
    point = TickPoint(loop, flying.state(), flying.k, flying.waiting(), observe, examples)
    return point, mass


def flown(point, numbers, slots):
    """One tick from Python, of numbers in slots."""
    flying = Flying(point.loop)
    flying.put(point.k, slots.unpack(numbers[None], point.waiting), point.waiting)
    flying.tick()
    seen = np.array([np.ravel(x)[0] for x in observe(flying.moment())])
    flying.move()
    return np.concatenate([slots.pack(flying.state(), flying.waiting(), numbers[None])[0], seen])


CASES = {"plain": {}, "late": {"latency": 1.0}, "event": {"events": [STOP]}, "law in Python": {"law": Branching()}}


@pytest.mark.parametrize("case", CASES)
def test_derivatives_of_a_tick_are_those_of_finite_differences(case):
    point, mass = made(**CASES[case])
    exact = tick_derivatives(point, [mass])
    assert exact.differenced == (("controller",) if "Python" in case else ())
    slots, start = exact.slots, exact.slots.pack(point.state, point.waiting)[0]
    np.testing.assert_allclose(np.concatenate([exact.after, exact.made]), flown(point, start, slots), rtol=1e-12)

    def difference(change):
        ends = []
        for sign in (1.0, -1.0):
            ends.append(change(sign * STEP))
        return (ends[0] - ends[1]) / (2.0 * STEP)

    def of_state(i):
        return lambda d: flown(point, start + d * (np.arange(len(start)) == i), slots)

    def of_noise(instrument, i):
        def fly(d):
            instrument.noise.values = d * (np.arange(2) == i)[None]
            end = flown(point, start, slots)
            instrument.noise.values = np.zeros((1, 2))
            return end

        return fly

    def of_mass(d):
        mass[0] += d
        end = flown(point, start, slots)
        mass[0] -= d
        return end

    due = [one for one, schedule in point.loop.measured if schedule.due(point.k)]
    assert due and set(exact.B) == {one.name for one in due}
    columns = [difference(of_state(i)) for i in range(len(start))]
    columns += [difference(of_noise(one, i)) for one in due for i in range(2)] + [difference(of_mass)]
    whole = np.concatenate([exact.A, *exact.B.values(), *exact.D], axis=1)
    np.testing.assert_allclose(np.concatenate([whole, exact.made_slopes]), np.array(columns).T, rtol=1e-7, atol=2e-9)


def test_a_state_at_the_start_waits_for_nothing():
    point, _ = made()
    first = TickPoint(point.loop, point.state, 0)
    assert first.waiting == NOTHING and tick_derivatives(first).waiting.belief == 1
