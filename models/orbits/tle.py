"""An orbit by two-line elements."""

from __future__ import annotations

from typing import Literal

from gnc.models.environment.tle import TleOrbit
from gnc.models.orbits.base import OrbitPart


class Tle(OrbitPart):
    """Two-line elements, propagated by SGP4."""

    kind: Literal["tle"] = "tle"
    lines: tuple[str, str]
    """The two lines, with their checksums."""
    epoch: str | None = None
    """UTC of the start, ISO 8601; by default that of the elements."""

    def path(self) -> TleOrbit:
        """Return the orbit."""
        return TleOrbit(self.lines[0].strip(), self.lines[1].strip(), self.epoch)
