"""The closed loop: truth, sensors, navigation and control, each at its own rate, for one trial and for thousands.

Time goes in ticks of h, the step of the truth. At every tick, in this order,

    measure     every instrument that is due, of the truth
    navigate    with the measurements that have arrived, in the order of their stamps
    command     if the controller is due, from the belief carried to now; held until the next
    record      if due
    move        the truth over h, then whatever events it has caused

A measurement that arrives late corrects the belief of its own time. So that stamps never go back, the belief lives as
far in the past as the slowest instrument needs (no delay: now), and a command sees it carried from there by `predict`
with the commands given since. The belief is moved where something is new, a measurement or a command, and not at every
tick: a filter at 0.1 Hz takes steps of 10 s, whatever the truth does.

All states are NamedTuples of arrays with the trials first. A trial that is lost is NaN and harms no other.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

from gnc.errors import InputError
from gnc.events import Event, Happened, after
from gnc.noise import Stream

State = Any
WHOLE = 1e-9  # of a tick, by which a period may miss a whole number of them


class Plant(Protocol):
    """The truth."""

    def step(self, x: State, command: Any, t: float, h: float) -> State:
        """Move over h from time t with the command held."""

    def report(self, x: State) -> Any:
        """Return what the actuators tell flight software about themselves, such as wheel momentum."""


class Navigation(Protocol):
    """What flight software believes."""

    def predict(self, belief: State, command: Any, report: Any, t: float, h: float) -> State:
        """Move over h from time t, the command held; `report` is that of the end."""

    def update(self, belief: State, name: str, measurement: Any, t: float) -> tuple[State, Any]:
        """Correct with a measurement of the instrument of that name, stamped t; return an innovation too."""


class Control(Protocol):
    """What flight software does; it knows the belief and the report, never the truth."""

    def command(self, belief: State, report: Any, t: float, memory: State) -> tuple[Any, State]:
        """Return the command from t on, and what to remember."""


@dataclass(frozen=True)
class Instrument:
    """A sensor in the loop."""

    name: str
    period_s: float
    measure: Callable[[State, float, Any], Any]  # of truth, time, noise
    noise: Stream | None = None
    latency_s: float = 0.0
    first_s: float = 0.0


@dataclass(frozen=True)
class Controller:
    """A control law in the loop, from `first_s` on; before that the command is the `idle` one."""

    law: Control
    period_s: float
    idle: Any
    first_s: float = 0.0


class Moment(NamedTuple):
    """All there is at a tick, for whoever records."""

    t: float
    truth: State
    belief: State  # carried to t
    command: Any
    report: Any


class Flown(NamedTuple):
    """How a flight ended."""

    truth: State
    belief: State
    memory: State
    happened: Happened
    ticks: int  # flown; less than asked for if it was interrupted


class _Taken(NamedTuple):
    """A measurement on its way."""

    tick: int
    name: str
    measurement: Any


@dataclass
class _Mark:
    """A tick at which something was new: what the actuators said, and the command from there on."""

    tick: int
    report: Any
    command: Any


@dataclass
class _Past:
    """The belief, where it lives, and all that is needed to carry it to now."""

    belief: State
    tick: int
    marks: deque[_Mark]
    taken: deque[_Taken] = field(default_factory=deque)


class _Schedule(NamedTuple):
    """When something is due: every so many ticks from the first on."""

    every: int
    first: int

    def due(self, k: int) -> bool:
        """Tell whether it is due at a tick."""
        return k >= self.first and (k - self.first) % self.every == 0


@dataclass(frozen=True)
class Loop:
    """Who takes part, and how long."""

    h: float  # [s]
    duration_s: float
    plant: Plant
    instruments: Sequence[Instrument]
    navigation: Navigation
    controller: Controller
    events: Sequence[Event] = ()
    record_s: float | None = None
    _delay: int = field(init=False, repr=False)
    _measured: list[tuple[Instrument, _Schedule]] = field(init=False, repr=False)
    _commanded: _Schedule = field(init=False, repr=False)
    _recorded: _Schedule = field(init=False, repr=False)
    steps: int = field(init=False)  # of the truth

    def __post_init__(self) -> None:
        """Refuse periods that are no whole number of ticks."""
        object.__setattr__(self, "steps", self.ticks("duration_s", self.duration_s))
        delays = [self.ticks(f"{i.name}: latency_s", i.latency_s, least=0) for i in self.instruments]
        object.__setattr__(self, "_delay", max(delays, default=0))
        measured = [(i, self._schedule(f"{i.name}: period", i.period_s, i.first_s)) for i in self.instruments]
        commanded = self._schedule("controller: period", self.controller.period_s, self.controller.first_s)
        object.__setattr__(self, "_measured", measured)
        object.__setattr__(self, "_commanded", commanded)
        object.__setattr__(self, "_recorded", self._schedule("record_s", self.record_s or self.duration_s))

    def ticks(self, name: str, seconds: float, least: int = 1) -> int:
        """Return a time as a number of ticks."""
        ticks = round(seconds / self.h)
        if abs(seconds / self.h - ticks) > WHOLE * max(1, ticks) or ticks < least:
            raise InputError(f"{name}: {seconds:g} s is not a whole number of truth steps of {self.h:g} s")
        return ticks

    def fly(
        self,
        truth: State,
        belief: State,
        memory: State,
        record: Callable[[Moment], None] | None = None,
        innovation: Callable[[str, float, Any], None] | None = None,
        progress: Callable[[int, int], None] | None = None,
    ) -> Flown:
        """Fly all trials from the start; Ctrl-C ends the flight early, with all that was recorded."""
        control, happened, k = self.controller, Happened(self.events), 0
        command, past = control.idle, _Past(belief, 0, deque([_Mark(0, self.plant.report(truth), control.idle)]))
        try:
            for k in range(self.steps + 1):
                t, commanding = k * self.h, self._commanded.due(k)
                measuring = [instrument for instrument, schedule in self._measured if schedule.due(k)]
                if measuring or commanding:
                    self._mark(past, k, truth, command)
                for instrument in measuring:
                    past.taken.append(_Taken(k, instrument.name, self._measure(instrument, truth, t)))
                self._navigate(past, k - self._delay, innovation)
                if commanding:
                    mark = past.marks[-1]
                    command, memory = control.law.command(self._carried(past, k, mark.report), mark.report, t, memory)
                    mark.command = command
                if record is not None and (self._recorded.due(k) or k == self.steps):
                    report = self.plant.report(truth)
                    record(Moment(t, truth, self._carried(past, k, report), command, report))
                if progress is not None:
                    progress(k, self.steps)
                if k < self.steps:
                    truth = after(self.events, happened, self.plant.step(truth, command, t, self.h), t + self.h)
        except KeyboardInterrupt:
            if k == 0:
                raise
        return Flown(truth, past.belief, memory, happened, k)

    def _schedule(self, name: str, period_s: float, first_s: float = 0.0) -> _Schedule:
        return _Schedule(self.ticks(name, period_s), self.ticks(name, first_s, least=0))

    def _measure(self, instrument: Instrument, truth: State, t: float) -> Any:
        return instrument.measure(truth, t, None if instrument.noise is None else instrument.noise.next())

    def _mark(self, past: _Past, k: int, truth: State, command: Any) -> None:
        """Remember what the actuators say at this tick."""
        if past.marks[-1].tick < k:
            past.marks.append(_Mark(k, self.plant.report(truth), command))

    def _navigate(self, past: _Past, horizon: int, innovation: Callable[[str, float, Any], None] | None) -> None:
        """Bring the belief up to the horizon: through all marks, with the measurements taken there."""
        while len(past.marks) > 1 and past.marks[1].tick <= horizon:
            mark, end = past.marks[0], past.marks[1]
            past.belief = self._moved(past.belief, past.tick, mark.command, end.tick, end.report)
            past.tick = end.tick
            past.marks.popleft()
        while past.taken and past.taken[0].tick <= past.tick:
            tick, name, measurement = past.taken.popleft()
            past.belief, made = self.navigation.update(past.belief, name, measurement, tick * self.h)
            if innovation is not None:
                innovation(name, tick * self.h, made)

    def _carried(self, past: _Past, k: int, report: Any) -> State:
        """Return the belief at a tick, by the commands given since its own."""
        if past.tick == k:
            return past.belief
        belief, tick, marks = past.belief, past.tick, list(past.marks)
        for mark, end in zip(marks, [*marks[1:], _Mark(k, report, None)], strict=True):
            belief, tick = self._moved(belief, tick, mark.command, end.tick, end.report), end.tick
        return belief

    def _moved(self, belief: State, start: int, command: Any, end: int, report: Any) -> State:
        if end == start:
            return belief
        return self.navigation.predict(belief, command, report, start * self.h, (end - start) * self.h)
