"""The first attitude of an IMU: up along the specific force, north along the field, also of a body that moves.

A body at rest is aligned by its first samples. Those of a body that moves are turned by the gyro into the axes of the
middle of the first seconds, and averaged there by w(t) = 1 - cos(2 pi t / T): of a body that moves about a place the
accelerations average out, int w a = int w'' p, and so does a constant bias of the gyro, to first order.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from gnc import quaternion
from gnc.estimators import imu_layout as k
from gnc.estimators.imu_layout import FIELD, State
from gnc.estimators.imu_rest import resting
from gnc.typing import Array

if TYPE_CHECKING:
    from gnc.estimators.imu_filter import ImuFilter


REST_S, SHORT_S, LONGEST_S = 1.0, 0.35, 5.0  # show a rest; are averaged of a body at rest, and of one that moves
GRAVITY = 9.81
TILT, HEADING, BIAS = np.radians([2.0, 10.0, 0.5])  # standard deviations at the start [rad], [rad/s]
MOVED = float(np.radians(3.0))  # that accelerations tilt an average over LONGEST_S, one over T by (LONGEST_S/T)^2 more
SPEEDS, ACC_BIAS, DELAY = (0.1, 1.0), 0.05, 0.010  # [m/s] at rest and in motion, [m/s^2] 5 mg, [s]
BEHIND_GAP = np.array([0.1, 0.1, 0.2])  # [rad] by which 1 m/s^2 tilts an alignment, and turns it where the field dips
STEEPEST = 5.0  # tangent of the field's dip, by which a tilt is a turn of the heading


class Lead(NamedTuple):
    """Force and field in the axes of the body at its first sample, and how uncertain up is there."""

    f: Array
    m: Array
    tilt: float  # [rad]
    moves: bool


def begun(imu: ImuFilter, rows: Array, q_IB: Array | None = None) -> State:
    """Return the state before the first of some rows (t, gyro, acc, mag): up along f, east along m x up."""
    lead = _lead(imu, np.asarray(rows, float))
    seen = imu.with_field and np.isfinite(lead.m).all()
    q = aligned(lead.f, lead.m if seen else None) if q_IB is None else np.array(q_IB, float)
    x, sd, memory = np.zeros(k.N), np.zeros(k.N), np.zeros(k.MEMORY)
    sd[:2] = lead.tilt
    sd[k.B : k.V], sd[k.V : k.POS], sd[k.POS : k.BA] = BIAS, SPEEDS[lead.moves], imu.settings.sigma_p
    sd[k.BA : k.RF] = ACC_BIAS
    if imu.with_field:
        x[k.RF : k.D] = quaternion.rotate(q, lead.m)[1:] if seen else (0.0, FIELD)
        dips = min(abs(x[k.RF + 1] / x[k.RF]), STEEPEST) if x[k.RF] else STEEPEST
        sd[2] = np.hypot(HEADING, dips * lead.tilt if lead.moves else 0.0)
        sd[k.RF : k.D], sd[k.D : k.TAU], sd[k.TAU] = 0.2 * FIELD, imu.settings.sigma_d, DELAY
    memory[k.LAST_GYRO :] = np.nan
    memory[[k.NIS_MEAN, k.NIS_BACK, k.LAST_T, k.LAST_MAG]] = 3.0, k.UNEXPLAINED, np.nan, np.nan
    return k.State(q, x, np.diag(sd**2), np.zeros((3, 3)), np.zeros((3, 3)), memory)


def begun_anew(imu: ImuFilter, state: State, rows: Array) -> State:
    """Return the state aligned by the rows behind a gap in which the body turned unseen; what lasts is kept.

    Without a magnetometer the heading stays as it was, with the uncertainty of a turn.
    """
    rows = np.asarray(rows, float)
    if imu.with_field and np.isfinite(rows[:, 7:10]).any():
        new = begun(imu, rows)
    else:
        new = begun(imu, rows, levelled(state.q, _lead(imu, rows).f))
        new.P[2, 2] = state.P[2, 2] + 1.0
    new.P[range(3), range(3)] += BEHIND_GAP**2
    new.P[range(k.V, k.POS), range(k.V, k.POS)] = 1.0
    lasting = np.r_[k.B : k.V, k.BA : k.D, k.TAU]
    new.x[lasting], new.P[np.ix_(lasting, lasting)] = state.x[lasting], state.P[np.ix_(lasting, lasting)]
    return new


def levelled(q: Array, f: Array) -> Array:
    """Return the attitude that is turned least so that f is upwards."""
    seen = quaternion.rotate(q, f)
    axis = np.cross(seen, [0.0, 0.0, 1.0])
    length = max(float(np.sqrt(axis @ axis)), 1e-12)
    return quaternion.normalize(quaternion.mul(quaternion.exp(np.arctan2(length, seen[2]) / length * axis), q))


def aligned(f: Array, m: Array | None) -> Array:
    """Return q_IB that takes f upwards and the field m into the plane of north and up; without m, x to the east."""
    across = np.cross(m, f) if m is not None else np.array([1.0, 0.0, 0.0]) - f * f[0] / (f @ f)
    if across @ across < 1e-12:
        across = np.array([0.0, 1.0, 0.0]) - f * f[1] / (f @ f)
    R = np.array([across, np.cross(f, across), f])
    return quaternion.from_matrix(R / np.linalg.norm(R, axis=1)[:, None])


def _lead(imu: ImuFilter, rows: Array) -> Lead:
    """Average the first rows."""
    n = min(max(int(REST_S / imu.dt), 2), len(rows))
    field = rows[:n, 7:10] if imu.with_field else None
    if n < 2 or resting(rows[:n, 1:4], np.nan_to_num(rows[:n, 4:7]), n - 1, n, imu.noise, field)[0]:
        head = rows[: max(int(SHORT_S / imu.dt), 1)]
        f, m = np.nanmean(head[:, 4:7], axis=0), _mean(head[:, 7:10], np.ones(len(head)))
        shaken = float(np.sqrt(np.nanvar(head[:, 4:7], axis=0).sum())) / GRAVITY
        return Lead(f, m * imu.scale, float(np.hypot(TILT, shaken)), False)
    t, q = rows[:, 0] - rows[0, 0], _swept(rows)
    weight = 1.0 - np.cos(2.0 * np.pi * (t + imu.dt) / (t[-1] + 2.0 * imu.dt))
    middle = quaternion.mul(quaternion.conj(q[len(q) // 2]), q)
    parts = (_mean(quaternion.rotate(middle, rows[:, i : i + 3]), weight) for i in (4, 7))
    f, m = (quaternion.inverse_rotate(middle[0], part) for part in parts)
    tilt = np.hypot(MOVED * (LONGEST_S / max(float(t[-1]), imu.dt)) ** 2, BIAS * 0.5 * t[-1])
    return Lead(f, m * imu.scale, float(min(np.hypot(TILT, tilt), 1.0)), True)


def _mean(z: Array, weight: Array) -> Array:
    """Return the weighted mean of the rows that are known, NaN if none is."""
    known = np.isfinite(z).all(axis=1)
    return weight[known] @ z[known] / weight[known].sum() if known.any() else np.full(3, np.nan)


def _swept(rows: Array) -> Array:
    """Return by which rotations the gyro takes the first row's axes to those of every row."""
    dt = np.diff(rows[:, 0], prepend=rows[0, 0])
    q, step = quaternion.exp(rows[:, 1:4] * dt[:, None]), 1
    while step < len(q):  # products of 2, 4, 8, ... rows
        q = np.concatenate([q[:step], quaternion.mul(q[:-step], q[step:])])
        step *= 2
    return q
