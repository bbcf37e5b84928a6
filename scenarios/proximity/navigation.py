"""The pose filter of the target as the loop's navigation.

The loop asks for the belief at every command, ten times a second, but the target flies freely and the filter shall take
one step from measurement to measurement. So the belief stays where the last measurement left it, and beside it is the
mean, moved by the filter's own method from there to now.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from gnc.estimators.dqekf import DqEkf
from gnc.estimators.kalman import Innovation
from gnc.estimators.pose_belief import PoseBelief
from gnc.models.pose_body import PoseState
from gnc.models.sensors import RelativePose
from gnc.models.sensors.interface import Measurement
from gnc.scenarios.proximity.truth import Command, PairState, Report

Array = Any
Move = Callable[[PoseState, Array, Array], PoseState]  # (state, inertia, h)


class TargetBelief(NamedTuple):
    """What is believed of the target."""

    last: PoseBelief  # after the last measurement
    age: Array  # () time since then [s]
    now: PoseState  # the mean, moved over that time


class Seen(NamedTuple):
    """A measurement, and from where it was taken: the chaser knows its own pose."""

    measurement: Measurement
    chaser: Report


@dataclass(frozen=True, eq=False)
class Camera:
    """The sensor in the loop; it sees nothing of a target that is docked."""

    sensor: RelativePose

    def measure(self, x: PairState, t: float, noise: Array) -> Seen:
        """Measure the target from the chaser."""
        z, valid = self.sensor.measure(x.target, x.chaser, noise)
        return Seen(Measurement(z, valid & (x.docked == 0.0)), Report(x.chaser.dq_IB, x.chaser.chi_B, x.docked))


@dataclass(frozen=True, eq=False)
class TargetNavigation:
    """A filter that knows the target to fly freely, and the chaser's pose."""

    dqekf: DqEkf
    sensor: RelativePose  # as the filter believes it to be
    move: Move  # the mean, by the filter's method
    ungated_s: float  # all measurements before this time are let in

    def start(self, belief: PoseBelief) -> TargetBelief:
        """Return the belief at time zero."""
        return TargetBelief(belief, np.zeros(()), self.dqekf.state(belief))

    def predict(self, belief: TargetBelief, command: Command, report: Report, t: float, h: float) -> TargetBelief:
        """Move over h; whatever the chaser does, the target does not care."""
        last, age = belief.last, belief.age + h
        return TargetBelief(last, age, self.move(self.dqekf.state(last), self.dqekf.inertia(last), age))

    def update(self, belief: TargetBelief, name: str, seen: Seen, t: float) -> tuple[TargetBelief, Innovation]:
        """Correct with a measurement."""
        gated = t >= self.ungated_s
        last, made = self.dqekf.update(self.carried(belief), self.sensor, seen.measurement, seen.chaser, gated)
        return self.start(last), made

    def carried(self, belief: TargetBelief) -> PoseBelief:
        """Return the belief of now, with its covariance."""
        return self.dqekf.predict(belief.last, None, belief.age) if belief.age > 0.0 else belief.last
