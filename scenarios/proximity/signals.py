"""What is recorded of a rendezvous, with units."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from gnc import dual_quaternion, quaternion
from gnc.batch import batched, maximum
from gnc.controllers.approach import PHASES, Approach
from gnc.estimators import consistency
from gnc.history import Signal
from gnc.linalg import array
from gnc.loop import Moment
from gnc.scenarios.proximity.navigation import TargetNavigation
from gnc.scenarios.proximity.truth import PairState, books

Array = Any
THRUSTERS = ("thruster", tuple(f"{sign}{axis}{k}" for axis in "xyz" for sign in "+-" for k in "12"))
WRENCH = ("load", ("torque x", "torque y", "torque z", "force x", "force y", "force z"))

SIGNALS = {
    "q_IB": Signal("1", "true attitude of the chaser, scalar first"),
    "r_IB_m": Signal("m", "true position of the chaser, inertial axes"),
    "q_IT": Signal("1", "true attitude of the target, scalar first"),
    "r_IT_m": Signal("m", "true position of the target's port, inertial axes"),
    "r_TB_m": Signal("m", "true position of the chaser in the frame of the target's port"),
    "phase": Signal("1", f"phase of the approach, from 0: {', '.join(PHASES)}, docked"),
    "in_corridor": Signal("1", "1 where the chaser's port is truly inside the corridor"),
    "position_error_m": Signal("m", "true position of the chaser's port from the wanted one, target axes"),
    "attitude_error_deg": Signal("deg", "true attitude from the wanted one against the target, chaser axes"),
    "knowledge_error_m": Signal("m", "true position of the target's port minus its estimate, target axes"),
    "knowledge_error_deg": Signal("deg", "true attitude of the target against its estimate, target axes"),
    "sigma_m": Signal("m", "what the filter believes of its position error, one sigma, target axes"),
    "sigma_deg": Signal("deg", "what the filter believes of its attitude error, one sigma, target axes"),
    "rate_error_deg_s": Signal("deg/s", "true rate of the target minus its estimate, target axes"),
    "nees": Signal("1", "normalised error of pose and twist, over its 12 dimensions"),
    "recoveries": Signal("1", "how often the filter has recovered from refusals in a row"),
    "wrench": Signal("N m, N", "load of the thrusters on the chaser about its centre of mass, body axes", WRENCH),
    "thruster_on": Signal("1", "fraction of the time that each thruster is on", THRUSTERS),
    "delta_v_m_s": Signal("m/s", "impulse of all thrusters so far over the chaser's mass"),
    "momentum_gap": Signal("1", "momentum less start and impulses, over the largest momentum that could be involved"),
    "energy_gap": Signal("1", "kinetic energy less start and work, over the largest energy that could be involved"),
}
JUDGED = frozenset(
    {
        *("phase", "in_corridor", "position_error_m", "attitude_error_deg", "knowledge_error_m", "knowledge_error_deg"),
        *("nees", "recoveries", "delta_v_m_s", "momentum_gap", "energy_gap"),
    }
)


@dataclass(frozen=True)
class Observer:
    """Turns a moment into signals."""

    start: PairState
    navigation: TargetNavigation
    guidance: Approach
    mass_kg: float

    def __call__(self, moment: Moment) -> Mapping[str, Any]:
        """Return the values of all signals."""
        x, command = moment.truth, moment.command
        q_IB, r_IB = dual_quaternion.to_pose(x.chaser.dq_IB)
        q_IT, r_IT = dual_quaternion.to_pose(x.target.dq_IB)
        dq_TB, r_TB, position, turn = _errors(
            x.chaser.dq_IB, x.target.dq_IB, moment.belief.now.dq_IB, command.dq_IR, self.guidance.dq_TB
        )
        return {
            **{"q_IB": q_IB, "r_IB_m": r_IB, "q_IT": q_IT, "r_IT_m": r_IT, "r_TB_m": r_TB},
            "phase": command.phase,
            "in_corridor": self.guidance.in_corridor(dq_TB),
            "position_error_m": _free(x) * position,
            "attitude_error_deg": _free(x) * np.degrees(turn),
            "wrench": x.wrench_B,
            "thruster_on": command.on,
            "delta_v_m_s": _sum(x.thrusters) / self.mass_kg,
            **self._knowledge(moment),
            **self._books(x),
        }

    def _knowledge(self, moment: Moment) -> Mapping[str, Any]:
        """Return what the filter knows of the target, while that is free."""
        target, belief = moment.truth.target, self.navigation.carried(moment.belief)
        error, move, turn = _deviation(belief.dq_IB, belief.chi_B, target.dq_IB, target.chi_B)
        C = belief.C[..., :12, :12]
        sigma, free = _sigmas(C), _free(moment.truth)
        return {
            "knowledge_error_m": free * move,
            "knowledge_error_deg": free * np.degrees(turn),
            "sigma_m": free * sigma[..., 3:],
            "sigma_deg": free * np.degrees(sigma[..., :3]),
            "rate_error_deg_s": free * np.degrees(error[..., 6:9]),
            "nees": free[..., 0] * consistency.nees(error, C) / 12.0,
            "recoveries": belief.recoveries,
        }

    def _books(self, x: PairState) -> Mapping[str, Any]:
        momentum, energy, impulse, work = books(x)
        momentum_0, energy_0, _, _ = books(self.start)
        gap = _momentum_gap(momentum, momentum_0, impulse)
        return {"momentum_gap": gap, "energy_gap": _energy_gap(energy, energy_0, work)}


def _free(x: PairState) -> Array:
    """Return 1 (trials, 1) while the target is free, then NaN: it is neither approached nor estimated any more."""
    return np.where(x.docked > 0.0, np.nan, 1.0)[..., None]


@batched("(8),(8),(8),(8),(8)->(8),(3),(3),(3)")
def _errors(dq_IB, dq_IT, dq_believed, dq_IR, dq_docked):
    """Return the chaser in the target's frame, its position there, and its port's deviation from the wanted pose."""
    back = dual_quaternion.conj
    dq_TB, dq_TR = dual_quaternion.mul(back(dq_IT), dq_IB), dual_quaternion.mul(back(dq_believed), dq_IR)
    port, wanted = (dual_quaternion.to_pose(dual_quaternion.mul(dq, back(dq_docked))) for dq in (dq_TB, dq_TR))
    q_TB, r_TB = dual_quaternion.to_pose(dq_TB)
    turn = quaternion.log(quaternion.mul(quaternion.conj(dq_TR[:4]), q_TB))
    return dq_TB, r_TB, port[1] - wanted[1], turn


@batched("(8),(6),(8),(6)->(12),(3),(3)")
def _deviation(dq_believed, chi_believed, dq_IT, chi_T):
    """Return the filter's error (dxi, dchi), and as a displacement in target axes and a rotation vector."""
    between = dual_quaternion.mul(dual_quaternion.conj(dq_believed), dq_IT)
    error = np.concatenate([dual_quaternion.log(between), chi_T - chi_believed])
    q, r = dual_quaternion.to_pose(between)
    return error, quaternion.inverse_rotate(q, r), error[:3]


@batched("(12,12)->(6)")
def _sigmas(C):
    return np.sqrt(array([C[i, i] for i in range(6)]))


@batched("(12)->()")
def _sum(x):
    return sum(x[1:], x[0])


def _size(v):
    return np.sqrt(v @ v)


@batched("(6),(6),(6)->()")
def _momentum_gap(now, start, impulse):
    """Return the larger of the gaps of angular and linear momentum, each over |now| + |start| + |impulse|."""
    gap = now - start - impulse
    parts = []
    for part in (slice(3), slice(3, 6)):
        scale = _size(now[part]) + _size(start[part]) + _size(impulse[part])
        parts.append(_size(gap[part]) / scale)
    return maximum(*parts)


@batched("(),(),()->()")
def _energy_gap(now, start, work):
    """Return |now - start - work| over now + start + |work|."""
    return abs(now - start - work) / (now + start + abs(work))
