"""The pose filter of another craft, which flies freely, as the loop's navigation.

The loop asks for the belief at every command, ten times a second, but the target flies freely and the filter shall take
one step from measurement to measurement. So the belief stays where the last measurement left it, and beside it is the
mean of now, moved by the filter's own method from there; or, as that is exact by default, from tick to tick.

Outliers can leave a rate so wrong that the filter's own recovery never finds back. A free body keeps its momentum:
where the filter has refused several measurements in a row and its momentum is no longer one that was possible before
the flight, it begins anew, at the pose that is measured, with that momentum.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeVar

import numpy as np

from gnc import quaternion, spatial
from gnc.batch import batched, sized, when, where
from gnc.estimators.dqekf import DqEkf
from gnc.estimators.kalman import Innovation
from gnc.estimators.navigation import pose
from gnc.estimators.navigation.base import PoseEstimate
from gnc.estimators.pose_belief import PoseBelief
from gnc.events import chosen
from gnc.history import Signal
from gnc.linalg import block, solve3, zeros
from gnc.models.craft.base import Report
from gnc.models.known import centre_I
from gnc.models.pose_body import PoseState
from gnc.models.sensors.interface import Sighting
from gnc.typing import Array

State = TypeVar("State", PoseState, PoseBelief)
Move = Callable[[PoseState, Array, Array], PoseState]  # (state, inertia, h)


class TargetBelief(NamedTuple):
    """What is believed of the target."""

    last: PoseBelief  # after the last measurement
    age: Array  # (trials,) time since then [s]
    now: PoseState  # the mean, moved over that time


class Prior(NamedTuple):
    """What was known before the flight."""

    L_I: Array  # (trials, 3) angular momentum about the centre of mass, inertial axes
    p_I: Array  # (trials, 3) linear momentum
    C: Array  # (12, 12) covariance of the first estimate
    possible: Array  # (2) by how much rate and velocity may be off that momentum [rad/s, m/s]


@dataclass(frozen=True, eq=False)
class TargetNavigation:
    """A filter that knows the target to fly freely, and the pose of the own craft."""

    dqekf: DqEkf
    sensors: Mapping[str, Any]  # as the filter believes them to be
    move: Move  # the mean, by the filter's method
    ungated_s: float  # all measurements before this time are let in
    prior: Prior
    sky: Any = None  # beside whose orbit it falls; None: it flies freely
    from_last: bool = True  # whether the mean of now is moved from the last measurement, or from tick to tick

    @property
    def signals(self) -> Mapping[str, Signal]:
        """What is told of belief and truth, while the target flies freely."""
        return {name: signal._replace(partial=True) for name, signal in pose.signals(covariance=True).items()}

    def start(self, belief: PoseBelief) -> TargetBelief:
        """Return the belief at the time of a measurement."""
        return TargetBelief(belief, 0.0 * belief.idle, self.dqekf.state(belief))

    def predict(self, belief: TargetBelief, command: Any, report: Any, t: Any, h: Any) -> TargetBelief:
        """Move over h; whatever the own craft does, the target does not care."""
        last, age = belief.last, belief.age + h
        x, span = (self.dqekf.state(last), age) if self.from_last else (belief.now, h)
        M = self.dqekf.inertia(last)
        moved = self.move(self._fallen(x, M, span, t + h), M, span)
        return TargetBelief(last, age, self._fallen(moved, M, span, t + h))

    def _fallen(self, x: State, M: Array, span: Any, t: Any) -> State:
        """Return a state or belief with half the velocity that gravity beside the orbit gives in a time."""
        if self.sky is None or self.sky.tide is None:
            return x
        acceleration_I = self.sky.tide.acceleration_I(centre_I(x.dq_IB, M), self.sky.at(t))
        return x._replace(chi_B=_kicked(x.dq_IB, x.chi_B, acceleration_I, 0.5 * span))

    def update(self, belief: TargetBelief, name: str, seen: Sighting, t: Any) -> tuple[TargetBelief, Innovation]:
        """Correct with a measurement."""
        last, made = self.corrected(self.carried(belief, t), self.sensors[name], seen, t >= self.ungated_s)
        return self.start(last), made

    def corrected(self, carried: PoseBelief, sensor: Any, seen: Sighting, gated: Any) -> tuple[PoseBelief, Innovation]:
        """Return a belief of the time of a measurement with that, begun anew where it has strayed."""
        last, made = self.dqekf.update(carried, sensor, seen, seen.observer, gated)
        if hasattr(sensor, "placed"):
            anew = self._begun(carried, sensor.placed(seen.z, seen.observer))._replace(recoveries=last.recoveries)
            last = chosen(self._strayed(carried, last.recoveries) > 0.0, anew, last)
        return last, made

    def _strayed(self, belief: PoseBelief, recoveries: Array) -> Array:
        """Return 1 where the filter has just recovered from a momentum that was not possible before the flight."""
        known = self.prior
        state = belief.dq_IB, belief.chi_B, self.dqekf.inertia(belief)
        return _astray(*state, known.L_I, known.p_I, known.possible, belief.recoveries, recoveries)

    def _begun(self, belief: PoseBelief, dq_IT: Array) -> PoseBelief:
        """Return the belief of a filter that begins anew, but for what it knows of the extra states."""
        chi_T = _turning(dq_IT, self.prior.L_I, self.prior.p_I, self.dqekf.inertia(belief))
        C = _restarted(self.dqekf.size)(belief.C, self.prior.C)
        return belief._replace(dq_IB=dq_IT, chi_B=chi_T, C=C, watch=0.0 * belief.watch)

    def carried(self, belief: TargetBelief, t: Any) -> PoseBelief:
        """Return the belief of now, with its covariance."""
        return when(belief.age > 0.0, self._predicted, (belief.last, belief.age, t), belief.last)

    def _predicted(self, last: PoseBelief, age: Array, t: Any) -> PoseBelief:
        """Return the belief after a time."""
        M = self.dqekf.inertia(last)
        moved = self.dqekf.predict(self._fallen(last, M, age, t), None, age)
        return self._fallen(moved, M, age, t)

    def estimate(self, belief: TargetBelief, report: Report) -> PoseEstimate:
        """Return the own craft as it is known to be, and the target as it is believed to be."""
        own = report.pose
        turn = own.dq_IB[..., :4], own.chi_B[..., :3]
        return PoseEstimate(*turn, report.rho_B, None, None, own.dq_IB, own.chi_B, belief.now)

    def observe(self, belief: TargetBelief, truth: Any, t: float) -> Mapping[str, Array]:
        """Return errors, and what the filter believes of them."""
        carried = self.carried(belief, t)
        values = pose.observed(self.dqekf.state(carried), carried, truth)
        free = {name: chosen(truth.rides > 0.0, np.nan * value, value) for name, value in values.items()}
        return free | {"recoveries": carried.recoveries}


@batched("(8),(6),(3),()->(6)")
def _kicked(dq_IT, chi_T, acceleration_I, h):
    """Return the twist after h at an acceleration of the whole body."""
    return np.concatenate([chi_T[:3], chi_T[3:] + h * quaternion.inverse_rotate(dq_IT[:4], acceleration_I)])


def _twist(q_IT, L_I, p_I, M):
    """Return the twist of the centre of mass, body axes, that momentum makes of an attitude."""
    m, _, J = spatial.parts(M)
    w_T = solve3(J, quaternion.inverse_rotate(q_IT, L_I))
    return np.concatenate([w_T, quaternion.inverse_rotate(q_IT, p_I / m)])


@batched("(8),(3),(3),(6,6)->(6)")
def _turning(dq_IT, L_I, p_I, M):
    """Return the twist of the origin that momentum makes of a pose."""
    return spatial.shift_twist(_twist(dq_IT[:4], L_I, p_I, M), -spatial.parts(M)[1])


@batched("(8),(6),(6,6),(3),(3),(2),(),()->()")
def _astray(dq_IT, chi_T, M, L_I, p_I, possible, before, after):
    """Return 1 where a recovery was due, and rate or velocity of the centre of mass are off those of a momentum."""
    off = spatial.shift_twist(chi_T, spatial.parts(M)[1]) - _twist(dq_IT[:4], L_I, p_I, M)
    near = (np.sqrt(off[:3] @ off[:3]) <= possible[0]) & (np.sqrt(off[3:] @ off[3:]) <= possible[1])
    return where((after > before) & ~near, 1.0, 0.0)


@sized(lambda n: f"({n},{n}),(12,12)->({n},{n})")
def _restarted(C, C_first, *, n):
    """Return C with its first block replaced, and nothing beside it."""
    if n == 12:
        return C_first
    nil = zeros(12, n - 12)
    return block([[C_first, nil], [nil.T, C[12:, 12:]]])
