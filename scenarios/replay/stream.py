"""One quantity of the log in order of time, with an account of every row that was not used.

Rules for rows, beside those for stamps (`clock`); the first that applies counts:
    empty        all of the columns are empty: there was no measurement in this row
    incomplete   some are empty, or are no finite number
    saturated    a component at or beyond the range; that of the gyro which drives a filter makes it coast
    bad norm     a quaternion whose norm is off by more than 1 %, a vector without length
    repeated     a stamp that the quantity had already; the first counts
    before start the filter had no state yet
Rows whose flag is 0 go to the filter as not valid; steps much longer than usual are counted as gaps.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from gnc.scenarios.logs.clock import LATE, NO_STAMP, WILD, LogClock
from gnc.scenarios.replay.quantities import FINE, SATURATED, Quantity
from gnc.scenarios.replay.sensor_config import Source

Array = Any
Dropped = Callable[[str, Array, Array, str], None]  # stream, rows, times, rule

STAMP_RULES = {NO_STAMP: "no stamp", WILD: "wild stamp", LATE: "late"}


class Measurements(NamedTuple):
    """Rows of one quantity, in order of time."""

    t: Array  # (n,) [s]
    z: Array  # (n, k)
    valid: Array  # (n,) bool
    row: Array  # (n,) in the table


@dataclass
class LogStream:
    """Rows in, ordered measurements out."""

    name: str
    source: Source
    quantity: Quantity
    clock: LogClock
    gap_steps: float
    dropped: Dropped
    coasts: bool = False  # saturated rows are kept as not valid
    counts: Counter[str] = field(default_factory=Counter)
    step_s: float | None = None  # the usual one, by the first rows
    frontier: float = -np.inf  # nothing earlier will come
    longest_gap_s: float = 0.0
    jitter_s: float = 0.0  # standard deviation of the steps that are no gaps, by the first rows
    _waiting: list[Measurements] = field(default_factory=list, repr=False)
    _last: float = -np.inf

    def take(self, t: Array, verdict: Array, values: Array, flags: Array | None, first_row: int) -> None:
        """Judge rows in file order and keep the good ones."""
        row = first_row + np.arange(len(t))
        self.counts["rows"] += len(t)
        self.frontier = max(self.frontier, self.clock.newest - self.clock.reorder_s - self.source.latency_s)
        if flags is None and len(t) and not verdict.any() and np.isfinite(values).all():
            z, refused = self.quantity.convert(values)
            if not (refused != FINE).any():  # a clean log, as most are
                self._waiting.append(Measurements(t - self.source.latency_s, z, np.ones(len(t), bool), row))
                return
        flagged = np.zeros(len(t), bool) if flags is None else flags == 0.0
        finite = np.isfinite(values)
        rule = np.where(finite.all(axis=1) | flagged, FINE, "incomplete").astype("<U16")
        measured = values[:, : values.shape[1] - self.quantity.extra]  # a reference may go on without
        rule[np.isnan(measured).all(axis=1) & ~flagged] = "empty"
        for code, name in STAMP_RULES.items():
            rule[(verdict == code) & (rule != "empty")] = name
        good = rule == FINE
        z, refused = self.quantity.convert(values[good & ~flagged]) if (good & ~flagged).any() else (None, None)
        if refused is not None:
            rule[good & ~flagged] = refused
        self._keep(t, z, rule, flagged, row, good)

    def _keep(self, t: Array, z: Array | None, rule: Array, flagged: Array, row: Array, good: Array) -> None:
        whole = np.zeros((len(t), self.quantity.size))
        if z is not None:
            whole[good & ~flagged] = z
        coasting = (rule == SATURATED) & self.coasts
        self._account(rule, t, row, coasting)
        self.counts["flagged"] += int((flagged & good).sum())
        kept = (rule == FINE) | coasting
        valid = ~(flagged | coasting)
        self._waiting.append(Measurements(t[kept] - self.source.latency_s, whole[kept], valid[kept], row[kept]))

    def _account(self, rule: Array, t: Array, row: Array, coasting: Array) -> None:
        names, numbers = np.unique(rule[rule != FINE], return_counts=True)
        for name, number in zip(names.tolist(), numbers.tolist(), strict=True):
            self.counts[name] += number
            if name != "empty":
                self.dropped(self.name, row[rule == name], t[rule == name], name)

    def release(self, until: float) -> Measurements:
        """Return what is not later than `until`, in order, each stamp once."""
        m = self._waiting[0] if len(self._waiting) == 1 else _joined(self._waiting, self.quantity.size)
        if (np.diff(m.t) < 0.0).any():
            m = Measurements(*(a[np.argsort(m.t, kind="stable")] for a in m))
        ripe = int(np.searchsorted(m.t, until, side="right"))
        self._waiting = [Measurements(*(a[ripe:] for a in m))]
        m = Measurements(*(a[:ripe] for a in m))
        before = np.concatenate([[self._last], m.t[:-1]]) if ripe else m.t
        repeated, late = m.t == before, m.t < self._last
        for bad, rule in ((repeated, "repeated"), (late, "late")):
            if bad.any():
                self.counts[rule] += int(bad.sum())
                self.dropped(self.name, m.row[bad], m.t[bad], rule)
        if repeated.any() or late.any():
            m = Measurements(*(a[~(repeated | late)] for a in m))
        self._look_for_gaps(m.t)
        return m

    def _look_for_gaps(self, t: Array) -> None:
        if not len(t):
            return
        steps = np.diff(t, prepend=self._last)
        steps = steps[np.isfinite(steps)]
        if self.step_s is None and len(steps):
            self.step_s = float(np.median(steps))
            self.jitter_s = float(np.std(steps[steps <= self.gap_steps * self.step_s]))
        if self.step_s is not None and len(steps):
            gaps = steps > self.gap_steps * self.step_s
            self.counts["gaps"] += int(gaps.sum())
            self.longest_gap_s = max(self.longest_gap_s, float(steps[gaps].max(initial=0.0)))
        self.counts["measurements"] += len(t)
        self._last = float(t[-1])


def _joined(parts: list[Measurements], size: int) -> Measurements:
    parts = [p for p in parts if len(p.t)]
    if not parts:
        return Measurements(np.zeros(0), np.zeros((0, size)), np.zeros(0, bool), np.zeros(0, int))
    return Measurements(*(np.concatenate(a) for a in zip(*parts, strict=True)))
