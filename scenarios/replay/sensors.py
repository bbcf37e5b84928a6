"""Sensors of the framework from the configuration, and what surrounded them at each measurement."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from gnc import dual_quaternion
from gnc.errors import InputError
from gnc.models import sensors as models
from gnc.scenarios.replay import config, quantities, sensor_config
from gnc.scenarios.replay.quantities import ROUND_OFF, Quantity
from gnc.scenarios.replay.stream import Measurements

if TYPE_CHECKING:
    from gnc.models.environment import EnvironmentTable

Array = Any

ARCSEC_PER_DEG = 3600.0
SHORT_TABLE_S = 7200.0  # the environment is tabulated so far ahead
UNKNOWN_RATE_HZ = 1.0  # a sensor's rate plays no role in what a filter expects of it, but for the gyro


class SensorSurroundings(NamedTuple):
    """The part of an environment that attitude sensors look at."""

    B_I: Array
    sun_I: Array
    shadow: Array = 0.0


class Observer(NamedTuple):
    """From where a relative sensor looks."""

    dq_IB: Array


@dataclass(frozen=True)
class Channel:
    """A sensor, what its columns mean, and how to find its environment."""

    name: str
    sensor: Any
    quantity: Quantity
    surround: Callable[[Measurements], Any]  # arrays, one row for each measurement


def channel(sensor: Any, model: Model | None) -> Channel:
    """Build what one [[sensors]] entry says."""
    quantity = quantities.QUANTITIES.get(sensor.kind, quantities.scaled)(sensor)
    built = _BUILD[sensor.kind](sensor) if sensor.kind in _BUILD else None  # an input, or of ins, which has its own
    return Channel(sensor.name, built, quantity, _surround(sensor, quantity, model))


def _rate(sensor: Any) -> float:
    return sensor.rate_hz or UNKNOWN_RATE_HZ


def _vector(s: sensor_config.VectorSensor) -> models.VectorSensor | models.FineSunSensor | models.UnitDirection:
    return models.UnitDirection(_free_length(s)) if s.normalize else _free_length(s)


def _free_length(s: sensor_config.VectorSensor) -> models.VectorSensor | models.FineSunSensor:
    if isinstance(s.reference, tuple) and not isinstance(s.reference[0], str):
        r_I = _unit(np.array([s.reference], float))[0]
        return models.VectorSensor(rate_hz=_rate(s), r_I=r_I, **_noise(s))
    return models.FineSunSensor(rate_hz=_rate(s), q_BS=s.q_BS, **_noise(s))


def _noise(s: sensor_config.VectorSensor | sensor_config.MagnetometerSensor) -> dict[str, Any]:
    return {"sigma_deg": s.sigma_deg, "askew": np.radians(s.misalignment_deg)}


def _magnetometer(s: sensor_config.MagnetometerSensor) -> models.Magnetometer:
    soft = 0.01 * s.soft_iron_percent
    believed = {"bias_sigma": 1e-9 * s.bias_nT, "bias_walk": 1e-9 * s.bias_walk_nT, **_noise(s)}
    uneven = [np.hypot(0.01 * s.scale_percent, soft)] * 3 + [soft] * 3
    return models.Magnetometer(rate_hz=_rate(s), sigma_T=s.sigma_T, uneven=uneven, q_BS=s.q_BS, **believed)


def _attitude(s: sensor_config.AttitudeSensor) -> models.StarTracker:
    sigma = s.sigma_arcsec if s.sigma_arcsec is not None else ARCSEC_PER_DEG * np.asarray(s.sigma_deg)
    askew = np.radians(s.misalignment_deg)
    return models.StarTracker(rate_hz=_rate(s), sigma_arcsec=sigma, q_BS=s.q_BS, bias_sigma=askew)


def _relative(s: Any) -> dict[str, Any]:
    dq_BS = dual_quaternion.from_pose(np.array(s.q_BS), np.array(s.r_BS))
    return {"rate_hz": _rate(s), "sigma_m": s.sigma_m, "sigma_fraction": s.sigma_fraction, "dq_BS": dq_BS}


def _pose(s: sensor_config.PoseSensor) -> models.RelativePose:
    far = s.sigma_deg if s.sigma_far_deg is None else s.sigma_far_deg
    angles = {"near_m": s.near_m, "far_m": s.far_m, "sigma_near_deg": s.sigma_deg, "sigma_far_deg": far}
    return models.RelativePose(**_relative(s), **angles)


_BUILD: dict[str, Callable[[Any], Any]] = {
    "gyro": lambda s: models.Gyro(rate_hz=_rate(s), arw=s.arw or 0.0, bias_walk=s.bias_walk, q_BS=s.q_BS),
    "vector": _vector,
    "magnetometer": _magnetometer,
    "attitude": _attitude,
    "pose": _pose,
    "position": lambda s: models.RelativePosition(**_relative(s)),
}


# Environments


def _surround(sensor: Any, quantity: Quantity, model: Model | None) -> Callable[[Measurements], Any]:
    reference = getattr(sensor, "reference", None)
    if isinstance(reference, str):
        if model is None:
            raise InputError(f"sensors.{sensor.name}.reference: {reference!r} needs the orbit; give a section [orbit]")
        return model.along
    if quantity.extra == 8:
        return lambda m: Observer(m.z[:, -8:])
    if quantity.extra == 3:
        return lambda m: SensorSurroundings(m.z[:, -3:], _unit(m.z[:, -3:]), np.zeros(len(m.t)))
    if sensor.kind == "magnetometer" and reference is not None:
        field = np.array(reference)
        wide = lambda m: np.broadcast_to(field, (len(m.t), 3))  # noqa: E731
        return lambda m: SensorSurroundings(wide(m), wide(m), np.zeros(len(m.t)))
    return lambda m: None


def _unit(v: Array) -> Array:
    """Return directions; what is of unit length already keeps its bits."""
    length = np.sqrt((v * v).sum(axis=1))
    return np.where((np.abs(length - 1.0) > ROUND_OFF)[:, None], v / np.where(length > 0.0, length, 1.0)[:, None], v)


class Model:
    """Sun and magnetic field along an orbit, tabulated a few hours at a time."""

    def __init__(self, orbit: config.Orbit) -> None:
        from gnc.models.environment import Epoch, KeplerOrbit, TleOrbit

        self.offset_s = 0.0  # of the orbit's time at time 0 of the log
        self._table: EnvironmentTable | None = None
        self.epoch = Epoch.of(orbit.epoch)
        if orbit.tle is not None:
            self._orbit: Any = TleOrbit(*orbit.tle, epoch=self.epoch)
            return
        angles = (orbit.inclination_deg, orbit.raan_deg, orbit.argument_deg, orbit.mean_anomaly_deg)
        named = dict(zip(("inclination", "raan", "argument", "mean_anomaly"), np.radians(angles), strict=True))
        self._orbit = KeplerOrbit(orbit.a_m, orbit.e, **named, epoch=self.epoch)

    def along(self, m: Measurements) -> SensorSurroundings:
        """Return the environment at each measurement."""
        from gnc.models.environment import EnvironmentTable

        if not len(m.t):
            return SensorSurroundings(np.zeros((0, 3)), np.zeros((0, 3)), np.zeros(0))
        t = m.t + self.offset_s
        if self._table is None or t[0] < self._table.t_start or t[-1] > self._table.t_end:
            span = max(SHORT_TABLE_S, 1.1 * (t[-1] - t[0]))
            self._table = EnvironmentTable.along(self._orbit, duration_s=span, t_start=float(t[0]))
        env = self._table.at(t)
        return SensorSurroundings(env.B_I, env.sun_I, env.shadow)
