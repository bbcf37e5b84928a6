"""The closed loop on a toy: a mass on a line, position and velocity, pushed by a command."""

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import pytest

from gnc.errors import InputError
from gnc.events import Event
from gnc.loop import Controller, Instrument, Loop
from gnc.noise import Stream, normal

H = 0.5


class Line(NamedTuple):
    x: np.ndarray
    v: np.ndarray


class Track(NamedTuple):
    """A belief that keeps a diary: its time, and which measurements it has seen."""

    t: float
    x: float
    seen: tuple


@dataclass
class Mass:
    calls: list = field(default_factory=list)

    def step(self, state, command, t, h):
        self.calls.append((t, command))
        return Line(state.x + h * state.v + 0.5 * h * h * command, state.v + h * command)

    def report(self, state):
        return state.v


@dataclass
class DeadReckoning:
    steps: list = field(default_factory=list)

    def predict(self, belief, command, report, t, h):
        assert belief.t == pytest.approx(t)
        self.steps.append((t, h, command))
        return belief._replace(t=t + h, x=belief.x + h * np.mean(report))

    def update(self, belief, name, measurement, t):
        assert belief.t == pytest.approx(t), "a measurement corrects the belief of its own time"
        return belief._replace(seen=(*belief.seen, (name, t))), measurement


class Count:
    """A law that commands the number of the command, and remembers the beliefs it saw."""

    def command(self, belief, report, t, memory):
        assert belief.t == pytest.approx(t), "a law sees the belief carried to now"
        return float(len(memory)), (*memory, (t, belief))


def look(x, t, noise):
    return np.copy(x.x)


def loop(instruments, control_s=1.0, duration_s=6.0, first_s=0.0, events=(), record_s=None, plant=None):
    controller = Controller(Count(), control_s, 0.0, first_s)
    return Loop(H, duration_s, plant or Mass(), instruments, DeadReckoning(), controller, events, record_s)


def start(n=2):
    return Line(np.zeros(n), np.arange(1.0, n + 1.0)), Track(0.0, 0.0, ()), ()


def test_every_part_runs_at_its_own_rate():
    flight = loop([Instrument("slow", 2.0, look), Instrument("fast", 0.5, look, first_s=1.0)])
    flown = flight.fly(*start())
    seen = flown.belief.seen
    assert [t for name, t in seen if name == "slow"] == [0.0, 2.0, 4.0, 6.0]
    assert [t for name, t in seen if name == "fast"] == list(np.arange(1.0, 6.1, 0.5))
    assert [t for t, _ in flown.memory] == list(np.arange(0.0, 6.1, 1.0))
    assert len(flight.plant.calls) == 12


def test_a_command_is_held_until_the_next():
    flight = loop([], control_s=2.0)
    flight.fly(*start())
    assert [command for _, command in flight.plant.calls] == [0.0] * 4 + [1.0] * 4 + [2.0] * 4


def test_before_the_first_command_the_idle_one_holds_and_the_filter_steps_from_sample_to_sample():
    flight = loop([Instrument("s", 2.0, look)], control_s=0.5, first_s=4.0)
    flight.fly(*start())
    lengths = [h for t, h, _ in flight.navigation.steps]
    assert lengths[:2] == [2.0, 2.0] and set(lengths[2:]) == {0.5}


def test_without_delay_no_interval_is_predicted_twice():
    flight = loop([Instrument("s", 1.5, look)])
    flight.fly(*start())
    steps = flight.navigation.steps
    assert sum(h for _, h, _ in steps) == pytest.approx(6.0)
    assert [t for t, _, _ in steps] == sorted({t for t, _, _ in steps})


@pytest.mark.parametrize("latency", [0.5, 1.0, 2.5])
def test_a_late_measurement_meets_the_belief_of_its_own_time_and_the_law_the_belief_of_now(latency):
    flight = loop([Instrument("late", 1.0, look, latency_s=latency), Instrument("prompt", 0.5, look)])
    flown = flight.fly(*start())  # the toy itself asserts both
    stamps = [t for _, t in flown.belief.seen]
    assert stamps == sorted(stamps)
    assert max(stamps) == pytest.approx(np.floor((6.0 - latency) / H) * H)


def test_a_delay_changes_nothing_in_the_belief_but_its_date():
    def beliefs(latency):
        found = {}
        flight = loop([Instrument("s", 1.0, look, latency_s=latency)])
        update = flight.navigation.update
        flight.navigation.update = lambda b, n, m, t: found.setdefault(t, (b.x, m)) and update(b, n, m, t)
        flight.fly(*start())
        return found

    prompt, late = beliefs(0.0), beliefs(2.0)
    assert len(late) == 5
    for t, (x, measured) in late.items():
        assert x == prompt[t][0] and np.array_equal(measured, prompt[t][1])


def test_an_event_happens_once_in_each_trial_at_its_own_time_and_changes_that_trial_only():
    stop = Event("stop", lambda x, t: x.x >= 3.0, lambda x, t: Line(x.x, np.zeros_like(x.v)))
    flight = loop([], control_s=6.0, events=[stop])
    flown = flight.fly(Line(np.zeros(3), np.array([1.0, 2.0, 0.1])), Track(0.0, 0.0, ()), ())
    np.testing.assert_array_equal(flown.happened["stop"], [3.0, 1.5, np.nan])
    np.testing.assert_allclose(flown.truth.x, [3.0, 3.0, 0.6])


def test_a_trial_flies_the_same_alone():
    stop = Event("stop", lambda x, t: x.x >= 3.0, lambda x, t: Line(x.x, -x.v))
    together = loop([], events=[stop]).fly(Line(np.zeros(3), np.array([1.0, 2.0, 0.1])), Track(0.0, 0.0, ()), ())
    alone = loop([], events=[stop]).fly(Line(np.zeros(1), np.array([2.0])), Track(0.0, 0.0, ()), ())
    assert alone.truth.x[0] == together.truth.x[1] and alone.truth.v[0] == together.truth.v[1]


def test_moments_are_recorded_at_their_rate_with_the_belief_of_that_time():
    moments = []
    loop([Instrument("s", 2.0, look)], control_s=6.0, record_s=1.5).fly(*start(), record=moments.append)
    assert [m.t for m in moments] == [0.0, 1.5, 3.0, 4.5, 6.0]
    assert [m.belief.t for m in moments] == [0.0, 1.5, 3.0, 4.5, 6.0]


@pytest.mark.parametrize("record_s", [None, 0.5, 1.5, 2.5, 4.0, 6.0])
def test_how_often_a_flight_will_be_recorded_is_known_before(record_s):
    moments, one = [], loop([], record_s=record_s)
    one.fly(*start(), record=moments.append)
    assert one.times_recorded == len(moments)


def test_recording_does_not_change_the_flight():
    quiet = loop([Instrument("s", 2.0, look)]).fly(*start())
    watched = loop([Instrument("s", 2.0, look)], record_s=0.5).fly(*start(), record=lambda moment: None)
    assert quiet.belief == watched.belief and np.array_equal(quiet.truth.x, watched.truth.x)


class Interrupting(Mass):
    def step(self, state, command, t, h):
        if t >= 3.0:
            raise KeyboardInterrupt
        return super().step(state, command, t, h)


def test_an_interrupt_leaves_what_was_flown():
    moments = []
    flown = loop([], record_s=1.0, plant=Interrupting()).fly(*start(), record=moments.append)
    assert flown.ticks == 6 and [m.t for m in moments] == [0.0, 1.0, 2.0, 3.0]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"instruments": [Instrument("gyro", 0.7, look)]}, "gyro: period: 0.7 s is not a whole number"),
        ({"instruments": [Instrument("gyro", 1.0, look, latency_s=0.2)]}, "gyro: latency_s: 0.2 s"),
        ({"instruments": [], "control_s": 0.3}, "controller: period: 0.3 s"),
        ({"instruments": [], "duration_s": 1.2}, "duration_s: 1.2 s"),
        ({"instruments": [], "record_s": 0.1}, "record_s: 0.1 s"),
    ],
)
def test_a_period_that_is_no_whole_number_of_steps_is_refused(change, message):
    with pytest.raises(InputError, match=message):
        loop(**change).fly(*start())


def test_a_stream_gives_the_numbers_that_are_drawn_at_once():
    trials = [3, 0, 17]
    stream = Stream(5, trials, "gyro", 2)
    drawn = np.stack([stream.next() for _ in range(Stream.BLOCK + 7)], axis=1)
    assert np.array_equal(drawn, normal(5, trials, "gyro", (Stream.BLOCK + 7, 2)))
