"""A filter of the user's own."""

from __future__ import annotations

from typing import Any, Literal

from gnc.config import NonNegative
from gnc.estimators.navigation.attitude import AttitudeKnowledge, started
from gnc.estimators.navigation.base import Navigation, NavigationPart
from gnc.estimators.navigation.pose import PoseKnowledge, PoseNavigation
from gnc.models.known import Known, other
from gnc.parts import OwnPart


class OwnNavigation(OwnPart, NavigationPart):
    """A filter of your own: a class with start(x, C, rho_B), state, predict and update, as `Mekf` has.

    Where the craft moves too, or the filter is `of` another craft: start(x, C), as `DqEkf` has; another craft flies
    freely, predict is given no wrench, and update the own craft's state in place of the environment.

    It is given J, sensors, actuators, sky, h, period_s, trials if its constructor asks for them by these names. Its
    errors are recorded; NEES and sigma too if its belief has the fields q_IB, P_B, C and recoveries.
    """

    kind: Literal["own"] = "own"
    ungated_s: NonNegative = 0.0
    """Until then `update` is called with gated=False."""
    start: AttitudeKnowledge = AttitudeKnowledge()
    start_pose: PoseKnowledge = PoseKnowledge()
    """In place of `start` where the craft moves too."""

    def build(self, known: Known, start: Any, truth: Any, reference: Any) -> tuple[Navigation, Any]:
        """Return the filter in the loop and what it believes at time zero."""
        if known.nominal.M is not None or self.of:
            return self._of_poses(known, truth, reference)
        filter_ = self.made(**known.offered())
        given = known, start, truth, reference
        return started(filter_, self.start, given, {}, ungated_s=self.ungated_s)

    def _of_poses(self, known: Known, truth: Any, reference: Any) -> tuple[Navigation, Any]:
        """Return a filter of poses; J and M are those of the craft that it is of."""
        nominal = other(known, self.of, "of") if self.of else known.nominal
        filter_ = self.made(**known.offered() | {"J": nominal.J, "M": nominal.M})
        belief = filter_.start(*self.start_pose.draw(known.draws, truth[self.of] if self.of else truth, reference))
        whole = {"C", "recoveries"} <= set(getattr(belief, "_fields", ()))
        return PoseNavigation(filter_, known, self.of, self.ungated_s, whole, known.planned), belief
