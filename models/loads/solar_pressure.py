"""Solar pressure as a part of a mission."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Field

from gnc.config import Vector3
from gnc.draws import Draws
from gnc.models.environment import SolarPressure, box
from gnc.models.loads.base import LoadPart

Fraction = Annotated[float, Field(ge=0, le=1)]


class SolarPressureLoad(LoadPart):
    """Radiation pressure of the Sun on a box; flight software does not know it."""

    kind: Literal["solar-pressure"] = "solar-pressure"
    size_m: Vector3 = (0.2, 0.2, 0.3)
    """Edges of the box."""
    pressure_centre_m: Vector3 = (0.005, 0.0, 0.01)
    """Centre of the box from the centre of mass: the lever of the pressure."""
    mirrored: Fraction = 0.3
    """Fraction of the light that is mirrored."""
    scattered: Fraction = 0.2
    """Fraction of the light that is scattered."""

    def truth(self, name: str, J: Any, draws: Draws) -> SolarPressure:
        """Return the load."""
        plates = box(np.array(self.size_m), np.array(self.pressure_centre_m))
        return SolarPressure(plates, self.mirrored, self.scattered)
