"""Capture: two ports that meet inside the envelope of the latches become one body.

The chaser's body becomes that of the stack, about the chaser's origin and in its axes, and the target rides on it. The
relative motion stops at once: linear and angular momentum stay, energy falls (`models.separation.join` says the same of
one trial).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from gnc import dual_quaternion, quaternion, spatial
from gnc.batch import batched, maximum
from gnc.scenarios.proximity import body
from gnc.scenarios.proximity.body import BodyState
from gnc.scenarios.proximity.truth import PairState

Array = Any


@dataclass(frozen=True, eq=False)
class Capture:
    """The latches."""

    dq_TB: Array  # (8) the chaser in the target's frame when docked
    limits: Array  # (4) distance of the ports [m], angle [rad], velocity [m/s], rate [rad/s] up to which they close

    def happens(self, x: PairState, t: float) -> Array:
        """Tell which trials are within the envelope."""
        return (self._misfit(x) <= self.limits).all(axis=-1)

    def act(self, x: PairState, t: float) -> PairState:
        """Join the bodies as they are."""
        M, chi_B, dq_BT = _joined(
            x.chaser.dq_IB, x.chaser.chi_B, x.chaser.M, x.target.dq_IB, x.target.chi_B, x.target.M
        )
        centre = body.about_centre(x.chaser.dq_IB, chi_B, M)
        stack = x.chaser._replace(chi_B=chi_B, M=M, **dict(zip(("q_IB", "P_B", "r_I", "p_I"), centre, strict=True)))
        jump, loss = _account(*(part for b in (x.chaser, x.target, stack) for part in _books(b)))
        met = {"misfit": self._misfit(x), "jump": jump, "loss": loss}
        return x._replace(chaser=stack, docked=np.ones_like(x.docked), dq_BT=dq_BT, **met)

    def _misfit(self, x: PairState) -> Array:
        return misfit(x.chaser.dq_IB, x.chaser.chi_B, x.target.dq_IB, x.target.chi_B, self.dq_TB)


def _books(b: BodyState) -> tuple[Array, Array]:
    return body.momentum(b.q_IB, b.P_B, b.r_I, b.p_I), body.energy(b.P_B, b.p_I, b.M)


@batched("(8),(6),(8),(6),(8)->(4)")
def misfit(dq_IB, chi_B, dq_IT, chi_T, dq_docked):
    """Return distance and angle of the ports, and the velocity and rate with which they meet."""
    back, size = dual_quaternion.conj, lambda v: np.sqrt(v @ v)
    dq_IP = dual_quaternion.mul(dq_IB, back(dq_docked))  # the chaser's port
    q, r = dual_quaternion.to_pose(dual_quaternion.mul(back(dq_IT), dq_IP))
    chi_P = dual_quaternion.transform_twist(dq_docked, chi_B)
    relative = chi_P - dual_quaternion.transform_twist(back(dual_quaternion.from_pose(q, r)), chi_T)
    turn = quaternion.log(q)
    return np.stack([size(r), size(turn), size(relative[3:]), size(relative[:3])])


@batched("(8),(6),(6,6),(8),(6),(6,6)->(6,6),(6),(8)")
def _joined(dq_IB, chi_B, M_B, dq_IT, chi_T, M_T):
    """Return inertia and twist of the stack, and the target's pose on it."""
    dq_BT = dual_quaternion.mul(dual_quaternion.conj(dq_IB), dq_IT)
    M = M_B + spatial.transform_inertia(dq_BT, M_T)
    momentum = M_B @ chi_B + dual_quaternion.transform_wrench(dq_BT, M_T @ chi_T)
    return M, spatial.inverse(M) @ momentum, dq_BT


@batched("(6),(),(6),(),(6),()->(),()")
def _account(first, energy_1, second, energy_2, stack, energy):
    """Return the largest relative change of angular or linear momentum, and the energy that was lost."""
    size, gap = lambda v: np.sqrt(v @ v), stack - first - second
    halves = slice(3), slice(3, 6)
    angular, linear = (size(gap[half]) / (size(first[half]) + size(second[half])) for half in halves)
    return maximum(angular, linear), energy_1 + energy_2 - energy
