"""Takes a filter through ticks: one by one in Python, or many of them as one compiled program, with the same bits."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from gnc.batch import JIT_OFF
from gnc.batch.choice import chosen
from gnc.batch.kernel import inside
from gnc.batch.program import Program, Recorder, of_all, of_steps
from gnc.batch.python_parts import collected, reader
from gnc.batch.scalar import Scalar
from gnc.estimators.chart import size
from gnc.estimators.kalman import Innovation
from gnc.models.sensors import Measurement
from gnc.scenarios.replay.filter_protocol import ReplayFilter
from gnc.scenarios.replay.sensors import Channel
from gnc.scenarios.replay.ticks import Ticks, at
from gnc.trees import leaves, mapped

Array = Any

FEWEST = 1500  # ticks for which a program is worth recording
MOST = 4096  # ticks at once


class Said(NamedTuple):
    """Innovations of a sensor, and at which ticks they were."""

    tick: Array  # (n,)
    innovation: Innovation


class Passed(NamedTuple):
    """What a filter believed at every tick, the ticks being the first axis."""

    after: Any
    said: tuple[Said, ...]  # of every channel
    predicted: Any = None  # before the corrections
    slopes: tuple[Array, ...] = ()  # F over what was held, and over what was coasted


class Stepper:
    """A filter and the sensors that correct it; `trials` are candidates of one batch."""

    def __init__(self, filter_: ReplayFilter, channels: Sequence[Channel], trials: int = 1) -> None:
        self._filter, self._channels, self.trials = filter_, channels, trials
        self._programs: dict[tuple[bool, bool], Any] = {}
        self._ticks = 0  # so far

    def run(self, belief: Any, ticks: Ticks, gated: bool, slopes: bool = False) -> Passed:
        """Take all ticks."""
        self._ticks += len(ticks.held)
        if JIT_OFF or not self._filter.recordable or self._ticks < FEWEST:
            return self._one_by_one(belief, ticks, gated, slopes)
        if (gated, slopes) not in self._programs:
            self._programs[gated, slopes] = _Recorded(self, belief, ticks, gated, slopes)
        return self._programs[gated, slopes].run(belief, ticks)

    def of_trials(self, belief: Any) -> Any:
        """Return a first belief, for each of several candidates."""
        if self.trials == 1:
            return belief
        cores = {"C": 2, "rejected": 0, "idle": 0, "recoveries": 0}
        wide = lambda x, core: np.array(np.broadcast_to(x, (self.trials, *np.shape(x)[np.ndim(x) - core :])))  # noqa: E731
        return type(belief)(**{name: wide(x, cores.get(name, 1)) for name, x in belief._asdict().items()})

    def tick(self, belief: Any, tick: Ticks, gated: bool, slopes: bool) -> tuple[Any, list[Any], Any, list[Array]]:
        """Return belief, innovations (None without a measurement), the prediction and its slopes."""
        F = []
        for h, sample, end in ((tick.held, tick.sample, tick.ends[0]), (tick.coasted, None, tick.ends[1])):
            before, unmoved = belief, np.eye(size(self._filter.chart))
            if sample is not None and not sample.z.shape[0]:  # nothing drives it
                F.append(unmoved)
                continue
            belief = only(h > 0.0, self._filter.step, (before, sample, h, end), before)
            if slopes:
                F.append(only(h > 0.0, self._filter.slope, (before, belief, sample, h, end), unmoved))
        predicted, said = belief, []
        for channel, (z, due, valid, env) in zip(self._channels, tick.readings, strict=True):
            measurement = Measurement(z, valid > 0.0)
            correct = lambda b, c=channel, m=measurement, e=env: self._filter.update(b, c.sensor, m, e, gated)  # noqa: E731
            belief, innovation = only(due > 0.0, correct, (belief,), (belief, None), first=True)
            said.append(innovation)
        return belief, said, predicted, F

    def _one_by_one(self, belief: Any, ticks: Ticks, gated: bool, slopes: bool) -> Passed:
        rows = []
        for k in range(len(ticks.held)):
            belief, *made = self.tick(belief, at(ticks, k), gated, slopes)
            rows.append((belief, *made))
        after, said, predicted, F = zip(*rows, strict=True)
        told = []
        for i in range(len(self._channels)):
            tick = np.flatnonzero(ticks.readings[i].valid > 0.0)
            told.append(Said(tick, stacked([said[k][i] for k in tick]) if len(tick) else None))  # type: ignore[arg-type]
        if not slopes:
            return Passed(stacked(after), tuple(told))
        return Passed(stacked(after), tuple(told), stacked(predicted), tuple(map(np.array, zip(*F, strict=True))))


def only(test: Any, function: Any, args: tuple[Any, ...], otherwise: Any, first: bool = False) -> Any:
    """Return function(*args) where the test holds, else `otherwise`; `first`: only the first of its results is chosen.

    Symbols of a program are chosen, and kernels inside are skipped where the test does not hold.
    """
    if not isinstance(test, Scalar):
        return function(*args) if test else otherwise
    with inside.get().masked(test):  # type: ignore[union-attr]
        result = function(*args)
    return (chosen(test, result[0], otherwise[0]), *result[1:]) if first else chosen(test, result, otherwise)


def stacked(trees: Sequence[Any]) -> Any:
    """Return NamedTuples of arrays as one with a leading axis."""
    return type(trees[0])(*map(np.array, zip(*trees, strict=True)))


class _Recorded:
    """The program of a tick."""

    def __init__(self, stepper: Stepper, belief: Any, ticks: Ticks, gated: bool, slopes: bool) -> None:
        lead, n = (1, stepper.trials) if stepper.trials > 1 else (0, 1)
        recorder, numbers = Recorder(n), list[Any]()
        state = mapped(lambda x: recorder.state(np.shape(x)[lead:]), belief)
        row = mapped(lambda x: None if x is None else recorder.timed(x.shape[1:]), ticks)
        with recorder.recording():
            after, *made = stepper.tick(state, row, gated, slopes)
            made = [tuple(made[0]), *((made[1], tuple(made[2])) if slopes else ())]
            self._read = reader(collected((after, *made), numbers))
            flat = [number for leaf in leaves(after) for number in np.ravel(np.asarray(leaf, object))]
            self._program: Program = recorder.program(flat, numbers)
        self._trials, self._numbers = stepper.trials, len(numbers)

    def run(self, belief: Any, ticks: Ticks) -> Passed:
        n, trials = len(ticks.held), self._trials
        state = np.concatenate([np.reshape(x, (trials, -1)) for x in leaves(belief)], axis=1)
        state = np.ascontiguousarray(state, float)
        made = np.empty((n, trials, self._numbers))
        rows = [of_all(np.ascontiguousarray(x, float)) for x in leaves(ticks) if x is not None]
        self._program.run(state, rows, n, of_steps(made))
        after, said, *rest = next(self._read(made.reshape(1, n * trials, -1), 0))
        if trials > 1:
            after, said = (mapped(lambda x: x.reshape(n, trials, *x.shape[1:]), x) for x in (after, said))
        told = []
        for reading, innovation in zip(ticks.readings, said, strict=True):
            tick = np.flatnonzero(reading.valid > 0.0)
            told.append(Said(tick, mapped(lambda x, tick=tick: x[tick], innovation)))  # type: ignore[misc]
        return Passed(after, tuple(told), *rest)
