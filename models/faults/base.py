"""Faults as parts of a mission; those that change a reading by itself: bias, drift, scale, sign, noise, outliers."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal, Self

import numpy as np
from pydantic import BeforeValidator, Field, model_validator
from scipy.special import ndtri

from gnc import dual_quaternion, quaternion
from gnc.batch import batched, sized, where
from gnc.config import NonNegative, Positive
from gnc.errors import InputError
from gnc.parts import Part
from gnc.typing import Array


class FaultPart(Part):
    """Something that goes wrong in the truth; flight software is not told, unless `detected_after_s` says when."""

    slot: ClassVar[str] = "fault"
    shaping: ClassVar[frozenset[str]] = frozenset({"which"})
    part: str
    """What fails: a craft and its sensor or actuator, "sat.wheels"; or the craft alone, for its computer."""
    which: tuple[int, ...] = ()
    """Which members of an actuator, from 0 on; none: all of them."""
    from_s: NonNegative = 0.0
    """When it begins; may be dispersed, as all numbers here."""
    to_s: Positive | None = None
    """When it ends; by default never."""
    detected_after_s: NonNegative | None = None
    """So long after it begins flight software leaves the part out, while the fault lasts; by default it is not told."""

    def of_sensor(self, sensor: FailingSensor) -> SensorFault:
        """Return what becomes of a sensor's readings."""
        raise InputError(f"kind = {self.kind_name()!r}: is no fault of a sensor")

    def of_actuator(self, effector: Any) -> Any:
        """Return the actuator with the fault."""
        raise InputError(f"kind = {self.kind_name()!r}: is no fault of an actuator")

    @property
    def window(self) -> tuple[Array, Array]:
        """Begin and end, numbers or one per trial [s]."""
        return np.asarray(self.from_s, float), np.asarray(np.inf if self.to_s is None else self.to_s, float)

    @property
    def told(self) -> tuple[Array, Array] | None:
        """From when to when flight software knows of it; None: never."""
        if self.detected_after_s is None:
            return None
        begin, end = self.window
        return begin + self.detected_after_s, end

    def members(self, size: int) -> Array:
        """Return 1 for the members (size,) that fail, 0 for others."""
        if any(not 0 <= k < size for k in self.which):
            fault = f"the fault of {self.part}, kind = {self.kind_name()!r}"
            raise InputError(f"{fault}: which = {list(self.which)}: there are {size} members, from 0 on")
        return np.array([1.0 if not self.which or k in self.which else 0.0 for k in range(size)])


class FailingSensor:
    """What a fault of a sensor is built with."""

    def __init__(self, size: int, period_s: float, reads: str = "") -> None:
        self.size, self.period_s, self.reads = size, period_s, reads

    @property
    def freedoms(self) -> int:
        """Numbers of an error of a reading: 3 of an attitude, 6 of a pose, else as many as it has."""
        return {4: 3, 8: 6}.get(self.size, self.size)

    def error(self, key: str, value: Any) -> Array:
        """Return an error (..., freedoms) from one number for all, or one each."""
        e = np.asarray(value, float)
        if e.shape[-1:] not in ((1,), (self.freedoms,)):
            raise InputError(f"{key}: an error of this sensor has {self.freedoms} numbers, got {e.shape[-1]}")
        return e * np.ones(self.freedoms)


class SensorFault:
    """What becomes of readings; times are those of the readings' stamps."""

    normals: int = 0  # random numbers that a reading takes beside the sensor's own
    remembers: bool = False  # whether it depends on earlier readings

    def louder(self, noise: Array, t: Any) -> Array:
        """Return the noise that a reading is made with."""
        return noise

    def start(self, trials: int) -> Array:
        """Return the memory (trials, numbers) before the first reading."""
        return np.zeros((trials, 0))

    def change(self, z: Array, valid: Array, t: Any, given: Array) -> tuple[Array, ...]:
        """Return z, valid (1 or 0) and, if it remembers, the memory; `given` is the memory, or the normal numbers."""
        raise NotImplementedError


@batched("(),(),()->()")
def within(t, begin, end):
    """Return 1 from the begin to before the end, else 0."""
    return where((t >= begin) & (t < end), 1.0, 0.0)


NEVER = -np.inf  # a normal number is never below


class Altered(SensorFault):
    """z' = factor z (+) (step + slope (t - begin) + outlier), (+) on the manifold of an attitude or a pose."""

    def __init__(self, fault: FaultPart, sensor: FailingSensor, **how: Any) -> None:
        self._window, d = fault.window, sensor.freedoms
        none = np.zeros(d)
        self._error = how.get("step", none), how.get("slope", none)
        self._gains = [np.asarray(how.get(key, 1.0), float) for key in ("factor", "alive")]
        if sensor.size in (4, 8) and "factor" in how:
            raise InputError("an attitude or a pose has no scale and no sign; give a bias or drift")
        self._noise = np.asarray(how.get("noise", 1.0), float)
        self._outliers = np.asarray(how.get("size", 0.0), float), np.asarray(how.get("below", NEVER), float)
        self.normals = d + 1 if "below" in how else 0
        self._kernel, self._none = _altered(sensor.size, d), np.zeros(d + 1)

    def louder(self, noise: Array, t: Any) -> Array:
        """Return the noise times what the fault makes of it."""
        if np.all(self._noise == 1.0) or not np.shape(noise)[-1]:
            return noise
        return _louder(np.shape(noise)[-1])(noise, within(t, *self._window), self._noise)

    def change(self, z: Array, valid: Array, t: Any, given: Array) -> tuple[Array, ...]:
        """Return z and valid."""
        normals = given if self.normals else self._none
        return self._kernel(z, valid, t, *self._window, *self._error, *self._gains, *self._outliers, normals)


def _moved(z, e):
    """Return z (+) e."""
    if len(z) == 4:
        return quaternion.mul(z, quaternion.exp(e))
    return dual_quaternion.mul(z, dual_quaternion.exp(e)) if len(z) == 8 else z + e


@sized(lambda m, d: f"({m}),(),(),(),(),({d}),({d}),(),(),(),(),({d + 1})->({m}),()")
def _altered(z, valid, t, begin, end, step, slope, factor, alive, size, below, normals):
    """Return the reading and whether it is valid; one that is not stays zero."""
    on = (t >= begin) & (t < end) & (valid > 0.0)
    e = step + (t - begin) * slope + where(normals[0] < below, size, 0.0) * normals[1:]
    return where(on, alive * _moved(factor * z, e), z), where(on, alive, valid)


@sized(lambda n: f"({n}),(),()->({n})")
def _louder(noise, on, factor):
    """Return the noise times the factor, while the fault lasts."""
    return where(on > 0.0, factor * noise, noise)


Axes = Annotated[tuple[float, ...], BeforeValidator(lambda x: (x,) if isinstance(x, float | int) else x)]


class _ErrorPart(FaultPart):
    """A fault given by an error of the reading, in SI units or in degrees."""

    size: Axes | None = None
    """Of each axis, or one for all: rad/s of a gyro, T, rad about the axes of a star tracker, rad and m of a pose."""
    size_deg: Axes | None = None
    """The same with angles in degrees."""

    @model_validator(mode="after")
    def _once(self) -> Self:
        if (self.size is None) == (self.size_deg is None):
            raise InputError("give size or size_deg")
        return self

    def error(self, sensor: FailingSensor) -> Array:
        """Return the error (..., freedoms)."""
        if self.size is not None:
            return sensor.error("size", self.size)
        if sensor.reads:
            raise InputError(f"size_deg: this sensor reads {sensor.reads}, no angles; give size")
        return sensor.error("size_deg", np.radians(np.asarray(self.size_deg, float)))


class BiasFault(_ErrorPart):
    """A sensor that reads too much by a constant from a time on."""

    kind: Literal["bias"] = "bias"

    def of_sensor(self, sensor: FailingSensor) -> Altered:
        """Return the fault."""
        return Altered(self, sensor, step=self.error(sensor))


class DriftFault(_ErrorPart):
    """A sensor whose error grows by `size` per second."""

    kind: Literal["drift"] = "drift"

    def of_sensor(self, sensor: FailingSensor) -> Altered:
        """Return the fault."""
        return Altered(self, sensor, slope=self.error(sensor))


class ScaleFault(FaultPart):
    """A sensor that reads `factor` times what it should."""

    kind: Literal["scale"] = "scale"
    factor: float
    """1 would be right."""

    def of_sensor(self, sensor: FailingSensor) -> Altered:
        """Return the fault."""
        return Altered(self, sensor, factor=self.factor)


class NoiseFault(FaultPart):
    """A sensor whose noise is `factor` times what it was."""

    kind: Literal["noise"] = "noise"
    factor: Positive = 10.0

    def of_sensor(self, sensor: FailingSensor) -> Altered:
        """Return the fault."""
        return Altered(self, sensor, noise=self.factor)


class OutliersFault(_ErrorPart):
    """Bursts of wild readings: each with a probability off by a normal error of this size."""

    kind: Literal["outliers"] = "outliers"
    probability: Annotated[float, Field(gt=0, le=1)] = 0.2
    """Of a reading, while the fault lasts."""

    def of_sensor(self, sensor: FailingSensor) -> Altered:
        """Return the fault."""
        e = self.error(sensor)
        if np.ptp(e, axis=-1).any():
            raise InputError("size: outliers have one size for all axes")
        return Altered(self, sensor, size=e[..., 0], below=ndtri(np.asarray(self.probability)))
