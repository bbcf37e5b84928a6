"""Tracking of poses as a part of a mission."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field

from gnc import dual_quaternion, spatial
from gnc.config import Positive
from gnc.controllers.laws.base import Demand, LawPart
from gnc.controllers.pose import PoseTracking
from gnc.models.craft.ports import docked, other
from gnc.models.known import Known

Array = Any


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


def together(known: Known, names: tuple[str, ...]) -> Array:
    """Return the inertia (6, 6) about the own origin of the own craft with others docked to it, as believed."""
    M = known.M
    for name in names:
        nominal = other(known, name, "law.docked")
        dq_TB = docked(nominal, known.nominal).dq_TB
        M = M + spatial.transform_inertia(dual_quaternion.conj(dq_TB), nominal.M)
    return M
