"""A flight without noise, with the derivatives of all its ticks: what linear covariance is made of.

    dz' = A dz + D dtheta + B w        z: all numbers of a flight's state; theta: drawn once per trial; w: noise

A passage is a tick at which something is due, or all ticks up to the next such one. Most numbers of a state stay in
most passages (a filter's covariance between two measurements): only rows that change are told, by the columns that they
depend on. A symmetric matrix counts by its upper triangle.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from gnc.compiled_loop import later
from gnc.errors import InputError, PartError, blamed
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
    kind: int  # moments of a kind have the same numbers


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
    waiting: Waiting  # before


class _Kind(NamedTuple):
    """What ticks must have in common to be one program."""

    instruments: tuple[bool, ...]
    commanding: bool
    moving: bool
    waiting: Waiting
    observed: bool


class _Recorded(NamedTuple):
    """A recording, the numbers that it depends on, and those that it changes."""

    recording: Recording
    depends: np.ndarray
    changes: np.ndarray


class _Tangent(NamedTuple):
    """A tick with derivatives, and where those by state, draws and each noise end."""

    tick: TangentTick
    ends: list[int]
    drawn: np.ndarray  # those of what is drawn that parameters of the tick depend on
    noise: tuple[str, ...]


@dataclass
class LinearFlight:
    """The flight of the first trial of a loop; the other trials are those by which parameters depend on what is drawn.

    `slopes` returns the derivative (drawn, size) of numbers (trials, size); trials `alike` are as the first.
    """

    loop: Loop
    state: State
    slopes: RowSlopes
    alike: Sequence[int] = (0,)
    by_all: bool = False  # differentiate by numbers too that neither draws nor noise move
    thorough: bool = True  # whether differences of a part in Python search for their steps in every tick

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
        self._ticks: dict[_Kind, list[_Recorded]] = {}
        self._tangents: dict[tuple[int, bytes], _Tangent] = {}
        self.owner = self._symmetric()
        self.numbers = np.flatnonzero(self.owner == np.arange(len(self.owner)))  # places of the n numbers in slots
        self._moving = np.any(self._start_slopes[self.numbers] != 0.0, axis=1) | self.by_all

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
                    cause = blamed(error.__cause__ or error)
                    refused = InputError(f"the flight cannot be differentiated: {error}")
                    raise (cause if isinstance(cause, PartError) else refused) from None
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
            waiting = after if acting else later(waiting, passage.end - k)
            k = passage.end

    def _passage(
        self, k: int, end: int, z: np.ndarray, waiting: Waiting, acting: bool, observed: bool
    ) -> tuple[Passage, Waiting, np.ndarray]:
        due = tuple(s.due(k) for _, s in self.loop.measured)
        kind = _Kind(due, self.loop.commanded.due(k), k < self.loop.steps, waiting if acting else Waiting(), observed)
        recorded = self._recorded(kind, z, k)
        count = _longest(recorded.recording, k, end - k)
        columns = recorded.depends[self._moving[recorded.depends]]
        tangent = self._tangent(recorded, columns, due)
        changed = self.numbers[recorded.changes]
        after, slopes, made, made_slopes = tangent.tick.run(z, k, count, changed)
        self.kinks |= tangent.tick.kinks
        A, D, B = self._split(slopes, after[changed], tangent)
        seen = None
        if observed:
            seen = Seen(made, _reader(recorded.recording, k), *self._split(made_slopes, made, tangent), id(recorded))
        self._moving[recorded.changes] |= slopes.any(axis=0)
        passage = Passage(k, k + count, z[self.numbers], recorded.changes, columns, A, D, B, seen, waiting)
        return passage, recorded.recording.after, after

    def _split(self, slopes: Any, values: Any, tangent: _Tangent) -> tuple[Any, Any, dict[str, Any]]:
        """Divide slopes by what they are with respect to; a number that is NaN does not move."""
        if not np.isfinite(slopes.sum()):
            slopes = np.where(np.isfinite(values)[None], slopes, 0.0)
            self.kinks |= not np.isfinite(slopes).all()
            slopes = np.where(np.isfinite(slopes), slopes, 0.0)
        A, some, *rest = (slopes[a:b].T for a, b in itertools.pairwise(tangent.ends))
        D = np.zeros((len(some), self._start_slopes.shape[1]))
        D[:, tangent.drawn] = some
        return A, D, dict(zip(tangent.noise, rest, strict=True))

    kinks = False  # whether a derivative had no value, at a kink of the nominal flight

    def _tangent(self, recorded: _Recorded, columns: np.ndarray, due: tuple[bool, ...]) -> _Tangent:
        """Return a tick with its derivatives along these columns, what is drawn, and the noise of what is due."""
        key = id(recorded.recording), columns.tobytes()
        if key in self._tangents:
            return self._tangents[key]
        noise = {
            i.name: i.noise for (i, _), d in zip(self.loop.measured, due, strict=True) if d and i.noise is not None
        }
        recording, n = recorded.recording, len(columns)
        own = [one for one in recording.recorder.given if one.trial_step and one.memory is not None]
        moved = {id(one): self.slopes(np.nan_to_num(one.memory.reshape(self.trials, -1))) for one in own}  # type: ignore[union-attr]
        some = np.full(self._start_slopes.shape[1], bool(recording.recorder.cuts))  # a part in Python may hold any
        (drawn,) = np.nonzero(np.any([some, *(slopes.any(axis=1) for slopes in moved.values())], axis=0))
        ends = [0, *itertools.accumulate([n, len(drawn), *(stream.size for stream in noise.values())])]
        unit = np.eye(max(ends[-1], 1))  # directions
        places = zip(noise.values(), itertools.pairwise(ends[2:]), strict=True)
        blocks = {stream: unit[:, a:b] for stream, (a, b) in places}
        seeds = unit[:, :n] @ (self.owner[None, :] == self.numbers[columns][:, None])
        given = {one: unit[:, n : ends[2]] @ slopes[drawn] for one, slopes in moved.items()}
        by_rows = lambda values: unit[:, n : ends[2]] @ self.slopes(values)[drawn]  # noqa: E731
        tick = TangentTick(recording, seeds, lambda one: given.get(id(one)), blocks, by_rows, self.alike)
        tick.thorough = self.thorough
        return self._tangents.setdefault(key, _Tangent(tick, ends, drawn, tuple(noise)))

    def _recorded(self, kind: _Kind, z: np.ndarray, k: int) -> _Recorded:
        """Return a recording that holds at a tick."""
        known = self._ticks.setdefault(kind, [])
        for one in known:
            if all(guard.holds(k) for guard in one.recording.clock.guards):
                return one
        observe = (lambda moment: moment[1:]) if kind.observed else None
        opaque: dict[str, str] = {}
        try:
            recording = Recording(self.loop, self.slots, (k, kind.waiting), False, opaque, observe=observe)
            recording = complete(recording, np.tile(z, (self.trials, 1)), k)
        except (TypeError, ValueError) as error:
            raise NotRecordable(error) from error
        self.differenced |= {cut.name for cut in recording.recorder.cuts}
        known.append(_Recorded(recording, *self._structure(recording)))
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
    return lambda numbers: Moment(t, *next(recording.read_observed(numbers[None], k)))
