"""Stamps of a table's rows as seconds, and which of them cannot be a time.

Rules, for every row in file order:
    no stamp    not a number, or not a date
    wild        later by more than `reorder_s` than most of the next LOOKAHEAD stamps: it is bad, and not they late;
                unless it goes on from the good stamps before it: then junk follows
    late        earlier by more than `reorder_s` than a good stamp before it
Anything within `reorder_s` is put in order later on. Whole-numbered and ISO stamps are counted from `origin_ns`, so
that nanoseconds since 1970 keep their digits.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from gnc.errors import InputError

Array = Any
TimeUnit = Literal["s", "ms", "us", "ns", "iso"]

LOOKAHEAD = 5  # stamps
ORDINARY_STEPS = 3.0  # a stamp within so many usual steps of the last good one goes on from there
NANOSECONDS = {"s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1, "iso": 1}
OK, NO_STAMP, WILD, LATE = range(4)
LONGEST_STEP_S, SHORTEST_STEP_S = 1e5, 1e-7  # a log with other steps has another unit than stated
NAT = np.iinfo(np.int64).min


@dataclass
class LogClock:
    """The stamps of one time column, or the row number over a rate."""

    unit: TimeUnit
    reorder_s: float
    rate_hz: float | None = None  # then there is no column
    newest: float = -np.inf  # of the good stamps so far
    _checked: bool = field(default=False, repr=False)

    def seconds(self, stamps: Array, first_row: int, rows: int, origin_ns: int) -> Array:
        """Return seconds after the origin, NaN where there is no stamp."""
        if self.rate_hz is not None:
            return np.arange(first_row, first_row + rows) / self.rate_hz
        if stamps.dtype.kind == "M":
            whole = stamps.astype(np.int64)
            if self.unit != "iso" and (whole != NAT).any():  # a column without any stamp is read as dates
                raise InputError(f"time_unit: {self.unit!r} is stated and the column holds dates; set it to 'iso'")
            return np.where(whole == NAT, np.nan, (whole - origin_ns) * 1e-9)
        if self.unit == "iso":
            raise InputError("time_unit: 'iso' is stated and the column holds numbers; set it to 's', 'ms', 'us', 'ns'")
        scale = NANOSECONDS[self.unit]
        if stamps.dtype.kind == "i" and self.unit != "s":
            return (stamps * scale - origin_ns) * 1e-9
        # No arithmetic on seconds that need none: they come back with the bits they were written with.
        seconds = np.asarray(stamps, float) if self.unit == "s" else stamps * (scale * 1e-9)
        return seconds - origin_ns * 1e-9 if origin_ns else seconds

    def judge(self, t: Array, final: bool) -> Array:
        """Return the verdict on each row, all but the last LOOKAHEAD unless they are the final ones."""
        rows = len(t) if final else max(len(t) - LOOKAHEAD, 0)
        if self.rate_hz is not None:
            self.newest = t[rows - 1] if rows else self.newest
            return np.full(rows, OK)
        self._check_unit(t)
        ahead = np.concatenate([t, np.full(LOOKAHEAD, np.nan)])[1:]
        next_few = np.lib.stride_tricks.sliding_window_view(ahead, LOOKAHEAD)[:rows]
        t = t[:rows]
        verdict = np.where(np.isfinite(t), OK, NO_STAMP)
        with np.errstate(invalid="ignore"):
            earlier = (t[:, None] > next_few + self.reorder_s).sum(axis=1)
            verdict[(verdict == OK) & (earlier > 0.5 * np.isfinite(next_few).sum(axis=1))] = WILD
            self._reprieve(t, verdict)
            newest = np.maximum.accumulate(np.concatenate([[self.newest], np.where(verdict == OK, t, -np.inf)]))
            verdict[(verdict == OK) & (t < newest[:-1] - self.reorder_s)] = LATE
        self.newest = newest[-1]
        return verdict

    def _reprieve(self, t: Array, verdict: Array) -> None:
        """Call good what goes on from the good stamps before it: then those that follow are junk."""
        good = t[verdict == OK]
        usual = np.median(np.diff(good)) if len(good) > 1 else 0.0
        near, newest = max(self.reorder_s, ORDINARY_STEPS * usual), self.newest
        before = np.maximum.accumulate(np.where(verdict == OK, t, -np.inf))
        for i in np.flatnonzero(verdict == WILD):
            newest = max(newest, before[i])
            if newest - self.reorder_s <= t[i] <= newest + near:
                verdict[i], newest = OK, max(newest, t[i])

    def _check_unit(self, t: Array) -> None:
        """Refuse stamps that are obviously in another unit, by the first chunk."""
        steps = np.abs(np.diff(t[np.isfinite(t)]))
        steps = steps[steps > 0.0]
        if self._checked or len(steps) < 2:
            return
        self._checked, step = True, float(np.median(steps))
        if not SHORTEST_STEP_S < step < LONGEST_STEP_S:
            raise InputError(f"time_unit: rows are {step:g} s apart if stamps are in {self.unit!r}; state another unit")


def origin(stamps: Array, unit: TimeUnit) -> int | None:
    """Return a whole second [ns] to count from, by the first stamp of a column that needs one."""
    if stamps.dtype.kind == "M":
        whole = stamps.astype(np.int64)
        whole = whole[whole != NAT]
    elif stamps.dtype.kind == "i" and unit != "s":
        whole = stamps[:1] * NANOSECONDS[unit]
    else:
        return None
    return int(whole[0]) // 10**9 * 10**9 if len(whole) else None


def iso_stamps(text: Array) -> Array:
    """Return datetimes from text, NaT where it is no date."""
    return np.array([_date(s.decode() if isinstance(s, bytes) else str(s)) for s in text.tolist()], "datetime64[ns]")


def _date(text: str) -> Any:
    try:
        return np.datetime64(text.strip().removesuffix("Z").replace(" ", "T", 1) or "NaT", "ns")
    except ValueError:
        return np.datetime64("NaT", "ns")
