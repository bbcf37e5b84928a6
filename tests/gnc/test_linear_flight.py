"""The derivatives of a whole flight, chained, against flights that begin elsewhere."""

import numpy as np
import pytest

from gnc.flying import Flying, State
from gnc.linear_flight import LinearFlight
from gnc.loop import Controller, Instrument, Loop
from tests.gnc.test_compiled_loop import STOP, Branching, Cart, Filter, H, Law, Line, Track, look
from tests.gnc.test_tick_derivative import Given

pytestmark = pytest.mark.jit
STEP = 1e-5


def made(offset, law=None, latency=0.0, events=()):
    """A loop whose trials differ by numbers (trials, 3): place, mass, and what is believed."""
    mass, trials = 1.3 + offset[:, 1], len(offset)
    a, b = Given(), Given()
    a.values = b.values = np.zeros((trials, 2))
    instruments = [Instrument("a", 1.0, look, a, latency), Instrument("b", 1.5, look, b)]
    controller = Controller(law or Law(), 2.0, (np.zeros(trials),))
    loop = Loop(H, 12.0, Cart(mass), instruments, Filter(), controller, events, record_s=1.0)
    C = np.tile(np.diag([0.5, 0.3]), (trials, 1, 1))
    shared = np.ones(trials), None
    belief = Track(0.2 + offset[:, 2], np.full(trials, -0.1), C, shared)
    truth = Line(0.3 + offset[:, 0], np.full(trials, 0.4), "cart")
    return loop, State(truth, belief, loop.controller.idle, (np.zeros(trials),))


def flown(offset, **how):
    """The numbers at the end, from Python."""
    loop, state = made(offset, **how)
    flying = Flying(loop)
    flying.put(0, state)
    while flying.k <= loop.steps:
        flying.tick()
        flying.move()
    return np.stack([flying.truth.x, flying.truth.v, flying.belief.x, flying.belief.P[:, 0, 1]], axis=1)


CASES = {"plain": {}, "late": {"latency": 1.0}, "event": {"events": [STOP]}, "law in Python": {"law": Branching()}}


@pytest.mark.parametrize("case", CASES)
def test_chained_derivatives_are_those_of_whole_flights(case):
    offset = np.vstack([np.zeros(3), STEP * np.eye(3), -STEP * np.eye(3)])
    loop, state = made(offset, **CASES[case])
    flight = LinearFlight(loop, state, lambda y: (y[1:4] - y[4:7]) / (2.0 * STEP))
    S, last, seen = flight.start_slopes(), None, 0
    for passage in flight.passages(loop.records):
        S[passage.rows], last = passage.A @ S[passage.columns] + passage.D, passage
        seen += passage.seen is not None
    assert last is not None and last.end == loop.steps + 1 and seen == 13
    ends = flown(offset, **CASES[case])
    expected = (ends[1:4] - ends[4:7]).T / (2.0 * STEP)
    names = flight.names
    wanted = [next(i for i, n in enumerate(names) if n.startswith(w)) for w in ("truth_x", "truth_v", "belief_x")]
    wanted.append(next(i for i, n in enumerate(names) if n == "belief_P[0, 1]"))
    np.testing.assert_allclose(S[wanted], expected, rtol=1e-6, atol=1e-8)
    assert bool(flight.differenced) == ("Python" in case)
