"""The best that can be had: the maximum a posteriori state from all measurements so far, as a reference in studies.

All measurements up to a time are held against the first state, carried to them by the motion of a filter:

    minimise  e_0 . C_0^-1 e_0 + sum_k r_k . R^-1 r_k,        e_0 on the group,   r_k = z_k - h(x_k(x_0))

by Gauss-Newton. Nothing is ever linearised at an estimate that is given up later, so that the covariance is right where
a recursive filter's is not; it costs a whole flight for every iteration. The horizon grows by half each time: the rate
is then known well enough for the next. Without process noise; with it, and for all times at once: `smoothing.iterated`.
"""

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from gnc.batch import Kernel
from gnc.batch.layout import Layout
from gnc.errors import InputError
from gnc.estimators.chart import POSE, ROTATION, Chart, difference, retraction, vector
from gnc.estimators.corrections import Space
from gnc.estimators.group_filter import GroupFilter, Readings
from gnc.estimators.kalman import factor, solve
from gnc.estimators.smoothing import congruent, transposed
from gnc.typing import Array

ITERATIONS = 10
SMALL = 1e-6  # of the standard deviations: a correction that ends the iterations


@functools.cache
def adding_kernel(space: Space, n: int, m: int, columns: int) -> Kernel:
    """Return the kernel that adds a measurement of one sensor to the normal equations of the first state."""

    def add(N, g, F, *more):
        *given, H, R, y, valid = more
        slope = space.own(H, n, given) @ F
        weighted = solve(*factor(R)[:2], np.concatenate([slope, y.reshape(m, 1)], axis=1)) * valid
        return N + slope.T @ weighted[:, :n], g + slope.T @ weighted[:, n]

    cores = space.cores.format(x=n - space.errors)
    layout = f"({n},{n}),({n}),({n},{n}),{cores},({m},{columns}),({m},{m}),({m}),()->({n},{n}),({n})"
    return Kernel(add, Layout.parse(layout, ("N", "g", "F", *space.names, "H", "R", "y", "valid")))


@dataclass(frozen=True, eq=False)
class MapEstimate:
    """Parameters of the problem: a filter, `Mekf` or `DqEkf`, whose motion and sensors count, sampled every h."""

    filter: Any
    h: float
    load: Any = None  # torque or wrench, known and constant in body axes

    def __post_init__(self) -> None:
        """Refuse a filter with process noise or extra states."""
        if self.filter.noisy or self.filter.extras:
            raise InputError("filter: all measurements at once are for a motion without noise and extra states")

    @property
    def chart(self) -> Chart:
        """The parts of the state."""
        n, e = self.filter.size, self.filter._space.errors
        return (ROTATION if e == 3 else POSE), vector(n - e)

    def estimates(self, start: Any, readings: Sequence[Readings], times: Sequence[int]) -> list[Any]:
        """Return beliefs at some times, given in samples and ascending; `readings[k]` came at (k + 1) h."""
        first, horizon, results = start, 1, []
        for time in times:
            while horizon < time:
                first, _, _, _ = self._solved(first, start, readings[:horizon])
                horizon = max(horizon + 1, horizon * 3 // 2)
            horizon = time
            first, end, F, N = self._solved(first, start, readings[:time])
            results.append(end._replace(C=congruent(F, np.linalg.inv(N))))
        return results

    def _solved(self, first: Any, prior: Any, readings: Sequence[Readings]) -> tuple[Any, ...]:
        """Return the first state that fits the measurements best, where it leads to, F and the normal matrix there."""
        information = np.linalg.inv(prior.C)
        for _ in range(ITERATIONS):
            end, F, N, g = self._flown(first, prior, information, readings)
            d = np.linalg.solve(N, g[..., None])[..., 0]
            if not np.any(np.einsum("...i,...ij,...j->...", d, N, d) > SMALL**2):
                break
            q, x, _ = retraction(self.chart)(*self._parts(first), d)
            first = self.filter.placed(first, q, x, *first[-4:])
        return first, end, F, N

    def _parts(self, belief: Any) -> tuple[Array, Array]:
        return belief[0], self.filter.vector(belief)

    def _flown(self, first: Any, prior: Any, information: Array, readings: Sequence[Readings]) -> tuple[Any, ...]:
        """Fly through all measurements; return the last state, F from the first, normal matrix and gradient."""
        filter_: GroupFilter = self.filter
        e = difference(self.chart)(*self._parts(prior), *self._parts(first))
        E = np.linalg.inv(retraction(self.chart)(*self._parts(prior), e)[-1])
        N, g = congruent(transposed(E), information), -(transposed(E) @ (information @ e[..., None]))[..., 0]
        at, F, n = first, np.eye(filter_.size), filter_.size
        for instant in readings:
            at, F_step, _ = self.filter.transition(at, prior.C, self.load, self.h)
            F = F_step @ F
            for sensor, (z, valid) in instant:
                _, H, R = expected = filter_._expect(at, sensor, None)
                kernel, y = adding_kernel(filter_._space, n, *H.shape[-2:]), sensor.residual(z, expected.z)
                N, g = kernel(N, g, F, *filter_._given(at), H, R, y, np.asarray(valid, float))
        return at, F, N, g
