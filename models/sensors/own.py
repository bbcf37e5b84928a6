"""A sensor of the user's own."""

from __future__ import annotations

from typing import Any, Literal

from gnc.draws import Draws
from gnc.errors import InputError
from gnc.models.sensors.part import ALIGNED, MountedSensorPart
from gnc.parts import OwnPart


class OwnSensor(OwnPart, MountedSensorPart):
    """A sensor of your own: a class with measure(truth, env, noise), predict(x, env), residual, noise_size.

    One that `sees` another craft is given that craft's state as truth, and the own craft's as env.
    """

    kind: Literal["own"] = "own"
    sees: str = ""
    """The craft it looks at, if not the own one."""

    def truth(self, name: str, draws: Draws) -> Any:
        """Return the sensor; the class is given rate_hz, q_BS, draws and trials if it asks for them."""
        if tuple(self.q_BS) != ALIGNED and not self.asks_for("q_BS"):
            raise InputError(f"q_BS: the constructor of {self.component.source} has no such argument; give it one")
        return self.made(rate_hz=self.rate, q_BS=self.q_BS, draws=draws, trials=len(draws.trials))

    def belief(self) -> Any:
        """Return the sensor as flight software knows it: the same class."""
        return self.made(rate_hz=self.rate, q_BS=self.q_BS, draws=None, trials=1)
