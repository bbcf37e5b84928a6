"""Faults of actuators: weak, runaway, leaking, rough; of sensors too: dead, stuck, turned in sign, old readings.

Most faults change what an actuator makes of its command, member by member: u' = gain u + held u_0 + level, with u_0 the
last command before the fault. Friction changes the actuator itself.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Field

from gnc.batch import Kernel, sized, when, where
from gnc.config import NonNegative, Positive
from gnc.draws import column
from gnc.errors import InputError
from gnc.history import Signal
from gnc.models.actuators.effector import Effector
from gnc.models.actuators.magnetorquers import TorquerSet
from gnc.models.actuators.reaction_wheels import WheelSet
from gnc.models.actuators.thrusters import ThrusterSet
from gnc.models.faults.base import Altered, FailingSensor, FaultPart, SensorFault, within
from gnc.typing import Array


class FailingEffector(Effector):
    """An actuator with a fault; its state is that of the actuator, its steps so far, and the command held."""

    def __init__(
        self,
        inner: Effector,
        fault: FaultPart,
        gain: Any = 1.0,
        held: float = 0.0,
        level: Any = 0.0,
        failed: Effector | None = None,
    ) -> None:
        self.inner, self.size, self._window = inner, inner.size, fault.window
        self._failed = _each_by_itself(inner) if failed is None else failed
        mask = fault.members(inner.size)
        self._law = 1.0 + mask * (column(gain) - 1.0), mask * held, mask * np.asarray(level)

    @property
    def internal(self) -> bool:  # type: ignore[override]
        """Whether it stores momentum."""
        return self.inner.internal

    @property
    def signals(self) -> Mapping[str, Signal]:  # type: ignore[override]
        """Those of the actuator."""
        return self.inner.signals

    def start(self, trials: int) -> Array:
        """Return the state at time zero."""
        return np.concatenate([self.inner.start(trials), np.zeros((trials, 1 + self.size))], axis=-1)

    def telemetry(self, state: Array) -> Array:
        """Return the state as the actuator tells it."""
        return self.inner.telemetry(state[..., : -1 - self.size])

    def act(self, command: Array, state: Array, h: Any) -> tuple[Any, Array]:
        """Return what is made of a command over h, and the state after it."""
        n, mine = self.size, state[..., : -1 - self.size]
        on = within(state[..., -1 - n] * h, *self._window)
        changed, held = _changed(n)(command, state[..., -n:], on, *self._law)
        output, after = self.inner.act(changed, mine, h)
        if self._failed is not self.inner:
            output, after = when(on > 0.0, self._failed.act, (changed, mine, h), (output, after))
        return output, np.concatenate([after, state[..., -1 - n : state.shape[-1] - n] + 1.0, held], axis=-1)

    @property
    def thrusters(self) -> Any:
        """The thrusters, if it is a set of them."""
        return getattr(self.inner, "thrusters", None)

    def used_kg(self, before: Array, after: Array) -> Array:
        """Return the propellant that was used between two states."""
        k = -1 - self.size
        return self.inner.used_kg(before[..., :k], after[..., :k])

    def wrench_B(self, made: Any, q_IB: Array, env: Any) -> Array:
        """Return what was made as a load on the body."""
        return self.inner.wrench_B(made, q_IB, env)

    def momentum_B(self, state: Array) -> Array:
        """Return the momentum that is stored."""
        return self.inner.momentum_B(state[..., : -1 - self.size])

    def observe(self, command: Array, state: Array) -> Mapping[str, Array]:
        """Return the values of the actuator's signals."""
        return self.inner.observe(command, state[..., : -1 - self.size])


@sized(lambda n: f"({n}),({n}),(),({n}),({n}),({n})->({n}),({n})")
def _changed(u, before, on, gain, held, level):
    """Return the command with the fault, and the last one without."""
    return where(on > 0.0, gain * u + held * before + level, u), where(on > 0.0, before, u)


class WeakFault(FaultPart):
    """An actuator that makes a part of what it is told."""

    kind: Literal["weak"] = "weak"
    factor: Annotated[float, Field(ge=0, le=1)] = 0.5
    """1 would be right, 0 is dead."""

    def of_actuator(self, effector: Any) -> FailingEffector:
        """Return the actuator."""
        return FailingEffector(effector, self, gain=self.factor)


class RunawayFault(FaultPart):
    """An actuator that makes all it can, whatever it is told: a wheel that spins up, a valve that stays open."""

    kind: Literal["runaway"] = "runaway"
    direction: Literal[1, -1] = 1

    def of_actuator(self, effector: Any) -> FailingEffector:
        """Return the actuator."""
        return FailingEffector(effector, self, gain=0.0, level=self.direction * _limit(effector))


class LeakFault(FaultPart):
    """Thrusters that let go a part of their thrust beside what they are told."""

    kind: Literal["leak"] = "leak"
    fraction: Annotated[float, Field(gt=0, le=1)] = 0.02
    """Of full thrust."""

    def of_actuator(self, effector: Any) -> FailingEffector:
        """Return the actuator."""
        if not isinstance(_bare(effector), ThrusterSet):
            raise InputError("kind = 'leak': thrusters leak, and nothing else")
        return FailingEffector(effector, self, level=column(self.fraction))


class FrictionFault(FaultPart):
    """Wheels whose friction grows."""

    kind: Literal["friction"] = "friction"
    coulomb_Nm: NonNegative = 1e-3
    """Dry friction beside what there is."""
    viscous_per_s: NonNegative = 0.0
    """Friction torque per momentum beside what there is."""

    def of_actuator(self, effector: Any) -> FailingEffector:
        """Return the wheels."""
        if not isinstance(effector, WheelSet):
            raise InputError("kind = 'friction': wheels have friction; give it as the first fault of its wheels")
        mask, wheels = self.members(effector.size), effector.wheels
        friction = {
            "coulomb": wheels.coulomb + column(self.coulomb_Nm) * mask,
            "viscous": wheels.viscous + column(self.viscous_per_s) * mask,
        }
        rough = WheelSet(dataclasses.replace(wheels, **friction), 0.0)
        return FailingEffector(effector, self, failed=_each_by_itself(rough))


def _each_by_itself(effector: Effector) -> Effector:
    """Return wheels of which one that is at a limit does not hold the others back, as it no longer obeys."""
    if not isinstance(effector, WheelSet):
        return effector
    return WheelSet(dataclasses.replace(effector.wheels, saturation="each"), 0.0)


def _bare(effector: Any) -> Any:
    """Return an actuator without its faults."""
    return _bare(effector.inner) if isinstance(effector, FailingEffector) else effector


def _limit(effector: Any) -> Array:
    """Return the most that each member can make."""
    bare = _bare(effector)
    if isinstance(bare, WheelSet):
        return bare.wheels.torque_limit
    if isinstance(bare, TorquerSet):
        return bare.torquers.dipole_limit
    if isinstance(bare, ThrusterSet):
        return np.ones(bare.size)
    raise InputError("kind = 'runaway': wheels, torquers and thrusters run away")


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

    def of_sensor(self, sensor: FailingSensor) -> Remembered:
        """Return the fault."""
        return Remembered(self, sensor.size, _stuck(sensor.size))

    def of_actuator(self, effector: Any) -> FailingEffector:
        """Return the actuator."""
        return FailingEffector(effector, self, gain=0.0, held=1.0)


class DelayFault(FaultPart):
    """A sensor whose readings are old, and stamped as if they were new."""

    kind: Literal["delay"] = "delay"
    shaping = FaultPart.shaping | {"delay_s"}
    delay_s: Positive = 1.0
    """How old, in whole periods of the sensor."""

    def of_sensor(self, sensor: FailingSensor) -> Remembered:
        """Return the fault."""
        places = max(1, round(self.delay_s / sensor.period_s))
        if places > MOST_WAITING:
            raise InputError(f"delay_s = {self.delay_s:g}: {places} readings would wait; {MOST_WAITING} may")
        return Remembered(self, sensor.size, _delayed(sensor.size, places), places)


class ResetFault(FaultPart):
    """The computer of a craft resets at `from_s`: its filter forgets all and searches anew."""

    kind: Literal["reset"] = "reset"


class Remembered(SensorFault):
    """Readings in place of which earlier ones come: through a line of so many places, or the last one before.

    A place holds z, and whether it was valid.
    """

    remembers = True

    def __init__(self, fault: FaultPart, size: int, kernel: Kernel, places: int = 1) -> None:
        self._window, self._numbers, self._kernel = fault.window, places * (size + 1), kernel

    def start(self, trials: int) -> Array:
        """Return no readings."""
        return np.zeros((trials, self._numbers))

    def change(self, z: Array, valid: Array, t: Any, given: Array) -> tuple[Array, ...]:
        """Return z, valid and the memory."""
        return self._kernel(z, valid, t, *self._window, given)


@sized(lambda m: f"({m}),(),(),(),(),({m + 1})->({m}),(),({m + 1})")
def _stuck(z, valid, t, begin, end, memory, *, m):
    """Return the reading, whether it is valid, and the last valid one before the fault."""
    on = (t >= begin) & (t < end)
    now = np.concatenate([z, np.stack([valid])])
    kept = where(~on & (valid > 0.0), now, memory)
    return where(on, kept[:m], z), where(on, kept[m], valid), kept


@sized(lambda m, places: f"({m}),(),(),(),(),({places * (m + 1)})->({m}),(),({places * (m + 1)})")
def _delayed(z, valid, t, begin, end, memory, *, m):
    """Return the reading, whether it is valid, and those that wait."""
    on = (t >= begin) & (t < end)
    after = np.concatenate([memory[m + 1 :], z, np.stack([valid])])
    return where(on, memory[:m], z), where(on, memory[m], valid), after
