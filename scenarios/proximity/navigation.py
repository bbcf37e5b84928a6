"""The pose filter of the target as the loop's navigation.

The loop asks for the belief at every command, ten times a second, but the target flies freely and the filter shall take
one step from measurement to measurement. So the belief stays where the last measurement left it, and beside it is the
mean, moved by the filter's own method from there to now.

Outliers that an open gate lets in at the start can leave a rate so wrong that the filter's own recovery never finds
back. A free body keeps its momentum: where the filter has refused several measurements in a row and its momentum is no
longer one that was possible before the flight, it begins anew, at the pose that is measured, with that momentum.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from gnc import dual_quaternion, quaternion, spatial
from gnc.batch import batched
from gnc.estimators.dqekf import DqEkf
from gnc.estimators.kalman import Innovation
from gnc.estimators.pose_belief import PoseBelief
from gnc.events import chosen
from gnc.linalg import array, solve3
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


class Prior(NamedTuple):
    """What was known before the flight."""

    L_I: Array  # (trials, 3) angular momentum about the centre of mass, inertial axes
    p_I: Array  # (trials, 3) linear momentum
    C: Array  # (12, 12) covariance of the first estimate
    possible: Array  # (2) by how much rate and velocity may be off that momentum [rad/s, m/s]


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
    prior: Prior

    def start(self, belief: PoseBelief) -> TargetBelief:
        """Return the belief at time zero."""
        return TargetBelief(belief, np.zeros(()), self.dqekf.state(belief))

    def predict(self, belief: TargetBelief, command: Command, report: Report, t: float, h: float) -> TargetBelief:
        """Move over h; whatever the chaser does, the target does not care."""
        last, age = belief.last, belief.age + h
        return TargetBelief(last, age, self.move(self.dqekf.state(last), self.dqekf.inertia(last), age))

    def update(self, belief: TargetBelief, name: str, seen: Seen, t: float) -> tuple[TargetBelief, Innovation]:
        """Correct with a measurement."""
        carried, gated = self.carried(belief), t >= self.ungated_s
        last, made = self.dqekf.update(carried, self.sensor, seen.measurement, seen.chaser, gated)
        refused = last.recoveries > carried.recoveries
        if refused.any():
            anew = self._begun(carried, seen)._replace(recoveries=last.recoveries)
            last = chosen(refused & self._strayed(carried), anew, last)
        return self.start(last), made

    def _strayed(self, belief: PoseBelief) -> Array:
        """Tell where the momentum is none that was possible before the flight."""
        known = self.prior
        off = _astray(belief.dq_IB, belief.chi_B, self.dqekf.inertia(belief), known.L_I, known.p_I)
        return ~(off <= known.possible).all(axis=-1)

    def _begun(self, belief: PoseBelief, seen: Seen) -> PoseBelief:
        """Return the belief of a filter that begins anew, but for what it knows of the extra states."""
        known, M = self.prior, self.dqekf.inertia(belief)
        x = _placed(seen.chaser.dq_IB, seen.measurement.z, known.L_I, known.p_I, M)
        return self.dqekf.start(PoseState(*x), known.C, belief.extras, belief.C[..., 12:, 12:])

    def carried(self, belief: TargetBelief) -> PoseBelief:
        """Return the belief of now, with its covariance."""
        return self.dqekf.predict(belief.last, None, belief.age) if belief.age > 0.0 else belief.last


def _twist(q_IT, L_I, p_I, M):
    """Return the twist of the centre of mass, body axes, that momentum makes of an attitude."""
    m, _, J = spatial.parts(M)
    w_T = solve3(J, quaternion.inverse_rotate(q_IT, L_I))
    return np.concatenate([w_T, quaternion.inverse_rotate(q_IT, p_I / m)])


@batched("(8),(8),(3),(3),(6,6)->(8),(6)")
def _placed(dq_IB, z, L_I, p_I, M):
    """Return the target's pose as it is seen from the chaser, and the twist that its momentum makes of it."""
    dq_IT = dual_quaternion.mul(dq_IB, z)
    return dq_IT, spatial.shift_twist(_twist(dq_IT[:4], L_I, p_I, M), -spatial.parts(M)[1])


@batched("(8),(6),(6,6),(3),(3)->(2)")
def _astray(dq_IT, chi_T, M, L_I, p_I):
    """Return by how much rate and velocity of the centre of mass are off those of a momentum."""
    off = spatial.shift_twist(chi_T, spatial.parts(M)[1]) - _twist(dq_IT[:4], L_I, p_I, M)
    return np.sqrt(array([off[:3] @ off[:3], off[3:] @ off[3:]]))
