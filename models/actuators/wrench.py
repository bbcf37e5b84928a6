"""An actuator without inner life: a torque, or a wrench, within limits, with a gain that is off."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Field

from gnc.batch import batched, maximum, minimum
from gnc.config import Positive
from gnc.draws import Draws, column
from gnc.history import Signal
from gnc.models.actuators.effector import ActuatorPart, Effector

Array = Any
Percent = Annotated[float, Field(ge=0, le=50)]


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
        return _made(_clipped(command, self._limit), self._gain, state, h)

    def share(self, wrench_B: Array) -> Array:
        """Return the command for a wanted wrench."""
        return _clipped(wrench_B, self._limit)

    def observe(self, command: Array, state: Array) -> Mapping[str, Array]:
        """Return command and impulse."""
        return {"wrench": command, "impulse_Ns": state[..., 1]}


@batched("(6),(6)->(6)")
def _clipped(wrench_B, limit):
    """Return the wrench with each part within its limit."""
    return minimum(maximum(wrench_B, -limit), limit)


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
