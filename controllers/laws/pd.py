"""PD+ attitude tracking as a part of a mission."""

from __future__ import annotations

from typing import Literal

from gnc.config import Positive
from gnc.controllers.attitude import AttitudeController
from gnc.controllers.laws.base import LawPart
from gnc.models.known import Known


class PdPart(LawPart):
    """PD+ attitude tracking."""

    kind: Literal["pd"] = "pd"
    frequency_rad_s: Positive | None = None
    """Natural frequency of a small error; by default the lesser of 0.1 and 0.3 per control interval."""
    damping: Positive = 0.8

    def build(self, known: Known) -> AttitudeController:
        """Return the law."""
        frequency = min(0.1, 0.3 / known.control_s) if self.frequency_rad_s is None else self.frequency_rad_s
        return AttitudeController.tuned(known.J, frequency, self.damping)
