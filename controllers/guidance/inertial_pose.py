"""A pose that is fixed in inertial space, as a part of a mission."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Literal

import numpy as np

from gnc import dual_quaternion
from gnc.batch import batched
from gnc.config import Quaternion, Vector3
from gnc.controllers.guidance.base import GuidancePart, Plan, View
from gnc.controllers.reference import PoseReference
from gnc.history import Signal
from gnc.models.known import Known
from gnc.typing import Array

SIGNALS = {"position_error_m": Signal("m", "true position against the reference, body axes")}


class InertialPosePlan(Plan):
    """One pose, always."""

    wanted: ClassVar[int] = 8
    signals: Mapping[str, Signal] = SIGNALS

    def __init__(self, dq_IR: Array) -> None:
        self.dq_IR = dq_IR

    def at(self, t: Any) -> Any:
        """Return the reference."""
        return PoseReference(self.dq_IR)

    def observe(self, view: View) -> dict[str, Array]:
        """Return how far the craft truly is from there."""
        return {"position_error_m": _off(self.dq_IR, view.truth[view.craft].dq_IB)}


@batched("(8),(8)->(3)")
def _off(dq_from, dq_to):
    """Return the displacement from one pose to another, axes of the second."""
    return -dual_quaternion.to_pose(dual_quaternion.mul(dual_quaternion.conj(dq_to), dq_from))[1]


class InertialPosePart(GuidancePart):
    """A pose that stays as it is in inertial space."""

    kind: Literal["inertial-pose"] = "inertial-pose"
    poses: ClassVar[bool] = True
    hold_m: Vector3 = (0.0, 0.0, 0.0)
    """Place of the body's origin, inertial axes."""
    hold_q: Quaternion = (1.0, 0.0, 0.0, 0.0)
    """Attitude: takes body components to inertial ones."""

    def pose(self) -> Array:
        """Return the pose to hold."""
        return dual_quaternion.from_pose(np.array(self.hold_q), np.array(self.hold_m))

    def build(self, known: Known) -> InertialPosePlan:
        """Return the guidance."""
        return InertialPosePlan(self.pose())
