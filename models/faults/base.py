"""What every kind of fault has in a mission's file."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from gnc.batch import batched, where
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
