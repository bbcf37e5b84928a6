"""Pose tracking without velocities: a passive filter of the pose error stands in for the damping."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from gnc import check, quaternion
from gnc.batch import batched, where
from gnc.controllers import sign as cover
from gnc.controllers.pose import NO_LOAD
from gnc.controllers.pose_error import inverse_dynamics, pose_error
from gnc.controllers.reference import PoseReference
from gnc.linalg import array, skew, zeros
from gnc.models.parameters import store

Array = Any


class FilterMemory(NamedTuple):
    """What the law remembers of a trial."""

    sign: Array  # (...) of the cover it steers to; 0 before the first command
    z: Array  # (..., 6) filtered error [qv, r], r in reference axes
    e: Array  # (..., 6) the error at the last command


@dataclass(frozen=True, eq=False, kw_only=True)
class VelocityFreePoseTracking:
    """Tracking by the pose alone: the law reads no twist of the body, of the belief only dq_IB.

    With e = [qv, r], r in reference axes, and the filter z' = a (e - z), y = g (e - z),

        torque = -kp qv - E^T y_q,  E = (q0 1 + [qv])/2        force = R_BR (-kr r - y_r)

    plus Newton and Euler of the reference's own motion, as felt in the body. Then

        V = 2 kp (1 - q0) + kr r.r/2 + chi_e.M chi_e/2 + (e - z).g (e - z)/2,        V' = -a (e - z).g (e - z)

    for any M and any reference: what is left of the gyroscopic terms does no work on chi_e. The filter is run by the
    trapezoidal rule, which keeps it passive at any interval, and starts at the first error, so that it does not kick.
    Source: Filipe, Valverde and Tsiotras, "Pose-Tracking Without Linear and Angular Velocity Feedback Using Dual
    Quaternions", IEEE TAES 52 (2016).
    """

    M: Array  # (..., 6, 6) nominal, about the body's reference point, angular first
    kp: Array  # (...) torque per qv [N m]
    kr: Array  # (...) [N/m]
    a: Array  # (...) bandwidth of the filter [1/s]
    gq: Array  # (...) torque per filtered qv [N m]
    gr: Array  # (...) [N/m]
    delta: Array = cover.DELTA  # (...) of the hysteresis
    _gains: Array = field(init=False, repr=False)  # (..., 5) kp, kr, a, gq, gr

    def __post_init__(self) -> None:
        """Validate once; the kernels do not."""
        store(self, M=check.inertia6("M", self.M), delta=check.non_negative("delta", self.delta))
        for name in ("kp", "kr", "a", "gq", "gr"):
            store(self, **{name: check.positive(name, getattr(self, name))})
        store(self, _gains=np.stack(np.broadcast_arrays(self.kp, self.kr, self.a, self.gq, self.gr), -1))

    def start(self, leading_shape: tuple[int, ...] = ()) -> FilterMemory:
        """Return the memory before the first command."""
        return FilterMemory(cover.start(leading_shape), np.zeros((*leading_shape, 6)), np.zeros((*leading_shape, 6)))

    def command(
        self, belief: Any, reference: PoseReference, memory: FilterMemory, h: Array, load_B: Array = NO_LOAD
    ) -> tuple[Array, FilterMemory]:
        """Return the wrench in body axes, h after the last command; `load_B` is what else is known to act."""
        parameters = self.M, self._gains, self.delta
        wrench_B, *kept = _command(belief.dq_IB, *reference, *memory, h, load_B, *parameters)
        return wrench_B, FilterMemory(*kept)

    def lyapunov(self, belief: Any, reference: PoseReference, memory: FilterMemory) -> tuple[Array, Array]:
        """Return V and V' with the filter's state; of no use in flight, as it takes the twist."""
        parameters = self.M, self._gains, self.delta
        return _lyapunov(belief.dq_IB, belief.chi_B, *reference, *memory, *parameters)


@batched("(8),(8),(6),(6),(),(6),(6),(),(6),(6,6),(5),()->(6),(),(6),(6)")
def _command(dq_IB, dq_IR, chi_R, chidot_R, sign, z, e_last, h, load_B, M, gains, delta):
    """Return the wrench, and sign, filter and error."""
    kp, kr, a, gq, gr = gains
    error = pose_error(dq_IB, zeros(6), (dq_IR, chi_R, chidot_R), sign, delta)  # its chi, of no twist, is not used
    feed = inverse_dynamics(M, error.chi_R, error.chidot_R)
    e = np.concatenate([error.q[1:], quaternion.rotate(error.q, error.r)])
    z = _filtered(z, e_last, e, sign, error.sign, a * h)
    y = array([gq] * 3 + [gr] * 3) * (e - z)
    torque = -kp * e[:3] - _spread(error.q).T @ y[:3]
    force = quaternion.inverse_rotate(error.q, -kr * e[3:] - y[3:])
    return feed + np.concatenate([torque, force]) - load_B, error.sign, z, e


def _filtered(z, e_last, e, sign_last, sign, turns):
    """Advance the filter by the trapezoidal rule; it follows the error to the other cover, and starts at the error."""
    cover_change = where(sign_last == -sign, -1.0, 1.0)
    flip = array([cover_change] * 3 + [1.0] * 3)
    z, e_last = flip * z, flip * e_last
    moved = z + (turns / (2.0 + turns)) * (e_last + e - 2.0 * z)
    return where(sign_last == cover.UNDECIDED, e, moved)


def _spread(q):
    """Return E with qv' = E w."""
    return 0.5 * (q[0] * array(np.eye(3).tolist()) + skew(q[1:]))


@batched("(8),(6),(8),(6),(6),(),(6),(6),(6,6),(5),()->(),()")
def _lyapunov(dq_IB, chi_B, dq_IR, chi_R, chidot_R, sign, z, e_last, M, gains, delta):
    """Return V and V'."""
    kp, kr, a, gq, gr = gains
    error = pose_error(dq_IB, chi_B, (dq_IR, chi_R, chidot_R), sign, delta)
    e = np.concatenate([error.q[1:], quaternion.rotate(error.q, error.r)])
    stored = (array([gq] * 3 + [gr] * 3) * (e - z)) @ (e - z)
    energy = 0.5 * (error.chi @ (M @ error.chi) + kr * (e[3:] @ e[3:]))
    gap = error.q - array([1.0, 0.0, 0.0, 0.0])  # |gap|^2 = 2 (1 - q0), without cancellation
    return kp * (gap @ gap) + energy + 0.5 * stored, -a * stored
