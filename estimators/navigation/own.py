"""A filter of the user's own."""

from __future__ import annotations

from typing import Any, Literal

from gnc.config import NonNegative
from gnc.estimators.navigation.attitude import AttitudeKnowledge, started
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
        given = known, start, truth, reference
        return started(filter_, self.start, given, {}, ungated_s=self.ungated_s)
