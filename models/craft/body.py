"""A rigid body as the truth flies it, about its centre of mass, with the books of momentum and energy kept.

Half a kick, a drift, half a kick. The drift turns the body by a Taylor series and moves it evenly, so that it leaves
momentum and energy as they are, and what changes them is in the books: the impulse [angular about the inertial origin,
linear] and the work of every kick. Wheels store rho_B of the angular momentum P_B = J w + rho_B.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from gnc import dual_quaternion, quaternion, spatial
from gnc.batch import batched, maximum
from gnc.integrators import attitude_method
from gnc.linalg import cross, solve3, zeros
from gnc.typing import Array

METHOD = "taylor10"  # exact to round-off, and none of those that the filters use
NONE = np.zeros(3)


class BodyState(NamedTuple):
    """Momenta and the place of the centre of mass; pose and twist of the body's origin are kept beside them."""

    q_IB: Array  # (trials, 4)
    P_B: Array  # (trials, 3) angular momentum about the centre of mass, wheels included, body axes
    r_I: Array  # (trials, 3) centre of mass
    p_I: Array  # (trials, 3) linear momentum
    dq_IB: Array  # (trials, 8) of the origin
    chi_B: Array  # (trials, 6) its twist, body axes
    impulse_I: Array  # (trials, 6) of all wrenches since the start, about the inertial origin
    work: Array  # (trials,) of all wrenches since the start [J]
    brought: Array  # (trials, 7) momentum and energy with which craft began that were taken aboard since
    M: Array  # (trials, 6, 6) about the origin
    wrench_B: Array  # (trials, 6) of the actuators in the last step, about the origin
    load_B: Array  # (trials, 6) of the environment at this moment, torque about the centre of mass
    riders_B: Array  # (trials, 6) what acts on craft that ride on this one, about the origin
    rides: Array  # (trials,) 1 while it rides on another craft, which then keeps its books
    seat: Array  # (trials, 8) its pose on that craft
    met: Array  # (trials, 7) how it was taken aboard, see `happenings`; NaN before
    flag: Array  # (trials,) 1 once a switch has closed, which flight software is told
    felt_B: Array  # (trials, 6) means of w' and of the origin's specific force over the last step, where a sensor feels
    effectors: tuple[Array, ...]  # state of each actuator


def start(dq_IB: Array, chi_B: Array, M: Array, rho_B: Array = NONE, effectors: tuple[Array, ...] = ()) -> BodyState:
    """Return the state of a body at a pose and a twist of its origin."""
    q_IB, P_B, r_I, p_I = about_centre(dq_IB, chi_B, M)
    lead, P_B = q_IB.shape[:-1], P_B + rho_B
    dq_IB, chi_B = about_origin(q_IB, P_B, r_I, p_I, M, rho_B)
    M = np.broadcast_to(M, (*lead, 6, 6)).copy()
    zero, none = np.zeros(lead), np.zeros((*lead, 6))
    books = none, zero, np.zeros((*lead, 7)), M, none, none, none
    aboard = zero, np.broadcast_to(np.eye(8)[0], (*lead, 8)).copy(), np.full((*lead, 7), np.nan)
    return BodyState(q_IB, P_B, r_I, p_I, dq_IB, chi_B, *books, *aboard, zero, none, effectors)


def drift(q_IB: Array, P_B: Array, J: Array, rho_B: Array, h: Any) -> tuple[Array, Array]:
    """Turn freely over h about the centre of mass."""
    return attitude_method(METHOD).advance(1, q_IB, P_B, NONE, J, rho_B, h)


@batched("(8),(6),(6,6)->(4),(3),(3),(3)")
def about_centre(dq_IB, chi_B, M):
    """Return attitude, angular momentum, and position and momentum of the centre of mass."""
    m, c_B, J = spatial.parts(M)
    v_B = spatial.shift_twist(chi_B, c_B)[3:]
    r_I = dual_quaternion.transform_point(dq_IB, c_B)
    return dq_IB[:4], J @ chi_B[:3], r_I, m * quaternion.rotate(dq_IB[:4], v_B)


@batched("(4),(3),(3),(3),(6,6),(3)->(8),(6)")
def about_origin(q_IB, P_B, r_I, p_I, M, rho_B):
    """Return pose and twist of the origin."""
    m, c_B, J = spatial.parts(M)
    centre = np.concatenate([solve3(J, P_B - rho_B), quaternion.inverse_rotate(q_IB, p_I / m)])
    return dual_quaternion.from_pose(q_IB, r_I - quaternion.rotate(q_IB, c_B)), spatial.shift_twist(centre, -c_B)


def _kick(q_IB, P_B, r_I, p_I, impulse_I, work, wrench_B, load_B, rho_B, M, h):
    """Return momenta and books after half a step under a wrench about the origin and a load on the centre of mass."""
    m, c_B, J = spatial.parts(M)
    tau_B = spatial.shift_wrench(wrench_B, c_B)[:3] + load_B[:3]
    f_I = quaternion.rotate(q_IB, wrench_B[3:] + load_B[3:])
    P_1, p_1 = P_B + (0.5 * h) * tau_B, p_I + (0.5 * h) * f_I
    load_I = np.concatenate([cross(r_I, f_I) + quaternion.rotate(q_IB, tau_B), f_I])
    turning = (P_B + P_1) - 2.0 * rho_B
    power = tau_B @ solve3(J, turning) + f_I @ (p_I + p_1) / m  # twice that of the mean velocity
    return P_1, p_1, impulse_I + (0.5 * h) * load_I, work + (0.25 * h) * power


@batched("(4),(3),(3),(3),(6),(),(6),(6),(3),(6,6),()->(3),(3),(6),(),(3),(3,3)")
def leave(q_IB, P_B, r_I, p_I, impulse_I, work, wrench_B, load_B, rho_B, M, h):
    """Return momenta and books after the first kick, the next place of the centre of mass, and the inertia there."""
    m, _, J = spatial.parts(M)
    P_B, p_1, impulse_I, work = _kick(q_IB, P_B, r_I, p_I, impulse_I, work, wrench_B, load_B, rho_B, M, h)
    return P_B, p_1, impulse_I, work, r_I + (h / m) * p_1, J


@batched("(4),(3),(3),(3),(6),(),(6),(6),(3),(6,6),()->(3),(3),(6),(),(8),(6)")
def arrive(q_IB, P_B, r_I, p_I, impulse_I, work, wrench_B, load_B, rho_B, M, h):
    """Return momenta and books after the last kick, and pose and twist of the origin."""
    P_B, p_I, impulse_I, work = _kick(q_IB, P_B, r_I, p_I, impulse_I, work, wrench_B, load_B, rho_B, M, h)
    return P_B, p_I, impulse_I, work, *about_origin(q_IB, P_B, r_I, p_I, M, rho_B)


@batched("(4),(6),(4),(6),(3),()->(6)")
def felt(q_0, chi_0, q_1, chi_1, gravity_I, h):
    """Return the means over a step of w' and of the specific force of the origin, body axes of its end."""
    dv_I = quaternion.rotate(q_1, chi_1[3:]) - quaternion.rotate(q_0, chi_0[3:])
    return np.concatenate([(chi_1[:3] - chi_0[:3]) / h, quaternion.inverse_rotate(q_1, dv_I / h - gravity_I)])


@batched("(4),(3),(3),(3)->(6)")
def momentum(q_IB, P_B, r_I, p_I):
    """Return [angular momentum about the inertial origin, linear momentum], inertial axes."""
    return np.concatenate([cross(r_I, p_I) + quaternion.rotate(q_IB, P_B), p_I])


@batched("(3),(3),(6,6)->()")
def energy(P_B, p_I, M):
    """Return the kinetic energy [J] of a body without wheels."""
    m, _, J = spatial.parts(M)
    return 0.5 * (P_B @ solve3(J, P_B)) + 0.5 * (p_I @ p_I) / m


def books(x: BodyState) -> tuple[Array, Array]:
    """Return momentum (6) and energy of a body."""
    return momentum(x.q_IB, x.P_B, x.r_I, x.p_I), energy(x.P_B, x.p_I, x.M)


def lightened(x: BodyState, used_kg: Array, tank_B: Array, rho_B: Array) -> BodyState:
    """Return a body that propellant has left from a place; what it takes of momentum and energy goes to the books."""
    M = _without(x.M, used_kg, tank_B)
    q_IB, P_B, r_I, p_I = about_centre(x.dq_IB, x.chi_B, M)
    moved = x._replace(M=M, q_IB=q_IB, P_B=P_B + rho_B, r_I=r_I, p_I=p_I)
    (momentum_0, energy_0), (momentum_1, energy_1) = books(x), books(moved)
    return moved._replace(impulse_I=x.impulse_I + (momentum_1 - momentum_0), work=x.work + (energy_1 - energy_0))


@batched("(6,6),(),(3)->(6,6)")
def _without(M, mass, place_B):
    """Return an inertia without a point mass."""
    return M - spatial.inertia(mass, place_B, zeros(3, 3))


def _size(v):
    return np.sqrt(v @ v)


@batched("(6),(6),(6)->()")
def momentum_gap(now, start, impulse):
    """Return the larger of the gaps of angular and linear momentum, each over |now| + |start| + |impulse|."""
    gap = now - start - impulse
    parts = []
    for part in (slice(3), slice(3, 6)):
        scale = _size(now[part]) + _size(start[part]) + _size(impulse[part])
        parts.append(_size(gap[part]) / maximum(scale, 1e-300))
    return maximum(*parts)


@batched("(),(),()->()")
def energy_gap(now, start, work):
    """Return |now - start - work| over now + start + |work|."""
    return abs(now - start - work) / maximum(now + start + abs(work), 1e-300)
