"""Actuators without inner life, within limits, with a gain that is off: a wrench, and motors in joints."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Literal

import numpy as np

from gnc.batch import batched, sized
from gnc.config import Percent, Positive
from gnc.draws import Draws, column
from gnc.history import Signal
from gnc.models.actuators.effector import ActuatorPart, Effector, clipped

Array = Any


@sized(lambda n: f"({n}),({n})->({n})")
def _clipped(x, limit):
    """Return x with each part within its limit."""
    return clipped(x, limit)


class WrenchActuator(Effector):
    """Makes gain times the command, within the limits."""

    size = 6

    def __init__(self, gain: Array, limit: Array) -> None:
        self._gain, self._limit = gain, limit
        self.signals = {  # type: ignore[misc]
            "wrench": Signal("N m, N", "commanded torque about the body's origin and force, body axes"),
            "impulse_Ns": Signal("N s", "impulse of the forces so far"),
        }

    def most(self, sky: Any) -> Array:
        """Return the limits."""
        return self._limit

    def start(self, trials: int) -> Array:
        """Return the impulse of torques and forces so far: none."""
        return np.zeros((trials, 2))

    def act(self, command: Array, state: Array, h: Array) -> tuple[Array, Array]:
        """Return the wrench, and the impulses by the end of h."""
        return _made(_clipped(6)(command, self._limit), self._gain, state, h)

    def share(self, wrench_B: Array) -> Array:
        """Return the command for a wanted wrench."""
        return _clipped(6)(wrench_B, self._limit)

    def observe(self, command: Array, state: Array) -> Mapping[str, Array]:
        """Return command and impulse."""
        return {"wrench": command, "impulse_Ns": state[..., 1]}


@batched("(6),(6),(2),()->(6),(2)")
def _made(command, gain, spent, h):
    """Return the wrench that is made, and the impulses of torque and force."""
    wrench_B = command * gain
    torque, force = wrench_B[:3], wrench_B[3:]
    sizes = np.stack([np.sqrt(torque @ torque), np.sqrt(force @ force)])
    return wrench_B, spent + h * sizes


class WrenchPart(ActuatorPart):
    """Torque and force along each body axis, within limits: thrusters without their pulses."""

    kind: Literal["wrench"] = "wrench"
    force_limit_N: Positive = 20.0
    """Of each axis."""
    torque_limit_Nm: Positive = 2.0
    """Of each axis."""
    gain_error_percent: Percent = 0.0
    """By how much each axis makes more or less than commanded, one sigma."""

    def _limit(self) -> Array:
        torque, force = column(self.torque_limit_Nm) * np.ones(3), column(self.force_limit_N) * np.ones(3)
        return np.concatenate(np.broadcast_arrays(torque, force), axis=-1)

    def truth(self, name: str, draws: Draws) -> WrenchActuator:
        """Return the actuator of each trial."""
        gain = 1.0 + draws.vector(name, 0.01 * np.asarray(self.gain_error_percent), 6)
        return WrenchActuator(gain, self._limit())

    def belief(self) -> WrenchActuator:
        """Return the actuator as flight software knows it."""
        return WrenchActuator(np.ones(6), self._limit())


OF_BASE = 6  # numbers of a demand that are the wrench on the base; efforts of joints follow


class JointMotors(Effector):
    """Makes gain times the torques that are asked for; what a motor does to one body it does to the other too."""

    internal: ClassVar[bool] = True

    def __init__(self, joints: tuple[str, ...], gain: Array, limit: float) -> None:
        self.joints, self.size, self._gain, self._limit = joints, len(joints), gain, np.full(len(joints), limit)
        self.signals = {"torque_Nm": Signal("N m", "commanded torque of each joint", ("joint", joints))}  # type: ignore[misc]

    def act(self, command: Array, state: Array, h: Array) -> tuple[Array, Array]:
        """Return the torques."""
        return command * self._gain, state

    def momentum_B(self, state: Array) -> Array:
        """Return no momentum of its own."""
        return np.zeros((*np.shape(state)[:-1], 3))

    def share(self, demand: Array) -> Array:
        """Return the command: the part of a demand that is beyond the wrench on the base."""
        effort = demand[..., OF_BASE : OF_BASE + self.size]
        if effort.shape[-1] < self.size:
            effort = np.zeros((*np.shape(demand)[:-1], self.size))
        return _clipped(self.size)(effort, self._limit)

    def observe(self, command: Array, state: Array) -> Mapping[str, Array]:
        """Return the command."""
        return {"torque_Nm": command}


class JointMotorsPart(ActuatorPart):
    """Motors in revolute or prismatic joints, which a craft of kind = "tree" has."""

    kind: Literal["joint-motors"] = "joint-motors"
    shaping: ClassVar[frozenset[str]] = frozenset({"torque_limit_Nm"})
    joints: tuple[str, ...]
    """The joints, by the names of the bodies that hang on them."""
    torque_limit_Nm: Positive = 1000.0
    """Of each joint."""
    gain_error_percent: Percent = 0.0
    """By how much each motor makes more or less than commanded, one sigma."""

    def truth(self, name: str, draws: Draws) -> JointMotors:
        """Return the motors of each trial."""
        gain = 1.0 + draws.vector(name, 0.01 * np.asarray(self.gain_error_percent), len(self.joints))
        return JointMotors(self.joints, gain, self.torque_limit_Nm)

    def belief(self) -> JointMotors:
        """Return the motors as flight software knows them."""
        return JointMotors(self.joints, np.ones(len(self.joints)), self.torque_limit_Nm)
