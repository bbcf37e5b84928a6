"""An attitude that is fixed in inertial space, as a part of a mission."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from gnc.config import Quaternion
from gnc.controllers.guidance.base import GuidancePart, Plan
from gnc.controllers.reference import AttitudeReference
from gnc.models.known import Known


class InertialPlan(Plan):
    """One attitude, always."""

    def __init__(self, q_IR: Any) -> None:
        self._reference = AttitudeReference(np.asarray(q_IR, float))

    def at(self, t: Any) -> AttitudeReference:
        """Return the reference."""
        return self._reference


class InertialPart(GuidancePart):
    """An attitude that stays as it is in inertial space."""

    kind: Literal["inertial"] = "inertial"
    q_IR: Quaternion = (1.0, 0.0, 0.0, 0.0)
    """The attitude: takes reference components to inertial ones."""

    def build(self, known: Known) -> InertialPlan:
        """Return the guidance."""
        return InertialPlan(self.q_IR)
