"""A time that stands for many: what the parts of a loop are given while one of its ticks is recorded.

A part may add to such a time, multiply and divide it, compare it with a number, hand it to a kernel, and look something
up at it:

    env = t.look_up(self.rows, self.h) if isinstance(t, Instant) else ...      a row of a table for every h seconds

The recorded tick then holds for all ticks at which the comparisons come out the same, with what is looked up at theirs.
Anything else raises a TypeError, and the loop is flown tick by tick.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from gnc.batch.program import Recorder, Rows, of_all
from gnc.errors import InputError


class TimeTest(NamedTuple):
    """A comparison of a time with a number while a tick was recorded, and its outcome."""

    time: Instant
    compare: Callable[[float, float], bool]
    bound: float
    outcome: bool

    def holds(self, k: int) -> bool:
        """Tell whether the comparison has the same outcome at the k-th tick."""
        return self.compare(self.time.at(k), self.bound) == self.outcome


class _Times(NamedTuple):
    """The time itself, as an input of every tick."""

    time: Instant
    kind: str = "time"
    names: tuple[str, ...] = ("s",)

    def rows(self, k: int, n: int, used: Iterator[bool]) -> list[Rows | None]:
        """Return the times of n ticks from the k-th on, if the program uses the time."""
        return [of_all(np.array(self.time.times(k, n))) if next(used) else None]


class _LookUp(NamedTuple):
    """Rows of a table, each tick its own."""

    time: Instant
    table: tuple[np.ndarray, ...]
    every_s: float
    places: list[Rows]  # of the parts of the table, from tick to tick

    @property
    def kind(self) -> str:
        """What the table is of."""
        return type(self.table).__name__.lower()

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the table's parts."""
        return getattr(self.table, "_fields", tuple(map(str, range(len(self.table)))))

    def rows(self, k: int, n: int, used: Iterator[bool]) -> list[Rows | None]:
        """Return the rows of n ticks from the k-th on, of the parts that the program uses."""
        first, last = (round(self.time.at(tick) / self.every_s) for tick in (k, k + n - 1))
        if first < 0 or last >= len(self.table[0]):
            raise InputError(f"t: {self.time.at(k + n - 1):g} s is outside of the flight")
        parts = zip(self.table, self.places, used, strict=False)
        return [place.shifted(first * part.strides[0]) if in_use else None for part, place, in_use in parts]


@dataclass
class Clock:
    """Hands out instants while a tick is recorded, and remembers their comparisons and the inputs they ask for."""

    h: float
    tick: int  # the number of the recorded tick
    recorder: Recorder
    guards: list[TimeTest] = field(default_factory=list)
    sources: list[Any] = field(default_factory=list)  # of the inputs of every step, in their order; each with `rows`
    symbols: dict[Any, list[Any]] = field(default_factory=dict)  # of the sources, by their keys

    def symbols_of(self, key: Any, source: Any, cores: list[tuple[int, ...]]) -> list[Any]:
        """Return the symbols of a source of inputs; a second call with the same key returns the same symbols."""
        if key not in self.symbols:
            self.symbols[key] = [self.recorder.timed(core) for core in cores]
            self.sources.append(source)
        return self.symbols[key]

    def __call__(self, tick: int) -> Instant:
        """Return the time of a tick."""
        return Instant(self, tick - self.tick)


class Instant:
    """The time of a tick, as ticks from the recorded tick on plus the seconds that parts have added."""

    def __init__(self, clock: Clock, ticks: int, added: tuple[float, ...] = ()) -> None:
        self.clock, self._ticks, self._added = clock, ticks, added

    def at(self, k: int) -> float:
        """Return the time when the k-th tick is run, by the operations of a loop that is not recorded."""
        t = (k + self._ticks) * self.clock.h
        for seconds in self._added:
            t = t + seconds
        return t

    def times(self, k: int, n: int) -> list[float]:
        """Return `at` of n ticks from the k-th on."""
        t = np.arange(k + self._ticks, k + self._ticks + n) * self.clock.h
        for seconds in self._added:
            t = t + seconds
        return t.tolist()

    def __add__(self, seconds: Any) -> Any:
        if isinstance(seconds, Instant) or not isinstance(seconds, (int, float)):
            return NotImplemented
        return Instant(self.clock, self._ticks, (*self._added, seconds))

    __radd__ = __add__

    def __sub__(self, less: Any) -> Any:
        return self + -less if isinstance(less, (int, float)) else self.as_number() - less

    def __rsub__(self, later: Any) -> Any:
        return later - self.as_number()

    def __mul__(self, factor: Any) -> Any:
        return self.as_number() * factor

    __rmul__ = __mul__

    def __truediv__(self, divisor: Any) -> Any:
        return self.as_number() / divisor

    def _compare(self, compare: Callable[[float, float], bool], bound: Any) -> bool:
        if not isinstance(bound, (int, float)):
            raise TypeError(f"a time that is being recorded is compared with numbers, not with {type(bound).__name__}")
        outcome = compare(self.at(self.clock.tick), bound)
        self.clock.guards.append(TimeTest(self, compare, bound, outcome))
        return outcome

    def __lt__(self, bound: Any) -> bool:
        return self._compare(operator.lt, bound)

    def __le__(self, bound: Any) -> bool:
        return self._compare(operator.le, bound)

    def __gt__(self, bound: Any) -> bool:
        return self._compare(operator.gt, bound)

    def __ge__(self, bound: Any) -> bool:
        return self._compare(operator.ge, bound)

    def __float__(self) -> float:
        raise TypeError("a time that is being recorded has no value: use look_up, or hand it to a kernel")

    def as_number(self) -> Any:
        """Return the time as a number to compute with, as kernels ask for it."""
        return self.clock.symbols_of((self._ticks, self._added), _Times(self), [()])[0]

    def look_up(self, table: tuple[np.ndarray, ...], every_s: float) -> Any:
        """Return the symbols of the row for this time of a table: arrays with a row every so many seconds from 0 on."""
        ticks = self.clock.h / every_s
        if abs(ticks - round(ticks)) > 1e-9:
            raise TypeError(f"a table with a row every {every_s:g} s has none for every tick of {self.clock.h:g} s")
        places = [of_all(part[:: round(ticks)]) for part in table]
        source = _LookUp(self, table, every_s, places)
        parts = self.clock.symbols_of((id(table), self._ticks, self._added), source, [part.shape[1:] for part in table])
        return type(table)(*parts) if hasattr(table, "_fields") else tuple(parts)
