"""Perfect knowledge as a part of a mission: guidance and laws are given the truth."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from gnc.estimators.navigation.base import Estimate, Navigation, NavigationPart, PoseEstimate
from gnc.history import Signal
from gnc.models.craft.base import Report
from gnc.models.known import Known
from gnc.models.sensors.interface import attitude, has_pose, rate
from gnc.typing import Array


class KnownNavigation:
    """Navigation that is told how the craft moves."""

    signals: Mapping[str, Signal] = {}

    def predict(self, belief: Any, command: tuple[Array, ...], report: Report, t: Any, h: Any) -> Any:
        """Leave the belief as it is: it is empty."""
        return belief

    def update(self, belief: Any, name: str, measurement: Any, t: Any) -> tuple[Any, Any]:
        """Leave the belief as it is, whatever is measured."""
        return belief, None

    def estimate(self, belief: Any, report: Report) -> Estimate | PoseEstimate:
        """Return the true attitude and rate, and the true pose and twist where the craft moves."""
        x = report.pose
        known = attitude(x), rate(x), report.rho_B, None, None
        return PoseEstimate(*known, x.dq_IB, x.chi_B) if has_pose(x) else Estimate(*known)

    def observe(self, belief: Any, truth: Any, t: float) -> Mapping[str, Array]:
        """Return nothing: there is no error."""
        return {}


class KnownPart(NavigationPart):
    """Perfect knowledge of the own motion: for the design of laws and guidance, before there is a filter."""

    kind: Literal["known"] = "known"

    def build(self, known: Known, start: Any, truth: Any, reference: Any) -> tuple[Navigation, Any]:
        """Return the navigation, and a belief that is empty."""
        return KnownNavigation(), ()

    @property
    def perfect(self) -> list[str]:
        """What it is told."""
        return ["its own motion, at any time"]
