"""Noise of the sensors in an interval in which the body rested.

    sigma^2 = sum |d_k|^2 / (2 m n),     d_k the difference of two measurements in a row, m components, n differences

Differences do not see a constant, and hardly a drift: sigma is that of white noise. Attitudes and poses differ by their
logarithms. Of a gyro the angular random walk is sigma sqrt(step), and its mean is its bias if the body really rested.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from gnc import dual_quaternion, quaternion
from gnc.scenarios.replay.config import Rest
from gnc.scenarios.replay.stream import Measurements, Stream

Array = Any

FEWEST = 10  # differences below which nothing is said


class RestNoise:
    """Sums over the interval, stream by stream."""

    def __init__(self, rest: Rest, sensors: Mapping[str, Any], streams: Sequence[Stream]) -> None:
        self._rest, self._streams = rest, streams
        self._sensors = [sensors.get(s.name.removeprefix("sensors.")) for s in streams]
        self._last: list[Array | None] = [None] * len(streams)
        self._squares = [np.zeros(0)] * len(streams)
        self._sums = [np.zeros(0)] * len(streams)
        self._counts = [0] * len(streams)

    def add(self, parts: Sequence[Measurements]) -> None:
        """Take the measurements of a block."""
        for i, (m, sensor) in enumerate(zip(parts, self._sensors, strict=True)):
            inside = (m.t >= self._rest.from_s) & (m.t <= self._rest.to_s) & m.valid
            if sensor is None or not inside.any():
                continue
            z = m.z[inside, : m.z.shape[1] - self._streams[i].quantity.extra]
            z = z if self._last[i] is None else np.concatenate([self._last[i], z])
            d = _differences(z)
            seen = 0 if self._last[i] is None else 1
            self._squares[i] = (d * d).sum(axis=0) + (self._squares[i] if self._counts[i] else 0.0)
            self._sums[i] = z[seen:].sum(axis=0) + (self._sums[i] if self._sums[i].size else 0.0)
            self._counts[i] += len(d)
            self._last[i] = z[-1:]

    def found(self) -> dict[str, dict[str, Any]]:
        """Return noise levels by sensor, beside those of the configuration."""
        told = {}
        for i, sensor in enumerate(self._sensors):
            if sensor is not None and self._counts[i] >= FEWEST:
                variance = self._squares[i] / (2.0 * self._counts[i])
                mean = self._sums[i] / (self._counts[i] + 1)
                told[sensor.name] = {
                    "differences": self._counts[i],
                    **_levels(sensor, variance, mean, self._streams[i]),
                }
        return told


def _differences(z: Array) -> Array:
    if z.shape[1] == 4:
        return quaternion.log(quaternion.mul(quaternion.conj(z[:-1]), z[1:]))
    if z.shape[1] == 8:
        return dual_quaternion.log(dual_quaternion.mul(dual_quaternion.conj(z[:-1]), z[1:]))
    return np.diff(z, axis=0)


def _levels(sensor: Any, variance: Array, mean: Array, stream: Stream) -> dict[str, Any]:
    """Return pairs (measured, stated) in the units of the configuration."""
    sigma = float(np.sqrt(variance.mean()))
    if sensor.kind == "gyro":
        arw = sigma * float(np.sqrt(stream.step_s or 0.0))
        return {"levels": {"arw": (arw, sensor.arw)}, "bias_rad_s": mean.tolist()}
    if sensor.kind == "accelerometer":
        return {"levels": {"sigma_m_s2": (sigma, None)}}
    if sensor.kind == "pose":
        turn, shift = float(np.sqrt(variance[:3].mean())), float(np.sqrt(variance[3:].mean()))
        return {
            "levels": {"sigma_deg": (float(np.degrees(turn)), sensor.sigma_deg), "sigma_m": (shift, sensor.sigma_m)}
        }
    if sensor.kind == "position":
        return {"levels": {"sigma_m": (sigma, sensor.sigma_m)}}
    if sensor.kind == "magnetometer":
        field = float(np.sqrt((mean * mean).sum()))
        return {"levels": {"sigma_T": (sigma, float(np.hypot(sensor.sigma_T, np.radians(sensor.sigma_deg) * field)))}}
    stated = sensor.sigma_deg
    if sensor.kind == "attitude" and stated is None:
        stated = np.asarray(sensor.sigma_arcsec) / 3600.0
    return {"levels": {"sigma_deg": (float(np.degrees(sigma)), float(np.sqrt(np.mean(np.square(stated)))))}}
