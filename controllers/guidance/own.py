"""Guidance of the user's own."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from gnc.controllers.guidance.base import Guidance, GuidancePart, Plan
from gnc.controllers.reference import AttitudeReference
from gnc.models.known import Known
from gnc.parts import OwnPart


class _OwnPlan(Plan):
    """A user's function of time."""

    def __init__(self, own: Any) -> None:
        self.own = own
        self.wanted = int(np.shape(self.at(0.0)[0])[-1])
        for name in ("signals", "observe", "load_B"):  # what guidance may have beside
            if hasattr(own, name):
                setattr(self, name, getattr(own, name))

    def at(self, t: Any) -> Any:
        """Return the reference; a plain tuple counts as attitude, rate and acceleration."""
        reference = self.own.at(t)
        return reference if hasattr(reference, "_fields") else AttitudeReference(*reference)


class OwnGuidance(OwnPart, GuidancePart):
    """Guidance of your own: a class with at(t) -> AttitudeReference or PoseReference, or with start and guide.

    It is given J, sensors, actuators, sky, h, period_s, trials if its constructor asks for them by these names.
    """

    kind: Literal["own"] = "own"

    def build(self, known: Known) -> Guidance:
        """Return the guidance."""
        own = self.made(**known.offered())
        return own if hasattr(own, "guide") else _OwnPlan(own)
