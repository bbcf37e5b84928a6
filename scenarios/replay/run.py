"""The pass over the log: events in order of time through the filter.

At each time the belief moves there, then the sensors that measured correct it, in the order of the configuration. A
gyro sample or a known input counts from its stamp on (of wheels, the momentum at both ends of a step counts), for at
most `gap_steps` of its usual steps; then the filter coasts.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from gnc.models.sensors import Measurement
from gnc.scenarios.replay.config import Log
from gnc.scenarios.replay.driven import Driven
from gnc.scenarios.replay.merge import Block
from gnc.scenarios.replay.results import Results
from gnc.scenarios.replay.sensors import Channel
from gnc.scenarios.replay.start import Starter
from gnc.scenarios.replay.stream import Stream

Array = Any

SAME_S = 1e-9  # times that are nearer than this differ by rounding only
READMISSION = 0.1  # of the patience, for which a lost filter takes every measurement
OWN_PATIENCE = 10**9  # of a filter whose recovery is left to the runner


class Runner:
    """A filter on its way through a log; streams are those of the driver, if there is one, and of the channels."""

    def __init__(
        self,
        filter_: Driven,
        channels: Sequence[Channel],
        streams: Sequence[Stream],
        results: Results,
        starter: Starter,
        log: Log,
        ungated_s: float,
        recovery: tuple[float, float] = (math.inf, 1.0),
    ) -> None:
        self._filter, self._channels, self._streams, self._results = filter_, channels, streams, results
        self._driver = streams[0] if len(streams) > len(channels) else None
        self.starter, self._start_t, self._log = starter, starter.start.t, log
        self._belief: Any = None
        self._now, self._held_until = math.nan, -math.inf
        self._ungated_s, (self._patience_s, self._growth) = ungated_s, recovery
        self._gated_from = math.inf
        self._agreed, self._doubts = math.nan, 0  # when a sensor was let in last; how often the covariance grew
        self._held: Measurement | None = None
        self._measured = False

    @property
    def recoveries(self) -> int:
        """Return how often the filter let its covariance grow."""
        return self._doubts + (0 if self._belief is None else int(np.nan_to_num(self._belief.recoveries)))

    def run(self, block: Block) -> None:
        """Take the events of a block."""
        channels: list[Channel | None] = [*([None] if self._driver else []), *self._channels]
        rows = [_rows(part, channel) for part, channel in zip(block.parts, channels, strict=False)]
        for t, k, i in zip(block.t.tolist(), block.stream.tolist(), block.index.tolist(), strict=True):
            if k == len(channels):
                continue  # the truth, which the filter does not see
            channel, (measurement, env) = channels[k], rows[k][i]
            if channel is None:
                self._drive(t, measurement)
            elif self._belief is not None or self._begin(t, channel, measurement, env):
                self._correct(t, k, channel, measurement, env)
            else:
                self._streams[k].counts["before start" if self._belief is None else "start"] += 1

    def finish(self) -> None:
        """Record what was reached last."""
        if self._belief is not None:
            self._record()

    def _correct(self, t: float, k: int, channel: Channel, measurement: Measurement, env: Any) -> None:
        if t - self._now > SAME_S:
            self._advance(t, None)
        gated = t >= self._gated_from
        self._belief, innovation = self._filter.update(self._belief, channel.sensor, measurement, env, gated)
        self._measured = True
        if measurement.valid:
            self._results.innovation(k - (self._driver is not None), t, innovation)
            self._recover(t, bool(np.all(innovation.used)))

    def _recover(self, t: float, used: bool) -> None:
        """Let the covariance grow where no sensor has agreed for `patience_s`, and all sensors in for a tenth of it.

        A filter with which one sensor agrees is not lost: the others stay refused.
        """
        if used or math.isnan(self._agreed):
            self._agreed = t
        elif t - self._agreed > self._patience_s:
            self._belief = self._filter.doubt(self._belief, self._growth)
            self._agreed, self._doubts = t, self._doubts + 1
            self._gated_from = t + READMISSION * self._patience_s

    def _drive(self, t: float, sample: Measurement) -> None:
        """Move to the sample of gyro or inputs, and hold it."""
        assert self._driver is not None
        if self._belief is None and not self._begin(t, None, sample, None):
            self._driver.counts["before start"] += 1
        if self._belief is not None and t - self._now > SAME_S:
            self._advance(t, sample)
        self._held = sample
        self._held_until = t + self._log.gap_steps * (self._driver.step_s or math.inf)
        self._measured = self._measured or self._driver.coasts  # a gyro sample is a measurement, an input is none

    def _begin(self, t: float, channel: Channel | None, measurement: Measurement, env: Any) -> bool:
        """Start if that is possible with this event; False if not, or if the measurement made the start itself."""
        if self._start_t is not None and t < self._start_t:
            return False
        if channel is not None and self._held is None and self._driver is not None and self._driver.coasts:
            return False  # driven by a gyro, which has not spoken yet
        first = self.starter.given()
        told = False
        if first is None and channel is not None and measurement.valid:
            first = self.starter.look(channel.name, t, channel.sensor, measurement.z, env)
            told = first is not None
        if first is None:
            return False
        held = measurement if channel is None else self._held
        if channel is not None and held is not None and self._driver is not None:
            self._driver.counts["before start"] -= 1  # the sample that is held counts from here on
        self._belief = self._filter.begin(first, self.starter.start, held)
        self._now = t if told or self._start_t is None else self._start_t
        self._gated_from = self._now + self._ungated_s
        self._measured = told
        return not told

    def _advance(self, t: float, end: Measurement | None) -> None:
        """Record the belief, and move it to t."""
        self._record()
        held_until = self._held_until
        if self._driver is None or t <= held_until:
            self._belief = self._filter.move(self._belief, self._held, self._step(t - self._now), end)
        elif self._now >= held_until:
            self._belief = self._filter.coast(self._belief, self._step(t - self._now), end)
        else:
            belief = self._filter.move(self._belief, self._held, held_until - self._now, None)
            self._belief = self._filter.coast(belief, t - held_until, end)
        self._now = t

    def _step(self, h: float) -> float:
        """Return h, or the multiple of the nominal step that it is meant to be."""
        nominal = self._log.step_s
        if nominal is None:
            return h
        multiple = round(h / nominal) * nominal
        return multiple if abs(h - multiple) <= self._log.step_tolerance * nominal else h

    def _record(self) -> None:
        if self._measured:
            self._results.estimate(self._now, self._belief)
            self._measured = False


def _rows(part: Any, channel: Channel | None) -> list[tuple[Measurement, Any]]:
    """Return measurements and environments, one pair per row."""
    extra = 0 if channel is None else channel.quantity.extra
    z = part.z[:, : part.z.shape[1] - extra] if extra else part.z
    envs = [None] * len(z) if channel is None else channel.surround(part)
    made = (Measurement(row, valid) for row, valid in zip(np.ascontiguousarray(z), part.valid.tolist(), strict=True))
    return list(zip(made, envs, strict=False))
