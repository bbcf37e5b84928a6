"""Standing along gravity, as a part of a mission."""

from __future__ import annotations

from typing import Any, Literal

from gnc.controllers.guidance.base import GuidancePart
from gnc.controllers.reference import AttitudeReference
from gnc.errors import InputError
from gnc.models.craft.base import Report
from gnc.models.known import Known


class UprightGuidance:
    """The attitude that stands along the vertical, which the craft tells."""

    def start(self, estimate: Any, report: Report) -> tuple[()]:
        """Return no memory."""
        return ()

    def first(self, report: Report) -> AttitudeReference:
        """Return the reference of the start."""
        if report.q_IU is None:
            raise InputError('guidance = "upright": the craft knows no vertical; kind = "contact" does')
        return AttitudeReference(report.q_IU)

    def guide(self, t: Any, estimate: Any, report: Report, memory: Any) -> tuple[AttitudeReference, Any]:
        """Return the reference."""
        return AttitudeReference(report.q_IU), memory


class UprightPart(GuidancePart):
    """The attitude that stands along gravity, of a craft that lands; the vertical counts as known."""

    kind: Literal["upright"] = "upright"

    def build(self, known: Known) -> UprightGuidance:
        """Return the guidance."""
        return UprightGuidance()
