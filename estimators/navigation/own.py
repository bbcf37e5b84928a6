"""A filter of the user's own."""

from __future__ import annotations

from typing import Any, Literal

from gnc.config import NonNegative
from gnc.estimators.navigation.attitude import AttitudeKnowledge, AttitudeNavigation
from gnc.estimators.navigation.base import Navigation, NavigationPart
from gnc.models.known import Known
from gnc.parts import OwnPart


class OwnNavigation(OwnPart, NavigationPart):
    """A filter of your own: a class with start(x, C, rho_B), state, predict and update, as `Mekf` has.

    It is given J, sensors, actuators, sky, h, period_s, trials if its constructor asks for them by these names. Its
    errors are recorded; NEES and sigma too if its belief has the fields q_IB, P_B, C and recoveries.
    """

    kind: Literal["own"] = "own"
    ungated_s: NonNegative = 0.0
    """Until then `update` is called with gated=False."""
    start: AttitudeKnowledge = AttitudeKnowledge()

    def build(self, known: Known, start: Any, truth: Any, reference: Any) -> tuple[Navigation, Any]:
        """Return the filter in the loop and what it believes at time zero."""
        filter_ = self.construct(**known.offered())
        x, C = self.start.belief(known, start, truth, reference)
        belief = filter_.start(x, C, rho_B=known.rho_B(truth))
        fields = {"q_IB", "P_B", "C", "recoveries"}
        return AttitudeNavigation(filter_, known, self.ungated_s, fields <= set(dir(belief))), belief
