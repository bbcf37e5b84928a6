"""The flight software of a loop, recorded: navigation and control, without truth and sensors.

    state     belief, command, memory, and what waits for late measurements
    inputs    what the actuators report, the measurements of now, the time, rows of tables of the surroundings
    tick      one for every kind: which instruments are due, whether a command is, what waits

A loop of one trial is flown for a while. The kinds of ticks that come up are recorded, and the numbers of the flight
are kept as test vectors. `software_files` writes all of it as C.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from gnc.batch.program import Input, Recorder
from gnc.flying import Flying, State, Waiting
from gnc.instant import Clock
from gnc.recorded_tick import OnSymbols
from gnc.state_slots import StateSlots
from gnc.trees import Packing, Tree

if TYPE_CHECKING:
    from gnc.loop import Loop

REPORT = "report"
OUTSIDE = {"plant.report": REPORT}  # parts that are not software; instruments are `instrument NAME`


class SoftwareTick(NamedTuple):
    """The software of one kind of tick."""

    number: int
    recorder: Recorder
    clock: Clock
    results: list[int]
    inputs: dict[str, list[Input]]  # by the name of what comes from outside


class Vector(NamedTuple):
    """What a tick of a flight took and made."""

    tick: int
    before: np.ndarray  # the numbers of the state
    inputs: dict[str, np.ndarray]
    after: np.ndarray


@dataclass
class Software:
    """The software of a loop of one trial, as it is found along a flight."""

    loop: Loop
    packings: dict[str, Packing] = field(default_factory=dict)  # of the report and of measurements
    ticks: list[SoftwareTick] = field(default_factory=list)
    vectors: list[Vector] = field(default_factory=list)
    sources: dict[Any, str] = field(default_factory=dict)  # names of times and tables, by the keys of the clock
    fields: dict[str, dict[str, int]] = field(default_factory=dict)  # of all inputs: names and sizes of their arrays
    about: dict[str, str] = field(default_factory=dict)  # what times and tables are
    _kinds: dict[Any, list[SoftwareTick]] = field(default_factory=dict)
    _examples: dict[str, Tree] = field(default_factory=dict)

    def fly(self, start: State, steps: int) -> None:
        """Fly, and take down every tick at which the software does something."""
        flying = _Listening(self.loop)
        flying.put(0, start)
        for _ in range(steps):
            before, waiting = flying.state(), flying.waiting()
            flying.heard.clear()
            flying.tick()
            if flying.heard or flying.waiting() != waiting:
                self._take_down(flying, before, waiting)
            flying.move()

    def _take_down(self, flying: _Listening, before: State, waiting: Waiting) -> None:
        self._examples |= flying.heard
        for name in [name for name in flying.heard if name not in self.packings]:
            packing = self.packings[name] = Packing(flying.heard[name])
            prefix = "".join(c if c.isalnum() else "_" for c in name)
            self.fields[name] = dict(zip(packing.names(prefix), map(math.prod, packing.cores), strict=True))
        if not self.ticks:
            self._make_slots(before)
        tick = self._tick((tuple(flying.heard), self.loop.commanded.due(flying.k), waiting), flying.k, waiting)
        given = {name: self.packings[name].pack(tree)[0] for name, tree in flying.heard.items()}
        for source, (key, symbols) in zip(tick.clock.sources, tick.clock.symbols.items(), strict=True):
            rows = source.rows(flying.k, 1, iter([True] * len(symbols)))
            blocks = zip(rows, tick.inputs[self.sources[key]], strict=True)
            given[self.sources[key]] = np.concatenate([row.read(1, one.size)[0] for row, one in blocks])
        first = self.slots.pack(_software_of(before), waiting)
        after = self.slots.pack(_software_of(flying.state()), flying.waiting(), first)
        self.vectors.append(Vector(tick.number, first[0], given, after[0]))

    def _make_slots(self, before: State) -> None:
        measurements = {name: tree for name, tree in self._examples.items() if name != REPORT}
        if self.loop.delay and len(measurements) < len(self.loop.measured):
            raise TypeError("where measurements may be late, all instruments must be due at the first tick")
        other = Flying(self.loop)
        other.put(0, _software_of(before))
        self.slots = StateSlots(other, measurements, self._examples.get(REPORT))

    def _tick(self, kind: Any, k: int, waiting: Waiting) -> SoftwareTick:
        """Return the recorded tick of a kind, which holds at the k-th."""
        for tick in self._kinds.setdefault(kind, []):
            if all(guard.holds(k) for guard in tick.clock.guards):
                return tick
        recorder = Recorder(1)
        flying = _OfSoftware(self.loop, Clock(self.loop.h, k, recorder), self.packings)
        slots = self.slots.symbols(recorder)
        with recorder.recording():
            flying.put(k, self.slots.used(slots, waiting), waiting)
            flying.tick()
            state = self.slots.numbers(recorder, slots, flying.state(), flying.waiting())
            results = recorder.results(state)
        outside = {one.slot for inputs in flying.inputs.values() for one in inputs}
        timed = iter([one for one in recorder.given if one.memory is None and one.slot not in outside])
        for (key, symbols), source in zip(flying.times.symbols.items(), flying.times.sources, strict=True):
            name = self.sources.setdefault(key, f"{source.kind}{len(self.sources)}")
            inputs = flying.inputs[name] = [next(timed) for _ in symbols]
            self.fields[name] = {f"{name}_{part}": one.size for part, one in zip(source.names, inputs, strict=True)}
            self.about[name] = f"{source.kind} at {source.time.at(0):+g} s from the tick"
        tick = SoftwareTick(len(self.ticks), recorder, flying.times, results, flying.inputs)
        self.ticks.append(tick)
        self._kinds[kind].append(tick)
        return tick


class _OfSoftware(OnSymbols):
    """A tick on symbols whose sensors and reports are inputs."""

    def __init__(self, loop: Loop, clock: Clock, packings: dict[str, Packing]) -> None:
        super().__init__(loop, clock)
        self.times, self._packings = clock, packings
        self.inputs: dict[str, list[Input]] = {}
        self._symbols: dict[str, Tree] = {}

    def draw(self, instrument: Any) -> None:
        """Draw nothing: noise is that of sensors."""

    def part(self, name: str, function: Callable[..., Any], *args: Any) -> Any:
        """Record a part of the software; what comes from outside is an input."""
        key = outside(name)
        if key is None:
            return function(*args)
        if key not in self.inputs:
            packing, recorder = self._packings[key], self.times.recorder
            first, kinds = len(recorder.given), zip(packing.cores, packing.tests, strict=True)
            self._symbols[key] = packing.filled(recorder.timed(core, test) for core, test in kinds)
            self.inputs[key] = recorder.given[first:]
        return self._symbols[key]


class _Listening(Flying):
    """A flight that keeps what its software is told."""

    def __init__(self, loop: Loop) -> None:
        super().__init__(loop)
        self.heard: dict[str, Tree] = {}

    def part(self, name: str, function: Callable[..., Any], *args: Any) -> Any:
        """Call a part."""
        made = function(*args)
        if (key := outside(name)) is not None:
            self.heard[key] = made
        return made


def outside(part: str) -> str | None:
    """Return the name of an input of the software that a part makes; None for parts of the software."""
    return part.removeprefix("instrument ") if part.startswith("instrument ") else OUTSIDE.get(part)


def _software_of(state: State) -> State:
    return state._replace(truth=(), happened=())
