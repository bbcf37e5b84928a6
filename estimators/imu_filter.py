"""Attitude of a hand-held, worn or resting IMU from gyro, accelerometer and, if there is one, magnetometer.

A MEKF in which the accelerometer is an input, as in an inertial navigation system: horizontal velocity and position are
states with the weak knowledge that the body stays within reach. Accelerations average out only at equal weights, so no
sample is gated, normalised or weighted by its norm. A magnetometer sample that contradicts the rest explains a magnet,
on the body or in the room, and not a rotation. Noises come from the log's own rest (`imu_rest`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from gnc import quaternion
from gnc.estimators import imu_layout as k
from gnc.estimators.imu_layout import FIELD, Samples, Settings, State, Told, Trace
from gnc.estimators.imu_rest import ImuNoise, RestSurvey, resting

Array = Any

START_S = 0.35  # over which the first attitude is averaged
GRAVITY = 9.81
LONGEST_BLOCK_S = 0.035  # between two steps of the covariance where no magnetometer asks for more
LEAST_MAG_S = 0.01  # a magnetometer has no more to tell than at 100 Hz, since the field itself is rough
GAP_S = 0.5  # a step that is longer is a gap
PUSHED = (0.1, 0.1, 0.2)  # [rad] by which 1 m/s^2 tilts an alignment, and turns it where the field dips by 63 deg
LOST, IDLE = 0.5, 0.1  # [rad] that a body may have turned in a gap to be aligned anew, at its rate or [rad/s] at least


@dataclass(frozen=True)
class ImuStart:
    """Standard deviations at the start."""

    tilt: float = float(np.radians(2.0))
    heading: float = float(np.radians(10.0))
    bias: float = float(np.radians(0.5))  # [rad/s]
    velocity: float = 0.1  # [m/s]
    acc_bias: float = 0.05  # [m/s^2] 5 mg
    field: float = 0.2 * FIELD
    delay: float = 0.010  # [s]


@dataclass(frozen=True)
class ImuFilter:
    """The filter of one log: its usual step, its noises, and whether a magnetometer is used."""

    dt: float
    noise: ImuNoise
    with_field: bool = True
    constants: Mapping[str, float] = field(default_factory=dict)  # other than the defaults of `Settings`
    start_sigma: ImuStart = field(default_factory=ImuStart)

    @property
    def scale(self) -> float:
        """Return what a magnetometer's columns are multiplied by."""
        return FIELD / self.noise.field if self.with_field and self.noise.field > 0.0 else 1.0

    def start(self, acc: Array, mag: Array, q_IB: Array | None = None) -> State:
        """Return the state before the first sample, aligned by the first rows: up along f, east along m x up."""
        sigma, f = self.start_sigma, np.nanmean(acc, axis=0)
        m = np.nanmean(mag, axis=0) * self.scale if self.with_field else np.zeros(3)
        q = aligned(f, m if self.with_field else None) if q_IB is None else np.array(q_IB, float)
        shaken = float(np.sqrt(np.nanvar(acc, axis=0).sum())) / GRAVITY
        x, sd, memory = np.zeros(k.N), np.zeros(k.N), np.zeros(k.MEMORY)
        sd[:3] = np.hypot(sigma.tilt, shaken), np.hypot(sigma.tilt, shaken), sigma.heading if self.with_field else 0.0
        sd[k.B : k.V], sd[k.V : k.POS], sd[k.POS : k.BA] = sigma.bias, sigma.velocity, self.settings.sigma_p
        sd[k.BA : k.RF] = sigma.acc_bias
        if self.with_field:
            x[k.RF : k.D] = quaternion.rotate(q, m)[1:]
            sd[k.RF : k.D], sd[k.D : k.TAU], sd[k.TAU] = sigma.field, self.settings.sigma_d, sigma.delay
        memory[[k.NIS_MEAN, k.NIS_BACK, k.LAST_T, k.LAST_MAG]] = 3.0, k.UNEXPLAINED, np.nan, np.nan
        return k.State(q, x, np.diag(sd**2), np.zeros((3, 3)), np.zeros((3, 3)), memory)

    def restarted(self, state: State, rows: Array) -> State:
        """Return the state aligned by the rows behind a gap in which the body turned unseen; what lasts is kept.

        Without a magnetometer the heading stays as it was, with the uncertainty of a turn.
        """
        f, m = np.nanmean(rows[:, 4:7], axis=0), rows[:, 7:10]
        if self.with_field and np.isfinite(m).any():
            new = self.start(rows[:, 4:7], m)
        else:
            tilted = quaternion.rotate(state.q, f)
            axis = np.cross(tilted, [0.0, 0.0, 1.0])
            turn = np.arctan2(np.sqrt(axis @ axis), tilted[2]) / max(float(np.sqrt(axis @ axis)), 1e-12)
            new = self.start(rows[:, 4:7], np.zeros((1, 3)), quaternion.mul(quaternion.exp(turn * axis), state.q))
            new.P[2, 2] = state.P[2, 2] + 1.0
        new.P[range(3), range(3)] += np.square(
            PUSHED
        )  # it may be pushed just then, which a dip makes a turn of the heading
        new.P[range(k.V, k.POS), range(k.V, k.POS)] = 1.0
        lasting = np.r_[k.B : k.V, k.BA : k.D, k.TAU]
        new.x[lasting], new.P[np.ix_(lasting, lasting)] = state.x[lasting], state.P[np.ix_(lasting, lasting)]
        return new

    def samples(self, rows: Array, past: int) -> Samples:
        """Return rows (t, gyro, acc, mag) without the first `past` of them, which only tell whether the body rests."""
        rows = np.ascontiguousarray(rows, float)
        rests = resting(rows[:, 1:4], np.nan_to_num(rows[:, 4:7]), past, RestSurvey(self.dt).window, self.noise)
        t, gyro, acc, mag = np.split(rows[past:], [1, 4, 7], axis=1)
        parts = [np.ascontiguousarray(part) for part in (t[:, 0], gyro, acc, mag * self.scale)]
        return Samples(*[*parts, rests])

    def run(self, state: State, samples: Samples, final: bool, trace: Trace | None = None) -> Told:
        """Take samples through the filter, which moves the state; `trace` notes what a way back needs."""
        from gnc.estimators import imu_kernels

        n = len(samples.t)
        shapes = (4,), (3,), (3,), (k.SHOWN, k.SHOWN), (6,)
        told = k.Told(*[np.empty((n, *shape)) for shape in shapes], **_innovations(n))
        imu_kernels.run(
            state, self.settings, samples, self.with_field, final, told, empty_trace() if trace is None else trace
        )
        used = int(state.m[k.COUNT])
        return told._replace(**{name: getattr(told, name)[:used] for name in ("row", "y", "S", "nis")})

    @property
    def settings(self) -> Settings:
        """Return the numbers of the kernels."""
        mag_step = max(self.noise.white_steps * self.dt, LEAST_MAG_S)
        given = dict(gyro=self.noise.gyro, acc=self.noise.acc, mag=self.noise.mag * self.scale, dt=self.dt)
        given |= dict(block=max(LONGEST_BLOCK_S, self.dt), mag_step=mag_step, gap=max(GAP_S, 5.0 * self.dt))
        return Settings(**given, **self.constants)


def _innovations(n: int) -> dict[str, Array]:
    return {"row": np.empty(n, int), "y": np.empty((n, 3)), "S": np.empty((n, 3, 3)), "nis": np.empty(n)}


def empty_trace(rows: int = 0) -> Trace:
    """Return room for the trace of so many rows."""
    updates = k.MOST_UPDATES * rows
    parts: list[Array] = [np.empty(rows, int), np.zeros(rows + 1, int)]
    parts += [np.empty((rows, *shape)) for shape in ((3, 3), (3, 3), (3,), (k.SHOWN, k.N))]
    parts += [np.empty((updates, n)) for n in (k.N, k.N, 2)]
    return k.Trace(*[*parts, np.zeros(2, int)])


def aligned(f: Array, m: Array | None) -> Array:
    """Return q_IB that takes f upwards and the field m into the plane of north and up; without m, x to the east."""
    across = np.cross(m, f) if m is not None else np.array([1.0, 0.0, 0.0]) - f * f[0] / (f @ f)
    if across @ across < 1e-12:
        across = np.array([0.0, 1.0, 0.0]) - f * f[1] / (f @ f)
    R = np.array([across, np.cross(f, across), f])
    return quaternion.from_matrix(R / np.linalg.norm(R, axis=1)[:, None])


def surveyed(rows: Array, dt: float, chunk: int = 16384) -> ImuNoise:
    """Return the noises of rows (t, gyro, acc, mag)."""
    survey = RestSurvey(dt)
    for start in range(0, len(rows), chunk):
        part = np.asarray(rows[start : start + chunk], float)
        survey.add(part[:, 1:4], part[:, 4:7], part[:, 7:10])
    return survey.noise()


class Chunk(NamedTuple):
    """Rows that are flown at once."""

    start: int
    end: int
    fresh: bool  # behind a gap in which the body may have turned anywhere
    final: bool  # before one, or at the end of the log


def chunks(imu: ImuFilter, rows: Array, size: int) -> Iterator[Chunk]:
    """Cut rows into chunks of so many, and at gaps in which the attitude is lost."""
    start, fresh = 0, False
    while start < len(rows):
        end = min(start + size, len(rows))
        part = np.asarray(rows[start : end + 1, :4], float)
        step, rate = np.diff(part[:, 0]), np.sqrt((part[: len(part) - 1, 1:] ** 2).sum(axis=1))
        lost = np.flatnonzero((step > imu.settings.gap) & (step * np.maximum(rate, IDLE) > LOST))
        end = start + int(lost[0]) + 1 if len(lost) else end
        yield Chunk(start, end, fresh, bool(len(lost)) or end == len(rows))
        start, fresh = end, bool(len(lost))


def passed(
    imu: ImuFilter, rows: Array, size: int = 16384, q_IB: Array | None = None
) -> Iterator[tuple[Chunk, State, Told]]:
    """Run over all rows; per chunk a copy of the state before it, and what is told."""
    state, head = first_state(imu, rows, q_IB), max(int(START_S / imu.dt), 1)
    for chunk in chunks(imu, rows, size):
        if chunk.fresh:
            state = imu.restarted(state, np.asarray(rows[chunk.start : min(chunk.start + head, chunk.end)], float))
        before = type(state)(*(part.copy() for part in state))
        yield chunk, before, flown(imu, rows, chunk, state)


def flown(imu: ImuFilter, rows: Array, chunk: Chunk, state: State, trace: Trace | None = None) -> Told:
    """Take a chunk through the filter, which moves the state."""
    past = 0 if chunk.fresh else min(chunk.start, RestSurvey(imu.dt).window)
    return imu.run(state, imu.samples(rows[chunk.start - past : chunk.end], past), chunk.final, trace)


def first_state(imu: ImuFilter, rows: Array, q_IB: Array | None = None) -> State:
    """Return the state before the first of the rows."""
    head = np.asarray(rows[: max(int(START_S / imu.dt), 1)], float)
    return imu.start(head[:, 4:7], head[:, 7:10], q_IB)
