"""The way of an approach: smooth legs in the frame of a tumbling target, and where it is in them. For kernels.

The chaser rides on a boom L: it starts at the target's centre of mass, points along the docking axis of L and has the
chaser's port at its end, rho from the centre. Far away L keeps its attitude in inertial space; near it is turned onto
the target's port frame T, by a rotation vector phi that a leg brings to zero. At phi = 0 and rho = -c, c the centre
of mass in T, the ports meet.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gnc import dual_quaternion, quaternion, spatial
from gnc.batch import batched, minimum, where
from gnc.controllers.moving_frame import motion, ride, twice
from gnc.controllers.pose_error import inverse_dynamics
from gnc.controllers.reference import PoseReference
from gnc.linalg import array, cross, zeros
from gnc.typing import Array


def leg(t: Any, duration: Any, start: Array, goal: Array) -> Array:
    """Return value, rate and acceleration on the quintic from `start` (the same three) to rest at the goal."""
    s = minimum(t / duration, 1.0)
    # Columns: what the start's value, rate and acceleration leave at s, with derivatives; all vanish at s = 1.
    value = array([1 - 10 * s**3 + 15 * s**4 - 6 * s**5, s - 6 * s**3 + 8 * s**4 - 3 * s**5])
    value = array([*value, 0.5 * s**2 - 1.5 * s**3 + 1.5 * s**4 - 0.5 * s**5])
    rate = array([-30 * s**2 + 60 * s**3 - 30 * s**4, 1 - 18 * s**2 + 32 * s**3 - 15 * s**4])
    rate = array([*rate, s - 4.5 * s**2 + 6 * s**3 - 2.5 * s**4])
    bend = array([-60 * s + 180 * s**2 - 120 * s**3, -36 * s + 96 * s**2 - 60 * s**3])
    bend = array([*bend, 1 - 9 * s + 18 * s**2 - 10 * s**3])
    left = array([start[0] - goal, duration * start[1], duration * duration * start[2]])
    return array([goal + value @ left, (rate @ left) / duration, (bend @ left) / (duration * duration)])


@batched("(3,3),(3,3),(3),(8),()->(8)")
def _on_boom(phi, rho, c, dq_LB, tau):
    """Return the chaser's pose tau later: by c, turned by phi, along rho, and as it is docked."""
    turn, reach = (x[0] + tau * x[1] + (0.5 * tau * tau) * x[2] for x in (phi, rho))
    boom = dual_quaternion.mul(_shift(c), _turn(quaternion.exp(turn)))
    return dual_quaternion.mul(dual_quaternion.mul(boom, _shift(reach)), dq_LB)


def _shift(r):
    return array([1.0, 0.0, 0.0, 0.0, 0.0, *(0.5 * r)])


def _turn(q):
    return array([*q, 0.0, 0.0, 0.0, 0.0])


@batched("(4),(3),(3),(4),()->(3)")
def _seen(q_IT, w_T, wdot_T, q_IL, tau):
    """Return the rotation vector from a tumbling frame to one at rest, tau later, right to tau^2."""
    q = quaternion.mul(q_IT, quaternion.exp(tau * w_T + (0.5 * tau * tau) * wdot_T))
    return quaternion.log(quaternion.mul(quaternion.conj(q), q_IL))


_on_boom_twice, _seen_twice = twice(_on_boom), twice(_seen)


def free_motion(dq_IT: Array, chi_T: Array, M_T: Array) -> PoseReference:
    """Return the motion of a target that nothing acts on."""
    return PoseReference(dq_IT, chi_T, -(spatial.inverse(M_T) @ inverse_dynamics(M_T, chi_T, zeros(6))))


def seen_from(target: PoseReference, q_IL: Array) -> Array:
    """Return phi, phi' and phi'' of a boom at rest, seen from the target."""
    phi, rate, _, acceleration = _seen_twice(target.dq_IR[:4], target.chi_R[:3], target.chidot_R[:3], q_IL, 0.0)
    return array([phi, rate, acceleration])


def left_behind(dq_IT: Array, chi_T: Array, phi: Array, rho: Array) -> tuple[Array, Array]:
    """Return attitude of a boom that rides no more on the target, and rho, rho' as seen from there; rho'' begins at 0.

    rho'_L = rho' + w_L x rho with w_L = R(phi)^T w_T + phi', which is exact once the boom is turned onto the port.
    """
    turn = quaternion.exp(phi[0])
    w_L = quaternion.inverse_rotate(turn, chi_T[:3]) + phi[1]
    return quaternion.mul(dq_IT[:4], turn), array([rho[0], rho[1] + cross(w_L, rho[0]), zeros(3)])


def chaser_reference(
    target: PoseReference, c: Array, dq_LB: Array, inertial: Any, q_IL: Array, phi: Array, rho: Array
) -> PoseReference:
    """Return the reference of the chaser on the boom: at rest in inertial space, or riding on the target."""
    v_T = target.chi_R[3:] + cross(target.chi_R[:3], c)  # of the centre of mass
    r_I, v_I = dual_quaternion.transform_point(target.dq_IR, c), quaternion.rotate(target.dq_IR[:4], v_T)
    still = array([0.0, 0.0, 0.0, *quaternion.inverse_rotate(q_IL, v_I)])
    at_rest = PoseReference(dual_quaternion.from_pose(q_IL, r_I), still, zeros(6))
    pairs = zip(at_rest, target, strict=True)
    base = PoseReference(*(where(inertial, a, b) for a, b in pairs))
    phi, c = where(inertial, zeros(3, 3), phi), where(inertial, zeros(3), c)
    dq, rate, _, acceleration = _on_boom_twice(phi, rho, c, dq_LB, 0.0)
    return ride(base, motion(dq, rate, acceleration))


@batched("(8),(8),(6,6),(8),(3)->(4),(3)")
def first_boom(dq_IT, dq_IB, M_T, dq_LB, axis):
    """Return the boom that reaches the chaser where it is, turned the least from the chaser's attitude; and rho."""
    dq_IL = dual_quaternion.mul(dq_IB, dual_quaternion.conj(dq_LB))
    q, r_I = dual_quaternion.to_pose(dq_IL)
    _, c, _ = spatial.parts(M_T)
    away = r_I - dual_quaternion.transform_point(dq_IT, c)
    q_IL = quaternion.mul(quaternion.from_two_vectors(quaternion.rotate(q, axis), away), q)
    return q_IL, np.sqrt(away @ away) * axis


def at_rest(x: Array) -> Array:
    """Return the start (..., 3, 3) of a leg that begins at rest."""
    return np.stack([x, np.zeros_like(x), np.zeros_like(x)], axis=-2)
