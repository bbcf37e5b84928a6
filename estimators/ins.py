"""Inertial navigation: gyro and accelerometer drive attitude, velocity and position, which other sensors correct.

    q' = q w/2,   v' = R f + g,   r' = v;      w = w_m - b_g,   f = f_m - b_a

States are (q, r, v) with the errors of one of two charts (`ins_chart`), the biases b = (b_g, b_a), and optionally
gravity g, lever arms and time offsets of sensors (`ins_sensors`). Samples are constant over a step, so that it is exact
but for the third order of its turn in the position; F is the exact Jacobian of the step in the chart (`chart.traced`).
White noise of both sensors acts on theta and nu alike in both charts, half of it before and half after a step.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from gnc import check, lie, quaternion
from gnc.batch import Kernel, where
from gnc.batch.layout import Layout
from gnc.estimators.chart import Chart, retraction, size, traced, vector
from gnc.estimators.ins_chart import FORMS, Q, R, V
from gnc.estimators.kalman import Innovation, gate, propagated, symmetric_product, update_kernel
from gnc.linalg import identity, skew
from gnc.models.parameters import between, store

Array = Any

GRAVITY = (0.0, 0.0, -9.80665)
ARGUMENTS = ("last", "C", "z", "valid", "gravity", "arw", "vrw", "gw", "aw", "coast", "h")  # of the prediction


class InsBelief(NamedTuple):
    """What the filter believes."""

    x: Array  # (..., 10) q_IB, r_I [m], v_I [m/s]
    bias: Array  # (..., 6) of gyro [rad/s] and accelerometer [m/s^2], body axes
    extras: Array  # (..., k) gravity, lever arms, time offsets: what the filter estimates of them
    sample: Array  # (..., 6) last of gyro and accelerometer
    C: Array  # (..., 15 + k, 15 + k)
    rejected: Array  # (...)
    recoveries: Array  # (...)


@dataclass(frozen=True, eq=False, kw_only=True)
class InsFilter:
    """The filter's parameters; the first three extra states are gravity, if it is estimated."""

    arw: Array  # (...) [rad/sqrt(s)]
    vrw: Array  # (...) velocity random walk [m/s/sqrt(s)]
    gyro_walk: Array = 0.0  # (...) [rad/s/sqrt(s)]
    acc_walk: Array = 0.0  # (...) [m/s^2/sqrt(s)]
    extras: int = 0
    gravity_known: bool = True  # as `gravity_I`; else it is a state
    gravity_I: Array = GRAVITY  # [m/s^2]
    coast_m_s2: float = 10.0  # of the unknown acceleration where there is no sample; [rad/s] of the rate: a tenth
    form: str = "group-affine"
    gate_probability: float = 0.999
    chart: Chart = field(init=False, repr=False)

    def __post_init__(self) -> None:
        """Validate once."""
        check.one_of("form", self.form, tuple(FORMS))
        between("gate_probability", self.gate_probability, 0.0, 1.0)
        for name in ("arw", "vrw", "gyro_walk", "acc_walk"):
            store(self, **{name: check.non_negative(name, getattr(self, name))})
        store(self, gravity_I=np.asarray(self.gravity_I, float))
        store(self, chart=(FORMS[self.form], vector(6), *([vector(self.extras)] if self.extras else [])))

    @property
    def size(self) -> int:
        """How many numbers the error state has."""
        return 15 + self.extras

    def parts(self, belief: InsBelief) -> tuple[Array, ...]:
        """Return the parts of the chart."""
        return (belief.x, belief.bias, belief.extras)[: len(self.chart)]

    def with_parts(self, belief: InsBelief, parts: tuple[Array, ...], C: Array) -> InsBelief:
        """Return a belief with other parts."""
        x, bias, *extras = parts
        return belief._replace(x=x, bias=bias, extras=extras[0] if extras else belief.extras, C=C)

    def start(self, q_IB: Array, r_I: Array, v_I: Array, C: Array, bias: Array, extras: Array) -> InsBelief:
        """Return the belief before the first sample."""
        x = np.concatenate([check.unit_quaternion("q_IB", q_IB), r_I, v_I])
        sample = np.concatenate([np.asarray(bias)[:3], quaternion.inverse_rotate(x[Q], -self.gravity_I)])
        C = check.covariance("C", C, self.size)
        return InsBelief(x, np.array(bias, float), np.array(extras, float), sample, C, np.zeros(()), np.zeros(()))

    def predict(self, belief: InsBelief, sample: Array, valid: Array, h: Array) -> InsBelief:
        """Move over h by a sample (..., 6) of gyro and accelerometer; one that is not valid is bridged by the last."""
        noise = self.arw, self.vrw, self.gyro_walk, self.acc_walk, np.asarray(self.coast_m_s2)
        kernel = _predict(self.form, self.extras, self.gravity_known)
        *parts, sample, C = kernel(
            *self.parts(belief), belief.sample, belief.C, sample, valid, self.gravity_I, *noise, h
        )
        return self.with_parts(belief, tuple(parts), C)._replace(sample=sample)

    def transition(self, before: InsBelief, after: InsBelief, h: Array) -> Array:
        """Return F (..., n, n) of a prediction over h."""
        kernel = step_jacobian(self.form, self.extras, self.gravity_known)
        return kernel(*self.parts(before), after.sample, self.gravity_I, h)[-1]

    def update(
        self, belief: InsBelief, sensor: Any, measurement: Any, env: Any = None, gated: bool = True
    ) -> tuple[InsBelief, Innovation]:
        """Correct with a measurement of an `InsSensor`."""
        z, valid = measurement
        y, H = sensor.linearize(self, z, belief, env)
        m = H.shape[-2]
        limit = gate(self.gate_probability, m) if gated else np.inf
        d, C, S, nis, used = update_kernel(self.size, m)(belief.C, H, sensor.R, y, valid, limit)
        *parts, C = _corrected(self.chart)(*self.parts(belief), C, d)
        return self.with_parts(belief, tuple(parts), C), Innovation(y, S, nis, used > 0.0)


@functools.cache
def _corrected(chart: Chart) -> Kernel:
    """Return the kernel (*x, C, d) -> *(x + d), C in the axes of the new mean."""
    moved, n = retraction(chart), size(chart)
    old = moved.layout

    def corrected(*args: Array) -> tuple[Array, ...]:
        *parts, reset = moved(*args[:-2], args[-1])
        return *parts, symmetric_product(reset, args[-2])

    names = (*old.names[:-1], "C", "d")
    return Kernel(corrected, Layout(names, (*old.ins[:-1], (n, n), (n,)), (*old.outs[:-1], (n, n))))


def moved(x: Array, w_B: Array, f_B: Array, g_I: Array, h: Array) -> Array:
    """Return (q, r, v) after h at constant rate and specific force."""
    turn, rotation = h * w_B, quaternion.to_matrix(x[Q])
    W = skew(turn)
    once = rotation @ (lie.so3_left_jacobian(turn) @ f_B)
    twice = rotation @ ((0.5 * identity(3) + W / 6.0 + (W @ W) / 24.0) @ f_B)
    r = x[R] + h * x[V] + (h * h) * (0.5 * g_I + twice)
    return np.concatenate([quaternion.mul(x[Q], quaternion.exp(turn)), r, x[V] + h * (g_I + once)])


@functools.cache
def step_jacobian(form: str, k: int, gravity_known: bool) -> Kernel:
    """Return the kernel (x, bias[, extras], sample, gravity, h) -> x, bias[, extras], F."""
    chart = (FORMS[form], vector(6), *([vector(k)] if k else []))

    def step(*args: Array) -> tuple[Array, ...]:
        (x, bias, *extras), (sample, gravity, h) = args[:-3], args[-3:]
        g_I = gravity if gravity_known else extras[0][:3]
        return moved(x, sample[:3] - bias[:3], sample[3:] - bias[3:], g_I, h), bias, *extras

    cores = tuple((part.numbers,) for part in chart)
    names = (*("x", "bias", "extras")[: len(chart)], "sample", "gravity", "h")
    return traced(Kernel(step, Layout(names, (*cores, (6,), (3,), ()), cores)), chart, chart)


@functools.cache
def _predict(form: str, k: int, gravity_known: bool) -> Kernel:
    """Return the kernel of `predict`: C <- F (C + Q/2) F^T + Q/2."""
    jacobian, n = step_jacobian(form, k, gravity_known), 15 + k
    parts = len(jacobian.layout.outs) - 1

    def predict(*args: Array) -> tuple[Array, ...]:
        state, (last, C, z, valid, gravity, arw, vrw, gyro_walk, acc_walk, coast, h) = args[:parts], args[parts:]
        sample = where(valid > 0.0, z, last)
        *after, F = jacobian(*state, sample, gravity, h)
        loose = 1.0 - valid
        densities = (
            arw * arw + loose * (0.01 * coast * coast * h), 0.0, vrw * vrw + loose * (coast * coast * h),
            gyro_walk * gyro_walk, acc_walk * acc_walk,
        )  # fmt: skip
        half = np.array(C)
        for i in range(15):
            half[i, i] = C[i, i] + (0.5 * h) * densities[i // 3]
        C = propagated(F, half, n)
        for i in range(15):
            C[i, i] = C[i, i] + (0.5 * h) * densities[i // 3]
        return *after, sample, C

    cores = jacobian.layout.outs[:parts]
    names = (*jacobian.layout.names[:parts], *ARGUMENTS)
    ins = (*cores, (6,), (n, n), (6,), (), (3,), (), (), (), (), (), ())
    return Kernel(predict, Layout(names, ins, (*cores, (6,), (n, n))))
