"""What every kind of orbit gives a mission."""

from __future__ import annotations

from typing import Any, ClassVar

from gnc.models.environment import EnvironmentTable
from gnc.models.environment.sky import FreeSpace, Sky
from gnc.parts import Part


class OrbitPart(Part):
    """An orbit about the Earth; the field is that of IGRF-14, the shadow a cone."""

    slot: ClassVar[str] = "orbit"

    def path(self) -> Any:
        """Return what tells position and velocity at a time; None: there is no orbit."""
        raise NotImplementedError

    def sky(self, h: float, duration_s: float) -> Sky | FreeSpace:
        """Tabulate the environment of a flight."""
        path = self.path()
        if path is None:
            return FreeSpace()
        return Sky.along(EnvironmentTable.along(path, duration_s + h), h, duration_s, path.epoch)
