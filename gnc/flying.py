"""A loop in flight: what there is between two ticks, and what happens at one.

`Flying` is what `gnc.loop` moves from tick to tick, and what `gnc.recorded_tick` records a tick of, by giving it
symbols for states, a clock that tells no particular time, and noise that is not yet drawn.
"""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from gnc.events import Happened, after

if TYPE_CHECKING:
    from gnc.loop import Instrument, Loop

Innovations = Callable[[str, float, Any], None]


class Moment(NamedTuple):
    """All there is at a tick, for whoever records."""

    t: float
    truth: Any
    belief: Any  # carried to t
    command: Any
    report: Any


@dataclass(frozen=True)
class Record:
    """Who keeps a flight, in two steps, so that the first can be a part of a compiled tick."""

    observe: Callable[[Moment], Mapping[str, Any]]  # arrays (trials, ...) by name
    note: Callable[[float, Mapping[str, Any]], None]  # of time and what was observed then

    def __call__(self, moment: Moment) -> None:
        """Observe a moment and note it."""
        self.note(moment.t, self.observe(moment))


class _Taken(NamedTuple):
    """A measurement on its way."""

    tick: int
    name: str
    measurement: Any


class _Mark:
    """A tick at which something was new: what the actuators said, and the command from there on."""

    __slots__ = ("command", "report", "tick")

    def __init__(self, tick: int, report: Any, command: Any) -> None:
        self.tick, self.report, self.command = tick, report, command


class Waiting(NamedTuple):
    """What flight software has not used yet, in ticks before now, so that later ticks have it in common."""

    belief: int = 0  # the tick of the belief
    marks: tuple[int, ...] = ()  # later ticks at which something was new
    taken: tuple[tuple[int, str], ...] = ()  # measurements on their way: tick and instrument


NOTHING = Waiting()


class State(NamedTuple):
    """All that changes from tick to tick; the rest is in `Waiting`."""

    truth: Any
    belief: Any
    command: Any
    memory: Any
    happened: tuple[Any, ...] = ()  # of the events: when
    moves: tuple[tuple[Any, Any], ...] = ()  # of the marks: the command before, the report then
    taken: tuple[Any, ...] = ()  # the measurements on their way


class Flying:
    """Truth, belief where it lives, the command that holds, and all that is needed to carry the belief to now."""

    def __init__(self, loop: Loop) -> None:
        self.loop, self.happened = loop, Happened(loop.events)

    def put(self, k: int, state: State, waiting: Waiting = NOTHING) -> None:
        """Go on from tick k."""
        self.k, self.truth, self.belief, self.command, self.memory = k, *state[:4]
        self.happened.update(zip(self.happened, state.happened, strict=False))
        self._tick = k - waiting.belief
        commands = [*(command for command, _ in state.moves), self.command]
        reports = [None, *(report for _, report in state.moves)]  # the first is the past of the belief
        ticks = [self._tick, *(k - ago for ago in waiting.marks)]
        self._marks = deque(map(_Mark, ticks, reports, commands))
        named = zip(waiting.taken, state.taken, strict=True)
        self._taken = deque(_Taken(k - ago, name, measurement) for (ago, name), measurement in named)

    def state(self) -> State:
        """Return what `put` takes."""
        marks = list(self._marks)
        moves = tuple((mark.command, end.report) for mark, end in itertools.pairwise(marks))
        taken = tuple(one.measurement for one in self._taken)
        happened = tuple(self.happened.values())
        return State(self.truth, self.belief, self.command, self.memory, happened, moves, taken)

    def waiting(self) -> Waiting:
        """Return what waits, for `put`."""
        marks = tuple(self.k - mark.tick for mark in itertools.islice(self._marks, 1, None))
        return Waiting(self.k - self._tick, marks, tuple((self.k - one.tick, one.name) for one in self._taken))

    def part(self, name: str, function: Callable[..., Any], *args: Any) -> Any:
        """Return what a part of the loop makes of its arguments."""
        return function(*args)

    def clock(self, tick: int) -> Any:
        """Return the time of a tick [s]."""
        return tick * self.loop.h

    def draw(self, instrument: Instrument) -> Any:
        """Return the noise of a measurement."""
        return None if instrument.noise is None else instrument.noise.next()

    def tick(self, innovation: Innovations | None = None) -> None:
        """Measure, navigate and command what is due."""
        loop, k = self.loop, self.k
        commanding = loop.commanded.due(k)
        measuring = [instrument for instrument, schedule in loop.measured if schedule.due(k)]
        if measuring or commanding:
            self._mark(k)
        for instrument in measuring:
            inputs = self.truth, self.clock(k), self.draw(instrument)
            measurement = self.part(f"instrument {instrument.name}", instrument.measure, *inputs)
            self._taken.append(_Taken(k, instrument.name, measurement))
        if loop.flight_code is not None:
            self._ask(loop.flight_code, tuple(i.name for i in measuring), commanding, innovation)
            return
        self._navigate(k - loop.delay, innovation)
        if commanding:
            mark = self._marks[-1]
            now = self._carried(mark.report), mark.report, self.clock(k)
            law = loop.controller.law.command
            self.command, self.memory = self.part("controller", law, *now, self.memory)
            mark.command = self.command

    def move(self) -> None:
        """Move the truth to the next tick, with the events it causes; after the last one it stays."""
        loop, t = self.loop, self.clock(self.k)
        if self.k < loop.steps:
            self.truth = self.part("plant.step", loop.plant.step, self.truth, self.command, t, loop.h)
            if loop.events:
                self.truth = after(loop.events, self.happened, self.truth, t + loop.h, self.part)
        self.k += 1

    def moment(self) -> Moment:
        """Return all there is at a tick, before the truth moves on."""
        report = self._report()
        return Moment(self.clock(self.k), self.truth, self._carried(report), self.command, report)

    def _report(self) -> Any:
        return self.part("plant.report", self.loop.plant.report, self.truth)

    def _carried(self, report: Any) -> Any:
        """Return the belief of this tick, by the commands given since its own."""
        if self._tick == self.k:
            return self.belief
        belief, tick, marks = self.belief, self._tick, list(self._marks)
        for mark, end in zip(marks, [*marks[1:], _Mark(self.k, report, None)], strict=True):
            belief, tick = self._moved(belief, tick, mark.command, end.tick, end.report), end.tick
        return belief

    def _mark(self, k: int) -> None:
        """Remember what the actuators say at this tick."""
        if self._marks[-1].tick < k:
            self._marks.append(_Mark(k, self._report(), self.command))
        else:  # the belief begins here
            self._marks[-1].report = self._report()

    def _navigate(self, horizon: int, innovation: Innovations | None) -> None:
        """Bring the belief up to the horizon: through all marks, with the measurements taken there."""
        marks, taken = self._marks, self._taken
        while len(marks) > 1 and marks[1].tick <= horizon:
            mark, end = marks.popleft(), marks[0]
            self.belief = self._moved(self.belief, self._tick, mark.command, end.tick, end.report)
            self._tick = end.tick
        while taken and taken[0].tick <= self._tick:
            tick, name, measurement = taken.popleft()
            t = self.clock(tick)
            update = self.loop.navigation.update
            self.belief, outcome = self.part("navigation.update", update, self.belief, name, measurement, t)
            if innovation is not None:
                innovation(name, t, outcome)

    def _ask(self, software: Any, names: tuple[str, ...], commanding: bool, innovation: Innovations | None) -> None:
        """Let flight code navigate and command; marks and measurements that it has used are no longer kept here."""
        marks, taken, horizon, arrived = self._marks, self._taken, self.k - self.loop.delay, []
        new = tuple(one.measurement for one in taken if one.tick == self.k)
        while len(marks) > 1 and marks[1].tick <= horizon:
            marks.popleft()
            self._tick = marks[0].tick
        while taken and taken[0].tick <= self._tick:
            arrived.append(taken.popleft())
        if not (names or commanding or arrived):
            return
        request = names, commanding, marks[-1].report if names or commanding else None, new
        inputs = self.clock(self.k), *request, tuple(one.name for one in arrived)
        self.belief, self.command, outcomes = self.part("flight code", software.step, *inputs)
        if commanding:
            marks[-1].command = self.command
        if innovation is not None:
            for one, worth in zip(arrived, outcomes, strict=True):
                innovation(one.name, self.clock(one.tick), worth)

    def _moved(self, belief: Any, start: int, command: Any, end: int, report: Any) -> Any:
        if end == start:
            return belief
        over = self.clock(start), (end - start) * self.loop.h
        return self.part("navigation.predict", self.loop.navigation.predict, belief, command, report, *over)
