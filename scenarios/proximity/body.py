"""A rigid body as the truth flies it, about its centre of mass, with the books of momentum and energy kept.

Half a kick, a drift, half a kick. The drift turns the body by a Taylor series and moves it evenly, so that it leaves
momentum and energy as they are, and what changes them is in the books: the impulse [angular about the inertial origin,
linear] and the work of every kick.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from gnc import dual_quaternion, quaternion, spatial
from gnc.batch import batched
from gnc.integrators import attitude_method
from gnc.linalg import cross, solve3

Array = Any
METHOD = "taylor10"  # exact to round-off, and none of those that the filters use
NONE = np.zeros(3)


class BodyState(NamedTuple):
    """Momenta and the place of the centre of mass; pose and twist of the reference point are kept beside them."""

    q_IB: Array  # (trials, 4)
    P_B: Array  # (trials, 3) angular momentum about the centre of mass, body axes
    r_I: Array  # (trials, 3) centre of mass
    p_I: Array  # (trials, 3) linear momentum
    dq_IB: Array  # (trials, 8) of the reference point
    chi_B: Array  # (trials, 6) its twist, body axes
    impulse_I: Array  # (trials, 6) of all wrenches since the start, about the inertial origin
    work: Array  # (trials,) of all wrenches since the start [J]
    M: Array  # (trials, 6, 6) about the reference point


def start(dq_IB: Array, chi_B: Array, M: Array) -> BodyState:
    """Return the state of a body at a pose and a twist of its reference point."""
    q_IB, P_B, r_I, p_I = about_centre(dq_IB, chi_B, M)
    lead = q_IB.shape[:-1]
    dq_IB, chi_B = _about_reference(q_IB, P_B, r_I, p_I, M)
    M = np.broadcast_to(M, (*lead, 6, 6)).copy()
    return BodyState(q_IB, P_B, r_I, p_I, dq_IB, chi_B, np.zeros((*lead, 6)), np.zeros(lead), M)


def step(x: BodyState, wrench_B: Array, h: float) -> BodyState:
    """Move over h under a wrench about the reference point, constant in body axes."""
    P_B, p_I, impulse_I, work, r_1, J = _leave(x.q_IB, x.P_B, x.r_I, x.p_I, x.impulse_I, x.work, wrench_B, x.M, h)
    q_IB, P_B = attitude_method(METHOD).advance(1, x.q_IB, P_B, NONE, J, NONE, h)
    P_B, p_I, impulse_I, work, dq_IB, chi_B = _arrive(q_IB, P_B, r_1, p_I, impulse_I, work, wrench_B, x.M, h)
    return BodyState(q_IB, P_B, r_1, p_I, dq_IB, chi_B, impulse_I, work, x.M)


@batched("(8),(6),(6,6)->(4),(3),(3),(3)")
def about_centre(dq_IB, chi_B, M):
    """Return attitude, angular momentum, and position and momentum of the centre of mass."""
    m, c_B, J = spatial.parts(M)
    v_B = spatial.shift_twist(chi_B, c_B)[3:]
    r_I = dual_quaternion.transform_point(dq_IB, c_B)
    return dq_IB[:4], J @ chi_B[:3], r_I, m * quaternion.rotate(dq_IB[:4], v_B)


@batched("(4),(3),(3),(3),(6,6)->(8),(6)")
def _about_reference(q_IB, P_B, r_I, p_I, M):
    """Return pose and twist of the reference point."""
    m, c_B, J = spatial.parts(M)
    centre = np.concatenate([solve3(J, P_B), quaternion.inverse_rotate(q_IB, p_I / m)])
    return dual_quaternion.from_pose(q_IB, r_I - quaternion.rotate(q_IB, c_B)), spatial.shift_twist(centre, -c_B)


def _kick(q_IB, P_B, r_I, p_I, impulse_I, work, wrench_B, M, h):
    """Return momenta and books after half a step under a wrench."""
    m, c_B, J = spatial.parts(M)
    tau_B, f_I = spatial.shift_wrench(wrench_B, c_B)[:3], quaternion.rotate(q_IB, wrench_B[3:])
    P_1, p_1 = P_B + (0.5 * h) * tau_B, p_I + (0.5 * h) * f_I
    load_I = np.concatenate([cross(r_I, f_I) + quaternion.rotate(q_IB, tau_B), f_I])
    power = tau_B @ solve3(J, P_B + P_1) + f_I @ (p_I + p_1) / m  # twice that of the mean velocity
    return P_1, p_1, impulse_I + (0.5 * h) * load_I, work + (0.25 * h) * power


@batched("(4),(3),(3),(3),(6),(),(6),(6,6),()->(3),(3),(6),(),(3),(3,3)")
def _leave(q_IB, P_B, r_I, p_I, impulse_I, work, wrench_B, M, h):
    """Return momenta and books after the first kick, the next place of the centre of mass, and the inertia there."""
    m, _, J = spatial.parts(M)
    P_B, p_1, impulse_I, work = _kick(q_IB, P_B, r_I, p_I, impulse_I, work, wrench_B, M, h)
    return P_B, p_1, impulse_I, work, r_I + (h / m) * p_1, J


@batched("(4),(3),(3),(3),(6),(),(6),(6,6),()->(3),(3),(6),(),(8),(6)")
def _arrive(q_IB, P_B, r_I, p_I, impulse_I, work, wrench_B, M, h):
    """Return momenta and books after the last kick, and pose and twist of the reference point."""
    P_B, p_I, impulse_I, work = _kick(q_IB, P_B, r_I, p_I, impulse_I, work, wrench_B, M, h)
    return P_B, p_I, impulse_I, work, *_about_reference(q_IB, P_B, r_I, p_I, M)


@batched("(4),(3),(3),(3)->(6)")
def momentum(q_IB, P_B, r_I, p_I):
    """Return [angular momentum about the inertial origin, linear momentum], inertial axes."""
    return np.concatenate([cross(r_I, p_I) + quaternion.rotate(q_IB, P_B), p_I])


@batched("(3),(3),(6,6)->()")
def energy(P_B, p_I, M):
    """Return the kinetic energy [J]."""
    m, _, J = spatial.parts(M)
    return 0.5 * (P_B @ solve3(J, P_B)) + 0.5 * (p_I @ p_I) / m
