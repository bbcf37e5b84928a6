"""How the joints of a tree are to move while its base is held, and what that takes."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from gnc import dual_quaternion
from gnc.errors import InputError
from gnc.instant import Instant
from gnc.models.multibody import Tree, TreeState, accelerations, kinematics

Array = Any
MOST_ROWS = 1_000_000  # of a plan, half a tick apart


class Move(NamedTuple):
    """From rest to rest."""

    start_s: float
    time_s: float
    first: Array  # (G,) joint coordinates before [rad, m]
    last: Array  # (G,) and after


class Row(NamedTuple):
    """What is planned for a moment."""

    gamma: Array  # (G,) joint coordinates [rad, m]
    rate: Array  # (G,)
    effort: Array  # (G,) of the joints with the base held [N m, N]
    wrench_B: Array  # (6,) that holds the base
    tip_I: Array  # (3,) where the tip is then [m]


@dataclass(frozen=True, eq=False)
class JointPlan:
    """The motion of the joints at every half tick, from rest to rest by a polynomial of fifth order."""

    half_tick_s: float
    rows: Row  # arrays (half ticks, ...); the last one holds from then on

    def at(self, t: float | Instant) -> Row:
        """Return the nearest half tick."""
        last = len(self.rows.gamma) - 1
        if t >= last * self.half_tick_s:
            return Row(*(row[last] for row in self.rows))
        if isinstance(t, Instant):
            return t.look_up(self.rows, self.half_tick_s)
        return Row(*(row[round(t / self.half_tick_s)] for row in self.rows))


def plan(nominal: Tree, dq_IR: Array, move: Move, tick_s: float, tip: str) -> JointPlan:
    """Plan a move with the base at rest at its reference.

    With the joints prescribed, all there is accelerates as one body of inertia H_B: the wrench that holds the base is
    -H_B times the acceleration it would have without.
    """
    half = 0.5 * tick_s
    rows = np.ceil((move.start_s + move.time_s) / half) + 2
    if not rows <= MOST_ROWS:
        raise InputError(f"time_s = {move.time_s:g}: the plan has {rows:.3g} rows, {MOST_ROWS} may be; move sooner")
    t = half * np.arange(int(rows))
    gamma, rate, rate_dot = _quintic(t, move)
    x = TreeState(np.broadcast_to(dq_IR, (len(t), 8)), np.zeros((len(t), 6)), gamma, rate)
    joints = [joint.name for joint in nominal.joints]
    floating = accelerations(nominal, x, prescribed=joints, rate_dot=rate_dot).twist_dot
    H_B = kinematics.momentum_matrix(nominal, x)[..., :6]
    hold = -(H_B @ floating[..., None])[..., 0]
    wrench = nominal.wrenches({nominal.body_names[nominal.root]: hold})
    held = accelerations(nominal, x, wrench=wrench, prescribed=joints, rate_dot=rate_dot)
    tip_I = dual_quaternion.to_pose(kinematics.frame_pose(nominal, x, tip))[1]
    return JointPlan(half, Row(gamma, rate, held.effort, hold, tip_I))


def _quintic(t: Array, move: Move) -> tuple[Array, Array, Array]:
    """Return coordinates, rates and accelerations (times, G)."""
    s = np.clip((t - move.start_s) / move.time_s, 0.0, 1.0)[:, None]
    way = s**3 * (10.0 + s * (-15.0 + 6.0 * s))
    speed = 30.0 * s**2 * (1.0 - s) ** 2 / move.time_s
    push = 60.0 * s * (1.0 - s) * (1.0 - 2.0 * s) / move.time_s**2
    off = move.last - move.first
    return move.first + way * off, speed * off, push * off
