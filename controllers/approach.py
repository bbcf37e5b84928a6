"""Guidance of a rendezvous: from a station to the port of a tumbling target, with stop and retreat.

The chaser rides on a boom L: it starts at the target's centre of mass, points along the docking axis of L and has the
chaser's port at its end, rho from the centre. Far away L keeps its attitude in inertial space; near it is turned onto
the target's port frame T, by a rotation vector phi that a leg brings to zero. At phi = 0 and rho = -c, c the centre
of mass in T, the ports meet.
"""

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from gnc import check, dual_quaternion, quaternion, spatial
from gnc.batch import batched, minimum, where
from gnc.controllers.pose_error import inverse_dynamics, motion, ride, twice
from gnc.controllers.reference import PoseReference
from gnc.errors import InputError
from gnc.linalg import array, cross, zeros
from gnc.models.parameters import between, store, unit_vectors

Array = Any


def quintic(t: Any, duration: Any, start: Array, goal: Array) -> Array:
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


LEGS = {  # of each: whether it rides on the target's port, where it ends, how long it takes
    "station": (False, "station_m", "station_s"),
    "closing": (False, "synchronise_m", "closing_s"),
    "synchronising": (True, "synchronise_m", "synchronise_s"),
    "approaching": (True, "final_m", "approach_s"),
    "holding": (True, "final_m", "approach_s"),
    "stopped": (True, "", "stop_s"),
    "retreating": (True, "synchronise_m", "retreat_s"),
}
_PLAN = ("station_m", "synchronise_m", "final_m", *dict.fromkeys(time for *_, time in LEGS.values()))


class ApproachMemory(NamedTuple):
    """Where a trial is on its way: the leg that it flies."""

    t: Array  # (...) since the leg began [s]
    q_IL: Array  # (..., 4) the boom at rest, for the far legs
    rho: Array  # (..., 3, 3) along the boom at the begin of the leg: value, rate, acceleration [m]
    phi: Array  # (..., 3, 3) from the target's port to the boom: value, rate, acceleration [rad]
    goal: Array  # (..., 3) rho at its end [m]
    time_s: Array  # (...) how long it takes
    rides: Array  # (...) 1 where the boom rides on the target, 0 where it is at rest


@dataclass(frozen=True, eq=False, kw_only=True)
class Approach:
    """Way-points along the docking axis, joined by legs without jumps of position, velocity or acceleration.

    | leg | what the reference does |
    |---|---|
    | station | goes to `station_m` from the centre of mass, at rest, facing it |
    | closing | comes to `synchronise_m`, the same way |
    | synchronising | turns onto the docking axis, rides with the port there |
    | approaching, holding | comes along the axis to `final_m` from the port, and rides with it |
    | stopped | comes to rest on the axis |
    | retreating | goes back to `synchronise_m` |

    Which leg is flown is said from outside, by the modes of flight software (`guidance.approach`). The
    target is taken to tumble freely.
    """

    M_T: Array  # (..., 6, 6) the target's inertia about its port frame, nominal
    dq_TB: Array  # (..., 8) the chaser's pose in the port frame when docked
    axis_T: Array = (1.0, 0.0, 0.0)  # (..., 3) out of the port
    station_m: Array = 20.0  # (...)
    synchronise_m: Array = 5.0
    final_m: Array = 1.0
    station_s: Array = 60.0  # (...) durations of the legs
    closing_s: Array = 120.0
    synchronise_s: Array = 120.0
    approach_s: Array = 180.0
    stop_s: Array = 20.0
    retreat_s: Array = 60.0
    corridor_deg: Array = 10.0  # (...) half angle of the cone about the axis
    corridor_m: Array = 0.1  # (...) its radius at the port
    _plan: Array = field(init=False, repr=False)  # (..., 7, 3) of each leg: rides, distance [m], duration [s]
    _cone: Array = field(init=False, repr=False)  # (..., 2) the corridor's slope, and its radius at the port [m]

    def __post_init__(self) -> None:
        store(self, M_T=check.inertia6("M_T", self.M_T), dq_TB=check.finite("dq_TB", self.dq_TB, (8,)))
        store(self, axis_T=unit_vectors("axis_T", np.asarray(self.axis_T)[..., None, :])[..., 0, :])
        for name in (*_PLAN, "corridor_m"):
            store(self, **{name: check.positive(name, getattr(self, name))})
        store(self, corridor_deg=between("corridor_deg", self.corridor_deg, 0.0, 89.0))
        if np.any(self.station_m <= self.synchronise_m) or np.any(self.synchronise_m <= self.final_m):
            far, on_axis, near = (f"{np.max(x):g}" for x in (self.station_m, self.synchronise_m, self.final_m))
            raise InputError(f"station_m {far}, synchronise_m {on_axis}, final_m {near}: must fall in this order")
        rows = [(rides, getattr(self, far, -1.0) if far else -1.0, getattr(self, s)) for rides, far, s in LEGS.values()]
        flat = np.broadcast_arrays(*(np.asarray(x, float) for row in rows for x in row))
        store(self, _plan=np.stack(flat, -1).reshape(*flat[0].shape, len(LEGS), 3))
        cone = np.broadcast_arrays(np.tan(np.radians(self.corridor_deg)), self.corridor_m)
        store(self, _cone=np.stack(cone, -1))

    def start(self, target: Any, chaser: Any) -> ApproachMemory:
        """Return the memory at the begin: on the way to the station, from where the chaser is believed to be."""
        q_IL, rho = first_boom(target.dq_IB, chaser.dq_IB, self.M_T, self.dq_TB, self.axis_T)
        zero = np.zeros(q_IL.shape[:-1])
        legs = at_rest(rho), at_rest(np.zeros_like(rho)), rho, zero + 1.0, zero
        return self.enter(ApproachMemory(zero, q_IL, *legs), zero, target)

    def enter(self, memory: ApproachMemory, leg: Array, target: Any) -> ApproachMemory:
        """Return the memory at the begin of a leg, by its place in LEGS: from where the reference is now."""
        return ApproachMemory(*_enter(*memory, leg, target.dq_IB, target.chi_B, self.M_T, self.axis_T, self._plan))

    def guide(self, target: Any, memory: ApproachMemory, h: Array) -> tuple[PoseReference, ApproachMemory]:
        """Return the chaser's reference now, and the memory for h later; the target is a belief with dq_IB, chi_B."""
        *reference, later = _guide(*memory, target.dq_IB, target.chi_B, h, self.M_T, self.dq_TB)
        return PoseReference(*reference), memory._replace(t=later)

    def in_corridor(self, dq_TB: Array) -> Array:
        """Return 1 where a chaser at dq_TB in the port frame has its port inside the corridor, 0 elsewhere."""
        return _inside(dq_TB, self.dq_TB, self.axis_T, self._cone)


@batched("(8),(8),(3),(2)->()")
def _inside(dq_TB, dq_docked, axis, cone):
    """Return 1 where the chaser's port, which is at the target's when docked, is in the cone before it."""
    _, r = dual_quaternion.to_pose(dual_quaternion.mul(dq_TB, dual_quaternion.conj(dq_docked)))
    along = r @ axis
    across, radius = r - along * axis, along * cone[0] + cone[1]
    return where((along > 0.0) & (across @ across <= radius * radius), 1.0, 0.0)


@batched("(),(4),(3,3),(3,3),(3),(),(),(8),(6),(),(6,6),(8)->(8),(6),(6),()")
def _guide(t, q_IL, rho, phi, goal, time_s, rides, dq_IT, chi_T, h, M_T, dq_LB):
    """Return the reference now, and the time in the leg h later."""
    _, c, _ = spatial.parts(M_T)
    now = quintic(t, time_s, rho, goal), quintic(t, time_s, phi, zeros(3))
    target = free_motion(dq_IT, chi_T, M_T)
    return (*chaser_reference(target, c, dq_LB, rides < 0.5, q_IL, now[1], now[0]), t + h)


@batched("(),(4),(3,3),(3,3),(3),(),(),(),(8),(6),(6,6),(3),(7,3)->(),(4),(3,3),(3,3),(3),(),()")
def _enter(t, q_IL, rho, phi, goal, time_s, rode, leg, dq_IT, chi_T, M_T, axis, plan):
    """Return the memory of a leg that begins where the one before is now."""
    _, c, _ = spatial.parts(M_T)
    rides, distance, duration = (_chosen(leg, plan[:, k]) for k in range(3))
    rho, phi = quintic(t, time_s, rho, goal), quintic(t, time_s, phi, zeros(3))
    boards, leaves = (rides > 0.5) & (rode < 0.5), (rides < 0.5) & (rode > 0.5)
    phi_seen = seen_from(free_motion(dq_IT, chi_T, M_T), q_IL)
    q_left, rho_left = left_behind(dq_IT, chi_T, phi, rho)
    rho, phi, q_IL = where(leaves, rho_left, rho), where(boards, phi_seen, phi), where(leaves, q_left, q_IL)
    far = where(rides > 0.5, distance * axis - c, distance * axis)
    stop = rho[0] + 0.5 * duration * rho[1]
    return 0.0 * t, q_IL, rho, phi, where(distance < 0.0, stop, far), duration, rides


def _chosen(leg, values):
    """Return the value of a leg."""
    result = values[0]
    for k in range(1, len(LEGS)):
        result = where(leg == float(k), values[k], result)
    return result
