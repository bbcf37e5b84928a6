"""A flight without noise, with the derivatives of all its ticks: what linear covariance is made of.

    dz' = A dz + D dtheta + B w        z: all numbers of a flight's state; theta: drawn once per trial; w: noise

A passage is a tick at which something is due, or all ticks up to the next such one. Most numbers of a state stay in
most passages (a filter's covariance between two measurements): only rows that change are told, by the columns that they
depend on. A symmetric matrix counts by its upper triangle.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from gnc.batch.program import Input
from gnc.errors import InputError
from gnc.flying import Flying, Moment, State, Waiting
from gnc.loop import Loop
from gnc.recorded_tick import NotRecordable, Recording
from gnc.state_slots import StateSlots
from gnc.tick_derivative import TangentTick, complete
from gnc.trees import trials_of

RowSlopes = Callable[[np.ndarray], np.ndarray]


class Seen(NamedTuple):
    """A moment that is observed: its numbers, and how they depend on the state before the tick."""

    numbers: np.ndarray  # (m)
    read: Callable[[np.ndarray], Moment]  # from numbers (trials, m)
    A: np.ndarray  # (m, columns)
    D: np.ndarray  # (m, drawn)
    B: dict[str, np.ndarray]  # (m, size)


class Passage(NamedTuple):
    """Some ticks, and their derivatives."""

    k: int
    end: int
    z: np.ndarray  # (n) before
    rows: np.ndarray  # numbers that change
    columns: np.ndarray  # numbers that they depend on
    A: np.ndarray  # (rows, columns)
    D: np.ndarray  # (rows, drawn)
    B: dict[str, np.ndarray]  # (rows, size) of each instrument that is due
    seen: Seen | None


class _Kind(NamedTuple):
    """What ticks must have in common to be one program."""

    instruments: tuple[bool, ...]
    commanding: bool
    moving: bool
    waiting: Waiting
    observed: bool


@dataclass
class LinearFlight:
    """The flight of the first trial of a loop; the other trials are those by which parameters depend on what is drawn.

    `slopes` returns the derivative (drawn, size) of numbers (trials, size).
    """

    loop: Loop
    state: State
    slopes: RowSlopes

    def __post_init__(self) -> None:
        """Lay out the state."""
        self.trials, self.differenced = trials_of(self.state), set[str]()
        self._shared: frozenset[int] = frozenset()
        self._lay_out()

    def _lay_out(self) -> None:
        flying, loop = Flying(self.loop), self.loop
        flying.put(0, self.state)
        late = loop.instruments if loop.delay else ()
        examples = {i.name: i.measure(self.state.truth, i.first_s, _none(i, self.trials)) for i in late}
        self.slots = StateSlots(flying, examples, shared=self._shared)
        start = self.slots.pack(flying.state(), flying.waiting())
        self._start, self._start_slopes = start, np.nan_to_num(self.slopes(start)).T
        self._ticks: dict[Any, list[tuple[Recording, np.ndarray, np.ndarray]]] = {}
        self._tangents: dict[Any, TangentTick] = {}
        self.owner = self._symmetric()
        self.numbers = np.flatnonzero(self.owner == np.arange(len(self.owner)))  # places of the n numbers in slots
        self._moving = self._start_slopes[self.numbers].any(axis=1)

    def _symmetric(self) -> np.ndarray:
        """Return for every slot which one stands for it: of symmetric matrices the upper triangle."""
        owner, at = np.arange(self._start.shape[1]), 0
        for core in self.slots.packing.cores:
            size = math.prod(core)
            if len(core) == 2 and core[0] == core[1]:
                index = at + np.arange(size).reshape(core)
                own = self._start[:, index]
                if np.array_equal(own, np.swapaxes(own, 1, 2), equal_nan=True):
                    owner[index] = np.minimum(index, index.T)
            at += size
        return owner

    @property
    def names(self) -> list[str]:
        """The names of the n numbers."""
        found = []
        for name, core in zip(self.slots.packing.names(), self.slots.packing.cores, strict=True):
            found += [f"{name}{list(i) if i else ''}" for i in np.ndindex(core)]
        return [found[i] for i in self.numbers]

    def start_slopes(self) -> np.ndarray:
        """Return how the n numbers of the start depend on what is drawn (n, drawn)."""
        return self._start_slopes[self.numbers]

    def passages(self, observed: Callable[[int], bool]) -> Iterator[Passage]:
        """Give all passages in order; moments are seen at the ticks at which they are to be observed."""
        while True:
            try:
                yield from self._passages(observed)
                return
            except NotRecordable as error:  # numbers that all trials share and that change show in the first tick
                if error.shared is None or error.shared in self._shared:
                    raise InputError(f"the flight cannot be differentiated: {error}") from None
                self._shared |= {error.shared}
                self._lay_out()

    def _passages(self, observed: Callable[[int], bool]) -> Iterator[Passage]:
        loop, k, z, waiting = self.loop, 0, self._start[0].copy(), Waiting()
        ticks = np.arange(loop.steps + 1)
        due = loop.commanded.due(ticks) | np.any([s.due(ticks) for _, s in loop.measured] or [ticks < 0], axis=0)
        due[-1] = True
        due |= np.array([observed(int(tick)) for tick in ticks]) | (ticks == 0)
        events = np.flatnonzero(due)
        while k <= loop.steps:
            arriving = bool(waiting.marks) and waiting.marks[0] >= loop.delay
            acting = bool(due[k]) or arriving
            next_event = int(events[np.searchsorted(events, k + 1)]) if k < events[-1] else loop.steps + 1
            end = k + 1 if acting or waiting.marks else next_event
            passage, after, z = self._passage(k, end, z, waiting, acting, acting and observed(k))
            yield passage
            late = passage.end - k
            waiting = after if acting else Waiting(
                waiting.belief + late, tuple(m + late for m in waiting.marks), tuple((a + late, n) for a, n in waiting.taken)
            )
            k = passage.end

    def _passage(
        self, k: int, end: int, z: np.ndarray, waiting: Waiting, acting: bool, observed: bool
    ) -> tuple[Passage, Waiting, np.ndarray]:
        loop = self.loop
        due = [(i, s.due(k)) for i, s in loop.measured]
        kind = _Kind(tuple(d for _, d in due), loop.commanded.due(k), k < loop.steps, waiting if acting else Waiting(), observed)
        recording, depends, changes = self._recorded(kind, z, k)
        count = _longest(recording, k, end - k)
        columns = depends[self._moving[depends]]
        noise = {i.name: i.noise for i, d in due if d and i.noise is not None}
        p, n = self._start_slopes.shape[1], len(columns)
        ends = n + p + np.cumsum([0, *(stream.size for stream in noise.values())])
        tick = self._tangent(kind, recording, columns, int(ends[-1]), noise)
        dz = np.zeros((ends[-1], len(z)))
        dz[:n] = self.owner[None, :] == self.numbers[columns][:, None]
        after, slopes, made, made_slopes = tick.run(z, dz, k, count)
        changed = self.numbers[changes]
        A, D, B = self._split(slopes[:, changed], after[changed], n, p, noise, ends)
        seen = None
        if observed:
            seen = Seen(made, _reader(recording, k), *self._split(made_slopes, made, n, p, noise, ends))
        self._moving[changes] |= A.any(axis=1) | D.any(axis=1) | np.any([b.any(axis=1) for b in B.values()] or [False], axis=0)
        return Passage(k, k + count, z[self.numbers], changes, columns, A, D, B, seen), recording.after, after

    def _split(self, slopes: Any, values: Any, n: int, p: int, noise: Any, ends: Any) -> tuple[Any, Any, dict[str, Any]]:
        """Divide slopes by what they are with respect to; a number that is NaN does not move."""
        slopes = np.where(np.isfinite(values)[None], slopes, 0.0)
        if not np.isfinite(slopes).all():
            slopes = np.where(np.isfinite(slopes), slopes, 0.0)
            self.kinks = True
        A, D, *rest = np.split(slopes.T, [n, *ends[:-1]], axis=1)
        return A, D, dict(zip(noise, rest, strict=True))

    kinks = False  # whether a derivative had no value, at a kink of the nominal flight, and was left out

    def _tangent(self, kind: _Kind, recording: Recording, columns: Any, directions: int, noise: Any) -> TangentTick:
        key = id(recording), columns.tobytes()
        if key not in self._tangents:
            p, n, at = self._start_slopes.shape[1], len(columns), len(columns) + self._start_slopes.shape[1]
            blocks = {}
            for stream in noise.values():
                blocks[stream] = np.zeros((directions, stream.size))
                blocks[stream][at : at + stream.size] = np.eye(stream.size)
                at += stream.size

            def drawn(values: np.ndarray) -> np.ndarray:
                block = np.zeros((directions, values.shape[1]))
                block[n : n + p] = self.slopes(values)
                return block

            def given(one: Input) -> np.ndarray | None:
                if not one.trial_step or one.memory is None:
                    return None
                return drawn(np.nan_to_num(one.memory.reshape(self.trials, -1)))

            self._tangents[key] = TangentTick(recording, directions, given, blocks, drawn)
        return self._tangents[key]

    def _recorded(self, kind: _Kind, z: np.ndarray, k: int) -> tuple[Recording, np.ndarray, np.ndarray]:
        """Return a recording that holds at a tick, the numbers that it depends on, and those that it changes."""
        known = self._ticks.setdefault(kind, [])
        for one in known:
            if all(guard.holds(k) for guard in one[0].clock.guards):
                return one
        observe = (lambda moment: moment[1:]) if kind.observed else None
        opaque: dict[str, str] = {}
        try:
            recording = Recording(self.loop, self.slots, (k, kind.waiting), False, opaque, observe=observe)
            recording = complete(recording, np.tile(z, (self.trials, 1)), k)
        except (TypeError, ValueError) as error:
            raise NotRecordable(error) from error
        self.differenced |= {cut.name for cut in recording.recorder.cuts}
        known.append((recording, *self._structure(recording)))
        return known[-1]

    def _structure(self, recording: Recording) -> tuple[np.ndarray, np.ndarray]:
        """Return which of the n numbers a tick depends on, and which it changes."""
        recorder, results = recording.recorder, recording.results or []
        tape, size = recorder.tape, recorder.state_size
        slot = [tape.entries[r].operands[0] if tape.entries[r].op == "input" else -1 for r in results[:size]]
        changed = np.array(slot) != np.arange(size)
        targets = [r for r, new in zip(results, [*changed, *[True] * (len(results) - size)], strict=True) if new]
        targets += [operand for cut in recorder.cuts for operand in cut.operands]
        needed = [tape.entries[i] for i in tape.needed(targets)]
        slots = np.array([e.operands[0] for e in needed if e.op == "input" and e.operands[0] < size], int)
        places = np.searchsorted(self.numbers, np.unique(self.owner[slots]))
        return places, np.flatnonzero(changed[self.numbers])


def _longest(recording: Recording, k: int, most: int) -> int:
    """Return how many ticks from the k-th on a recording holds for."""
    while not all(guard.holds(k + most - 1) for guard in recording.clock.guards):
        most //= 2
    return most


def _none(instrument: Any, trials: int) -> Any:
    return None if instrument.noise is None else np.zeros((trials, instrument.noise.size))


def _reader(recording: Recording, k: int) -> Callable[[np.ndarray], Moment]:
    """Return the function that makes moments of numbers."""
    t = k * recording.loop.h
    return lambda numbers: Moment(t, *recording.read_observed(numbers, k))
