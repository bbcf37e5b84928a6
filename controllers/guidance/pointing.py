"""Pointing as a part of a mission."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

from gnc.config import Vector3
from gnc.controllers.guidance.base import GuidancePart, Plan
from gnc.controllers.pointing import Pointing
from gnc.controllers.reference import AttitudeReference
from gnc.models.known import Known

Where = Literal["nadir", "sun", "velocity", "orbit normal"]


class PointingPlan(Plan):
    """The reference of a pointing along the orbit."""

    def __init__(self, pointing: Pointing, sky: Any) -> None:
        self._pointing, self._sky = pointing, sky

    def at(self, t: Any) -> AttitudeReference:
        """Return the reference."""
        return self._pointing.reference(self._sky.at(t))


class PointingPart(GuidancePart):
    """One body axis to a direction, a second as near as can be to another."""

    kind: Literal["pointing"] = "pointing"
    needs_orbit: ClassVar[bool] = True
    axis_B: Vector3 = (0.0, 0.0, 1.0)
    """Body axis that points."""
    at: Where = "nadir"
    roll_axis_B: Vector3 = (0.0, 1.0, 0.0)
    """Body axis that is turned about it."""
    roll: Where = "orbit normal"
    """Where to, as near as can be."""

    def build(self, known: Known) -> PointingPlan:
        """Return the guidance."""
        pointing = Pointing(axis_B=self.axis_B, at=self.at, roll_axis_B=self.roll_axis_B, roll=self.roll)
        return PointingPlan(pointing, known.sky)
