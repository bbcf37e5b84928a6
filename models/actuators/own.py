"""An actuator of the user's own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Field

from gnc.draws import Draws
from gnc.models.actuators.effector import ActuatorPart, Effector
from gnc.parts import OwnPart

Array = Any


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
