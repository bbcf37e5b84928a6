"""What corrects an inertial navigation system: residuals of sensors that sit at a lever arm l and are late by tau.

    pose        log((q q_BM)^-1 z_q),  R_IM^T (z_r - r - R l)          attitude    the first half
    position    z - r - R l                                            velocity    z - v - R (w x l), or in body axes
    range       |z| - |r + R l - place|                                vector      z - R^T reference
    direction   T(R^T reference) z, of unit length: its two components across what is expected
    rest        0 - v                                                  (zero velocity)

at the state of the time t - tau, by the last sample of gyro and accelerometer. Lever arm and time offset are given, or
are states. H is the exact Jacobian over the filter's error state (`chart.traced`).
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any

import numpy as np

from gnc import dual_quaternion, quaternion
from gnc.batch import Kernel
from gnc.batch.layout import Layout
from gnc.estimators.chart import traced, vector
from gnc.estimators.ins import InsBelief, InsFilter, moved
from gnc.estimators.ins_chart import FORMS, Q, R, V
from gnc.linalg import array, cross
from gnc.models.sensors.direction import across

Array = Any

PLAIN = ("position", "velocity", "body-velocity", "vector", "rest")  # of three numbers
SIZES = {"pose": (8, 6), "attitude": (4, 3), "range": (1, 1), "direction": (3, 2)} | dict.fromkeys(PLAIN, (3, 3))
# of a kind: numbers of z and of the residual


@dataclass(frozen=True, eq=False, kw_only=True)
class InsSensor:
    """A sensor as the filter believes it to be."""

    kind: str  # one of SIZES
    R: Array  # (..., m, m)
    lever_B: Array = (0.0, 0.0, 0.0)  # [m]; of a state, its first value
    q_BM: Array = (1.0, 0.0, 0.0, 0.0)  # of the frame whose attitude is measured
    place: Array = (0.0, 0.0, 0.0)  # of a range's other end [m], or a vector's reference; `env` may have another
    lever_at: int | None = None  # where it is among the extra states
    delay_at: int | None = None

    def linearize(self, ins: InsFilter, z: Array, belief: InsBelief, env: Any) -> tuple[Array, Array]:
        """Return the residual, and H = -dy/de."""
        kernel = _residual(self.kind, ins.form, ins.extras, ins.gravity_known, self.lever_at, self.delay_at)
        given = [np.asarray(x, float) for x in (self.lever_B, self.q_BM)]
        place = np.asarray(self.place, float) if env is None else env
        y, slope = kernel(z, *ins.parts(belief), belief.sample, ins.gravity_I, *given, place)
        return y, -slope


def _expected(kind: str, z: Array, x: Array, w_B: Array, lever: Array, q_BM: Array, place: Array) -> Array:
    """Return the residual at a state."""
    q = quaternion.mul(x[Q], q_BM)
    if kind in ("pose", "attitude"):
        turn = quaternion.log(quaternion.mul(quaternion.conj(q), z[:4]))
        if kind == "attitude":
            return turn
        off = dual_quaternion.to_pose(z)[1] - x[R] - quaternion.rotate(x[Q], lever)
        return np.concatenate([turn, quaternion.inverse_rotate(q, off)])
    if kind == "position":
        return z - x[R] - quaternion.rotate(x[Q], lever)
    if kind == "velocity":
        return z - x[V] - quaternion.rotate(x[Q], cross(w_B, lever))
    if kind == "body-velocity":
        return z - quaternion.inverse_rotate(q, x[V]) - quaternion.inverse_rotate(q_BM, cross(w_B, lever))
    if kind == "range":
        d = x[R] + quaternion.rotate(x[Q], lever) - place
        return array([z[0] - np.sqrt(d @ d)])
    if kind == "direction":
        return across(quaternion.inverse_rotate(q, place)) @ z
    return z - (quaternion.inverse_rotate(q, place) if kind == "vector" else x[V])


@functools.cache
def _residual(kind: str, form: str, k: int, gravity_known: bool, lever_at: int | None, delay_at: int | None) -> Kernel:
    """Return the kernel (z, x, bias[, extras], sample, gravity, lever, q_BM, place) -> y, dy/de."""
    chart = (FORMS[form], vector(6), *([vector(k)] if k else []))

    def residual(z: Array, *args: Array) -> Array:
        (x, bias, *extras), (sample, gravity, lever, q_BM, place) = args[: len(chart)], args[len(chart) :]
        w_B, f_B = sample[:3] - bias[:3], sample[3:] - bias[3:]
        if delay_at is not None:
            x = moved(x, w_B, f_B, gravity if gravity_known else extras[0][:3], -extras[0][delay_at])
        lever = lever if lever_at is None else extras[0][lever_at : lever_at + 3]
        return _expected(kind, z, x, w_B, lever, q_BM, place)

    n, m = SIZES[kind]
    cores = tuple((part.numbers,) for part in chart)
    names = ("z", *("x", "bias", "extras")[: len(chart)], "sample", "gravity", "lever", "q_BM", "place")
    layout = Layout(names, ((n,), *cores, (6,), (3,), (3,), (4,), (3,)), ((m,),))
    return traced(Kernel(residual, layout), chart, (vector(m),), first=1)
