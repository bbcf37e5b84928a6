"""Faults of sensors and actuators alike: dead, stuck, turned in sign; readings that are old; a computer that resets."""

from __future__ import annotations

import functools
from typing import Any, Literal

import numpy as np

from gnc.batch import Kernel, batched, where
from gnc.config import Positive
from gnc.errors import InputError
from gnc.models.faults.base import FailingSensor, FaultPart, SensorFault
from gnc.models.faults.commands import FailingEffector
from gnc.models.faults.readings import Altered
from gnc.typing import Array

MOST_WAITING = 200  # readings, all of which every trial remembers


class DeadFault(FaultPart):
    """A sensor that says nothing, or an actuator that does nothing."""

    kind: Literal["dead"] = "dead"

    def of_sensor(self, sensor: FailingSensor) -> Altered:
        """Return the fault."""
        return Altered(self, sensor, alive=0.0)

    def of_actuator(self, effector: Any) -> FailingEffector:
        """Return the actuator; a dead wheel runs on, and its friction slows it down."""
        return FailingEffector(effector, self, gain=0.0)


class SignFault(FaultPart):
    """A sensor that reads, or an actuator that makes, the negative of what it should."""

    kind: Literal["sign"] = "sign"

    def of_sensor(self, sensor: FailingSensor) -> Altered:
        """Return the fault."""
        return Altered(self, sensor, factor=-1.0)

    def of_actuator(self, effector: Any) -> FailingEffector:
        """Return the actuator."""
        return FailingEffector(effector, self, gain=-1.0)


class StuckFault(FaultPart):
    """A sensor that repeats its last reading, or an actuator that goes on with its last command."""

    kind: Literal["stuck"] = "stuck"

    def of_sensor(self, sensor: FailingSensor) -> Stuck:
        """Return the fault."""
        return Stuck(self, sensor.size)

    def of_actuator(self, effector: Any) -> FailingEffector:
        """Return the actuator."""
        return FailingEffector(effector, self, gain=0.0, held=1.0)


class DelayFault(FaultPart):
    """A sensor whose readings are old, and stamped as if they were new."""

    kind: Literal["delay"] = "delay"
    shaping = FaultPart.shaping | {"delay_s"}
    delay_s: Positive = 1.0
    """How old, in whole periods of the sensor."""

    def of_sensor(self, sensor: FailingSensor) -> Delayed:
        """Return the fault."""
        places = max(1, round(self.delay_s / sensor.period_s))
        if places > MOST_WAITING:
            raise InputError(f"delay_s = {self.delay_s:g}: {places} readings would wait; {MOST_WAITING} may")
        return Delayed(self, sensor.size, places)


class ResetFault(FaultPart):
    """The computer of a craft resets at `from_s`: its filter forgets all and searches anew."""

    kind: Literal["reset"] = "reset"


class Stuck(SensorFault):
    """The last valid reading before the fault; one that never was is not valid."""

    remembers = True

    def __init__(self, fault: FaultPart, size: int) -> None:
        self._window, self._size = fault.window, size

    def start(self, trials: int) -> Array:
        """Return no reading: z, and whether there was one."""
        return np.zeros((trials, self._size + 1))

    def change(self, z: Array, valid: Array, t: Any, given: Array) -> tuple[Array, ...]:
        """Return z, valid and the memory."""
        return _stuck(self._size)(z, valid, t, *self._window, given)


class Delayed(SensorFault):
    """Readings through a line of so many places."""

    remembers = True

    def __init__(self, fault: FaultPart, size: int, places: int) -> None:
        self._window, self._size, self._places = fault.window, size, places

    def start(self, trials: int) -> Array:
        """Return an empty line."""
        return np.zeros((trials, self._places * (self._size + 1)))

    def change(self, z: Array, valid: Array, t: Any, given: Array) -> tuple[Array, ...]:
        """Return z, valid and the memory."""
        return _delayed(self._size, self._places)(z, valid, t, *self._window, given)


@functools.cache
def _stuck(m: int) -> Kernel:
    """Return the kernel for readings of m numbers."""

    @batched(f"({m}),(),(),(),(),({m + 1})->({m}),(),({m + 1})")
    def stuck(z, valid, t, begin, end, memory):
        """Return the reading, whether it is valid, and the last one before the fault."""
        on = (t >= begin) & (t < end)
        now = np.concatenate([z, np.stack([valid])])
        kept = where(~on & (valid > 0.0), now, memory)
        return where(on, kept[:m], z), where(on, kept[m], valid), kept

    return stuck


@functools.cache
def _delayed(m: int, places: int) -> Kernel:
    """Return the kernel for readings of m numbers that wait for so many others."""
    line = places * (m + 1)

    @batched(f"({m}),(),(),(),(),({line})->({m}),(),({line})")
    def delayed(z, valid, t, begin, end, memory):
        """Return the reading, whether it is valid, and those that wait."""
        on = (t >= begin) & (t < end)
        after = np.concatenate([memory[m + 1 :], z, np.stack([valid])])
        return where(on, memory[:m], z), where(on, memory[m], valid), after

    return delayed
