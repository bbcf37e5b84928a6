"""From columns to quantities: units, order and direction of quaternions, and what cannot be one.

Every function takes values (n, columns), all finite, and returns z and the rule, if any, by which a row is refused.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from gnc import dual_quaternion, quaternion
from gnc.errors import InputError
from gnc.scenarios.replay import config, sensor_config
from gnc.scenarios.replay.sensor_config import ALIGNED

Array = Any
Converted = tuple[Array, Array]  # z (n, k), rule (n,)

FINE, SATURATED, BAD_NORM = "", "saturated", "bad norm"
GRAVITY = 9.80665  # [m/s^2]
SI = {  # the size of a unit
    "rad/s": 1.0, "deg/s": np.pi / 180.0, "mdps": np.pi / 1.8e5, "m/s^2": 1.0, "g": GRAVITY, "mg": 1e-3 * GRAVITY,
    "T": 1.0, "uT": 1e-6, "nT": 1e-9, "G": 1e-4, "mG": 1e-7, "m": 1.0, "mm": 1e-3, "m/s": 1.0, "km/h": 1.0 / 3.6,
}  # fmt: skip
# The range of a sensor that states none, 2000 deg/s, 200 g, 15 times the Earth's field; share of rows beyond: is odd
PLAUSIBLE = {"gyro": (35.0, 0.01, "rad/s"), "accelerometer": (2e3, 0.5, "m/s^2"), "magnetometer": (1e-3, 0.5, "T")}
SEMI_MAJOR_M, ECCENTRICITY_2 = 6378137.0, 6.69437999014e-3  # of the ellipsoid WGS 84
TURNED_UP = 1e3  # [rad/s^2] by a torque that is none
NORM = 0.01  # by which the norm of a measured quaternion may be off
UNIT, ODD_UNIT = 0.1, 0.5  # by which the usual length of a direction, and each one, may be off, beside its noise
ROUND_OFF = 1e-9  # norms nearer to 1 are left alone, so that recorded bits stay


@dataclass(frozen=True)
class Quantity:
    """What a set of columns means."""

    columns: tuple[str, ...]
    size: int  # of z
    convert: Callable[[Array], Converted]
    extra: int = 0  # how many of the numbers at the end of z surround the measurement and are not part of it


def scaled(sensor: Any) -> Quantity:
    """Numbers in SI units, not beyond the range of the sensor, and columns beside them as they are."""
    beside, n = getattr(sensor, "observer", None) or _columns(getattr(sensor, "reference", None)), len(sensor.columns)
    most, odd, unit = PLAUSIBLE.get(sensor.kind, (np.inf, 1.0, ""))
    stated = getattr(sensor, "range", None)
    limit = SI[sensor.unit] * stated if stated else most

    def convert(values: Array) -> Converted:
        z = SI[sensor.unit] * values[:, :n]
        if stated is None and _beyond(z, most).mean() > odd:
            raise InputError(
                f"sensors.{sensor.name}.unit: numbers up to {np.abs(z).max():.3g} {unit} in {sensor.unit!r} are beyond "
                f"{most:g}; state the other unit, or the range of the {sensor.kind}"
            )
        return np.concatenate([z, values[:, n:]], axis=1), np.where(_beyond(z, limit), SATURATED, FINE)

    return Quantity((*sensor.columns, *beside), n + len(beside), convert, len(beside))


def position(sensor: sensor_config.PositionSensor) -> Quantity:
    """A position in inertial axes, or latitude, longitude and height [deg, deg, m] as east, north, up of the first."""
    if sensor.frame == "inertial":
        return scaled(sensor)
    first: list[Array] = []

    def convert(values: Array) -> Converted:
        good = (np.abs(values) <= [90.0, 360.0, 1e8]).all(axis=1)
        first.extend(values[good][: 1 - len(first)])
        if not first:
            return np.zeros((len(values), 3)), np.full(len(values), SATURATED)
        latitude, longitude = np.radians(first[0][:2])
        up = _up(latitude, longitude)
        east = np.array([-np.sin(longitude), np.cos(longitude), 0.0])
        z = (_from_centre(np.where(good[:, None], values, first[0])) - _from_centre(first[0])) @ np.array(
            [east, np.cross(up, east), up]
        ).T
        return z, np.where(good, FINE, SATURATED)

    return Quantity(sensor.columns, 3, convert)


def _up(latitude: Array, longitude: Array) -> Array:
    level = np.cos(latitude)
    return np.stack([level * np.cos(longitude), level * np.sin(longitude), np.sin(latitude)], axis=-1)


def _from_centre(geodetic: Array) -> Array:
    """Return places on the ellipsoid WGS 84 in axes that the Earth carries [m]."""
    latitude, longitude = np.moveaxis(np.radians(geodetic[..., :2]), -1, 0)
    across = SEMI_MAJOR_M / np.sqrt(1.0 - ECCENTRICITY_2 * np.sin(latitude) ** 2)
    flattened = np.stack([across, across, (1.0 - ECCENTRICITY_2) * across], axis=-1)
    return (flattened + geodetic[..., 2:]) * _up(latitude, longitude)


def vector(sensor: sensor_config.VectorSensor) -> Quantity:
    """A direction in body axes if its reference is constant (its noise is the same in all axes), else in its own."""
    reference = _columns(sensor.reference)
    turned = not reference and sensor.reference != "sun" and sensor.q_BS != ALIGNED

    def convert(values: Array) -> Converted:
        z, rule = values[:, :3], np.where(_beyond(values[:, :3], sensor.range or np.inf), SATURATED, FINE)
        if sensor.normalize:
            with np.errstate(over="ignore"):
                length = np.sqrt((z * z).sum(axis=1))
            good = (length > 0.0) & np.isfinite(length)
            rule = np.where(good, rule, BAD_NORM)
            z = z / np.where(good, length, 1.0)[:, None]
        else:
            lengths = np.hypot(np.hypot(z[:, 0], z[:, 1]), z[:, 2])
            rule = np.where(abs(lengths - 1.0) > ODD_UNIT + 6.0 * np.radians(sensor.sigma_deg), BAD_NORM, rule)
            length = np.median(lengths)
            if abs(length - 1.0) > UNIT + np.radians(sensor.sigma_deg):
                raise InputError(
                    f"sensors.{sensor.name}.columns: {', '.join(sensor.columns)} have the length {length:.4g}; "
                    "a direction has 1: set normalize = true, or map others"
                )
        z = quaternion.rotate(sensor.q_BS, z) if turned else z
        return np.concatenate([z, values[:, 3:]], axis=1), rule

    return Quantity((*sensor.columns, *reference), 3 + len(reference), convert, len(reference))


def attitude(source: Any, extra: tuple[str, ...] = ()) -> Quantity:
    """A unit quaternion q_IB (of a sensor q_IS), and other columns as they are."""
    key = f"sensors.{source.name}.columns" if hasattr(source, "name") else "truth.columns"

    def convert(values: Array) -> Converted:
        q, rule = _unit(values[:, :4], source.order, source.columns, key)
        q = quaternion.conj(q) if source.rotation == "q_BI" else q
        return np.concatenate([q, values[:, 4:]], axis=1), rule

    return Quantity((*source.columns, *extra), 4 + len(extra), convert, len(extra))


def pose(sensor: sensor_config.PoseSensor) -> Quantity:
    """A unit dual quaternion dq_ST."""
    observer, n = sensor.observer or (), len(sensor.columns)

    def convert(values: Array) -> Converted:
        q, rule = _unit(values[:, :4], sensor.order, sensor.columns, f"sensors.{sensor.name}.columns")
        if n == 7:
            dq = dual_quaternion.from_pose(q, SI[sensor.unit] * values[:, 4:7])
        else:
            dual = values[:, 4:8] if sensor.order == "wxyz" else np.roll(values[:, 4:8], 1, axis=1)
            dq = np.concatenate([q, SI[sensor.unit] * dual], axis=1)
        return np.concatenate([dq, values[:, n:]], axis=1), rule

    return Quantity((*sensor.columns, *observer), 8 + len(observer), convert, len(observer))


def truth(source: config.Truth, mask: str | None = None) -> Quantity:
    """Attitude, position and rate, zeros where the truth has none, and whether the mask counts it."""
    extra = (*(source.position or ()), *(source.rate or ()), *((mask,) if mask else ()))
    base = attitude(source, extra)

    def convert(values: Array) -> Converted:
        z, rule = base.convert(values)
        parts, at = [z[:, :4], np.zeros((len(z), 3)), np.zeros((len(z), 3)), np.ones((len(z), 1))], 4
        if source.position:
            parts[1], at = SI[source.unit] * z[:, 4:7], 7
        if source.rate:
            parts[2] = SI[source.rate_unit] * z[:, at : at + 3]
        if mask:
            parts[3] = (z[:, -1:] != 0.0).astype(float)
        return np.concatenate(parts, axis=1), rule

    return Quantity(base.columns, 11, convert)


def inputs(source: config.Inputs, moved: Any) -> Quantity:
    """Torque, force, the wheels' momentum and the field, zeros where there is none; not beyond what a body can bear."""
    given = [part or () for part in (source.torque, source.force, source.wheels, source.field)]
    J = getattr(moved, "J", getattr(moved, "J_com", None))
    least = np.inf if J is None else np.linalg.eigvalsh(J)[0]
    most = [TURNED_UP * least, np.inf, PLAUSIBLE["gyro"][0] * least, PLAUSIBLE["magnetometer"][0]]

    def convert(values: Array) -> Converted:
        z, at = np.zeros((len(values), 12)), 0
        for i, names in enumerate(given):
            if names:
                z[:, 3 * i : 3 * i + 3], at = values[:, at : at + 3], at + 3
        return z, np.where(_beyond(z, np.repeat(most, 3)), SATURATED, FINE)

    return Quantity(tuple(name for names in given for name in names), 12, convert)


QUANTITIES: dict[str, Callable[[Any], Quantity]] = {f.__name__: f for f in (vector, attitude, pose, position)}
# else: scaled


def _columns(reference: Any) -> tuple[str, ...]:
    return reference if isinstance(reference, tuple) and isinstance(reference[0], str) else ()


def _beyond(z: Array, limit: Any) -> Array:
    return (np.abs(z) >= limit).any(axis=1)


def _unit(values: Array, order: str, columns: tuple[str, ...], key: str) -> Converted:
    """Return quaternions scalar first, normalised where they need it."""
    q = values if order == "wxyz" else np.roll(values, 1, axis=1)
    with np.errstate(over="ignore"):  # of wild numbers it is infinite, and far from 1
        norm = np.sqrt((q * q).sum(axis=1))
    off = np.abs(norm - 1.0)
    if (off > NORM).mean() > 0.5:
        raise InputError(
            f"{key}: {', '.join(columns[:4])} have the norm {np.median(norm):.4g}; a unit quaternion has 1: map others"
        )
    scale = np.where((off > ROUND_OFF) & (norm > 0.0), norm, 1.0)
    return np.where((off > ROUND_OFF)[:, None], q / scale[:, None], q), np.where(off > NORM, BAD_NORM, FINE)
