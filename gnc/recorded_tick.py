"""One tick of a loop as a program: what it was recorded from, what it needs at every tick, what it makes."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from gnc.batch.layout import Core
from gnc.batch.program import Program, Recorder, Rows, of_trials
from gnc.batch.scalar import Scalar, is_test
from gnc.flying import Flying
from gnc.instant import Clock, Instant
from gnc.noise import Stream
from gnc.trees import Packing, mapped

if TYPE_CHECKING:
    from gnc.loop import Instrument, Loop


def record_tick(
    loop: Loop, start: tuple[int, int], packing: Packing, innovations: bool, most_made: int
) -> RecordedTick:
    """Record the tick k of a loop, with the belief of an earlier one: start = (k, tick of the belief)."""
    recorder = Recorder(packing.trials)
    clock, made = Clock(loop.h, start[0], recorder), _Collected()
    flying = _OnSymbols(loop, clock)
    symbols = packing.filled(recorder.state(core) for core in packing.cores)
    with recorder.recording():
        flying.put(*start, *symbols)
        flying.tick(made.collect if innovations else None)
        flying.move()
        after = packing.arrays((flying.truth, flying.belief, flying.command, flying.memory))
        state = [x for part, core in zip(after, packing.cores, strict=True) for x in recorder.numbers(part, core)]
        program = recorder.program(state, made.numbers)
    return RecordedTick(program, clock, made.innovations, max(1, most_made // max(1, packing.trials * program.made)))


class _OnSymbols(Flying):
    """A flight whose states are symbols."""

    def __init__(self, loop: Loop, clock: Clock) -> None:
        super().__init__(loop)
        self._clock = clock

    def clock(self, tick: int) -> Any:
        """Return a time that stands for that of many ticks."""
        return self._clock(tick)

    def draw(self, instrument: Instrument) -> Any:
        """Return the symbols of noise that is drawn when the tick is run."""
        stream = instrument.noise
        return None if stream is None else self._clock.found(stream, _Noise(stream), [(stream.size,)])[0]


class _Noise(NamedTuple):
    """The noise of an instrument, as an input of every tick."""

    stream: Stream

    def rows(self, k: int, n: int, used: Iterator[bool]) -> list[Rows | None]:
        """Return the next n, which are taken whether anything depends on them or not."""
        taken = self.stream.take(n)
        return [of_trials(taken) if next(used) else None]


@dataclass(frozen=True)
class _Numbers:
    """Where the numbers of a part of an innovation are."""

    first: int
    core: Core
    test: bool

    def read(self, made: np.ndarray) -> np.ndarray:
        """Return them as the array that they are, (trials, ...)."""
        values = made[:, self.first : self.first + math.prod(self.core)].reshape(len(made), *self.core)
        return values != 0.0 if self.test else values.copy()


class Made(NamedTuple):
    """An innovation that a tick makes."""

    name: str
    time: Instant
    tree: Any  # with _Numbers in place of symbols

    def read(self, made: np.ndarray) -> Any:
        """Return it from what one tick has made, (trials, numbers)."""
        return mapped(lambda leaf: leaf.read(made) if isinstance(leaf, _Numbers) else leaf, self.tree)


class _Collected:
    """The innovations of a tick while it is recorded."""

    def __init__(self) -> None:
        self.numbers: list[Any] = []
        self.innovations: list[Made] = []

    def collect(self, name: str, time: Any, made: Any) -> None:
        """Take the innovation of an instrument."""
        self.innovations.append(Made(name, time, mapped(self._numbered, made)))

    def _numbered(self, leaf: Any) -> Any:
        if not isinstance(leaf, Scalar) and not (isinstance(leaf, np.ndarray) and leaf.dtype == object):
            return leaf
        first, array = len(self.numbers), np.asarray(leaf, object)
        self.numbers += list(array.ravel())
        return _Numbers(first, array.shape, bool(array.size) and is_test(array.flat[0]))


class RecordedTick(NamedTuple):
    """A tick that can be run."""

    program: Program
    clock: Clock
    made: list[Made]
    most: int  # ticks at once

    def longest(self, k: int, most: int) -> int:
        """Return how many ticks from the k-th on may be run at once: 0 if it is not for that one."""
        guards = self.clock.guards
        if not all(guard.holds(k) for guard in guards):
            return 0
        n = min([most, self.most, *(stream.ready for stream in self._streams())])
        while not all(guard.holds(k + n - 1) for guard in guards):  # what holds at both ends holds between
            n //= 2
        return n

    def rows(self, k: int, n: int) -> list[Rows | None]:
        """Return the inputs of n ticks from the k-th on; what nothing depends on is not even looked up."""
        used = iter(self.program.used)
        return [row for source in self.clock.sources for row in source.rows(k, n, used)]

    def _streams(self) -> Iterator[Stream]:
        return (source.stream for source in self.clock.sources if isinstance(source, _Noise))
