"""Drag as a part of a mission."""

from __future__ import annotations

from typing import Any, Literal

from gnc.config import NonNegative
from gnc.draws import Draws
from gnc.models.environment import Drag
from gnc.models.loads.base import BoxLoadPart
from gnc.quaternion import inverse_rotate
from gnc.typing import Array


class TabulatedDrag(Drag):
    """Drag in surroundings that tell the air's density and velocity themselves."""

    def _flow(self, q_IB: Array, env: Any) -> tuple[Array, Array]:
        strength = (0.5 * self.coefficient * self.density_factor) * env.density
        return inverse_rotate(q_IB, env.air_I), strength


class DragLoad(BoxLoadPart):
    """Free-molecular drag of the air on a box; flight software does not know it."""

    kind: Literal["drag"] = "drag"
    coefficient: NonNegative = 2.2
    density_factor: NonNegative = 1.0
    """On the density of the atmosphere."""

    def truth(self, name: str, J: Any, draws: Draws) -> TabulatedDrag:
        """Return the load."""
        return TabulatedDrag(self.plates(), self.coefficient, self.density_factor)
