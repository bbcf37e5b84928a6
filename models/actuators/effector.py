"""An actuator as a craft carries it: what its part of a mission builds, and what the plant asks of it."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from gnc.batch import maximum, minimum, where
from gnc.draws import Draws
from gnc.history import Signal
from gnc.parts import OwnPart, Part

Array = Any


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


SATURATIONS = ("direction", "each")


def clipped(x: Array, limit: Array) -> Array:
    """Return x within +-limit, element by element."""
    return minimum(maximum(x, -limit), limit)


def scaled(command: Array, room: Array) -> Array:
    """Return the command times one factor, 1 at most, by which no element exceeds its room."""
    factors = [where(r < abs(c), r / abs(c), 1.0) for c, r in zip(command, room, strict=True)]
    return functools.reduce(minimum, factors) * command


def saturated(command: Array, limit: Array, saturation: str) -> Array:
    """Return the command within +-limit, by the one way or the other."""
    return clipped(scaled(command, limit) if saturation == "direction" else command, limit)


class OwnEffector(Effector):
    """A user's actuator as a craft carries it."""

    def __init__(self, own: Any, size: int) -> None:
        self.own, self.size = own, size
        self.signals = dict(getattr(own, "signals", {}))  # type: ignore[misc]

    def start(self, trials: int) -> Array:
        """Return the state at time zero."""
        begin = getattr(self.own, "start", None)
        return np.zeros((trials, 0)) if begin is None else np.asarray(begin(trials), float)

    def act(self, command: Array, state: Array, h: Array) -> tuple[Array, Array]:
        """Return the load over h, and the state after it."""
        return self.own.apply(command, state, h)

    def share(self, wrench_B: Array) -> Array:
        """Return the command for a wanted wrench, or torque."""
        return self.own.share(wrench_B)

    def observe(self, command: Array, state: Array) -> Mapping[str, Array]:
        """Return the values of its signals."""
        watch = getattr(self.own, "observe", None)
        return {} if watch is None else watch(command, state)


class OwnActuator(OwnPart, ActuatorPart):
    """An actuator of your own: a class with apply(command, state, h) -> (load, state) and share(wrench) -> command.

    The load is a torque (trials, 3) or a wrench (trials, 6) on the body; `share` is what flight software uses to turn
    a wanted wrench into a command. `start(trials)` gives the state, if it has one.
    """

    kind: Literal["own"] = "own"
    size: Annotated[int, Field(ge=1, le=1000)] = 3
    """How many numbers a command has."""

    def truth(self, name: str, draws: Draws) -> OwnEffector:
        """Return the actuator of each trial; the class is given draws and trials if it asks for them."""
        return OwnEffector(self.made(draws=draws, trials=len(draws.trials)), self.size)

    def belief(self) -> OwnEffector:
        """Return the actuator as flight software knows it: the same class."""
        return OwnEffector(self.made(draws=None, trials=1), self.size)
