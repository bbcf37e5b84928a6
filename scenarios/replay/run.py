"""The pass over the log: events in order of time through the filter, as ticks (`ticks`), many at once (`stepper`)."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from gnc.models.sensors import Measurement
from gnc.scenarios.replay.config import Log
from gnc.scenarios.replay.filter_protocol import ReplayFilter
from gnc.scenarios.replay.merge import Block
from gnc.scenarios.replay.results import Results
from gnc.scenarios.replay.sensors import Channel
from gnc.scenarios.replay.start import Starter
from gnc.scenarios.replay.stepper import MOST, Passed, Stepper
from gnc.scenarios.replay.stream import LogStream, Measurements
from gnc.scenarios.replay.ticks import SAME_S, Span, Ticker, at, cut
from gnc.trees import mapped

Array = Any

READMISSION = 0.1  # of the patience, for which a lost filter takes every measurement
OWN_PATIENCE = 10**9  # of a filter whose recovery is left to the runner


class Runner:
    """A filter on its way through a log; streams are those of the driver, if there is one, and of the channels."""

    def __init__(
        self,
        filter_: ReplayFilter,
        channels: Sequence[Channel],
        streams: Sequence[LogStream],
        results: Results,
        starter: Starter,
        log: Log,
        ungated_s: float,
        recovery: tuple[float, float] = (math.inf, 1.0),
        interval: str = "after",
        trials: int = 1,
    ) -> None:
        self._filter, self._channels, self.streams, self._results = filter_, channels, streams, results
        self._ticker = Ticker(channels, streams, log, interval, filter_.sample_size)
        self._stepper = Stepper(filter_, channels, trials)
        self.starter, self._start_t = starter, starter.start.t
        self.belief: Any = None
        self.now, self._gated_from = math.nan, math.inf
        self._ungated_s, (self._patience_s, self._growth) = ungated_s, recovery
        self._agreed, self._doubts = math.nan, 0  # when a sensor was let in last; how often the covariance grew
        self._fresh = False  # the filter has just begun
        self._driven = math.nan  # when the driver spoke last
        self._told = False  # the start came from a measurement, of which there is no estimate yet
        self._waits = interval != "after"  # for the driver's sample that follows
        self._waiting: list[Measurements] | None = None

    @property
    def recoveries(self) -> int:
        """Return how often the filter let its covariance grow."""
        return self._doubts + (0 if self.belief is None else int(np.nan_to_num(self.belief.recoveries)))

    def run(self, block: Block) -> None:
        """Take the events of a block; behind a gap of the driver that is too long the filter begins anew."""
        parts: Sequence[Measurements] = block.parts[: len(self.streams)]
        for begin, end in self._gaps(parts[0].t) if math.isfinite(self._filter.longest_gap_s) else ():
            self._run([Measurements(*(x[m.t <= begin] for x in m)) for m in parts])
            self.finish()
            before = self.belief
            self._run([Measurements(*(x[(m.t > begin) & (m.t < end)] for x in m)) for m in parts])
            self.finish()
            parts = [Measurements(*(x[m.t >= end] for x in m)) for m in parts]
            if before is not None:
                self.belief, self.starter = None, self.starter.anew(before, end - begin)
        self._run(parts)

    def _gaps(self, t: Array) -> list[tuple[float, float]]:
        """Return begins and ends of gaps of the driver that are too long."""
        t, self._driven = np.concatenate([[self._driven], t]), float(t[-1]) if len(t) else self._driven
        return [(float(t[k]), float(t[k + 1])) for k in np.flatnonzero(np.diff(t) > self._filter.longest_gap_s)]

    def _run(self, parts: Sequence[Measurements]) -> None:
        if self.belief is None:
            parts = self._begun(parts)
        if self._waiting is not None:
            pairs = zip(self._waiting, parts, strict=True)
            parts = [Measurements(*(np.concatenate(x) for x in zip(*pair, strict=True))) for pair in pairs]
        if self._waits and self._ticker.driver is not None:
            parts = self._held_back(parts)
        self._go(parts)

    def _held_back(self, parts: Sequence[Measurements]) -> list[Measurements]:
        """Return what the driver has reached, and keep the rest."""
        last = parts[0].t[-1] + SAME_S if len(parts[0].t) else -math.inf
        self._waiting = [Measurements(*(x[m.t > last] for x in m)) for m in parts]
        return [Measurements(*(x[m.t <= last] for x in m)) for m in parts]

    def finish(self) -> None:
        """Take what still waits."""
        self._go(self._waiting or [])
        self._waiting = None

    def _go(self, parts: Sequence[Measurements]) -> None:
        if self.belief is None or not (self._told or any(len(m.t) for m in parts)):
            return
        span = self._ticker.span(parts, self.now, self._told)
        self._told = False
        for first in range(0, len(span.t), MOST):
            self.take(span.part(first, first + MOST))

    def take(self, span: Span) -> None:
        """Take ticks, and record."""
        for part, passed in self.passed(span):
            self._record(part, passed)

    def passed(self, span: Span, slopes: bool = False) -> Iterator[tuple[Span, Passed]]:
        """Take ticks, in parts between which gate or covariance change."""
        while len(span.t):
            gated = bool(span.t[0] >= self._gated_from)
            n = len(span.t) if gated else int(np.searchsorted(span.t, self._gated_from))
            passed = self._stepper.run(self.belief, span.part(0, n).ticks, gated, slopes)
            n, lost = self._until_doubt(span.t[:n], passed)
            self.belief, self.now = at(passed.after, n - 1), float(span.t[n - 1])
            self.belief = self._filter.doubt(self.belief, self._growth) if lost else self.belief
            yield span.part(0, n), passed
            span = span.part(n, len(span.t))

    def _until_doubt(self, t: Array, passed: Passed) -> tuple[int, bool]:
        """Return how many ticks count until no sensor has agreed for `patience_s`, and whether C grows then.

        All sensors are let in then for a tenth of the patience. A filter with which one sensor agrees is not lost: the
        others stay refused.
        """
        if math.isinf(self._patience_s):
            return len(t), False
        agreed, judged = np.zeros(len(t), bool), np.zeros(len(t), bool)
        for tick, innovation in passed.said:
            if len(tick):
                judged[tick] = True
                agreed[tick] |= innovation.used
        if math.isnan(self._agreed) and judged.any():
            agreed[np.argmax(judged)] = True
        last = np.maximum.accumulate(np.where(agreed, t, -math.inf if math.isnan(self._agreed) else self._agreed))
        lost = np.flatnonzero(judged & ~agreed & (t - last > self._patience_s))
        n = int(lost[0]) + 1 if len(lost) else len(t)
        self._agreed = float(last[n - 1]) if np.isfinite(last[n - 1]) else math.nan
        if len(lost):
            self._agreed, self._doubts = float(t[n - 1]), self._doubts + 1
            self._gated_from = self._agreed + READMISSION * self._patience_s
        return n, bool(len(lost))

    def _note(self, t: Array, beliefs: Any) -> None:
        """Record estimates."""
        self._results.estimates_at(t, beliefs)

    def _record(self, span: Span, passed: Passed) -> None:
        n = len(span.t)
        for i, (tick, innovation) in enumerate(passed.said):
            known = int(np.searchsorted(tick, n))
            if known:
                self._results.innovations(i, span.t[tick[:known]], cut(innovation, known))
        if span.noted.any():
            chosen = slice(n) if span.noted.all() else np.flatnonzero(span.noted)
            self._note(span.t[chosen], mapped(lambda x: x[chosen], passed.after))

    def _begun(self, parts: Sequence[Measurements]) -> Sequence[Measurements]:
        """Look for a start; return what is left of the measurements behind it."""
        channels: list[Channel | None] = [*([None] if self._ticker.driver else []), *self._channels]
        envs = [None if c is None else c.surround(m) for c, m in zip(channels, parts, strict=True)]
        for t, k, i in _in_order([m.t for m in parts]):
            m, channel = parts[k], channels[k]
            if self._begin(t, k, channel, Measurement(m.z[i], m.valid[i]), None if envs[k] is None else at(envs[k], i)):
                later = [int(np.searchsorted(x.t, t, side="right" if j < k else "left")) for j, x in enumerate(parts)]
                later[k] = i + self._told
                return [Measurements(*(x[n:] for x in m)) for n, m in zip(later, parts, strict=True)]
            if channel is None:
                self._ticker.held = Measurements(*(x[i : i + 1] for x in m))
            self.streams[k].counts["before start"] += 1
        return [Measurements(*(x[:0] for x in m)) for m in parts]

    def _begin(self, t: float, k: int, channel: Channel | None, reading: Measurement, env: Any) -> bool:
        """Start if that is possible with this event."""
        driver, held, self._told = self._ticker.driver, self._ticker.held, False
        if self._start_t is not None and t < self._start_t:
            return False
        if channel is not None and not len(held.t) and driver is not None and driver.coasts:
            return False  # driven by a gyro, which has not spoken yet
        self.starter.held = held
        first = self.starter.given()
        if first is None and channel is not None and reading.valid:
            z = reading.z[: len(reading.z) - channel.quantity.extra]
            first = self.starter.look(channel.name, t, channel.sensor, z, env)
            self._told = first is not None
        if first is None:
            return False
        if channel is not None and len(held.t) and driver is not None:
            driver.counts["before start"] -= 1  # the sample that is held counts from here on
        if self._told:
            self.streams[k].counts["start"] += 1
        sample = reading if channel is None else Measurement(held.z[0], held.valid[0]) if len(held.t) else None
        self.belief = self._stepper.of_trials(self.starter.kept(self._filter.begin(first, self.starter.start, sample)))
        self.now = t if self._told or self._start_t is None else self._start_t
        self._gated_from, self._fresh = self.now + max(self._ungated_s, self.starter.ungated_s), True
        return True


def _in_order(times: Sequence[Array]) -> Iterator[tuple[float, int, int]]:
    """Give times in order, each with the stream it is of (at equal times the first one first), and its place there."""
    t, stream = np.concatenate(times), np.repeat(np.arange(len(times)), [len(x) for x in times])
    index = np.concatenate([np.arange(len(x)) for x in times])
    order = np.lexsort((stream, t))
    return zip(t[order].tolist(), stream[order].tolist(), index[order].tolist(), strict=True)
