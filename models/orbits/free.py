"""No orbit at all."""

from __future__ import annotations

from typing import Literal

from gnc.models.orbits.base import OrbitPart


class Free(OrbitPart):
    """Free space: no Earth, no field, no Sun in sight."""

    kind: Literal["free"] = "free"

    def path(self) -> None:
        """Return nothing."""
        return
