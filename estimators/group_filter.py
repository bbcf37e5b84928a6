"""What error-state filters on a group have in common: update, recovery, and `advance` over long intervals.

`advance` takes an interval and all measurements at its end in one go, and linearises the motion again while the
correction is large: 0.5 deg/s over 20 s are 10 deg, and the covariance of `predict` and `update` would be too small for
good. That happens a few times per flight, while the rate is being acquired. It begins at the estimate, which is the
usual filter; where what is left to correct turns the body by |s_a|^2 > 0.02 sigma (its square is then 1 % of the
sensor's error), it linearises again where the measurements lead to (equations: `corrections`).
"""

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple

import numpy as np

from gnc import check
from gnc.batch import Kernel
from gnc.batch.choice import chosen, when
from gnc.estimators.augmentation import Augmentation
from gnc.estimators.corrections import (
    Space,
    correction_kernel,
    doubt_kernel,
    interval_kernel,
    measuring_kernel,
    moved_kernel,
    refusal_kernel,
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
    y: Array  # residual


class Outcome(NamedTuple):
    """What a linearisation of an interval leads to, as `interval_kernel` returns it."""

    after: After
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

    Recovery: when refusals that do not contradict other sensors have lasted for `patience_s` (see `corrections`), the
    covariance of all but the extra states is multiplied by `inflation`, but to no more than `widest`, again and again
    until they are let in; `recoveries` of the belief counts that.
    """

    chart: str = "usual"  # in which errors are linear: 'conserved', see `conserved_chart`, or 'usual'
    gate_probability: float = 0.999  # with which a good measurement passes; 1 lets all in
    patience_s: float = 5.0
    inflation: float = 100.0
    widest: tuple[float, ...] = ()  # standard deviations up to which it is inflated
    noisy: bool = field(init=False, repr=False)  # whether something unknown acts
    _extra: Augmentation = field(default=Augmentation(()), init=False, repr=False)
    CHARTS: ClassVar[tuple[str, ...]] = ("usual", "conserved")

    def __post_init__(self) -> None:
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
        own = self._extra.kernel_of(sensor, 2 * self._space.errors, env)
        if own is None:
            expected = self._expect(belief, sensor, env)
            y = sensor.residual(measurement[0], expected.z)
            return self.corrected(belief, expected.H, expected.R, y, measurement[1], gated)
        kernel, arguments = own
        correct, limits = self._updates.get((kernel, gated)) or self._prepared(kernel, gated)
        state = self._state(belief)
        after = correct(*(state + arguments + (measurement[0], measurement[1], limits)))  # noqa: RUF005  # quickest
        return self._one(belief, after, (state, kernel, arguments, limits))

    def corrected(
        self, belief: Any, H: Array, R: Array, y: Array, valid: Array, gated: bool = True
    ) -> tuple[Any, Innovation]:
        """Correct with a residual y of derivative H and noise R."""
        kernel, limits = correction_kernel(self._space, self.size, *H.shape[-2:]), self._limits(H.shape[-2], gated)
        state = self._state(belief)
        return self._one(belief, (*kernel(*state, H, R, y, valid, limits), y), (state, None, (H, R), limits))

    @functools.cached_property
    def _updates(self) -> dict[tuple[Kernel, bool], tuple[Kernel, Array]]:
        """Kernel and limits of an update by a sensor's own kernel, gated or not."""
        return {}

    def _prepared(self, kernel: Kernel, gated: bool) -> tuple[Kernel, Array]:
        limits = self._limits(kernel.layout.outs[1][0], gated)
        self._updates[kernel, gated] = made = measuring_kernel(self._space, kernel, self.size), limits
        return made

    def _limits(self, m: int, gated: bool) -> Array:
        return limits_of(self.gate_probability if gated else 1.0, m, self._recovery)

    def _state(self, belief: Any) -> tuple[Array, ...]:
        """Return what all kernels of an update begin with."""
        return belief[0], self.vector(belief), belief.C, belief.watch, belief.idle, *self._given(belief)

    def _one(self, belief: Any, after: tuple[Array, ...], given: tuple[Any, ...]) -> tuple[Any, Innovation]:
        """Return the belief after one sensor, and what was said."""
        q, x, C, watch, S, nis, used, refused, y = after
        recoveries, beyond = belief.recoveries, refused > 0.0
        if beyond is not np.False_:  # the quickest test of one trial in Python
            counts = C, watch, recoveries
            C, watch, recoveries = when(beyond, self._refused, (counts, q, y, given), counts)
        moved = self.placed(belief, q, x, C, watch, 0.0 * belief.idle, recoveries)
        return moved, Innovation(y, S, nis, used > 0.0)

    def _refused(self, counts: tuple[Array, ...], q: Array, y: Array, given: tuple[Any, ...]) -> tuple[Array, ...]:
        """Return C, watch and recoveries after a refusal, which `when` asks for only if there was one in any trial."""
        state, predict, arguments, limits = given  # without the sensor's kernel `predict`, arguments are H and R
        H, R = predict(state[0][..., :4], *arguments)[1:] if predict else arguments
        kernel = refusal_kernel(self._space, self.size, *H.shape[-2:])
        return kernel(*counts, q, *state[GIVEN:], H, R, y, limits)

    def _several(self, belief: Any, after: After, sizes: tuple[int, ...], gated: bool) -> tuple[Any, list[Innovation]]:
        """Return the belief after several sensors at once, and what each said."""
        counts, given, start = (after.C, after.watch, belief.recoveries), self._given(belief), 0
        for i, size in enumerate(sizes):
            rows, start = slice(start, start + size), start + size
            seen = after.H[..., rows, :], after.R[..., rows, rows], after.y[..., rows], self._limits(size, gated)
            doubt = doubt_kernel(self._space, self.size, size)
            counts = when(after.refused[..., i] > 0.0, doubt, (*counts, *given, *seen), counts)
        C, watch, recoveries = counts
        moved = self.placed(belief, after.q, after.x, C, watch, 0.0 * belief.idle, recoveries)
        return moved, innovations(after.y, after.S, after.nis, after.used, sizes)

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
        return self._several(end, outcome.after, sizes, gated)

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
        state = self._state(end._replace(C=start.C, watch=start.watch, idle=start.idle))
        state, given = state[:GIVEN], state[GIVEN:]
        results = interval_kernel(self._space, self.size, sizes, H.shape[-1])(
            *state, F, Q, d, noise, *given, H, R, y, valid, gates, self.patience_s
        )
        return Outcome(After._make(results[:11]), *results[11:]), end, sizes

    def moved(self, belief: Any, C: Array, d: Array) -> tuple[Any, Array]:
        """Return the state at d of the belief's chart, and the reset between them."""
        kernel = moved_kernel(self._space, self.size)
        q, x, reset = kernel(belief[0], self.vector(belief), C, d, *self._given(belief))
        return self.placed(belief, q, x, *belief[-4:]), reset

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

    def placed(self, belief: Any, q: Array, x: Array, C: Array, watch: Array, idle: Array, recoveries: Array) -> Any:
        """Return the belief at another state, with other last fields."""
        raise NotImplementedError

    def _given(self, belief: Any) -> tuple[Array, ...]:
        """Return the parameters of the space."""
        raise NotImplementedError

    def _expect(self, belief: Any, sensor: Any, env: Any) -> Prediction:
        """Return a sensor's prediction, with H as the space takes it."""
        raise NotImplementedError
