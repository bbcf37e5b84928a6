"""What the sensors of a log say before any filter: their first rows, their spans, and their noise at rest.

    sigma^2 = sum |d_k|^2 / (2 m n),     d_k the difference of two measurements in a row, m components, n differences

Differences do not see a constant, and hardly a drift: sigma is that of white noise. Attitudes and poses differ by their
logarithms. Of a gyro the angular random walk is sigma sqrt(step), and its mean is its bias if the body really rested.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gnc import dual_quaternion, quaternion
from gnc.scenarios.replay.config import Replay
from gnc.scenarios.replay.stream import LogStream, Measurements

Array = Any

ROWS = 20_000  # of a quantity that are looked at
REST_ROWS = 500_000  # of a quantity at rest
FEWEST = 10  # differences below which nothing is said


class Evidence:
    """Collects the first rows of every stream and those at rest, and the span of all."""

    def __init__(self, config: Replay, streams: Sequence[LogStream]) -> None:
        sections: dict[str, Any] = {f"sensors.{s.name}": s for s in config.sensors} | {"truth": config.truth}
        self.config, self.streams = config, streams
        self.sections = [sections.get(stream.name) for stream in streams]
        self.spans = [[np.inf, -np.inf] for _ in streams]
        self.stuck = [(0.0, 0.0)] * len(streams)  # for how long a sensor repeated itself at most, and from when on
        self.repeats = [0] * len(streams)  # how often it did
        self._first: list[list[Measurements]] = [[] for _ in streams]
        self._rest: list[list[Measurements]] = [[] for _ in streams]

    def add(self, parts: Sequence[Measurements]) -> None:
        """Take the measurements of a block."""
        rest = self.config.rest
        for i, m in enumerate(parts):
            if not len(m.t):
                continue
            self.spans[i] = [min(self.spans[i][0], m.t[0]), max(self.spans[i][1], m.t[-1])]
            if not (m.z[1:, 0] == m.z[:-1, 0]).any():  # as of most sensors
                change = np.arange(len(m.t))
            else:
                change = np.flatnonzero(np.append(True, (m.z[1:] != m.z[:-1]).any(axis=1)))
            held = m.t[np.append(change[1:] - 1, len(m.t) - 1)] - m.t[change]
            self.stuck[i] = max(self.stuck[i], (float(held.max()), float(m.t[change[held.argmax()]])))
            self.repeats[i] += len(m.t) - len(change)
            if sum(len(p.t) for p in self._first[i]) < ROWS:
                self._first[i].append(m)
            if rest is not None and sum(len(p.t) for p in self._rest[i]) < REST_ROWS:
                self._rest[i].append(Measurements(*(x[(m.t >= rest.from_s) & (m.t <= rest.to_s)] for x in m)))

    def first(self) -> list[tuple[Any, Array, Array]]:
        """Return section, times and values of every quantity, as far as they were looked at."""
        rows = [(section, *_joined(rows)) for section, rows in zip(self.sections, self._first, strict=True)]
        return [(section, t, z) for section, t, z in rows if section is not None and len(t)]

    def at_rest(self) -> dict[str, dict[str, Any]]:
        """Return noise levels by sensor, beside those of the configuration."""
        told = {}
        for stream, section, rows in zip(self.streams, self.sections, self._rest, strict=True):
            z = _joined(rows)[1]
            if section is not None and hasattr(section, "kind") and len(z) > FEWEST:
                z = z[:, : z.shape[1] - stream.quantity.extra]
                d = _differences(z)
                variance = (d * d).mean(axis=0) / 2.0
                levels = _levels(section, variance, z.mean(axis=0), stream.step_s or 0.0)
                told[section.name] = {"differences": len(d), **levels}
        return told


def _joined(rows: list[Measurements]) -> tuple[Array, Array]:
    if not rows:
        return np.zeros(0), np.zeros((0, 3))
    t, z, valid = (np.concatenate([getattr(m, name) for m in rows]) for name in ("t", "z", "valid"))
    return t[valid], z[valid]


def _differences(z: Array) -> Array:
    group = {4: quaternion, 8: dual_quaternion}.get(z.shape[1])
    return np.diff(z, axis=0) if group is None else group.log(group.mul(group.conj(z[:-1]), z[1:]))


def _levels(sensor: Any, variance: Array, mean: Array, step_s: float) -> dict[str, Any]:
    """Return pairs (measured, stated) in the units of the configuration."""
    sigma, degrees = float(np.sqrt(variance.mean())), float(np.degrees(np.sqrt(variance[:3].mean())))
    if sensor.kind == "gyro":
        return {"levels": {"arw": (sigma * float(np.sqrt(step_s)), sensor.arw)}, "bias_rad_s": mean.tolist()}
    if sensor.kind == "accelerometer":
        vrw = {} if sensor.vrw is None else {"vrw": (sigma * float(np.sqrt(step_s)), sensor.vrw)}
        return {"levels": {"sigma_m_s2": (sigma, None), **vrw}}
    if sensor.kind == "pose":
        shift = float(np.sqrt(variance[3:].mean()))
        return {"levels": {"sigma_deg": (degrees, sensor.sigma_deg), "sigma_m": (shift, sensor.sigma_m)}}
    if sensor.kind == "magnetometer":
        field = float(np.sqrt((mean * mean).sum()))
        return {"levels": {"sigma_T": (sigma, float(np.hypot(sensor.sigma_T, np.radians(sensor.sigma_deg) * field)))}}
    for key in ("sigma_m", "sigma_m_s"):
        if hasattr(sensor, key):
            return {"levels": {key: (sigma, getattr(sensor, key))}}
    stated = sensor.sigma_deg if sensor.sigma_deg is not None else np.asarray(sensor.sigma_arcsec) / 3600.0
    return {"levels": {"sigma_deg": (degrees, float(np.sqrt(np.mean(np.square(stated)))))}}
