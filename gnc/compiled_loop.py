"""A loop whose ticks are compiled: one program in place of all calls from Python, with the same bits.

A tick is recorded once (`gnc.flying` runs on symbols) and then run many times, as long as the same is due. Parts of
such a loop compute with kernels and with `+ - * /` and slices between them, do not branch on a trial's data, and do
nothing beside computing; what they may do with the time is told in `gnc.instant`. A part that does otherwise raises an
error while it is recorded, and from there on the loop is flown tick by tick, which gives the same. Loops with late
measurements or with events are not compiled.

The state, that is truth, belief, command and memory of all trials, is one array (trials, numbers).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from gnc.batch.program import of_steps
from gnc.flying import Flying, Innovations, Moment
from gnc.recorded_tick import RecordedTick, record_tick
from gnc.trees import Packing

if TYPE_CHECKING:
    from gnc.loop import Loop

MOST_MADE = 1_000_000  # numbers of innovations that are kept of one run


def fly(
    flying: Flying,
    record: Callable[[Moment], None] | None,
    innovation: Innovations | None,
    progress: Callable[[int, int], None] | None,
) -> str:
    """Fly as far as ticks can be compiled; return why not, if that is not to the end."""
    loop = flying.loop
    if loop.events or loop.delay:
        return "it has events" if loop.events else "it has late measurements"
    try:
        compiled = _Compiled(flying, innovation)
    except TypeError as error:
        return str(error)
    try:
        for end, recorded in _runs(loop, record is not None):
            while flying.k < end:
                compiled.run(end, record if recorded else None)
                if progress is not None:
                    progress(min(flying.k, loop.steps), loop.steps)
    except _NotRecordable as error:
        return str(error)
    finally:
        compiled.land()
    return ""


def _runs(loop: Loop, recording: bool) -> Iterator[tuple[int, bool]]:
    """Give the ends of the runs of ticks at which the same is due, and whether they are recorded: those are alone."""
    k = np.arange(loop.steps + 1)
    due = [schedule.due(k) for schedule in (*(schedule for _, schedule in loop.measured), loop.commanded)]
    recorded = loop.recorded.due(k) & recording
    recorded[-1] = recording
    moved = np.diff(np.maximum.accumulate(np.where(np.any(due, axis=0), k, 0)), prepend=0)  # by the belief
    new = recorded[1:] | recorded[:-1] | (moved[1:] != moved[:-1])
    for one in due:
        new |= one[1:] != one[:-1]
    new[-1:] = True  # from the last tick nothing moves on
    ends = np.append(np.flatnonzero(new) + 1, loop.steps + 1)
    return zip(ends.tolist(), recorded[ends - 1].tolist(), strict=True)


class _NotRecordable(Exception):
    """A part of the loop does what cannot be recorded."""


class _Due(NamedTuple):
    """What ticks must have in common to be one program."""

    instruments: tuple[bool, ...]
    commanding: bool
    since: int  # ticks over which the belief moves
    moving: bool


class _Compiled:
    """The state of a flight, and the programs of its ticks."""

    def __init__(self, flying: Flying, innovation: Innovations | None) -> None:
        self._flying, self._innovation = flying, innovation
        tree = flying.truth, flying.belief, flying.command, flying.memory
        known = flying.loop.programs
        if "packing" not in known or not known["packing"].fits(tree):
            known.clear()
            known["packing"] = Packing(tree)
        self._packing: Packing = known["packing"]
        self._state = self._packing.pack(tree)
        self._belief_tick = 0

    def run(self, end: int, record: Callable[[Moment], None] | None) -> None:
        """Fly ticks up to the end, or as many as can be flown at once."""
        flying, k, due = self._flying, self._flying.k, self._due()
        tick, n = self._recorded(due, end - k)
        before = self._packing.unpack(self._state)[0] if record is not None else None
        made = np.empty((n, self._packing.trials, tick.program.made))
        tick.program.run(self._state, tick.rows(k, n), n, of_steps(made) if tick.made else None)
        if due.commanding or any(due.instruments):
            self._belief_tick = k + n - 1
        if self._innovation is not None:
            for i in range(n):
                for one in tick.made:
                    self._innovation(one.name, one.time.at(k + i), one.read(made[i]))
        if record is not None:
            flying.put(k, self._belief_tick, before, *self._packing.unpack(self._state)[1:])
            record(flying.moment())
        flying.k = k + n

    def land(self) -> None:
        """Hand the state back, so that the flight can go on tick by tick."""
        self._flying.put(self._flying.k, self._belief_tick, *self._packing.unpack(self._state))

    def _due(self) -> _Due:
        loop, k = self._flying.loop, self._flying.k
        instruments, commanding = tuple(s.due(k) for _, s in loop.measured), loop.commanded.due(k)
        since = k - self._belief_tick if commanding or any(instruments) else 0
        return _Due(instruments, commanding, since, k < loop.steps)

    def _recorded(self, due: _Due, most: int) -> tuple[RecordedTick, int]:
        """Return the program of this tick, and for how many ticks it holds."""
        k, innovations = self._flying.k, self._innovation is not None
        found: list[RecordedTick] = self._flying.loop.programs.setdefault((due, innovations), [])
        for tick in found:
            if n := tick.longest(k, most):
                return tick, n
        try:
            start = k, k - due.since
            tick = record_tick(self._flying.loop, start, self._packing, innovations, MOST_MADE)
        except Exception as error:  # of any kind: whatever a part does with symbols
            raise _NotRecordable(f"{type(error).__name__}: {error}") from error
        found.append(tick)
        return tick, tick.longest(k, most)
