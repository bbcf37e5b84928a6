"""Navigation of a chaser that must find itself: a filter of the own craft beside that of the target.

Own attitude and rate come from tracker and gyro, own place and velocity from known thrust and gravity, and from GNSS
if there is a receiver. Relative sensors are read from where the chaser believes to be, so that an error of its own
place moves target and chaser alike, and does no harm: what counts is one against the other, and that is what
`knowledge_error_m` tells. Therefore a correction of the own place, by GNSS, moves the target too. What accelerates the
chaser unknown to it looks like a force on the target: the target's `force_psd_N2s` covers that by default.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from gnc import dual_quaternion, quaternion
from gnc.batch import batched
from gnc.estimators.navigation.base import PoseEstimate
from gnc.estimators.navigation.free_body import TargetBelief, TargetNavigation
from gnc.estimators.navigation.pose import PoseNavigation
from gnc.estimators.pose_belief import PoseBelief
from gnc.history import Signal
from gnc.models.craft.base import Report
from gnc.models.pose_body import PoseState
from gnc.models.sensors.interface import Sighting
from gnc.typing import Array


class PairBelief(NamedTuple):
    """What a chaser believes of itself and of its target."""

    own: PoseBelief
    target: TargetBelief


@dataclass(frozen=True, eq=False)
class ChaserNavigation:
    """Two filters, each with its sensors."""

    own: PoseNavigation
    target: TargetNavigation
    craft: str  # the own one
    of: str  # the target

    @property
    def signals(self) -> Mapping[str, Signal]:
        """What is told of the target against the chaser, and of the chaser against inertial space."""
        own = {f"own_{name}": s._replace(about=f"chaser: {s.about}", sigma="") for name, s in self.own.signals.items()}
        return {**self.target.signals, **own}

    def predict(self, belief: PairBelief, command: tuple[Array, ...], report: Report, t: Any, h: Any) -> PairBelief:
        """Move both over h."""
        own = self.own.predict(belief.own, command, report, t, h)
        return PairBelief(own, self.target.predict(belief.target, command, report, t, h))

    def update(self, belief: PairBelief, name: str, measurement: Any, t: Any) -> tuple[PairBelief, Any]:
        """Correct the target where it was seen, else the chaser, and take the target along."""
        if isinstance(measurement, Sighting):
            seen = measurement._replace(observer=self.own.filter.state(belief.own))
            target, made = self.target.update(belief.target, name, seen, t)
            return belief._replace(target=target), made
        own, made = self.own.update(belief.own, name, measurement, t)
        last, now = belief.target.last, belief.target.now
        moved = belief.own.dq_IB, belief.own.chi_B, own.dq_IB, own.chi_B
        dq_IB, chi_B = taken_along(*moved, last.dq_IB, last.chi_B)
        target = TargetBelief(
            last._replace(dq_IB=dq_IB, chi_B=chi_B),
            belief.target.age,
            PoseState(*taken_along(*moved, now.dq_IB, now.chi_B)),
        )
        return PairBelief(own, target), made

    def estimate(self, belief: PairBelief, report: Report) -> PoseEstimate:
        """Return the own craft and the target, both as they are believed to be."""
        return self.own.estimate(belief.own, report)._replace(target=belief.target.now)

    def observe(self, belief: PairBelief, truth: Mapping[str, Any], t: float) -> Mapping[str, Array]:
        """Return the errors of the target as the chaser sees it, and those of the chaser."""
        chaser, target = truth[self.craft], truth[self.of]
        wrong = chaser.dq_IB, chaser.chi_B, belief.own.dq_IB, belief.own.chi_B
        dq_IT, chi_T = taken_along(*wrong, target.dq_IB, target.chi_B)  # where it would have to believe it to be
        values = self.target.observe(belief.target, target._replace(dq_IB=dq_IT, chi_B=chi_T), t)
        own = self.own.observe(belief.own, chaser, t)
        return {**values, **{f"own_{name}": value for name, value in own.items()}}


@batched("(8),(6),(8),(6),(8),(6)->(8),(6)")
def taken_along(dq_before, chi_before, dq_after, chi_after, dq_IT, chi_T):
    """Return a target moved by the difference in place and velocity between two states of the chaser."""
    (q_0, r_0), (q_1, r_1) = dual_quaternion.to_pose(dq_before), dual_quaternion.to_pose(dq_after)
    dv_I = quaternion.rotate(q_1, chi_after[3:]) - quaternion.rotate(q_0, chi_before[3:])
    q, r = dual_quaternion.to_pose(dq_IT)
    v_T = chi_T[3:] + quaternion.inverse_rotate(q, dv_I)
    return dual_quaternion.from_pose(q, r + (r_1 - r_0)), np.concatenate([chi_T[:3], v_T])
