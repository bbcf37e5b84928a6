"""Attitude of a hand-held, worn or resting IMU from gyro, accelerometer and, if there is one, magnetometer.

A MEKF in which the accelerometer is an input, as in an inertial navigation system: horizontal velocity and position are
states with the weak knowledge that the body stays within reach. Accelerations average out only at equal weights, so no
sample is gated, normalised or weighted by its norm. A magnetometer sample that contradicts the rest explains a magnet,
on the body or in the room, and not a rotation. Noises come from the log's own rest (`imu_rest`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np

from gnc.estimators import imu_layout as k
from gnc.estimators import imu_start
from gnc.estimators.imu_layout import FIELD, Samples, Settings, State, Told, Trace
from gnc.estimators.imu_rest import ImuNoise, RestSurvey, resting
from gnc.typing import Array

LONGEST_BLOCK_S = 0.035  # between two steps of the covariance where no magnetometer asks for more
LEAST_MAG_S = 0.01  # a magnetometer has no more to tell than at 100 Hz, since the field itself is rough
GAP_S = 0.5  # a step that is longer is a gap
RESTLESS, FREE_WALK = 0.1, float(np.radians(0.03))  # share of rest; [rad/s/sqrt(s)] where a walk is looked for
WALK_S, WALK_WHOLE_S, WALK_STEPS = 10.0, 600.0, 5  # over which a bias walks, in which that is seen, how often at least
NORMAL = 0.455  # median of the square of a normal number of variance 1
LOST, IDLE = 0.5, 0.1  # [rad] that a body may have turned unseen to be aligned anew, at its rate or [rad/s] at least


@dataclass(frozen=True)
class ImuFilter:
    """The filter of one log: its usual step, its noises, and whether a magnetometer is used."""

    dt: float
    noise: ImuNoise
    with_field: bool = True
    constants: Mapping[str, float] = field(default_factory=dict)  # other than the defaults of `Settings`

    @property
    def scale(self) -> float:
        """Return what a magnetometer's columns are multiplied by."""
        return FIELD / self.noise.field if self.with_field and self.noise.field > 0.0 else 1.0

    def samples(self, rows: Array, past: int) -> Samples:
        """Return rows (t, gyro, acc, mag[, doubt]) without the first `past` of them, which only tell of rest."""
        rows = np.ascontiguousarray(rows, float)
        field = rows[:, 7:10] if self.with_field else None
        rests = resting(rows[:, 1:4], np.nan_to_num(rows[:, 4:7]), past, RestSurvey(self.dt).window, self.noise, field)
        t, gyro, acc, mag, doubt, _ = np.split(rows[past:], [1, 4, 7, 10, 13], axis=1)
        doubt = doubt if doubt.size else np.zeros_like(gyro)
        parts = [np.ascontiguousarray(part) for part in (t[:, 0], gyro, acc, mag * self.scale, rests, doubt)]
        return Samples(*parts)

    def run(self, state: State, samples: Samples, final: bool, trace: Trace | None = None) -> Told:
        """Take samples through the filter, which moves the state; `trace` notes what a way back needs."""
        from gnc.estimators import imu_kernels

        n = len(samples.t)
        shapes: list[tuple[int, ...]] = [(4,), (3,), (3,), (k.SHOWN, k.SHOWN), (6,), (), (3,), (3, 3), ()]
        told = Told(*(np.empty((n, *shape)) for shape in shapes))  # type: ignore[arg-type]
        told = told._replace(row=np.empty(n, int))
        imu_kernels.run(
            state, self.settings, samples, self.with_field, final, told, empty_trace() if trace is None else trace
        )
        used = int(state.m[k.COUNT])
        parts = {name: getattr(told, name)[:used] for name in ("row", "y", "S", "nis")}
        return told._replace(away=float(state.m[k.AWAY]), **parts)

    @property
    def settings(self) -> Settings:
        """Return the numbers of the kernels."""
        mag_step = max(self.noise.white_steps * self.dt, LEAST_MAG_S)
        given = dict(gyro=self.noise.gyro, acc=self.noise.acc, mag=self.noise.mag * self.scale, dt=self.dt)
        given |= dict(block=max(LONGEST_BLOCK_S, self.dt), mag_step=mag_step, gap=max(GAP_S, 5.0 * self.dt))
        if self.noise.bias_walk is not None:
            given["q_bias"] = self.noise.bias_walk
        return Settings(**(given | dict(self.constants)))


def empty_trace(rows: int = 0) -> Trace:
    """Return room for the trace of so many rows."""
    updates = k.MOST_UPDATES * rows
    parts: list[Array] = [np.empty(rows, int), np.zeros(rows + 1, int)]
    parts += [np.empty((rows, *shape)) for shape in ((3, 3), (3, 3), (3,), (k.SHOWN, k.N))]
    parts += [np.empty((updates, n)) for n in (k.N, k.N, 2)]
    return k.Trace(*[*parts, np.zeros(2, int)])


def surveyed(rows: Array, dt: float, chunk: int = 16384) -> ImuNoise:
    """Return the noises of rows (t, gyro, acc, mag)."""
    survey = RestSurvey(dt)
    for start in range(0, len(rows), chunk):
        part = np.asarray(rows[start : start + chunk], float)
        survey.add(part[:, 1:4], part[:, 4:7], part[:, 7:10])
    return survey.noise()


def walking(imu: ImuFilter, rows: Array) -> ImuNoise:
    """Return the noises with the walk q of a bias that no rest shows, as estimates free to walk show it.

    median d^2 = 0.455 q^2 T, d by how much the bias of an axis changes over T; a filter that holds a drifting bias for
    constant does not see that it drifts, as it takes the field for a magnet's.
    """
    if imu.noise.rest_share >= RESTLESS or not np.isfinite(imu.noise.gyro):
        return imu.noise
    free = replace(imu, noise=replace(imu.noise, bias_walk=FREE_WALK))
    bias = np.concatenate([told.bias for _, _, told in passed(free, rows[: int(WALK_WHOLE_S / imu.dt)])])
    d = np.diff(bias[:: max(int(WALK_S / imu.dt), 1)][1:], axis=0)
    if len(d) < WALK_STEPS:
        return imu.noise
    walk = float(np.sqrt(np.median(d * d) / NORMAL / WALK_S))
    return replace(imu.noise, bias_walk=max(walk, imu.settings.q_bias))


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
        unseen, rate = np.diff(part[:, 0]) - imu.dt, np.sqrt((part[:, 1:] ** 2).sum(axis=1))
        turned = unseen * np.maximum(np.maximum(rate[1:], rate[:-1]), IDLE) * np.minimum(unseen / imu.settings.gap, 1.0)
        lost = np.flatnonzero((unseen > 0.0) & (turned > LOST))
        end = start + int(lost[0]) + 1 if len(lost) else end
        yield Chunk(start, end, fresh, bool(len(lost)) or end == len(rows))
        start, fresh = end, bool(len(lost))


def passed(
    imu: ImuFilter, rows: Array, size: int = 16384, q_IB: Array | None = None
) -> Iterator[tuple[Chunk, State, Told]]:
    """Run over all rows; per chunk a copy of the state before it, and what is told."""
    head = max(int(imu_start.LONGEST_S / imu.dt), 1)
    state = imu_start.begun(imu, rows[:head], q_IB)
    for chunk in chunks(imu, rows, size):
        if chunk.fresh:
            state = imu_start.begun_anew(imu, state, rows[chunk.start : min(chunk.start + head, chunk.end)])
        before = type(state)(*(part.copy() for part in state))
        yield chunk, before, flown(imu, rows, chunk, state)


def flown(imu: ImuFilter, rows: Array, chunk: Chunk, state: State, trace: Trace | None = None) -> Told:
    """Take a chunk through the filter, which moves the state."""
    past = 0 if chunk.fresh else min(chunk.start, RestSurvey(imu.dt).window)
    return imu.run(state, imu.samples(rows[chunk.start - past : chunk.end], past), chunk.final, trace)
