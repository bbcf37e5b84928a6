"""Gravity gradient as a part of a mission."""

from __future__ import annotations

from typing import Any, Literal

from gnc.draws import Draws
from gnc.models.environment import GravityGradient
from gnc.models.loads.base import NONE, LoadPart, over_attitudes
from gnc.typing import Array


class GravityGradientLoad(LoadPart):
    """The torque of the Earth's gravity on a body that is not a ball; flight software knows it by its own inertia."""

    kind: Literal["gravity-gradient"] = "gravity-gradient"
    known: bool = True
    """Whether flight software reckons with it."""

    def truth(self, name: str, J: Any, draws: Draws) -> GravityGradient:
        """Return the load by the true inertia."""
        return GravityGradient(J)

    def belief(self, J: Any) -> GravityGradient | None:
        """Return the load by the inertia that flight software believes in."""
        return GravityGradient(J) if self.known else None

    def unsure(self, J: Any, env: Any) -> Array:
        """Return the torque where software does not reckon with it."""
        return NONE if self.known else over_attitudes(GravityGradient(J), env)
