"""What every kind of orbit gives a mission."""

from __future__ import annotations

from typing import Any, ClassVar

from gnc.models.environment import EnvironmentTable
from gnc.models.environment.constants import EARTH_J2
from gnc.models.environment.falling import FreeFall, Tide
from gnc.models.environment.sky import FreeSpace, Sky
from gnc.parts import Part

KNOTS_S = 60.0  # a table may ask for so much beyond the flight


class OrbitPart(Part):
    """An orbit about the Earth; the field is that of IGRF-14, the shadow a cone."""

    slot: ClassVar[str] = "orbit"
    linear: ClassVar[bool] = False  # whether craft beside it move in Hill's linear field

    def path(self) -> Any:
        """Return what tells position and velocity at a time; None: there is no orbit."""
        raise NotImplementedError

    def sky(self, h: float, duration_s: float, falling: bool = False) -> Sky | FreeSpace:
        """Tabulate the environment of a flight; where craft are `falling`, along a free fall from its begin."""
        path = self.path()
        if path is None:
            return FreeSpace()
        J2 = EARTH_J2 if getattr(self, "J2", True) else 0.0
        if falling:
            path = FreeFall(path, duration_s + KNOTS_S, J2)
        table = EnvironmentTable.along(path, duration_s + h)
        return Sky.along(table, h, duration_s, path.epoch, Tide(J2, self.linear) if falling else None)
