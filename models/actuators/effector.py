"""An actuator as a craft carries it: what its part of a mission builds, and what the plant asks of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from gnc.draws import Draws
from gnc.history import Signal
from gnc.parts import Part
from gnc.typing import Array


class Effector:
    """What a craft asks of an actuator; an external load unless `momentum_B` says that it is internal.

    A command is an array (trials, size), a state an array (trials, numbers). Over a step the command is held: `act`
    moves the state and returns what was made of the command, `wrench_B` what that does to the body at an attitude.
    """

    size: int  # numbers of a command
    internal: ClassVar[bool] = False  # whether it stores momentum in place of pushing from outside
    signals: ClassVar[Mapping[str, Signal]] = {}

    def paced(self, control_s: float) -> Effector:
        """Return the actuator for commands that come every so many seconds."""
        return self

    def most(self, sky: Any) -> Array:
        """Return the most that it pushes along each axis: torque about the body's origin, force (6); 0 if inside."""
        return np.zeros(6)

    def start(self, trials: int) -> Array:
        """Return the state at time zero."""
        return np.zeros((trials, 0))

    def telemetry(self, state: Array) -> Array:
        """Return the state as flight software is told."""
        return state

    def act(self, command: Array, state: Array, h: float) -> tuple[Any, Array]:
        """Return what is made of a command over h, and the state after it."""
        raise NotImplementedError

    def made_of(self, command: Array, state: Array, h: float) -> Any:
        """Return what a command has made, as flight software reckons it by the state at the end of the interval."""
        return self.act(command, state, h)[0]

    def wrench_B(self, made: Any, q_IB: Array, env: Any) -> Array:
        """Return the torque (..., 3), or the wrench (..., 6), of what was made, body axes."""
        return made

    def momentum_B(self, state: Array) -> Array:
        """Return the momentum that is stored (..., 3), body axes; for internal ones."""
        raise NotImplementedError

    def used_kg(self, before: Array, after: Array) -> Array:
        """Return the propellant (...) that was used between two states; of thrusters that take some."""
        raise NotImplementedError

    def observe(self, command: Array, state: Array) -> Mapping[str, Array]:
        """Return the values of its signals."""
        return {}


class ActuatorPart(Part):
    """What turns or pushes a craft on command."""

    slot: ClassVar[str] = "actuator"
    needs_orbit: ClassVar[bool] = False

    def truth(self, name: str, draws: Draws) -> Effector:
        """Return the actuator of each trial."""
        raise NotImplementedError

    def belief(self) -> Effector:
        """Return the actuator as flight software knows it."""
        raise NotImplementedError
