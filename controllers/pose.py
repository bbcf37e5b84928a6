"""Dual-quaternion tracking of a pose, with feed-forward of the reference's motion."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from gnc import check
from gnc.batch import batched
from gnc.controllers import sign as cover
from gnc.controllers.pose_error import PoseError, inverse_dynamics, pose_error
from gnc.controllers.reference import PoseReference
from gnc.errors import InputError
from gnc.linalg import array
from gnc.models.parameters import each, store

Array = Any

NO_LOAD = np.zeros(6)


class PoseMemory(NamedTuple):
    """What the law remembers of a trial."""

    sign: Array  # (...) of the cover it steers to; 0 before the first command


@dataclass(frozen=True, eq=False, kw_only=True)
class PoseTracking:
    """The law wrench = -k e - Kd s + Newton and Euler of the reference - load, s = chi_e + Kp e.

    On a body of inertia M it leaves M s' = -k e - Kd s, so that with e = [qv, r/2], Kp = (Kq, Kr), Kd = (Kw, Kv)

        V = 2 kq (1 - q0) + kr r.r/4 + s.M s/2,        V' = -e.k Kp e - s.Kd s

    for any M: the centre of mass may lie away from the reference point of the body. k = (kq, kr) = 1 is the published
    law. Source: Filipe and Tsiotras, J. Guid. Control Dyn. 38 (2015) 566, eq. (35), there with M diagonal in blocks.
    """

    M: Array  # (..., 6, 6) nominal, about the body's reference point, angular first
    Kq: Array  # (..., 3), or one number for all axes: rate per qv [1/s]
    Kr: Array  # (..., 3), or one number: velocity per half position [1/s]
    Kw: Array  # (..., 3), or one number [N m s]
    Kv: Array  # (..., 3), or one number [N s/m]
    kq: Array = 1.0  # (...) torque per qv [N m]
    kr: Array = 1.0  # (...) force per half position [N/m]
    delta: Array = cover.DELTA  # (...) of the hysteresis
    _gains: Array = field(init=False, repr=False)  # (..., 3, 6) rows k, Kp, Kd

    def __post_init__(self) -> None:
        """Validate once; the kernels do not."""
        store(self, M=check.inertia6("M", self.M), delta=check.non_negative("delta", self.delta))
        for name in ("Kq", "Kr", "Kw", "Kv"):
            store(self, **{name: each(name, getattr(self, name), 3, "positive")})
        for name in ("kq", "kr"):
            store(self, **{name: check.positive(name, getattr(self, name))})
        stiffness = self.kq[..., None] * np.ones(3), self.kr[..., None] * np.ones(3)
        store(self, _gains=gain_rows(stiffness, (self.Kq, self.Kr), (self.Kw, self.Kv)))

    @classmethod
    def tuned(cls, M: Array, frequency: Array, damping: Array = 0.8, **options: Any) -> PoseTracking:
        """Give small errors a natural frequency [rad/s] and a damping below 1.

        Exact for a centre of mass at the reference point, and for attitude where the moments of inertia are equal;
        otherwise the mean moment sets the frequency and the damping is that of each axis.
        """
        M, w, d = check.inertia6("M", M), check.positive("frequency", frequency), check.positive("damping", damping)
        if np.any(d >= 1.0):
            raise InputError(f"damping: {np.max(d):g} is not below 1")
        decay, spring = w * d, 2.0 * w * w * (1.0 - d * d)
        diagonal = np.diagonal(M, axis1=-2, axis2=-1)
        moments, m = diagonal[..., :3], diagonal[..., 5]
        rates = {"Kq": _three(2.0 * decay), "Kr": _three(2.0 * decay)}
        damping = {"Kw": decay[..., None] * moments, "Kv": _three(decay * m)}
        return cls(M=M, **rates, **damping, kq=spring * np.mean(moments, axis=-1), kr=spring * m, **options)

    def start(self, leading_shape: tuple[int, ...] = ()) -> PoseMemory:
        """Return the memory before the first command."""
        return PoseMemory(cover.start(leading_shape))

    def command(
        self, belief: Any, reference: PoseReference, memory: PoseMemory, load_B: Array = NO_LOAD
    ) -> tuple[Array, PoseMemory]:
        """Return the wrench in body axes about the reference point; `load_B` is what else is known to act there."""
        parameters = self.M, self._gains, self.delta
        wrench_B, sign = _track(belief.dq_IB, belief.chi_B, *reference, memory.sign, load_B, *parameters)
        return wrench_B, PoseMemory(sign)

    def lyapunov(self, belief: Any, reference: PoseReference, memory: PoseMemory) -> tuple[Array, Array]:
        """Return V and the V' that the law makes of it, on the cover that the memory holds."""
        parameters = self.M, self._gains, self.delta
        return _lyapunov(belief.dq_IB, belief.chi_B, *reference, memory.sign, *parameters)


def _three(x: Array) -> Array:
    return np.asarray(x)[..., None] * np.ones(3)


def gain_rows(*rows: tuple[Array, Array]) -> Array:
    """Stack pairs (..., 3) of angular and linear gains into (..., rows, 6)."""
    lead = np.broadcast_shapes(*(np.shape(part)[:-1] for row in rows for part in row))
    return np.stack([np.concatenate([np.broadcast_to(p, (*lead, 3)) for p in row], -1) for row in rows], -2)


def sliding(error: PoseError, Kp: Array) -> tuple[Array, Array]:
    """Return s = chi_e + Kp e, and the chi_B' with which s stays constant."""
    return error.chi + Kp * error.e, error.chidot - Kp * error.edot


@batched("(8),(6),(8),(6),(6),(),(6),(6,6),(3,6),()->(6),()")
def _track(dq_IB, chi_B, dq_IR, chi_R, chidot_R, sign, load_B, M, gains, delta):
    """Return the wrench and the sign."""
    k, Kp, Kd = gains
    error = pose_error(dq_IB, chi_B, (dq_IR, chi_R, chidot_R), sign, delta)
    s, chidot = sliding(error, Kp)
    return inverse_dynamics(M, chi_B, chidot) - k * error.e - Kd * s - load_B, error.sign


@batched("(8),(6),(8),(6),(6),(),(6,6),(3,6),()->(),()")
def _lyapunov(dq_IB, chi_B, dq_IR, chi_R, chidot_R, sign, M, gains, delta):
    """Return V and V'."""
    k, Kp, Kd = gains
    error = pose_error(dq_IB, chi_B, (dq_IR, chi_R, chidot_R), sign, delta)
    s, _ = sliding(error, Kp)
    gap = error.q - array([1.0, 0.0, 0.0, 0.0])  # |gap|^2 = 2 (1 - q0), without cancellation
    V = k[0] * (gap @ gap) + 0.25 * k[3] * (error.r @ error.r) + 0.5 * (s @ (M @ s))
    return V, -(error.e @ (k * Kp * error.e)) - s @ (Kd * s)
