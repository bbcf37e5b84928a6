"""What every kind of load gives a craft."""

from __future__ import annotations

from typing import Any, ClassVar

from gnc.draws import Draws
from gnc.models.environment.disturbances import Disturbance
from gnc.parts import Part


class LoadPart(Part):
    """Something that turns or pushes a craft because of where it is."""

    slot: ClassVar[str] = "load"
    needs_orbit: ClassVar[bool] = True

    def truth(self, name: str, J: Any, draws: Draws) -> Disturbance:
        """Return the load on the craft of each trial, whose inertia is J."""
        raise NotImplementedError

    def belief(self, J: Any) -> Disturbance | None:
        """Return the load as flight software knows it; None: it does not."""
        return None
