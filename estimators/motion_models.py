"""Pose filter for a body of which only its poses are measured: how it moves is a model found from the data.

Per axis, x' = v, and one of

    white     v' = w                       white acceleration: nearly constant velocity
    damped    v' = -v/tau + w              velocity that is forgotten, of hand-held and swinging bodies
    singer    v' = a,  a' = -a/tau + w     acceleration that lasts (R. A. Singer, IEEE Trans. AES 6 (1970) 473)

with w white of density psd, discretised exactly (Van Loan). Rotations move by q+ = q Exp(phi), phi the integral of the
rate in body axes; errors are (theta, rho) of the pose in body axes, w, v, and the accelerations of both:

    theta+ = Exp(-phi) theta + J_r(phi) (A01 dw + A02 dalpha),    rho+ = Exp(-phi) rho + R+^T (A01 dv + A02 da)

All arrays may have leading axes: candidates for the model are trials of one batch.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np

from gnc import dual_quaternion, lie, quaternion
from gnc.estimators.kalman import Innovation, gate
from gnc.models.sensors.interface import Prediction
from gnc.notebook import of_belief

Array = Any
Kind = Literal["white", "damped", "singer"]

SIZE = 18
EYE = np.eye(3)
SWIFT = 10.0  # [rad/s], [m/s] that a body may have when the log begins
AGREEING = 2  # refused measurements in a row that are believed: an outlier comes alone


class Axis(NamedTuple):
    """The model of an axis over a step: x+ = A x, covariance Q of what is added, both (..., 3, 3) over (x, v, a)."""

    A: Array
    Q: Array


@dataclass(frozen=True)
class MotionModel:
    """A kind of motion, its time [s], the density of its white noise, and by how much that is larger at times."""

    kind: Kind
    psd: float
    tau: float = 1.0
    livelier: float = 1.0

    def axis(self, h: float) -> Axis:
        """Return the model over h."""
        A, Q = _unit_axis(self.kind, self.tau, float(h))
        return Axis(A, self.psd * Q)


@functools.lru_cache(maxsize=4096)
def _unit_axis(kind: Kind, tau: float, h: float) -> tuple[Array, Array]:
    """Return A and Q of unit density. Source: C. F. Van Loan, IEEE Trans. Automatic Control 23 (1978) 395."""
    from scipy.linalg import expm

    F, noisy = np.zeros((3, 3)), 2 if kind == "singer" else 1
    F[0, 1] = 1.0
    if kind == "damped":
        F[1, 1] = -1.0 / tau
    if kind == "singer":
        F[1, 2], F[2, 2] = 1.0, -1.0 / tau
    M = np.zeros((6, 6))
    M[:3, :3], M[:3, 3:], M[3:, 3:] = -F, np.diag(np.arange(3) == noisy).astype(float), F.T
    E = expm(M * h)
    A = E[3:, 3:].T
    Q = A @ E[:3, 3:]
    if kind != "singer":
        A[2, 2] = 0.0
    return A, 0.5 * (Q + Q.T)


class MotionBelief(NamedTuple):
    """What the filter believes; a state that sensors can predict from."""

    dq_IB: Array  # (..., 8)
    chi_B: Array  # (..., 6) twist, body axes
    alpha: Array  # (..., 6) angular acceleration in body axes, acceleration in inertial axes
    C: Array  # (..., 18, 18)
    rejected: Array  # (...) refused measurements in a row
    recoveries: Array  # (...)
    slack: Array = np.zeros((SIZE, SIZE))  # (..., 18, 18) what a livelier motion would have added since a pose fitted

    def _repr_html_(self) -> str:
        return of_belief(self)


@dataclass(frozen=True)
class MotionFilter:
    """Models of turning and of moving; of several candidates, the axes are stacked along a leading axis."""

    turning: tuple[MotionModel, ...]
    moving: tuple[MotionModel, ...]
    gate_probability: float = 0.999

    def start(self, dq_IB: Array, C: Array, chi_B: Array) -> MotionBelief:
        """Return the belief at a first pose, with the covariance (12, 12) of pose and twist."""
        n, whole = len(self.turning), np.zeros((SIZE, SIZE))
        whole[:12, :12] = C
        for k, models in ((12, self.turning), (15, self.moving)):
            steady = [m.psd * m.tau / 2.0 if m.kind == "singer" else 0.0 for m in models]
            whole[k : k + 3, k : k + 3] = max(steady) * EYE
        swift = np.diag(np.repeat([0.0, SWIFT**2, 0.0], 6))  # the rates, which no pose has told yet
        parts = np.asarray(dq_IB, float), np.asarray(chi_B, float), np.zeros(6), whole, swift
        stacked = [np.broadcast_to(p, (n, *p.shape)).copy() if n > 1 else p for p in parts]
        lead = (n,) if n > 1 else ()
        pose, chi, alpha, C, slack = stacked
        return MotionBelief(pose, chi, alpha, C, np.zeros(lead), np.zeros(lead), slack)

    def predict(self, belief: MotionBelief, h: float) -> MotionBelief:
        """Move over h."""
        turn, move = _stacked(self.turning, h), _stacked(self.moving, h)
        q, r = dual_quaternion.to_pose(belief.dq_IB)
        w, v = belief.chi_B[..., :3], quaternion.rotate(q, belief.chi_B[..., 3:])
        alpha, a = belief.alpha[..., :3], belief.alpha[..., 3:]
        phi, w_new, alpha_new = (_along(turn.A[..., i, :], np.zeros(3), w, alpha) for i in range(3))
        r, v, a = (_along(move.A[..., i, :], r, v, a) for i in range(3))
        q_new = quaternion.normalize(quaternion.mul(q, quaternion.exp(phi)))
        F = transition(turn.A, move.A, phi, q_new)
        C = F @ belief.C @ np.swapaxes(F, -1, -2) + added(turn.Q, move.Q, q_new)
        slack = belief.slack
        if self.turning[0].livelier > 1.0 or self.moving[0].livelier > 1.0:
            factors = self.turning[0].livelier - 1.0, self.moving[0].livelier - 1.0
            slack = F @ slack @ np.swapaxes(F, -1, -2) + added(factors[0] * turn.Q, factors[1] * move.Q, q_new)
        chi = np.concatenate([w_new, quaternion.inverse_rotate(q_new, v)], axis=-1)
        moved = dual_quaternion.from_pose(q_new, r), chi, np.concatenate([alpha_new, a], axis=-1), C
        return MotionBelief(*moved, belief.rejected, belief.recoveries, slack)

    def transition(self, before: MotionBelief, after: MotionBelief, h: float) -> Array:
        """Return F (..., 18, 18) of a prediction over h."""
        turn, move = _stacked(self.turning, h), _stacked(self.moving, h)
        q, q_new = before.dq_IB[..., :4], after.dq_IB[..., :4]
        return transition(turn.A, move.A, quaternion.log(quaternion.mul(quaternion.conj(q), q_new)), q_new)

    def update(
        self, belief: MotionBelief, sensor: Any, measurement: Any, env: Any = None, gated: bool = True
    ) -> tuple[MotionBelief, Innovation]:
        """Correct with a measurement; one beyond the gate is refused, the second in a row widens the belief to fit."""
        expected = Prediction(*sensor.predict(belief, env))
        y = _apart(sensor.residual(measurement[0], expected.z))
        H = np.zeros((*expected.H.shape[:-1], SIZE))
        H[..., :6] = expected.H[..., :6]
        S = H @ belief.C @ np.swapaxes(H, -1, -2) + expected.R
        nis = _square(y, S)
        limit = gate(self.gate_probability, y.shape[-1]) if gated else np.inf
        if not measurement[1]:
            return belief, Innovation(y, S, nis, np.zeros_like(nis, bool))
        wide = belief.C + belief.slack
        lively = _square(y, H @ wide @ np.swapaxes(H, -1, -2) + expected.R)
        fits = lively <= limit
        rejected = np.where(fits, 0.0, belief.rejected + 1.0)
        believed = rejected >= AGREEING
        odd = (nis > limit)[..., None, None]
        widened = np.where(odd, wide + np.where(believed[..., None, None], _jump(y, H), 0.0), belief.C)
        used = fits | believed
        d, C = _corrected(widened, H, expected.R, y)
        d, C = np.where(used[..., None], d, 0.0), np.where(used[..., None, None], C, belief.C)
        after = _retracted(belief, d)._replace(
            C=C,
            rejected=np.where(believed, 0.0, rejected),
            recoveries=belief.recoveries + believed,
            slack=np.where(used[..., None, None], odd * _undone(d), belief.slack),
        )
        return after, Innovation(y, S, nis, used)


def _stacked(models: tuple[MotionModel, ...], h: float) -> Axis:
    axes = [model.axis(h) for model in models]
    return axes[0] if len(axes) == 1 else Axis(np.stack([x.A for x in axes]), np.stack([x.Q for x in axes]))


def _along(row: Array, x: Array, v: Array, a: Array) -> Array:
    return row[..., :1] * x + row[..., 1:2] * v + row[..., 2:3] * a


def transition(turn: Array, move: Array, phi: Array, q_new: Array) -> Array:
    """Return F (..., 18, 18)."""
    R, back, J = quaternion.to_matrix(q_new), quaternion.to_matrix(quaternion.exp(-phi)), lie.so3_right_jacobian(phi)
    F = np.zeros((*np.broadcast_shapes(phi.shape[:-1], turn.shape[:-2], move.shape[:-2]), SIZE, SIZE))
    F[..., :3, :3] = F[..., 3:6, 3:6] = back
    Rt = np.swapaxes(R, -1, -2)
    for k, j in ((1, 6), (2, 12)):
        F[..., :3, j : j + 3] = turn[..., 0, k, None, None] * J
        F[..., 3:6, j + 3 : j + 6] = move[..., 0, k, None, None] * Rt
        for i, row in ((1, 6), (2, 12)):
            F[..., row : row + 3, j : j + 3] = turn[..., i, k, None, None] * EYE
            F[..., row + 3 : row + 6, j + 3 : j + 6] = move[..., i, k, None, None] * EYE
    return F


def added(turn: Array, move: Array, q_new: Array) -> Array:
    """Return the process noise (..., 18, 18); that of the rotation as if it did not turn within the step."""
    R = quaternion.to_matrix(q_new)
    lead = np.broadcast_shapes(R.shape[:-2], turn.shape[:-2])
    Q = np.zeros((*lead, SIZE, SIZE))
    first = (0, 6, 12)
    for i in range(3):
        for j in range(3):
            a, b = first[i], first[j]
            Q[..., a : a + 3, b : b + 3] = turn[..., i, j, None, None] * EYE
            axes = EYE if (i == 0) == (j == 0) else np.swapaxes(R, -1, -2) if i == 0 else R
            Q[..., a + 3 : a + 6, b + 3 : b + 6] = move[..., i, j, None, None] * axes
    return Q


def _corrected(C: Array, H: Array, R: Array, y: Array) -> tuple[Array, Array]:
    """Return the correction and the covariance in Joseph's form."""
    Ht = np.swapaxes(H, -1, -2)
    S = H @ C @ Ht + R
    K = np.swapaxes(np.linalg.solve(S, H @ C), -1, -2)
    left = np.eye(SIZE) - K @ H
    C = left @ C @ np.swapaxes(left, -1, -2) + K @ R @ np.swapaxes(K, -1, -2)
    return (K @ y[..., None])[..., 0], 0.5 * (C + np.swapaxes(C, -1, -2))


def _jump(y: Array, H: Array) -> Array:
    """Return the covariance of a pose that has jumped by an innovation, of which the velocities tell nothing."""
    seen = (H != 0.0).any(axis=-2)[..., :6]
    square = np.repeat(
        ((np.swapaxes(H, -1, -2) @ y[..., None])[..., :6, 0] ** 2).reshape(*y.shape[:-1], 2, 3).sum(axis=-1), 3, axis=-1
    )
    C = np.zeros((*y.shape[:-1], SIZE, SIZE))
    C[..., range(6), range(6)] = seen * square
    return C


def _undone(d: Array) -> Array:
    """Return the covariance by which a correction may have to be taken back, in the axes behind it."""
    back = np.concatenate(
        [d[..., :3], quaternion.rotate(quaternion.exp(-d[..., :3]), d[..., 3:6]), d[..., 6:]], axis=-1
    )
    return back[..., :, None] * back[..., None, :]


def _square(y: Array, S: Array) -> Array:
    return (y * np.linalg.solve(S, y[..., None])[..., 0]).sum(axis=-1)


def _apart(y: Array) -> Array:
    """Return the logarithm of a pose as rotation vector and displacement, as errors are here: t = J_l(phi) rho."""
    if y.shape[-1] != 6:
        return y
    shift = (lie.so3_right_jacobian(-y[..., :3]) @ y[..., 3:, None])[..., 0]
    return np.concatenate([y[..., :3], shift], axis=-1)


def _retracted(belief: MotionBelief, d: Array) -> MotionBelief:
    q, r = dual_quaternion.to_pose(belief.dq_IB)
    v = quaternion.rotate(q, belief.chi_B[..., 3:]) + d[..., 9:12]
    r, q = r + quaternion.rotate(q, d[..., 3:6]), quaternion.normalize(quaternion.mul(q, quaternion.exp(d[..., :3])))
    chi = np.concatenate([belief.chi_B[..., :3] + d[..., 6:9], quaternion.inverse_rotate(q, v)], axis=-1)
    return belief._replace(dq_IB=dual_quaternion.from_pose(q, r), chi_B=chi, alpha=belief.alpha + d[..., 12:])
