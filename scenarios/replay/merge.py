"""All quantities of a log in one order of time, block by block.

Each table is read in chunks, always the one that lags behind most; what is older than all of them have reached cannot
be overtaken any more and is released. So tables of different rates, latencies and lengths need memory for a few chunks.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from gnc.errors import InputError
from gnc.scenarios.logs.clock import LOOKAHEAD, LogClock, origin
from gnc.scenarios.logs.tables import CHUNK_ROWS, Chunk, Table, check_columns, readable
from gnc.scenarios.replay.config import Log
from gnc.scenarios.replay.stream import LogStream, Measurements

Array = Any


class Block(NamedTuple):
    """Measurements of all streams over a span of time."""

    parts: list[Measurements]  # of every stream, in order of time
    until: float  # nothing earlier than this will follow


class Feed:
    """A table and the streams that are read from it."""

    def __init__(self, table: Table, streams: Sequence[LogStream], stamps: dict[int, str | None]) -> None:
        self.table, self.streams, self._stamps = table, streams, stamps
        names = [name for s in streams for name in (*s.quantity.columns, *([s.source.valid] if s.source.valid else []))]
        self._numbers, self._times = list(dict.fromkeys(names)), list(dict.fromkeys(n for n in stamps.values() if n))
        for s in streams:
            check_columns(table, s.quantity.columns, f"{s.name}.columns")
            check_columns(table, [s.source.valid] if s.source.valid else [], f"{s.name}.valid")
            time = stamps[id(s.clock)]
            check_columns(table, [time] if time else [], f"{s.name}.time" if s.source.time else "log.time")
        self.done, self._row = False, 0
        self._tail: Chunk | None = None
        self._chunks = table.chunks(self._numbers, self._times, CHUNK_ROWS)
        self._next = self._read()

    def _read(self) -> Chunk | None:
        with readable(f"the log after row {self._row}"):
            return next(self._chunks, None)

    @property
    def frontier(self) -> float:
        """Return the time before which nothing will come."""
        return np.inf if self.done else min(s.frontier for s in self.streams)

    def origin_ns(self) -> int | None:
        """Return what to count this table's stamps from, if they need it."""
        for s in self.streams:
            name = self._stamps[id(s.clock)]
            if name and self._next is not None:
                found = origin(self._next[name], s.clock.unit)
                if found is not None:
                    return found
        return None

    def pull(self, origin_ns: int) -> None:
        """Read a chunk; the last rows wait for the stamps that follow."""
        chunk, self._next = self._next, self._read()
        self.done = final = self._next is None
        columns = _with_tail(self._tail, chunk or {})
        total = len(next(iter(columns.values()), ()))
        if not total:
            return
        judged = {}
        for clock in {id(s.clock): s.clock for s in self.streams}.values():
            name = self._stamps[id(clock)]
            t = clock.seconds(columns[name] if name else None, self._row, total, origin_ns)
            judged[id(clock)] = t, clock.judge(t, final)
        before = [s.frontier for s in self.streams]
        rows = total if final else max(total - LOOKAHEAD, 0)
        for s in self.streams:
            t, verdict = judged[id(s.clock)]
            values = np.stack([columns[c][:rows] for c in s.quantity.columns], axis=1)
            flags = columns[s.source.valid][:rows] if s.source.valid else None
            s.take(t[:rows], verdict, values, flags, self._row)
        self._row += rows
        self._tail = {name: column[rows:] for name, column in columns.items()}
        furthest = max(s.frontier for s in self.streams)
        for s, was in zip(self.streams, before, strict=True):
            if s.frontier == was:  # its own stamps were silent for the whole chunk: it does not hold up the others
                s.frontier = furthest


def _with_tail(tail: Chunk | None, chunk: Chunk) -> Chunk:
    if tail is None or not chunk:
        return chunk or tail or {}
    return {name: np.concatenate([tail[name], column]) for name, column in chunk.items()}


def clock_of(source: Any, log: Log) -> tuple[str | None, LogClock]:
    """Return the time column of a quantity, if it has one, and its clock."""
    rate_hz = source.rate_hz or log.rate_hz
    name = source.time or (None if rate_hz and not log.time else log.time)
    if name is None and rate_hz is None:
        raise InputError("log.time is missing; name the column of the stamps, or give a rate_hz")
    unit = source.time_unit or log.time_unit
    return name, LogClock(unit, log.reorder_s, None if name else rate_hz)


def common_origin(feeds: Sequence[Feed]) -> int:
    """Return the instant [ns] that all times of the log are counted from."""
    return min([found for feed in feeds if (found := feed.origin_ns()) is not None], default=0)


def blocks(feeds: Sequence[Feed], streams: Sequence[LogStream], origin_ns: int) -> Iterator[Block]:
    """Read all tables to their ends."""
    while any(not feed.done for feed in feeds):
        min((feed for feed in feeds if not feed.done), key=lambda feed: feed.frontier).pull(origin_ns)
        until = min(feed.frontier for feed in feeds)
        yield Block([s.release(until) for s in streams], until)
