"""What error-state filters on a group have in common: update, recovery, and `advance` over long intervals.

`advance` takes an interval and all measurements at its end in one go, and linearises the motion again while the
correction is large: 0.5 deg/s over 20 s are 10 deg, and the covariance of `predict` and `update` would be too small for
good. That happens a few times per flight, while the rate is being acquired. It begins at the estimate, which is the
usual filter; where what is left to correct turns the body by |s_a|^2 > 0.02 sigma (its square is then 1 % of the
sensor's error), it linearises again where the measurements lead to (equations: `corrections`).
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple

import numpy as np

from gnc import check
from gnc.batch import Kernel, as_numbers
from gnc.batch.choice import chosen, when
from gnc.estimators.corrections import (
    Space,
    correction_kernel,
    doubt_kernel,
    interval_kernel,
    measuring_kernel,
    moved_kernel,
)
from gnc.estimators.kalman import Innovation, gate, innovations
from gnc.models.parameters import between
from gnc.models.sensors.interface import Prediction

Array = Any
Readings = Sequence[tuple[Any, Any]]  # (sensor, measurement) of an instant

MOST = 20  # linearisations of an interval
GIVEN = 5  # place of the parameters of the space behind q, x, C, watch and idle


class Ways(NamedTuple):
    """How a filter gets over an interval."""

    predict: Callable[[], Any]  # the belief at its end
    move: Callable[[Any, Array], tuple[Any, Array, Array]]  # state, C -> state at the end, F and Q over all states


class After(NamedTuple):
    """What the measurements of an instant lead to, as kernels return it (`corrections.finished`)."""

    q: Array
    x: Array
    C: Array
    watch: Array
    S: Array
    nis: Array
    used: Array
    refused: Array  # valid and beyond the gate
    H: Array  # over the group's errors in inertial axes
    R: Array


class Outcome(NamedTuple):
    """What a linearisation of an interval leads to, as `interval_kernel` returns it."""

    after: After
    y: Array
    bent: Array
    d: Array
    noise: Array


@functools.cache
def limits_of(probability: float, m: int, recovery: tuple[float, ...]) -> Array:
    """Return the numbers by which a measurement is refused and a trial recovers, as the kernel takes them."""
    return np.array([gate(probability, m), *recovery], float)


@dataclass(frozen=True, eq=False, kw_only=True)
class GroupFilter:
    """Gate and recovery of a filter; what its state is, the methods at the end say.

    Recovery: when refusals that do not contradict other sensors have lasted for `patience_s` (see `recovery`), the
    covariance of all but the extra states is multiplied by `inflation`, but to no more than `widest`, again and again
    until they are let in; `recoveries` of the belief counts that.
    """

    chart: str = "usual"  # in which errors are linear: 'conserved', see `conserved_chart`, or 'usual'
    gate_probability: float = 0.999  # with which a good measurement passes; 1 lets all in
    patience_s: float = 5.0
    inflation: float = 100.0
    widest: tuple[float, ...] = ()  # standard deviations up to which it is inflated
    noisy: bool = field(init=False, repr=False)  # whether something unknown acts
    CHARTS: ClassVar[tuple[str, ...]] = ("usual", "conserved")

    def __post_init__(self) -> None:
        """Validate once; the kernels do not."""
        between("gate_probability", self.gate_probability, 0.0, 1.0)
        check.one_of("chart", self.chart, self.CHARTS)
        for name in ("patience_s", "inflation", "widest"):
            check.positive(name, getattr(self, name))

    @functools.cached_property
    def _recovery(self) -> tuple[float, ...]:
        return float(self.patience_s), float(self.inflation), *map(float, self.widest)

    def update(
        self, belief: Any, sensor: Any, measurement: Any, env: Any = None, gated: bool = True
    ) -> tuple[Any, Innovation]:
        """Correct with a measurement (z, valid); trials where it is not valid stay as they are.

        `gated=False` lets all valid measurements in, as is right while a rate is still being acquired.
        """
        own = self._kernel_of(sensor, env)
        if own is None:
            expected = self._expect(belief, sensor, env)
            y = sensor.residual(measurement[0], expected.z)
            return self.corrected(belief, expected.H, expected.R, y, as_numbers(measurement[1]), gated)
        kernel, arguments = own
        limits = self._limits(kernel.layout.outs[1][0], gated)
        correct = measuring_kernel(self._space, kernel, self.size)
        state = self._state(belief)
        *after, y = correct(*state, *arguments, measurement[0], as_numbers(measurement[1]), limits)
        return self._one(belief, state[GIVEN:], After._make(after), y, limits)

    def corrected(
        self, belief: Any, H: Array, R: Array, y: Array, valid: Array, gated: bool = True
    ) -> tuple[Any, Innovation]:
        """Correct with a residual y of derivative H and noise R."""
        kernel, limits = correction_kernel(self._space, self.size, *H.shape[-2:]), self._limits(H.shape[-2], gated)
        state = self._state(belief)
        return self._one(belief, state[GIVEN:], After._make(kernel(*state, H, R, y, valid, limits)), y, limits)

    def _limits(self, m: int, gated: bool) -> Array:
        return limits_of(self.gate_probability if gated else 1.0, m, self._recovery)

    def _state(self, belief: Any) -> tuple[Array, ...]:
        """Return what all kernels of an update begin with."""
        return belief[0], self.vector(belief), belief.C, belief.watch, belief.idle, *self._given(belief)

    def _one(
        self, belief: Any, given: tuple[Array, ...], after: After, y: Array, limits: Array
    ) -> tuple[Any, Innovation]:
        """Return the belief after one sensor, and what was said."""
        counts = after.C, after.watch, belief.recoveries
        counts = self._doubted(counts, given, after, y, limits)
        return self._placed(belief, after, counts), Innovation(y, after.S, after.nis, after.used > 0.0)

    def _doubted(
        self, counts: tuple[Array, ...], given: tuple[Array, ...], seen: After, y: Array, limits: Array
    ) -> Any:
        """Return C, watch and recoveries after a sensor, where it was refused: computed only if it was in any trial."""
        kernel = lambda *args: doubt_kernel(self._space, self.size, y.shape[-1])(*args)  # noqa: E731
        return when(seen.refused > 0.0, kernel, (*counts, *given, seen.H, seen.R, y, limits), counts)

    def _placed(self, belief: Any, after: After, counts: tuple[Array, ...]) -> Any:
        C, watch, recoveries = counts
        told = {"C": C, "watch": watch, "idle": 0.0 * belief.idle, "recoveries": recoveries}
        return self.placed(belief, after.q, after.x, **told)

    def _several(
        self, belief: Any, after: After, y: Array, sizes: tuple[int, ...], gated: bool
    ) -> tuple[Any, list[Innovation]]:
        """Return the belief after several sensors at once, and what each said."""
        counts, start = (after.C, after.watch, belief.recoveries), 0
        for i, size in enumerate(sizes):
            rows, start = slice(start, start + size), start + size
            seen = after._replace(refused=after.refused[..., i], H=after.H[..., rows, :], R=after.R[..., rows, rows])
            counts = self._doubted(counts, self._given(belief), seen, y[..., rows], self._limits(size, gated))
        return self._placed(belief, after, counts), innovations(y, after.S, after.nis, after.used, sizes)

    def _over(
        self, belief: Any, ways: Ways, h: Array, readings: Readings, env: Any, iterations: int, gated: bool
    ) -> tuple[Any, list[Innovation]]:
        """Take an interval and the measurements at its end, linearised as often as is needed."""
        if not readings:
            return ways.predict(), []
        belief = belief._replace(idle=belief.idle + h)
        outcome, end, sizes = self._linearised(belief, None, ways, readings, env, gated)
        again = np.asarray(outcome.bent > 1.0)
        for _ in range(iterations - 1):
            if not np.any(again):
                break
            newer = self._linearised(belief, outcome, ways, readings, env, gated)[0]
            outcome = chosen(again, newer, outcome)
            again = again & (outcome.bent > 1.0)
        end = end._replace(idle=belief.idle, recoveries=belief.recoveries)
        return self._several(end, outcome.after, outcome.y, sizes, gated)

    def _linearised(
        self, start: Any, before: Outcome | None, ways: Ways, readings: Readings, env: Any, gated: bool
    ) -> tuple[Outcome, Any, tuple[int, ...]]:
        """Linearise the interval at its start, or where the linearisation before it leads to; tell sensors' sizes."""
        at, reset, d, noise = start, None, np.zeros(self.size), np.zeros(self.size)
        if before is not None:
            d, noise = before.d, before.noise
            at, reset = self.moved(start, start.C, d)
        end, F, Q = ways.move(at, start.C)
        F = F if reset is None else F @ reset
        if self.noisy and before is not None:
            end, _ = self.moved(end, F @ start.C @ np.swapaxes(F, -1, -2) + Q, noise)
        y, H, R, valid, sizes = self.stacked(end, readings, env)
        gates = np.array([gate(self.gate_probability if gated else 1.0, size) for size in sizes])
        q, x, _, *counts, patience_s = *self._state(end._replace(watch=start.watch, idle=start.idle)), self.patience_s
        counts, given = counts[:2], counts[2:]
        results = interval_kernel(self._space, self.size, sizes, H.shape[-1])(
            q, x, start.C, *counts, F, Q, d, noise, *given, H, R, y, valid, gates, patience_s
        )
        return Outcome(After._make(results[:10]), *results[10:]), end, sizes

    def moved(self, belief: Any, C: Array, d: Array) -> tuple[Any, Array]:
        """Return the state at d of the belief's chart, and the reset between them."""
        kernel = moved_kernel(self._space, self.size)
        q, x, reset = kernel(belief[0], self.vector(belief), C, d, *self._given(belief))
        return self.placed(belief, q, x), reset

    def stacked(self, belief: Any, readings: Readings, env: Any) -> tuple[Array, Array, Array, Array, tuple[int, ...]]:
        """Return residuals, H and R of all sensors, one below the other, their validity, and their sizes."""
        lead, predicted = belief.C.shape[:-2], [self._expect(belief, sensor, env) for sensor, _ in readings]
        residuals = [s.residual(m[0], p.z) for (s, m), p in zip(readings, predicted, strict=True)]
        sizes, width = tuple(y.shape[-1] for y in residuals), max(p.H.shape[-1] for p in predicted)
        y, H = np.zeros((*lead, sum(sizes))), np.zeros((*lead, sum(sizes), width))
        R, valid, row = np.zeros((*lead, sum(sizes), sum(sizes))), np.zeros((*lead, len(sizes))), 0
        for i, ((_, m), p, size) in enumerate(zip(readings, predicted, sizes, strict=True)):
            rows = slice(row, row + size)
            y[..., rows], H[..., rows, : p.H.shape[-1]], R[..., rows, rows] = residuals[i], p.H, p.R
            valid[..., i], row = m[1], row + size
        return y, H, R, valid, sizes

    # What the state is

    @property
    def size(self) -> int:
        """How many numbers the error state has."""
        raise NotImplementedError

    @property
    def _space(self) -> Space:
        raise NotImplementedError

    def vector(self, belief: Any) -> Array:
        """Return all numbers of the state beside the group's element, which stands first in the belief."""
        raise NotImplementedError

    def placed(self, belief: Any, q: Array, x: Array, **told: Array) -> Any:
        """Return the belief at another state, and with other fields."""
        raise NotImplementedError

    def _given(self, belief: Any) -> tuple[Array, ...]:
        """Return the parameters of the space."""
        raise NotImplementedError

    def _expect(self, belief: Any, sensor: Any, env: Any) -> Prediction:
        """Return a sensor's prediction, with H as the space takes it."""
        raise NotImplementedError

    def _kernel_of(self, sensor: Any, env: Any) -> tuple[Kernel, tuple[Array, ...]] | None:
        """Return a sensor's own kernel of its prediction, and its arguments, if it has one that will do."""
        return None
