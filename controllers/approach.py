"""Guidance of a rendezvous: from a station to the port of a tumbling target, with stop and retreat."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from gnc import check, dual_quaternion, quaternion, spatial
from gnc.batch import batched, where
from gnc.controllers import approach_path as path
from gnc.controllers.reference import PoseReference
from gnc.errors import InputError
from gnc.linalg import array, zeros
from gnc.models.parameters import between, store, unit_vectors

Array = Any

STATION, CLOSING, SYNCHRONISING, APPROACHING, HOLDING, STOPPED, RETREATING = (float(k) for k in range(7))
PHASES = ("station", "closing", "synchronising", "approaching", "holding", "stopped", "retreating")

_DURATIONS = ("station_s", "closing_s", "synchronise_s", "approach_s", "approach_s", "stop_s", "retreat_s")
_DISTANCES = ("station_m", "synchronise_m", "synchronise_m", "final_m", "final_m", "final_m", "synchronise_m")
_LIMITS = ("settled_m", "settled_deg", "lost_m", "lost_deg")


class ApproachMemory(NamedTuple):
    """Where a trial is on its way."""

    phase: Array  # (...) of PHASES
    t: Array  # (...) since the leg began [s]
    q_IL: Array  # (..., 4) the boom at rest, for the far phases
    rho: Array  # (..., 3, 3) along the boom at the begin of the leg: value, rate, acceleration [m]
    phi: Array  # (..., 3, 3) from the target's port to the boom: value, rate, acceleration [rad]


@dataclass(frozen=True, eq=False, kw_only=True)
class Approach:
    """Way-points along the docking axis, joined by legs without jumps of position, velocity or acceleration.

    | phase | what the reference does | next |
    |---|---|---|
    | station | goes to `station_m` from the centre of mass, at rest, facing it | closing, settled and go |
    | closing | comes to `synchronise_m`, the same way | synchronising, settled and go |
    | synchronising | turns onto the docking axis, rides with the port there | approaching, settled and go |
    | approaching | comes along the axis to `final_m` from the port | holding at the end |
    | holding | rides with the port | |
    | stopped | comes to rest on the axis, while there is no go | approaching on go |
    | retreating | goes back to `synchronise_m` | approaching, settled and go |

    Approaching, holding and stopped give way to retreating on `abort`, where the chaser's port leaves the corridor,
    and where it is lost: too far from its reference. Closing gives way to station on `abort`. Settled is near the
    reference at the end of a leg, and inside the corridor where there is one. All is judged by the beliefs. The target
    is taken to tumble freely.
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
    settled_m: Array = 0.1  # (...) how near is settled
    settled_deg: Array = 3.0
    lost_m: Array = 1.0  # (...) how far is lost
    lost_deg: Array = 20.0
    _plan: Array = field(init=False, repr=False)  # (..., 2, 7) durations and distances of the phases
    _limits: Array = field(init=False, repr=False)  # (..., 6) corridor's slope and radius, settled, lost [m, rad]

    def __post_init__(self) -> None:
        """Validate once; the kernels do not."""
        store(self, M_T=check.inertia6("M_T", self.M_T), dq_TB=check.finite("dq_TB", self.dq_TB, (8,)))
        store(self, axis_T=unit_vectors("axis_T", np.asarray(self.axis_T)[..., None, :])[..., 0, :])
        for name in {*_DURATIONS, *_DISTANCES, *_LIMITS, "corridor_m"}:
            store(self, **{name: check.positive(name, getattr(self, name))})
        store(self, corridor_deg=between("corridor_deg", self.corridor_deg, 0.0, 89.0))
        if np.any(self.station_m <= self.synchronise_m) or np.any(self.synchronise_m <= self.final_m):
            raise InputError("station_m, synchronise_m, final_m: must fall in this order")
        store(self, _plan=np.stack([self._stack(_DURATIONS), self._stack(_DISTANCES)], -2))
        near = self.settled_m, np.radians(self.settled_deg), self.lost_m, np.radians(self.lost_deg)
        limits = np.tan(np.radians(self.corridor_deg)), self.corridor_m, *near
        store(self, _limits=np.stack(np.broadcast_arrays(*limits), -1))

    def _stack(self, names: tuple[str, ...]) -> Array:
        everything = np.broadcast_arrays(*(getattr(self, name) for name in (*_DURATIONS, *_DISTANCES)))
        values = dict(zip((*_DURATIONS, *_DISTANCES), everything, strict=True))
        return np.stack([values[name] for name in names], -1)

    def start(self, target: Any, chaser: Any) -> ApproachMemory:
        """Return the memory at the begin: on the way to the station, from where the chaser is believed to be."""
        q_IL, rho = path.first_boom(target.dq_IB, chaser.dq_IB, self.M_T, self.dq_TB, self.axis_T)
        zero = np.zeros(q_IL.shape[:-1])
        return ApproachMemory(zero, zero, q_IL, path.at_rest(rho), path.at_rest(np.zeros_like(rho)))

    def guide(
        self, target: Any, chaser: Any, memory: ApproachMemory, h: Array, go: Array = True, abort: Array = False
    ) -> tuple[PoseReference, ApproachMemory]:
        """Return the chaser's reference now, and the memory for h later.

        target, chaser: beliefs with dq_IB and chi_B. Without `go` no leg towards the target begins or goes on.
        """
        flags = np.asarray(go, float), np.asarray(abort, float)
        state = target.dq_IB, target.chi_B, chaser.dq_IB
        fixed = self.M_T, self.dq_TB, self.axis_T, self._plan, self._limits
        results = _guide(*state, *memory, h, *flags, *fixed)
        reference, (phase, t, rho, phi) = PoseReference(*results[:3]), results[3:]
        return reference, ApproachMemory(phase, t, memory.q_IL, rho, phi)

    def in_corridor(self, dq_TB: Array) -> Array:
        """Tell where a chaser at dq_TB in the port frame has its port inside the corridor."""
        return _port(dq_TB, self.dq_TB, self.axis_T, self._limits) > 0.0


def _chosen(phase, values):
    """Return the value of a phase."""
    result = values[0]
    for k in range(1, len(values)):
        result = where(phase == float(k), values[k], result)
    return result


def _inside(dq_TB, dq_docked, axis, limits):
    """Tell whether the chaser's port, which is at the target's when docked, is in the cone before it."""
    _, r = dual_quaternion.to_pose(dual_quaternion.mul(dq_TB, dual_quaternion.conj(dq_docked)))
    along = r @ axis
    across, radius = r - along * axis, along * limits[0] + limits[1]
    return (along > 0.0) & (across @ across <= radius * radius)


@batched("(8),(8),(3),(6)->()")
def _port(dq_TB, dq_docked, axis, limits):
    """Return 1 inside the corridor, 0 outside."""
    return where(_inside(dq_TB, dq_docked, axis, limits), 1.0, 0.0)


def _goal(phase, start, plan, axis, c):
    """Return where the leg of a phase ends: a distance from the centre of mass, or from the port."""
    distance = _chosen(phase, plan[1]) * axis
    stop = start[0] + 0.5 * plan[0, int(STOPPED)] * start[1]
    near = where(phase == STOPPED, stop, distance - c)
    return where(phase <= CLOSING, distance, near)


@batched(
    "(8),(6),(8),(),(),(4),(3,3),(3,3),(),(),(),(6,6),(8),(3),(2,7),(6)->(8),(6),(6),(),(),(3,3),(3,3)"
)  # fmt: skip
def _guide(dq_IT, chi_T, dq_IB, phase, t, q_IL, rho_0, phi_0, h, go, abort, M_T, dq_LB, axis, plan, limits):
    """Return the reference now, and phase, time in the leg and start of the leg for h later."""
    _, c, _ = spatial.parts(M_T)
    target, duration = path.free_motion(dq_IT, chi_T, M_T), _chosen(phase, plan[0])
    rho = path.leg(t, duration, rho_0, _goal(phase, rho_0, plan, axis, c))
    phi = path.leg(t, duration, phi_0, zeros(3))
    reference = path.chaser_reference(target, c, dq_LB, phase <= CLOSING, q_IL, phi, rho)
    dq_TB = dual_quaternion.mul(dual_quaternion.conj(dq_IT), dq_IB)
    inside = _inside(dq_TB, dq_LB, axis, limits)
    settled, lost = _judged(dq_IB, reference.dq_IR, limits)
    after = _next(phase, t >= duration, settled, inside, lost, go > 0.0, abort > 0.0)
    begins = after != phase
    phi = where(after == SYNCHRONISING, path.seen_from(target, q_IL), phi)
    legs = where(begins, rho, rho_0), where(begins, phi, phi_0)
    return (*reference, after, where(begins, h, t + h), *legs)


def _judged(dq_IB, dq_IR, limits):
    """Tell whether the chaser is near its reference, and whether it is lost."""
    q, r = dual_quaternion.to_pose(dual_quaternion.mul(dual_quaternion.conj(dq_IR), dq_IB))
    far, angle = np.sqrt(r @ r), quaternion.angle_between(q, array([1.0, 0.0, 0.0, 0.0]))
    settled = (far <= limits[2]) & (angle <= limits[3])
    return settled, (far > limits[4]) | (angle > limits[5])


def _next(phase, done, settled, inside, lost, go, abort):
    """Return the phase that follows."""
    ready = done & settled & go & ~abort
    on_axis = ready & inside
    stop = where(go, APPROACHING, STOPPED)
    choices = [
        where(ready, CLOSING, STATION),
        where(abort, STATION, where(ready, SYNCHRONISING, CLOSING)),
        where(on_axis, APPROACHING, SYNCHRONISING),
        where(done, HOLDING, stop),
        HOLDING,
        where(done & go, APPROACHING, STOPPED),
        where(on_axis, APPROACHING, RETREATING),
    ]
    near = (phase == APPROACHING) | (phase == HOLDING) | (phase == STOPPED)
    return where(near & (abort | lost | ~inside), RETREATING, _chosen(phase, choices))
