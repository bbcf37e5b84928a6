"""A law of the user's own."""

from __future__ import annotations

from typing import Literal

from gnc.controllers.laws.base import Law, LawPart
from gnc.models.known import Known
from gnc.parts import OwnPart


class OwnLaw(OwnPart, LawPart):
    """A law of your own: a class with command(estimate, reference, memory) -> (demand, memory), perhaps start(shape).

    The demand is a torque (trials, 3) or a wrench (trials, 6), body axes, or a dipole if the class says
    demand = "dipole". If it says guided = False, it needs no guidance and its reference is None. It is given J,
    sensors, actuators, sky, h, period_s, trials if its constructor asks for them by these names.
    """

    kind: Literal["own"] = "own"

    def build(self, known: Known) -> Law:
        """Return the law."""
        return self.made(**known.offered())
