"""A loop in flight: what there is between two ticks, and what happens at one.

`Flying` is what `gnc.loop` moves from tick to tick, and what `gnc.recorded_tick` records a tick of, by giving it
symbols for states, a clock that tells no particular time, and noise that is not yet drawn.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from gnc.events import Happened, after

if TYPE_CHECKING:
    from gnc.loop import Instrument, Loop

State = Any
Innovations = Callable[[str, float, Any], None]


class Moment(NamedTuple):
    """All there is at a tick, for whoever records."""

    t: float
    truth: State
    belief: State  # carried to t
    command: Any
    report: Any


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


class Flying:
    """Truth, belief where it lives, the command that holds, and all that is needed to carry the belief to now."""

    def __init__(self, loop: Loop) -> None:
        self.loop, self.happened = loop, Happened(loop.events)
        self._taken: deque[_Taken] = deque()

    def put(self, k: int, tick: int, truth: State, belief: State, command: Any, memory: State) -> None:
        """Go on from tick k with a belief of an earlier one, of which the command has held since."""
        self.k, self.truth, self.belief, self.command, self.memory = k, truth, belief, command, memory
        self._tick = tick
        self._marks = deque([_Mark(tick, self.loop.plant.report(truth), command)])

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
            measurement = instrument.measure(self.truth, self.clock(k), self.draw(instrument))
            self._taken.append(_Taken(k, instrument.name, measurement))
        self._navigate(k - loop.delay, innovation)
        if commanding:
            mark = self._marks[-1]
            now = self._carried(mark.report), mark.report, self.clock(k)
            self.command, self.memory = loop.controller.law.command(*now, self.memory)
            mark.command = self.command

    def move(self) -> None:
        """Move the truth to the next tick, with the events it causes; after the last one it stays."""
        loop, t = self.loop, self.clock(self.k)
        if self.k < loop.steps:
            self.truth = loop.plant.step(self.truth, self.command, t, loop.h)
            if loop.events:
                self.truth = after(loop.events, self.happened, self.truth, t + loop.h)
        self.k += 1

    def moment(self) -> Moment:
        """Return all there is at a tick, before the truth moves on."""
        report = self.loop.plant.report(self.truth)
        return Moment(self.clock(self.k), self.truth, self._carried(report), self.command, report)

    def _carried(self, report: Any) -> State:
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
            self._marks.append(_Mark(k, self.loop.plant.report(self.truth), self.command))

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
            self.belief, made = self.loop.navigation.update(self.belief, name, measurement, t)
            if innovation is not None:
                innovation(name, t, made)

    def _moved(self, belief: State, start: int, command: Any, end: int, report: Any) -> State:
        if end == start:
            return belief
        return self.loop.navigation.predict(belief, command, report, self.clock(start), (end - start) * self.loop.h)
