"""Solar pressure as a part of a mission."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Field

from gnc.draws import Draws, column
from gnc.models.environment import SolarPressure
from gnc.models.loads.base import BoxLoadPart

Fraction = Annotated[float, Field(ge=0, le=1)]


class SolarPressureLoad(BoxLoadPart):
    """Radiation pressure of the Sun on a box; flight software does not know it."""

    kind: Literal["solar-pressure"] = "solar-pressure"
    mirrored: Fraction = 0.3
    """Fraction of the light that is mirrored."""
    scattered: Fraction = 0.2
    """Fraction of the light that is scattered."""

    def truth(self, name: str, J: Any, draws: Draws) -> SolarPressure:
        """Return the load."""
        plates = self.plates()
        shares = (column(x) * np.ones(plates.count) for x in (self.mirrored, self.scattered))
        return SolarPressure(plates, *shares)
