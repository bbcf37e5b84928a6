"""Sigma-point attitude filter on attitude and inertial momentum, as kernels: the independent check of the EKFs.

Errors (a, l): q = q^ exp(a/2), the inertial momentum L = L^ + l, which a free body keeps. Thirteen sigma points
(kappa = 1) fly by the process model of `Mekf`; the mean of the attitude is found by iteration on the group; all
measurements of an instant correct at once, on freshly drawn points; the covariance goes to the new estimate by the
right Jacobian. There is no derivative of the motion or of a sensor anywhere. `Belief.C` is over (a, dP), as always.

    mekf = SigmaMekf(J)
    belief, innovations = mekf.advance(belief, tau_B, h, [(sensor, measurement), ...])

Source: after Crassidis and Markley (see `usque`), with the mean on the group and the momentum in inertial axes.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from gnc import quaternion
from gnc.batch import Kernel, as_numbers, batched
from gnc.batch.layout import Layout
from gnc.errors import InputError
from gnc.estimators.attitude_belief import Belief
from gnc.estimators.kalman import (
    Innovation,
    cholesky,
    factor,
    gate,
    gated,
    innovations,
    solve,
    symmetric_product,
    without_unused,
)
from gnc.estimators.mekf import Mekf
from gnc.estimators.mekf_kernels import watched
from gnc.estimators.process_model import middle
from gnc.lie import so3_right_jacobian
from gnc.linalg import array, block, identity, skew, zeros
from gnc.models import rates
from gnc.models.states import AttitudeState

Array = Any
Readings = Sequence[tuple[Any, Any]]

SPREAD = 7.0  # n + kappa
WEIGHTS = (1.0 / SPREAD, *[0.5 / SPREAD] * 12)
ITERATIONS = 2  # of the mean attitude: each leaves its error times the square of the spread


def _shear(P, sign):
    """Return the matrix between (a, dP) and (a, l): l = dP - [P] a for sign -1, and back for 1."""
    return block([[identity(3), zeros(3, 3)], [sign * skew(P), identity(3)]])


def _errors(C):
    """Return the sigma points (13, 6) of C = L L^T: columns of (n + kappa)^(1/2) L, both ways."""
    columns = (np.sqrt(SPREAD) * cholesky(C)).T
    return np.concatenate([zeros(1, len(C)), columns, -columns])


def _weighted(values):
    """Return the mean of sigma points."""
    return sum((w * v for w, v in zip(WEIGHTS[1:], values[1:], strict=True)), WEIGHTS[0] * values[0])


@batched("(4),(3),(6,6)->(13,6),(13,4),(13,3)")
def drawn(q_IB, P_B, C):
    """Return the sigma points: errors (a, l), attitudes, and momenta in their own body axes."""
    return _drawn(q_IB, P_B, C)


@batched("(4),(3),(6,6)->(13,4),(13,3)")
def drawn_states(q_IB, P_B, C):
    """Return attitudes and momenta of the sigma points."""
    return _drawn(q_IB, P_B, C)[1:]


def _drawn(q_IB, P_B, C):
    x = _errors(symmetric_product(_shear(P_B, -1.0), C))
    turns = [quaternion.exp(point[:3]) for point in x]
    q = array([quaternion.mul(q_IB, turn) for turn in turns])
    P = array([quaternion.inverse_rotate(turn, P_B + point[3:]) for turn, point in zip(turns, x, strict=True)])
    return x, q, P


@batched("(13,4),(13,3),(6,6)->(4),(3),(6,6)")
def gathered(q, P, Q):
    """Return the belief of sigma points that have flown, with process noise."""
    mean = q[0]
    for _ in range(ITERATIONS):
        a = [quaternion.log(quaternion.mul(quaternion.conj(mean), point)) for point in q]
        mean = quaternion.normalize(quaternion.mul(mean, quaternion.exp(_weighted(a))))
    turns = [quaternion.mul(quaternion.conj(mean), point) for point in q]
    seen = [quaternion.rotate(turn, p) for turn, p in zip(turns, P, strict=True)]  # momenta in axes of the mean
    P_mean = _weighted(seen)
    x = [np.concatenate([quaternion.log(turn), p - P_mean]) for turn, p in zip(turns, seen, strict=True)]
    C = _weighted([np.outer(e, e) for e in x])
    return mean, P_mean, symmetric_product(_shear(P_mean, 1.0), C) + Q


def _corrected(q_IB, P_B, C, x, y, r, R, rejected, recoveries, J, valid, gates, limits, sizes):
    """Return belief and counts after an update, then residual, S, nis and used.

    y (13, m) is what the sigma points x would measure and r what was measured, both against the central point.
    """
    mean = _weighted(y)
    r, dy = r - mean, [point - mean for point in y]
    S = _weighted([np.outer(e, e) for e in dy]) + R
    nis, used = gated(S, r, valid, gates, sizes)
    mixed = _weighted([np.outer(e, point) for e, point in zip(dy, x, strict=True)])
    mixed, rest, S_used = without_unused(mixed, r, S, R, used, sizes)
    K = solve(*factor(S_used)[:2], mixed).T
    d, C_l = K @ rest, symmetric_product(_shear(P_B, -1.0), C) - symmetric_product(K, S_used)
    turn = quaternion.exp(d[:3])
    to_new = quaternion.to_matrix(turn).T
    P_new = to_new @ (P_B + d[3:])
    reset = block([[so3_right_jacobian(d[:3]), zeros(3, 3)], [zeros(3, 3), to_new]])
    C_new, good = symmetric_product(_shear(P_new, 1.0) @ reset, C_l), C[0, 0] > 0.0
    for i in range(len(sizes)):
        good = good & ((nis[i] >= 0.0) | (valid[i] == 0.0))
    q_new = quaternion.normalize(quaternion.mul(q_IB, turn))
    return *watched(q_new, P_new, C_new, good, rejected, recoveries, J, valid, used, limits), r, S, nis, used


def _results(sizes):
    m, k = sum(sizes), len(sizes)
    return f"(4),(3),(6,6),(),(),({m}),({m},{m}),({k}),({k})"


@functools.cache
def correction_kernel(sizes: tuple[int, ...]) -> Kernel:
    """Return the kernel of an update by any sensors, from what the sigma points would measure."""
    m, k = sum(sizes), len(sizes)

    @batched(f"(4),(3),(6,6),(13,6),(13,{m}),({m}),({m},{m}),(),(),(3,3),({k}),({k}),(4)->{_results(sizes)}")
    def correct(q_IB, P_B, C, x, y, r, R, rejected, recoveries, J, valid, gates, limits):
        return _corrected(q_IB, P_B, C, x, y, r, R, rejected, recoveries, J, valid, gates, limits, sizes)

    return correct


@functools.cache
def measuring_kernel(predicts: tuple[Kernel, ...]) -> Kernel:
    """Return the kernel of an update that draws the sigma points too, and predicts by kernels q, ... -> z, H, R.

    Arguments: q, P, C, then the sensors' own, z of each, and what `correction_kernel` takes after R.
    """
    sizes, cores = tuple(k.layout.outs[0][0] for k in predicts), [k.layout.ins[1:] for k in predicts]
    given = "".join(f"({','.join(map(str, core))})," for own in cores for core in own)
    readings = "".join(f"({size})," for size in sizes)

    def measure(q_IB, P_B, C, *more):
        rest, arguments = list(more), []
        for own in cores:
            arguments.append([rest.pop(0) for _ in own])
        z = np.concatenate([rest.pop(0) for _ in sizes])
        x, q, _ = _drawn(q_IB, P_B, C)
        y = [np.concatenate([f(point, *own)[0] for f, own in zip(predicts, arguments, strict=True)]) for point in q]
        R = block_diagonal([f(q_IB, *own)[2] for f, own in zip(predicts, arguments, strict=True)])
        seen = x, [point - y[0] for point in y], z - y[0], R
        rejected, recoveries, J, valid, gates, limits = rest
        return _corrected(q_IB, P_B, C, *seen, rejected, recoveries, J, valid, gates, limits, sizes)

    k, others = len(sizes), sum(len(own) for own in cores) + len(sizes)
    layout = f"(4),(3),(6,6),{given}{readings}(),(),(3,3),({k}),({k}),(4)->{_results(sizes)}"
    names = ("q_IB", "P_B", "C", *(f"given_{i}" for i in range(others)))
    return Kernel(measure, Layout.parse(layout, (*names, "rejected", "recoveries", "J", "valid", "gates", "limits")))


@dataclass(frozen=True, eq=False, repr=False)
class SigmaMekf(Mekf):
    """A filter with the interface of `Mekf`, by sigma points, without extra states."""

    def __post_init__(self) -> None:
        """Validate once; the kernels do not."""
        super().__post_init__()
        if self.extras:
            raise InputError("extras: the sigma-point filter has none; use Mekf or ConservedMekf")

    def predict(self, belief: Belief, tau_B: Array, h: Array, rho_B: Array | None = None, env: Any = None) -> Belief:
        """Move over h under a torque that is constant in body axes; rho_B is the wheels' momentum at the end."""
        rho_end = belief.rho_B if rho_B is None else np.broadcast_to(np.asarray(rho_B, float), belief.rho_B.shape)
        q, P = drawn_states(belief.q_IB, belief.P_B, belief.C)
        given = belief.C, tau_B, self.J, belief.rho_B, rho_end, h
        q, P = self.process.mean(_points_first(q), _points_first(P), *given, at=belief.P_B)
        Q = self._torque_noise(belief.P_B, tau_B, self.J, middle(belief.rho_B, rho_end), h)
        q_IB, P_B, C = gathered(_points_last(q), _points_last(P), Q)
        return belief._replace(q_IB=q_IB, P_B=P_B, rho_B=rho_end, C=C)

    def update(
        self, belief: Belief, sensor: Any, measurement: Any, env: Any = None, gated: bool = True
    ) -> tuple[Belief, Innovation]:
        """Correct with a measurement (z, valid); trials where it is not valid stay as they are."""
        belief, innovations = self.correct(belief, [(sensor, measurement)], env, gated)
        return belief, innovations[0]

    def advance(
        self, belief: Belief, tau_B: Array, h: Array, readings: Readings, env: Any = None, iterations: int = 1,
        gated: bool = True,
    ) -> tuple[Belief, list[Innovation]]:  # fmt: skip
        """Predict over h and update with (sensor, measurement) pairs, all at once; sigma points need no iterations."""
        return self.correct(self.predict(belief, tau_B, h), readings, env, gated)

    def correct(self, belief: Belief, readings: Readings, env: Any, gated: bool) -> tuple[Belief, list[Innovation]]:
        """Update with (sensor, measurement) pairs, all at once."""
        if not readings:
            return belief, []
        state, valid = (belief.q_IB, belief.P_B, belief.C), [as_numbers(m[1]) for _, m in readings]
        if all(hasattr(sensor, "expected") for sensor, _ in readings):
            kernels, arguments = zip(*[sensor.expected(6, env) for sensor, _ in readings], strict=True)
            sizes = tuple(kernel.layout.outs[0][0] for kernel in kernels)
            kernel, seen = measuring_kernel(kernels), (*sum(arguments, ()), *[m[0] for _, m in readings])
        else:
            seen = self._seen(belief, readings, env)
            sizes = tuple(sensor.predict(self.state(belief), env).H.shape[-2] for sensor, _ in readings)
            kernel = correction_kernel(sizes)
        gates = np.array([gate(self.gate_probability if gated else 1.0, size) for size in sizes])
        given = np.stack(np.broadcast_arrays(*valid), axis=-1), gates, np.array(self._recovery, float)
        *after, r, S, nis, used = kernel(*state, *seen, belief.rejected, belief.recoveries, self.J, *given)
        q_IB, P_B, C, rejected, recoveries = after
        belief = Belief(q_IB, P_B, belief.rho_B, belief.extras, C, rejected, recoveries)
        return belief, innovations(r, S, nis, used, sizes)

    def _seen(self, belief: Belief, readings: Readings, env: Any) -> tuple[Array, Array, Array, Array]:
        """Return the sigma points, what they would measure and what was measured against the central one, and R."""
        x, q, P = drawn(belief.q_IB, belief.P_B, belief.C)
        points = AttitudeState(_points_first(q), rates.to_rate(_points_first(P), self.J, belief.rho_B))
        centre = AttitudeState(points.q_IB[0], points.w_B[0])
        expected = [sensor.predict(centre, env) for sensor, _ in readings]
        y = [s.residual(s.predict(points, env).z, e.z) for (s, _), e in zip(readings, expected, strict=True)]
        r = [s.residual(m[0], e.z) for (s, m), e in zip(readings, expected, strict=True)]
        lead = np.broadcast_shapes(*[e.R.shape[:-2] for e in expected])
        R = block_diagonal([np.broadcast_to(e.R, (*lead, *e.R.shape[-2:])) for e in expected])
        return x, _points_last(np.concatenate(y, -1)), np.concatenate(r, -1), R


def _points_first(values: Array) -> Array:
    """Put the axis of the sigma points before those of the trials, where parameters of trials broadcast."""
    return np.moveaxis(values, -2, 0)


def _points_last(values: Array) -> Array:
    return np.moveaxis(values, 0, -2)


def block_diagonal(parts: Sequence[Array]) -> Array:
    """Return the matrix with these square blocks (..., m, m) on its diagonal."""
    ends = np.cumsum([0, *(part.shape[-1] for part in parts)])
    joined = np.zeros((*parts[0].shape[:-2], ends[-1], ends[-1]), parts[0].dtype)
    for start, end, part in zip(ends[:-1], ends[1:], parts, strict=True):
        joined[..., start:end, start:end] = part
    return joined
