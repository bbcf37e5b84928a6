"""Drag as a part of a mission."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from gnc.config import NonNegative, Vector3
from gnc.draws import Draws
from gnc.models.environment import Drag, box
from gnc.models.loads.base import LoadPart
from gnc.quaternion import inverse_rotate
from gnc.typing import Array


class TabulatedDrag(Drag):
    """Drag in surroundings that tell the air's density and velocity themselves."""

    def _flow(self, q_IB: Array, env: Any) -> tuple[Array, Array]:
        strength = (0.5 * self.coefficient * self.density_factor) * env.density
        return inverse_rotate(q_IB, env.air_I), strength


class DragLoad(LoadPart):
    """Free-molecular drag of the air on a box; flight software does not know it."""

    kind: Literal["drag"] = "drag"
    size_m: Vector3 = (0.2, 0.2, 0.3)
    """Edges of the box."""
    pressure_centre_m: Vector3 = (0.005, 0.0, 0.01)
    """Centre of the box from the centre of mass: the lever of the drag."""
    coefficient: NonNegative = 2.2
    density_factor: NonNegative = 1.0
    """On the density of the atmosphere."""

    def truth(self, name: str, J: Any, draws: Draws) -> TabulatedDrag:
        """Return the load."""
        plates = box(np.array(self.size_m), np.array(self.pressure_centre_m))
        return TabulatedDrag(plates, self.coefficient, self.density_factor)
