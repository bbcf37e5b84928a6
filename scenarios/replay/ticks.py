"""The events of a log as ticks: at each time the filter moves there, then the sensors that measured correct it.

A sample of what drives the filter (gyro, known inputs) counts from its stamp on, for at most `gap_steps` of its usual
steps; then the filter coasts. With `interval = "before"` it counts up to its stamp, as that of most IMUs does, with
"mean" the mean of both ends counts. Times nearer than SAME_S are one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from gnc.models.sensors import Measurement
from gnc.scenarios.replay.config import Log
from gnc.scenarios.replay.sensors import Channel
from gnc.scenarios.replay.stream import LogStream, Measurements
from gnc.trees import Tree, mapped

Array = Any

SAME_S = 1e-9  # times that are nearer than this differ by rounding only


class Reading(NamedTuple):
    """What a sensor says at each tick, and what surrounded it; zeros where it was not due."""

    z: Array  # (n, m)
    due: Array  # (n,) 1 or 0
    valid: Array  # (n,) 1 or 0
    env: Any


class Ticks(NamedTuple):
    """What the filter is given, n ticks long."""

    held: Array  # (n,) [s] moved by the driver's sample
    coasted: Array  # (n,) [s] moved without
    sample: Measurement  # of the driver, over `held`
    ends: tuple[Measurement, Measurement]  # its sample at the tick, for what ends there: `held`, or `coasted`
    readings: tuple[Reading, ...]


class Span(NamedTuple):
    """Ticks with their times."""

    t: Array  # (n,)
    noted: Array  # (n,) whether an estimate is recorded
    ticks: Ticks

    def part(self, first: int, last: int) -> Span:
        """Return some of them."""
        return cut(self, last, first)


class Ticker:
    """Makes ticks of measurements; the first stream drives, with `size` numbers, if there are more than channels."""

    def __init__(
        self, channels: Sequence[Channel], streams: Sequence[LogStream], log: Log, interval: str, size: int
    ) -> None:
        self._channels, self._log, self._interval = channels, log, interval
        self.driver = streams[0] if len(streams) > len(channels) else None
        self.held = Measurements(np.zeros(0), np.zeros((0, size)), np.zeros(0, bool), np.zeros(0, int))

    def span(self, parts: Sequence[Measurements], now: float, begins: bool = False) -> Span:
        """Return the ticks of the measurements of driver and channels after `now`, and of `now` if the log begins."""
        t = _times([*(m.t for m in parts), *([np.array([now])] if begins else [])])
        h = np.diff(t, prepend=now)
        h = np.where(h > SAME_S, self._rounded(h), 0.0)
        driven, sensed = (parts[:1], parts[1:]) if self.driver else ([], parts)
        readings = tuple(_reading(c, m, t) for c, m in zip(self._channels, sensed, strict=True))
        noted = np.isin(np.arange(len(t)), np.concatenate([_place(t, m.t) for m in sensed]))
        noted[: int(begins)] = True
        if not driven:
            nothing = Measurement(np.zeros((len(t), 0)), np.zeros(len(t)))
            return Span(t, noted, Ticks(np.zeros(len(t)), h, nothing, (nothing, nothing), readings))
        assert self.driver is not None
        fresh = np.isin(np.arange(len(t)), _place(t, driven[0].t))
        ticks = self._driven(driven[0], t, h, now, fresh)
        return Span(t, noted | (fresh & self.driver.coasts), ticks._replace(readings=readings))

    def _driven(self, m: Measurements, t: Array, h: Array, now: float, fresh: Array) -> Ticks:
        """Return how long the driver's samples are held, and which."""
        assert self.driver is not None
        m = Measurements(*(np.concatenate(pair) for pair in zip(self.held, m, strict=True)))
        self.held = Measurements(*(x[-1:] for x in m))
        if not len(m.t):
            m = Measurements(np.full(1, -np.inf), np.zeros((1, m.z.shape[1])), np.zeros(1, bool), np.zeros(1, int))
        longest, before = self._log.gap_steps * (self.driver.step_s or np.inf), np.concatenate([[now], t[:-1]])
        last = np.maximum(np.searchsorted(m.t, before + SAME_S, side="right") - 1, 0)
        following = np.minimum(np.searchsorted(m.t, t - SAME_S), len(m.t) - 1)
        known = m.t[last] <= before + SAME_S
        until = np.where(known, m.t[last] + longest, -np.inf)
        if self._interval != "after":
            reached = m.t[following] >= t - SAME_S
            until = np.where(reached & (m.t[following] - before <= longest + SAME_S), np.inf, until)
            last = np.where(reached, following, last) if self._interval == "before" else last
        held = np.where(t <= until, h, np.clip(until - before, 0.0, None))
        coasted = np.where(t <= until, 0.0, np.where(before >= until, h, t - until))
        z = m.z[last] if self._interval != "mean" else 0.5 * (m.z[last] + m.z[following])
        end, split = m.z[following] * fresh[:, None], coasted > 0.0
        ends = Measurement(end, (fresh & ~split).astype(float)), Measurement(end, fresh.astype(float))
        return Ticks(held, coasted, Measurement(z, m.valid[last].astype(float)), ends, ())

    def _rounded(self, h: Array) -> Array:
        """Return steps, or the multiples of the nominal one that they are meant to be."""
        nominal = self._log.step_s
        if nominal is None:
            return h
        multiple = np.round(h / nominal) * nominal
        return np.where(np.abs(h - multiple) <= self._log.step_tolerance * nominal, multiple, h)


def _times(parts: Sequence[Array]) -> Array:
    """Return the times of all, each once; those of one stream are never merged."""
    t = np.unique(np.concatenate(parts))
    merged = t[np.diff(t, prepend=-np.inf) > SAME_S]
    apart = all((np.diff(_place(merged, times)) > 0).all() for times in parts)
    return merged if apart else t


def _place(t: Array, times: Array) -> Array:
    return np.searchsorted(t, times, side="right") - 1


def _reading(channel: Channel, m: Measurements, t: Array) -> Reading:
    """Return the measurements of a channel, one per tick, zeros where there is none."""
    place, extra = _place(t, m.t), channel.quantity.extra

    def spread(rows: Array) -> Array:
        whole = np.zeros((len(t), *rows.shape[1:]))
        whole[place] = rows
        return whole

    env = channel.surround(m)
    z = m.z[:, : m.z.shape[1] - extra]
    flags = spread(np.ones(len(m.t))), spread(m.valid.astype(float))
    return Reading(spread(z), *flags, None if env is None else mapped(spread, env))


def cut(tree: Tree, last: int, first: int = 0) -> Tree:
    """Return some rows of a tree of arrays."""
    return mapped(lambda x: x if x is None else x[first:last], tree)


def at(tree: Tree, k: int) -> Tree:
    """Return the k-th row of a tree of arrays."""
    return mapped(lambda x: x if x is None else x[k], tree)
