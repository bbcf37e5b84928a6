"""Sigma-point filters of attitudes and of poses, with the interface of `Mekf` and `DqEkf`: see `sigma_points`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from gnc.errors import InputError
from gnc.estimators import pose_motion
from gnc.estimators.attitude_belief import Belief
from gnc.estimators.dqekf import DqEkf
from gnc.estimators.group_filter import After, GroupFilter, Readings, Ways
from gnc.estimators.kalman import Innovation, gate
from gnc.estimators.mekf import Mekf
from gnc.estimators.pose_belief import PoseBelief
from gnc.estimators.process_model import middle
from gnc.estimators.sigma_points import (
    ATTITUDE,
    POSE,
    Points,
    block_diagonal,
    correction_kernel,
    drawing_kernel,
    gathering_kernel,
    measuring_kernel,
)
from gnc.typing import Array


class SigmaPoints(GroupFilter):
    """The update of a sigma-point filter, and its prediction from points that have flown."""

    points: Points
    extras: Any

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.extras:
            raise InputError("extras: the sigma-point filter has none; use Mekf or DqEkf")

    def flown(
        self, belief: Any, fly: Callable[[Array, Array], tuple[Array, Array]], Q: Callable[[Array], Array]
    ) -> Any:
        """Return the belief of points moved by `fly`; Q is asked for at the mean that is reached."""
        given = self._given(belief)
        q, x = drawing_kernel(self.points, False)(belief[0], self.vector(belief), belief.C, *given)
        q, x = fly(_points_first(q), _points_first(x))
        n = self.points.n
        q, x, C = gathering_kernel(self.points)(_points_last(q), _points_last(x), np.zeros((n, n)), *given)
        return self.placed(belief, q, x, C + Q(x), *belief[-3:])

    def update(
        self, belief: Any, sensor: Any, measurement: Any, env: Any = None, gated: bool = True
    ) -> tuple[Any, Innovation]:
        """Correct with a measurement (z, valid); trials where it is not valid stay as they are."""
        belief, told = self.correct(belief, [(sensor, measurement)], env, gated)
        return belief, told[0]

    def _over(
        self, belief: Any, ways: Ways, h: Array, readings: Readings, env: Any, iterations: int, gated: bool
    ) -> tuple[Any, list[Innovation]]:
        """Predict, and take the measurements at the end all at once; sigma points need no iterations."""
        return self.correct(ways.predict(), readings, env, gated)

    def correct(self, belief: Any, readings: Readings, env: Any, gated: bool) -> tuple[Any, list[Innovation]]:
        """Update with (sensor, measurement) pairs, all at once."""
        if not readings:
            return belief, []
        lead, n = belief.C.shape[:-2], 2 * self._space.errors
        own = [self._extra.kernel_of(sensor, n, env) for sensor, _ in readings]
        if all(one is not None for one in own):
            kernels, arguments = zip(*[one for one in own if one is not None], strict=True)
            sizes = tuple(kernel.layout.outs[0][0] for kernel in kernels)
            kernel, seen = measuring_kernel(self.points, kernels), (*sum(arguments, ()), *[m[0] for _, m in readings])
        else:
            seen, sizes = self._seen(belief, readings, env)
            kernel = correction_kernel(self.points, sizes)
        gates = np.array([gate(self.gate_probability if gated else 1.0, size) for size in sizes])
        valid = np.stack([np.broadcast_to(np.asarray(m[1], float), lead) for _, m in readings], axis=-1)
        after = kernel(*self._state(belief), *seen, valid, gates, self.patience_s)
        return self._several(belief, After(*after), sizes, gated)

    def _seen(self, belief: Any, readings: Readings, env: Any) -> tuple[tuple[Array, ...], tuple[int, ...]]:
        """Return the sigma points, what they would measure and what was measured against the central one, and R."""
        kernel = drawing_kernel(self.points, True)
        e, q, x = kernel(belief[0], self.vector(belief), belief.C, *self._given(belief))
        cloud = self.placed(belief, _points_first(q), _points_first(x), *belief[-4:])
        expected = [self._expect(belief, sensor, env) for sensor, _ in readings]
        y = [s.residual(self._expect(cloud, s, env).z, p.z) for (s, _), p in zip(readings, expected, strict=True)]
        r = [s.residual(m[0], p.z) for (s, m), p in zip(readings, expected, strict=True)]
        lead = np.broadcast_shapes(*[p.R.shape[:-2] for p in expected])
        R = block_diagonal([np.broadcast_to(p.R, (*lead, *p.R.shape[-2:])) for p in expected])
        sizes = tuple(one.shape[-1] for one in r)
        return (e, _points_last(np.concatenate(y, -1)), np.concatenate(r, -1), R), sizes


@dataclass(frozen=True, eq=False, repr=False)
class SigmaMekf(SigmaPoints, Mekf):
    """A filter with the interface of `Mekf`, by sigma points, without extra states."""

    widest: tuple[float, ...] = field(default=(1.0, 0.2), kw_only=True)  # that of Mekf, which SigmaPoints hides
    points = ATTITUDE

    def predict(self, belief: Belief, tau_B: Array, h: Array, rho_B: Array | None = None, env: Any = None) -> Belief:
        """Move over h under a torque that is constant in body axes; rho_B is the wheels' momentum at the end."""
        rho_end = belief.rho_B if rho_B is None else np.broadcast_to(np.asarray(rho_B, float), belief.rho_B.shape)
        given = belief.C, tau_B, self.J, belief.rho_B, rho_end, h
        Q = self._torque_noise(belief.P_B, tau_B, self.J, middle(belief.rho_B, rho_end), h)
        after = self.flown(belief, lambda q, P: self.process.mean(q, P, *given, at=belief.P_B), lambda P: Q)
        return after._replace(rho_B=rho_end, idle=belief.idle + h)


@dataclass(frozen=True, eq=False, repr=False)
class SigmaDqEkf(SigmaPoints, DqEkf):
    """A filter with the interface of `DqEkf`, by sigma points, without extra states."""

    widest: tuple[float, ...] = field(default=(1.0, 10.0, 0.2, 1.0), kw_only=True)  # that of DqEkf
    points = POSE

    def predict(self, belief: PoseBelief, wrench_B: Array | None, h: Array) -> PoseBelief:
        """Move over h under a wrench about the reference point, constant in body axes; None is free flight."""
        step, more = (wrench_B, self.M, h), (self.turn, belief.C)
        fly = lambda p, chi: pose_motion.move_mean(self.method, p, chi, *step, *more)  # noqa: E731
        after = self.flown(belief, fly, lambda chi: self._noise(belief.chi_B, chi, *step))
        return after._replace(idle=belief.idle + h)


def _points_first(values: Array) -> Array:
    """Put the axis of the sigma points before those of the trials, where parameters of trials broadcast."""
    return np.moveaxis(values, -2, 0)


def _points_last(values: Array) -> Array:
    return np.moveaxis(values, 0, -2)
