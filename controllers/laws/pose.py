"""Tracking of poses as a part of a mission."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import Field

from gnc.config import Positive
from gnc.controllers.laws.base import Demand, LawPart
from gnc.controllers.pose import PoseTracking
from gnc.models.craft.ports import together
from gnc.models.known import Known


class PosePart(LawPart):
    """Dual-quaternion tracking of a pose."""

    kind: Literal["pose"] = "pose"
    demand: ClassVar[Demand] = "wrench"
    frequency_rad_s: Positive = 0.3
    """Natural frequency of a small error."""
    damping: Annotated[float, Field(gt=0, lt=1)] = 0.8
    docked: tuple[str, ...] = ()
    """Other craft that are docked to the own one: the law is tuned to all of them as one body."""

    def build(self, known: Known) -> PoseTracking:
        """Return the law."""
        return PoseTracking.tuned(together(known, self.docked), self.frequency_rad_s, self.damping)
