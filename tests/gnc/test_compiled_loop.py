"""Compiled loops: whatever is due when, they leave the bits of the loop that is flown tick by tick."""

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import pytest

from gnc.batch import as_numbers, batched, where
from gnc.events import Event
from gnc.flying import Record
from gnc.instant import Instant
from gnc.loop import Controller, Instrument, Loop
from gnc.noise import Stream
from gnc.trees import leaves

pytestmark = pytest.mark.jit
H = 0.5
WIND = 0.1 * np.sin(np.arange(200.0))  # every half tick


class Line(NamedTuple):
    x: np.ndarray
    v: np.ndarray
    name: str  # a leaf without trials


class Track(NamedTuple):
    x: np.ndarray
    v: np.ndarray
    P: np.ndarray
    inside: tuple[np.ndarray, None]


class Innovation(NamedTuple):
    y: np.ndarray
    used: np.ndarray
    about: str


@batched("(),(),(),(),(),()->(),()")
def moved(x, v, push, mass, t, h):
    a = push / mass + 0.01 * np.sin(t)
    return x + h * v + 0.5 * h * h * a, v + h * a


@batched("(),(),(2,2),(),()->(),(),(2,2)")
def predicted(x, v, P, push, h):
    return x + h * v, v + h * push, P + h * np.array([[1.0, 0.1], [0.1, 0.2]], dtype=object)


@batched("(),(),(2,2),(),()->(),(),(2,2),()")
def corrected(x, v, P, z, valid):
    y = z - x
    K = where(valid > 0.0, P[:, 0] / (P[0, 0] + 0.1), 0.0)
    return x + K[0] * y, v + K[1] * y, P - np.outer(K, P[0]), y


@dataclass
class Cart:
    mass: np.ndarray
    calls: list = field(default_factory=list)

    def step(self, state, command, t, h):
        self.calls.append(t)
        wind = t.look_up((WIND,), 0.5 * H)[0] if isinstance(t, Instant) else WIND[round(t / (0.5 * H))]
        return Line(*moved(state.x, state.v, command[0] + wind, self.mass, t, h), state.name)

    def report(self, state):
        return 2.0 * state.v


class Filter:
    def predict(self, belief, command, report, t, h):
        x, v, P = predicted(belief.x, belief.v, belief.P, command[0] + 0.1 * report, h)
        return Track(x, v, P, belief.inside)

    def update(self, belief, name, measurement, t):
        z, valid = measurement
        late = 1.0 if t >= 7.0 else 0.5  # a choice by time is one by the clock, not by the data
        x, v, P, y = corrected(belief.x, belief.v, belief.P, late * z, as_numbers(valid))
        return Track(x, v, P, belief.inside), Innovation(y, valid, name)


class Law:
    def command(self, belief, report, t, memory):
        total = memory[0] + belief.x
        return (-0.3 * belief.x - 0.2 * report - 0.01 * total + (1e-3 * t - t / 700.0 + (2.0 - t) * 1e-4),), (total,)


def look(x, t, noise):
    z = x.x + 0.1 * noise[..., 0]
    return z, z < 1.5


def fly(trials, compiled, instruments=(("a", 1.0, 0.0), ("b", 1.5, 2.0)), watched=True, **changes):
    shared, observe = changes.pop("shared", None), changes.pop("observe", None)
    made = [
        Instrument(name, every, changes.get("look", look), Stream(1, trials, name, 2), *late, first_s=first)
        for name, every, first, *late in instruments
    ]
    changes.pop("look", None)
    plant = changes.pop("plant", None) or Cart(np.linspace(1.0, 2.0, trials))
    control = Controller(changes.pop("law", Law()), changes.pop("control_s", 2.0), (np.zeros(trials),))
    rest = {"events": (), "record_s": 2.5, "duration_s": 20.0, **changes}
    navigation = rest.pop("navigation", Filter())
    loop = Loop(H, rest.pop("duration_s"), plant, made, navigation, control, compiled=compiled, **rest)
    rng, seen, new = np.random.default_rng(0), [], []
    belief = Track(
        rng.normal(size=trials), np.zeros(trials), np.tile(np.eye(2), (trials, 1, 1)), (np.ones(trials), shared)
    )
    state = Line(rng.normal(size=trials), rng.normal(size=trials), "cart"), belief, (np.zeros(trials),)
    record = seen.append if observe is None else Record(observe, lambda t, values: seen.append((t, *values.values())))
    callbacks = (record, lambda *what: new.append(what)) if watched else (None, None)
    return loop, loop.fly(*state, *callbacks), seen, new


def same(a, b):
    """Tell whether two trees have the same structure, types, shapes and bits."""
    pairs = list(zip(leaves(a), leaves(b), strict=True))
    for x, y in pairs:
        if isinstance(x, np.ndarray):
            assert x.shape == y.shape and x.dtype == y.dtype and x.tobytes() == y.tobytes()
        else:
            assert x == y
    return True


def check_same(python="", **how):
    """Fly both ways; only the parts that are named may be left to Python."""
    _, compiled, *watched = fly(compiled=True, **how)
    _, plain, *expected = fly(compiled=False, **how)
    assert {one.split(":")[0] for one in compiled.uncompiled.split("; ")} == set(python.split("; "))
    assert compiled.ticks == plain.ticks
    assert same(compiled[:3], plain[:3]) and same(tuple(compiled.happened.values()), tuple(plain.happened.values()))
    for one, other in zip(watched, expected, strict=True):
        assert len(one) == len(other) and all(same(x, y) for x, y in zip(one, other, strict=True))


@pytest.mark.parametrize("trials", [1, 2, 3, 5, 8])
@pytest.mark.parametrize("watched", [True, False], ids=["watched", "unwatched"])
def test_it_leaves_the_same_bits(trials, watched):
    check_same(trials=trials, watched=watched)


@pytest.mark.parametrize(
    "how",
    [
        {"instruments": ()},
        {"instruments": (("a", 0.5, 0.0),), "control_s": 0.5, "duration_s": 50.0},  # more than are drawn at once
        {"instruments": (("a", 3.0, 1.5), ("b", 3.0, 1.5)), "control_s": 5.0, "record_s": None},
        {"instruments": (("a", 20.0, 20.0),), "control_s": 20.0, "record_s": 0.5},
        {"duration_s": 0.5},
    ],
    ids=["blind", "always", "together", "at the end", "short"],
)
def test_whatever_is_due_when(how):
    check_same(trials=3, **how)


class Observer:
    """Counts how often it was asked about numbers, and how often about symbols."""

    def __init__(self, look_at):
        self.look_at, self.kinds = look_at, []

    def __call__(self, moment):
        self.kinds.append("symbols" if isinstance(moment.t, Instant) else "numbers")
        return self.look_at(moment)


def simple(moment):
    off = moment.truth.x - moment.belief.x
    unused = np.ones((*np.shape(moment.truth.v), 3))  # the same in all trials, as the command of an idle actuator is
    return {"off": off, "P": moment.belief.P, "t": moment.t - moment.truth.v, "deg": np.degrees(off), "unused": unused}


LATE = (("a", 1.0, 0.5), ("b", 1.5, 2.0))


@pytest.mark.parametrize("how", [{}, {"instruments": LATE}, {"record_s": 0.5, "control_s": 1.5}], ids=str)
def test_what_is_observed_comes_out_of_the_tick_with_the_bits_of_python(how):
    observe = Observer(simple)
    check_same(trials=7, observe=observe, **how)
    records = 1 + round(20.0 / how.get("record_s", 2.5))
    first = 2 if "instruments" in how else 0  # ticks that see what late measurements are like
    assert "symbols" in observe.kinds and observe.kinds.count("numbers") <= records + first


@pytest.mark.parametrize(
    "look_at",
    [
        lambda moment: {"size": np.linalg.norm(moment.belief.P, axis=(-2, -1))},
        lambda moment: {"of a trial": moment.truth.x * np.linspace(1.0, 2.0, 7)},
    ],
    ids=["sum", "array of trials"],
)
def test_what_would_be_observed_wrongly_in_the_tick_is_left_to_python(look_at):
    observe = Observer(look_at)
    check_same(trials=7, observe=observe)
    assert observe.kinds.count("symbols") == 1 and observe.kinds.count("numbers") == 2 * 9


def test_a_tick_is_recorded_once_and_kept_for_the_next_flight_of_the_loop():
    loop, first, *_ = fly(2, True, (("a", 1.0, 0.0),), watched=False)
    recorded = len(loop.plant.calls)
    assert recorded <= 7 and all(isinstance(t, Instant) for t in loop.plant.calls)
    loop.fly(first.truth, first.belief, first.memory)
    assert len(loop.plant.calls) == recorded


def test_progress_goes_to_the_end():
    loop, flown, *_ = fly(2, True, watched=False)
    seen = []
    loop.fly(flown.truth, flown.belief, flown.memory, progress=lambda *k: seen.append(k))
    assert seen[-1] == (40, 40) and seen == sorted(seen)


def test_an_interrupt_leaves_what_was_flown():
    loop, flown, *_ = fly(2, True, watched=False)

    def stop(k, _):
        if k >= 11:
            raise KeyboardInterrupt

    stopped = loop.fly(flown.truth, flown.belief, flown.memory, progress=stop)
    assert 11 <= stopped.ticks < 40 and np.isfinite(stopped.truth.x).all()


class Branching(Law):
    def command(self, belief, report, t, memory):
        push = np.where(belief.x > 0.0, -0.1, 0.1)
        return (push * np.ones_like(belief.x),), memory


class LateBranching(Law):
    """Does until 8 s what can be recorded, and then what cannot."""

    def command(self, belief, report, t, memory):
        if t < 8.0:
            return super().command(belief, report, t, memory)
        return (np.where(np.asarray(belief.x, float) > 0.0, -0.1, 0.1),), memory


@pytest.mark.parametrize("trials", [1, 3, 8])
@pytest.mark.parametrize("law", [Branching(), LateBranching()], ids=["from the start", "from 8 s on"])
def test_the_tick_is_split_around_a_law_that_cannot_be_recorded(law, trials):
    check_same(python="controller", trials=trials, law=law, watched=trials == 3)


class Table(Filter):
    """Looks the bound up in plain NumPy; with a leaf that is no number, and a test."""

    def update(self, belief, name, measurement, t):
        z, valid = measurement
        belief, made = super().update(belief, name, (np.clip(z, -1.0, 1.0), valid), t)
        return belief, made._replace(y=np.clip(made.y, -0.5, 0.5))


class Clipped(Cart):
    def step(self, state, command, t, h):
        return super().step(state, (np.clip(command[0], -0.05, 0.05),), t, h)

    def report(self, state):
        return np.clip(2.0 * state.v, -1.0, 1.0)


def clipped(x, t, noise):
    return np.clip(x.x + 0.1 * noise[..., 0], -1.0, 1.0), x.x < 1.5


@pytest.mark.parametrize("late", [(), (1.0,)], ids=["prompt", "late"])
@pytest.mark.parametrize(
    ("python", "how"),
    [
        ("instrument a; instrument b", {"look": clipped}),
        ("navigation.update", {"navigation": Table()}),
        ("plant.report; plant.step", {"plant": Clipped(np.linspace(1.0, 2.0, 5))}),
        ("instrument a; instrument b; navigation.update; controller",
         {"look": clipped, "navigation": Table(), "law": Branching()}),
    ],
)  # fmt: skip
def test_parts_that_cannot_be_recorded_are_called_and_the_others_stay_compiled(python, how, late):
    check_same(python=python, trials=5, instruments=(("a", 1.0, 0.0, *late), ("b", 1.5, 2.0)), **how)


class Shy(Branching):
    """Returns another structure when it feels like it."""

    def command(self, belief, report, t, memory):
        (push,), memory = super().command(belief, report, t, memory)
        return (push if t < 10.0 else 0.1,), memory


def test_what_a_part_returns_may_change_its_structure():
    """A command that all trials share is broadcast when it becomes part of the state, unlike in Python."""
    numbers = [fly(3, how, law=Shy())[1] for how in (True, False)]
    assert np.array_equal(numbers[0].truth.x, numbers[1].truth.x) and "controller" in numbers[0].uncompiled


def test_an_error_in_a_part_reaches_the_caller():
    class Broken(Law):
        def command(self, belief, report, t, memory):
            raise ZeroDivisionError("mine")

    with pytest.raises(ZeroDivisionError, match="mine"):
        fly(2, True, law=Broken())


STOP = Event("stop", lambda x, t: x.x >= 0.5, lambda x, t: Line(x.x, np.zeros_like(x.v), x.name))
TURN = Event(
    "turn", lambda x, t: (x.v < 0.0) & (x.x > -1.0), lambda x, t: Line(*moved(x.x, -x.v, 0.1, 1.0, t, H), x.name)
)
CLIP = Event("clip", lambda x, t: np.clip(x.x, -1.0, 1.0) < 0.2)


@pytest.mark.parametrize("trials", [1, 2, 5, 8])
def test_events_are_compiled(trials):
    check_same(trials=trials, events=[STOP, TURN], watched=trials == 5)


def test_an_event_that_cannot_be_recorded_is_called():
    check_same(python="event clip", trials=3, events=[TURN, CLIP])


@pytest.mark.parametrize(
    "how",
    [
        {"instruments": (("a", 1.0, 0.0, 1.0), ("b", 1.5, 2.0))},
        {"instruments": (("a", 3.0, 0.5, 2.5), ("b", 0.5, 0.0, 0.5)), "control_s": 0.5, "events": [STOP]},
        {"instruments": (("a", 5.0, 8.0, 7.0), ("b", 3.0, 0.0)), "control_s": 4.0},
        {"instruments": (("a", 0.5, 0.0, 2.0),), "control_s": 0.5, "duration_s": 50.0, "record_s": 10.0},
        {"instruments": (("a", 1.0, 0.0, 30.0),)},
    ],
    ids=["one", "both, events", "one comes late", "always", "later than the end"],
)
@pytest.mark.parametrize("trials", [1, 5])
def test_late_measurements_are_compiled(how, trials):
    check_same(trials=trials, watched=trials == 5, **how)


def test_a_loop_that_flies_again_with_late_measurements_leaves_the_same_bits():
    loop, first, *_ = fly(3, True, (("a", 1.0, 0.0, 1.0),), watched=False)
    plain, same_first, *_ = fly(3, False, (("a", 1.0, 0.0, 1.0),), watched=False)
    again, expected = (one.fly(*end[:3]) for one, end in ((loop, first), (plain, same_first)))
    assert again.uncompiled == "" and same(again[:3], expected[:3])


class Growing(Law):
    def command(self, belief, report, t, memory):
        return (-0.3 * belief.x,), (*memory, belief.x)


def test_a_state_whose_structure_changes_is_flown_tick_by_tick():
    assert "structure" in fly(2, True, law=Growing())[1].uncompiled


def test_what_a_time_that_is_recorded_does_not_do_it_says():
    class Odd(Law):
        def command(self, belief, report, t, memory):
            return (belief.x * np.sin(float(t)),), memory

    assert "has no value" in fly(2, True, law=Odd())[1].uncompiled


def test_a_table_without_a_row_for_every_tick_is_refused():
    class Coarse(Cart):
        def step(self, state, command, t, h):
            wind = t.look_up((WIND,), 3.0 * H)[0] if isinstance(t, Instant) else 0.0
            return super().step(state, (command[0] + wind,), t, h)

    assert "has none for every tick" in fly(2, True, plant=Coarse(np.ones(2)))[1].uncompiled


class Ageing(Filter):
    """Keeps a number that all trials share, as a part of the belief without an axis of trials."""

    def predict(self, belief, command, report, t, h):
        belief = super().predict(belief, command, report, t, h)
        return belief._replace(inside=(belief.inside[0], belief.inside[1] + h))


@pytest.mark.parametrize("law", [Law(), Branching()], ids=["compiled", "law in Python"])
def test_numbers_that_all_trials_share_may_change(law):
    check_same(
        python="" if type(law) is Law else "controller", trials=3, navigation=Ageing(), law=law, shared=np.zeros(())
    )
