"""A base with an arm of three joints, how the arm is to move, and what that takes while the base stands still."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from gnc import dual_quaternion, quaternion, spatial
from gnc.draws import Draws
from gnc.models.multibody import Body, Frame, Joint, Tree, TreeState, accelerations, kinematics

Array = Any
JOINTS = ("yaw", "shoulder", "elbow")
TIP = "tip"
LINKS = ("turret", "upper_arm", "forearm")  # as signals call them


def _at(x: float, y: float, z: float, about_x: float = 0.0) -> Array:
    """Return the pose of a frame at a point, turned about x."""
    return dual_quaternion.from_pose(quaternion.from_axis_angle(np.array([1.0, 0, 0]), about_x), np.array([x, y, z]))


def _rod(mass: Array, length: float, axis: int) -> Array:
    """Return the inertia of a slender rod as a tube of a tenth of its length in radius."""
    across, along = length**2 / 12.0 + 0.005 * length**2, 0.01 * length**2
    moments = np.where(np.arange(3) == axis, along, across)
    return np.asarray(mass)[..., None, None] * np.diag(moments)


def tree(base: Any, arm: Any, draws: Draws | None = None, percent: float = 0.0) -> Tree:
    """Return the nominal spacecraft, or that of each trial with masses and inertias off by so many per cent.

    The yaw joint turns about z of the base, shoulder and elbow about -y of the turret; at zero the arm lies along x.
    """
    off = lambda name: 1.0 if draws is None else 1.0 + 0.01 * percent * draws.normal(name)  # noqa: E731
    J = np.array(base.J_kgm2)
    J = J if draws is None else draws.inertia("base inertia", J, percent)
    turret, upper, lower = (m * off(f"link {i}") for i, m in enumerate(arm.masses_kg))
    payload = arm.payload_kg * off("payload")
    link = spatial.inertia(lower, np.zeros(3), _rod(lower, arm.lengths_m[2], 0))
    tip = spatial.inertia(payload, np.array([0.5 * arm.lengths_m[2], 0, 0]), payload_inertia(arm, payload))
    lower, centre, J_lower = spatial.parts(spatial.combine(link, tip))
    a, b, c = arm.lengths_m
    bodies = (
        Body("base", base.mass_kg * off("base"), J),
        Body("turret", turret, _rod(turret, a, 2)),
        Body("upper arm", upper, _rod(upper, b, 0)),
        Body("forearm", lower, J_lower, centre),
    )
    joints = (
        Joint(JOINTS[0], "R", "base", "turret", _at(*arm.root_m), _at(0.0, 0.0, -0.5 * a)),
        Joint(JOINTS[1], "R", "turret", "upper arm", _at(0.0, 0.0, 0.5 * a, np.pi / 2), _at(-0.5 * b, 0.0, 0.0)),
        Joint(JOINTS[2], "R", "upper arm", "forearm", _at(0.5 * b, 0.0, 0.0), _at(-0.5 * c, 0.0, 0.0)),
    )
    return Tree(bodies, joints, (Frame(TIP, "forearm", _at(0.5 * c, 0.0, 0.0)),))


def payload_inertia(arm: Any, mass: Array) -> Array:
    """Return the inertia of the payload, a cube."""
    return np.asarray(mass)[..., None, None] * (arm.payload_size_m**2 / 6.0 * np.eye(3))


class Row(NamedTuple):
    """What is planned for a moment."""

    gamma: Array  # (3,) joint angles [rad]
    rate: Array  # (3,) [rad/s]
    effort: Array  # (3,) torque of the joints with the base held [N m]
    wrench_B: Array  # (6,) that holds the base
    tip_I: Array  # (3,) where the tip is then [m]


@dataclass(frozen=True, eq=False)
class Plan:
    """The motion of the arm at every half tick, from rest to rest by a polynomial of fifth order."""

    half_tick_s: float
    rows: Row  # arrays (half ticks, ...)

    def at(self, t: float) -> Row:
        """Return the nearest half tick."""
        k = min(round(t / self.half_tick_s), len(self.rows.gamma) - 1)
        return Row(*(row[k] for row in self.rows))


def plan(nominal: Tree, dq_IR: Array, move: Any, tick_s: float, duration_s: float) -> Plan:
    """Plan a move with the base at rest at its reference.

    With the joints prescribed, all there is accelerates as one body of inertia H_B: the wrench that holds the base is
    -H_B times the acceleration it would have without.
    """
    t = 0.5 * tick_s * np.arange(2 * round(duration_s / tick_s) + 1)
    gamma, rate, rate_dot = _quintic(t, move)
    x = TreeState(np.broadcast_to(dq_IR, (len(t), 8)), np.zeros((len(t), 6)), gamma, rate)
    floating = accelerations(nominal, x, prescribed=JOINTS, rate_dot=rate_dot).twist_dot
    H_B = kinematics.momentum_matrix(nominal, x)[..., :6]
    hold = -(H_B @ floating[..., None])[..., 0]
    wrench = nominal.wrenches({"base": hold})
    held = accelerations(nominal, x, wrench=wrench, prescribed=JOINTS, rate_dot=rate_dot)
    tip_I = dual_quaternion.to_pose(kinematics.frame_pose(nominal, x, TIP))[1]
    return Plan(0.5 * tick_s, Row(gamma, rate, held.effort, hold, tip_I))


def _quintic(t: Array, move: Any) -> tuple[Array, Array, Array]:
    """Return angles, rates and accelerations (times, 3)."""
    first, last = np.radians(move.from_deg), np.radians(move.to_deg)
    s = np.clip((t - move.start_s) / move.time_s, 0.0, 1.0)[:, None]
    way = s**3 * (10.0 + s * (-15.0 + 6.0 * s))
    speed = 30.0 * s**2 * (1.0 - s) ** 2 / move.time_s
    push = 60.0 * s * (1.0 - s) * (1.0 - 2.0 * s) / move.time_s**2
    return first + way * (last - first), speed * (last - first), push * (last - first)
