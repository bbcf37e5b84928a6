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

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

from gnc import compiled_loop
from gnc.batch import JIT_OFF
from gnc.errors import InputError
from gnc.events import Event, Happened
from gnc.flying import Flying, Innovations, Moment
from gnc.flying import State as FlightState
from gnc.noise import Stream

Truth = TypeVar("Truth")
Belief = TypeVar("Belief")
Command = TypeVar("Command")
Report = TypeVar("Report")
Memory = TypeVar("Memory")
Asked = TypeVar("Asked", contravariant=True)  # the command, of those that take it
Given = TypeVar("Given", contravariant=True)  # the report, of those that take it
Believed = TypeVar("Believed", contravariant=True)  # the belief, of those that only read it
Told = TypeVar("Told", covariant=True)  # what is handed out: a report, or a command
WHOLE = 1e-9  # of a tick, by which a period may miss a whole number of them


class Plant(Protocol[Truth, Asked, Told]):
    """The truth."""

    def step(self, x: Truth, command: Asked, t: Any, h: Any) -> Truth:
        """Move over h from time t with the command held."""

    def report(self, x: Truth) -> Told:
        """Return what the actuators tell flight software about themselves, such as wheel momentum."""


class Navigation(Protocol[Belief, Asked, Given]):
    """What flight software believes."""

    def predict(self, belief: Belief, command: Asked, report: Given, t: Any, h: Any) -> Belief:
        """Move over h from time t, the command held; `report` is that of the end."""

    def update(self, belief: Belief, name: str, measurement: Any, t: Any) -> tuple[Belief, Any]:
        """Correct with a measurement of the instrument of that name, stamped t; return an innovation too."""


class Control(Protocol[Believed, Given, Told, Memory]):
    """What flight software does; it knows the belief and the report, never the truth."""

    def command(self, belief: Believed, report: Given, t: Any, memory: Memory) -> tuple[Told, Memory]:
        """Return the command from t on, and what to remember."""


@dataclass(frozen=True)
class Instrument(Generic[Truth]):
    """A sensor in the loop."""

    name: str
    period_s: float
    measure: Callable[[Truth, Any, Any], Any]  # of truth, time, noise
    noise: Stream | None = None
    latency_s: float = 0.0
    first_s: float = 0.0


@dataclass(frozen=True)
class Controller(Generic[Belief, Report, Command, Memory]):
    """A control law in the loop, from `first_s` on; before that the command is the `idle` one."""

    law: Control[Belief, Report, Command, Memory]
    period_s: float
    idle: Command
    first_s: float = 0.0


class Flown(NamedTuple, Generic[Truth, Belief, Memory]):
    """How a flight ended."""

    truth: Truth
    belief: Belief
    memory: Memory
    happened: Happened
    ticks: int  # flown; less than asked for if it was interrupted
    uncompiled: str  # which parts Python computed of a loop that was to be compiled, and why


class Schedule(NamedTuple):
    """When something is due: every so many ticks from the first on."""

    every: int
    first: int

    def due(self, k: Any) -> Any:
        """Tell whether it is due at a tick, or at each of several."""
        return (k >= self.first) & ((k - self.first) % self.every == 0)


@dataclass(frozen=True)
class Loop(Generic[Truth, Belief, Command, Report, Memory]):
    """Who takes part, and how long; mypy sees whether plant, navigation and control fit one another."""

    h: float  # [s]
    duration_s: float
    plant: Plant[Truth, Command, Report]
    instruments: Sequence[Instrument[Truth]]
    navigation: Navigation[Belief, Command, Report]
    controller: Controller[Belief, Report, Command, Memory]
    events: Sequence[Event] = ()
    record_s: float | None = None
    flight_code: Any = None  # what flies in place of navigation and control: see `gnc.export.aboard`
    compiled: bool = False  # whether ticks may be recorded and run as one program: see `compiled_loop`
    steps: int = field(init=False)  # of the truth
    delay: int = field(init=False, repr=False)  # ticks by which the belief lags
    measured: list[tuple[Instrument[Truth], Schedule]] = field(init=False, repr=False)
    commanded: Schedule = field(init=False, repr=False)
    recorded: Schedule = field(init=False, repr=False)
    programs: dict[Any, Any] = field(init=False, repr=False, default_factory=dict)  # of `compiled_loop`

    def __post_init__(self) -> None:
        """Refuse periods that are no whole number of ticks."""
        object.__setattr__(self, "steps", self.ticks("duration_s", self.duration_s))
        delays = [self.ticks(f"{i.name}: latency_s", i.latency_s, least=0) for i in self.instruments]
        object.__setattr__(self, "delay", max(delays, default=0))
        measured = [(i, self._schedule(f"{i.name}: period", i.period_s, i.first_s)) for i in self.instruments]
        commanded = self._schedule("controller: period", self.controller.period_s, self.controller.first_s)
        object.__setattr__(self, "measured", measured)
        object.__setattr__(self, "commanded", commanded)
        object.__setattr__(self, "recorded", self._schedule("record_s", self.record_s or self.duration_s))

    def ticks(self, name: str, seconds: float, least: int = 1) -> int:
        """Return a time as a number of ticks."""
        ticks = round(min(seconds / self.h, 2.0**53))
        if abs(seconds / self.h - ticks) > WHOLE * max(1, ticks) or ticks < least:
            near = f"{max(ticks, 1) * self.h:.12g} s is, or take a truth step that divides it"
            raise InputError(f"{name}: {seconds:.12g} s is not a whole number of truth steps of {self.h:g} s; {near}")
        return ticks

    def fly(
        self,
        truth: Truth,
        belief: Belief,
        memory: Memory,
        record: Callable[[Moment], None] | None = None,
        innovation: Innovations | None = None,
        progress: Callable[[int, int], None] | None = None,
    ) -> Flown[Truth, Belief, Memory]:
        """Fly all trials from the start; Ctrl-C ends the flight early, with all that was recorded."""
        flying, uncompiled = Flying(self), ""
        if self.flight_code is not None:
            self.flight_code.start()
        flying.put(0, FlightState(truth, belief, self.controller.idle, memory))
        try:
            if self.compiled and not JIT_OFF:
                uncompiled = compiled_loop.fly(flying, record, innovation, progress)
            while flying.k <= self.steps:
                flying.tick(innovation)
                if record is not None and self.records(flying.k):
                    record(flying.moment())
                if progress is not None:
                    progress(flying.k, self.steps)
                flying.move()
        except KeyboardInterrupt:
            if flying.k == 0:
                raise
        ticks = min(flying.k, self.steps)
        return Flown(flying.truth, flying.belief, flying.memory, flying.happened, ticks, uncompiled)

    @property
    def times_recorded(self) -> int:
        """Count the ticks that are recorded."""
        return self.steps // self.recorded.every + 1 + (not self.recorded.due(self.steps))

    def records(self, k: int) -> bool:
        """Tell whether a tick is recorded: every so often, and at the end."""
        return self.recorded.due(k) or k == self.steps

    def _schedule(self, name: str, period_s: float, first_s: float = 0.0) -> Schedule:
        return Schedule(self.ticks(name, period_s), self.ticks(name, first_s, least=0))
