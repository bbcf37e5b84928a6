"""Sliding mode as a part of a mission."""

from __future__ import annotations

from typing import Literal

import numpy as np

from gnc.config import Positive
from gnc.controllers.laws.base import LawPart
from gnc.controllers.sliding_mode import SlidingMode
from gnc.models.known import Known


class SlidingModePart(LawPart):
    """Attitude tracking by sliding mode with a boundary layer: bounded torques that nobody knows do little."""

    kind: Literal["sliding-mode"] = "sliding-mode"
    slope_per_s: Positive | None = None
    """Rate per half angle on the surface; by default the lesser of 0.1 and 0.2 per control interval."""
    reach_deg_s2: Positive = 0.05
    """Acceleration towards the surface: more than what disturbs, less than what actuators make."""
    layer_deg_s: Positive = 0.5
    """Of s = w + slope e, within which the push is proportional; reach/layer times the interval is well below 1."""

    def build(self, known: Known) -> SlidingMode:
        """Return the law."""
        slope = min(0.1, 0.2 / known.control_s) if self.slope_per_s is None else self.slope_per_s
        reach, layer = np.radians(self.reach_deg_s2), np.radians(self.layer_deg_s)
        return SlidingMode(J=known.J, slope=slope, reach=reach, layer=layer)
