"""Motors in the joints of a craft of several bodies."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any, ClassVar, Literal

import numpy as np

from gnc.batch import batched
from gnc.config import Positive
from gnc.draws import Draws
from gnc.history import Signal
from gnc.models.actuators.effector import ActuatorPart, Effector
from gnc.models.actuators.saturation import clipped
from gnc.models.actuators.wrench import Percent

Array = Any
OF_BASE = 6  # numbers of a demand that are the wrench on the base; efforts of joints follow


@functools.cache
def _clipping(size: int) -> Any:
    """Return the kernel that keeps so many torques within a limit."""
    return batched(f"({size}),()->({size})")(clipped)


class JointMotors(Effector):
    """Makes gain times the torques that are asked for; what a motor does to one body it does to the other too."""

    internal: ClassVar[bool] = True

    def __init__(self, joints: tuple[str, ...], gain: Array, limit: float) -> None:
        self.joints, self.size, self._gain, self._limit = joints, len(joints), gain, limit
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
        return _clipping(self.size)(effort, self._limit)

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
