"""Guidance of a rendezvous: from a station to the port of a tumbling target, with stop and retreat."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from gnc import check, dual_quaternion, spatial
from gnc.batch import batched, where
from gnc.controllers import approach_path as path
from gnc.controllers.reference import PoseReference
from gnc.errors import InputError
from gnc.linalg import zeros
from gnc.models.parameters import between, store, unit_vectors

Array = Any

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
        """Validate once; the kernels do not."""
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
        q_IL, rho = path.first_boom(target.dq_IB, chaser.dq_IB, self.M_T, self.dq_TB, self.axis_T)
        zero = np.zeros(q_IL.shape[:-1])
        legs = path.at_rest(rho), path.at_rest(np.zeros_like(rho)), rho, zero + 1.0, zero
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
    now = path.leg(t, time_s, rho, goal), path.leg(t, time_s, phi, zeros(3))
    target = path.free_motion(dq_IT, chi_T, M_T)
    return (*path.chaser_reference(target, c, dq_LB, rides < 0.5, q_IL, now[1], now[0]), t + h)


@batched("(),(4),(3,3),(3,3),(3),(),(),(),(8),(6),(6,6),(3),(7,3)->(),(4),(3,3),(3,3),(3),(),()")
def _enter(t, q_IL, rho, phi, goal, time_s, rode, leg, dq_IT, chi_T, M_T, axis, plan):
    """Return the memory of a leg that begins where the one before is now."""
    _, c, _ = spatial.parts(M_T)
    rides, distance, duration = (_chosen(leg, plan[:, k]) for k in range(3))
    rho, phi = path.leg(t, time_s, rho, goal), path.leg(t, time_s, phi, zeros(3))
    boards, leaves = (rides > 0.5) & (rode < 0.5), (rides < 0.5) & (rode > 0.5)
    phi_seen = path.seen_from(path.free_motion(dq_IT, chi_T, M_T), q_IL)
    q_left, rho_left = path.left_behind(dq_IT, chi_T, phi, rho)
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
