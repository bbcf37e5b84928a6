"""Dual-quaternion tracking of a pose: with all that is believed, without velocities, and learning mass and inertia."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from gnc import check, quaternion
from gnc.batch import batched, maximum, minimum, where
from gnc.controllers import sign as cover
from gnc.controllers.pose_error import PoseError, inertia_regressor, inverse_dynamics, pose_error
from gnc.controllers.reference import PoseReference
from gnc.controllers.sign import CoverMemory, OnCover
from gnc.errors import InputError
from gnc.linalg import array, skew, zeros
from gnc.models.parameters import each, store

Array = Any

NO_LOAD, NO_GRAVITY = np.zeros(6), np.zeros(3)
ROUND_OFF = 1e-10  # a singular value below this part of the regressors is none


@dataclass(frozen=True, eq=False, kw_only=True)
class PoseTracking(OnCover):
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

    def command(
        self, belief: Any, reference: PoseReference, memory: CoverMemory, load_B: Array = NO_LOAD
    ) -> tuple[Array, CoverMemory]:
        """Return the wrench in body axes about the reference point; `load_B` is what else is known to act there."""
        parameters = self.M, self._gains, self.delta
        wrench_B, sign = _track(belief.dq_IB, belief.chi_B, *reference, memory.sign, load_B, *parameters)
        return wrench_B, CoverMemory(sign)


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
        wrench_B, *kept = _track_pose(belief.dq_IB, *reference, *memory, h, load_B, *parameters)
        return wrench_B, FilterMemory(*kept)


@batched("(8),(8),(6),(6),(),(6),(6),(),(6),(6,6),(5),()->(6),(),(6),(6)")
def _track_pose(dq_IB, dq_IR, chi_R, chidot_R, sign, z, e_last, h, load_B, M, gains, delta):
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


class AdaptiveMemory(NamedTuple):
    """What the law remembers of a trial, and believes of its body."""

    sign: Array  # (...) of the cover it steers to; 0 before the first command
    theta: Array  # (..., 7) J11, J12, J13, J22, J23, J33 [kg m^2], m [kg]
    load_B: Array  # (..., 6) constant disturbance [N m, N]


@dataclass(frozen=True, eq=False, kw_only=True)
class AdaptivePoseTracking:
    """The law of `PoseTracking` with estimates in place of mass, inertia and load.

    The reference point of the body is its centre of mass. With the regressor Y of Newton and Euler

        wrench = -e - Kd s + Y theta - load
        theta' = -K_theta Y^T s,     load' = K_load s        over each interval h

    so that V = 2 (1 - q0) + r.r/4 + s.M s/2 + (errors of theta and load, squared, over their gains)/2 falls as
    V' = -e.Kp e - s.Kd s. Errors of the pose vanish; the parameters become the true ones only where the reference
    excites them: `excitation` has rank 7.

    The estimates stay within their bounds by projection, which cannot raise V while the truth is within. Where the
    command is beyond `wrench_limit`, that axis no longer teaches what would push it further (no wind-up).
    Source: Filipe and Tsiotras, J. Guid. Control Dyn. 38 (2015) 566.
    """

    Kq: Array  # (..., 3), or one number for all axes: rate per qv [1/s]
    Kr: Array  # (..., 3), or one number: velocity per half position [1/s]
    Kw: Array  # (..., 3), or one number [N m s]
    Kv: Array  # (..., 3), or one number [N s/m]
    K_theta: Array  # (..., 7) of the parameters, in their order
    K_load: Array  # (..., 6), or one number for all
    theta_low: Array  # (..., 7) bounds of the parameters
    theta_high: Array  # (..., 7)
    load_limit: Array = np.inf  # (..., 6), or one number: bounds of the disturbance [N m, N]
    wrench_limit: Array = np.inf  # (..., 6), or one number: what the actuators can do [N m, N]
    theta_start: Array = (0.0,) * 7  # (..., 7) before the first command; knowing nothing is allowed
    delta: Array = cover.DELTA  # (...) of the hysteresis
    _gains: Array = field(init=False, repr=False)  # (..., 2, 6) rows Kp, Kd

    def __post_init__(self) -> None:
        for name in ("Kq", "Kr", "Kw", "Kv"):
            store(self, **{name: each(name, getattr(self, name), 3, "positive")})
        store(self, K_theta=each("K_theta", self.K_theta, 7, "non-negative"))
        store(self, K_load=each("K_load", self.K_load, 6, "non-negative"))
        for name in ("load_limit", "wrench_limit"):
            store(self, **{name: each(name, getattr(self, name), 6, "limit")})
        for name in ("theta_low", "theta_high", "theta_start"):
            store(self, **{name: check.vector(name, getattr(self, name), 7)})
        if np.any((self.theta_start < self.theta_low) | (self.theta_start > self.theta_high)):
            raise InputError("theta_start: not within theta_low and theta_high; widen the bounds or start inside")
        store(self, delta=check.non_negative("delta", self.delta))
        store(self, _gains=gain_rows((self.Kq, self.Kr), (self.Kw, self.Kv)))

    def start(self, leading_shape: tuple[int, ...] = ()) -> AdaptiveMemory:
        """Return the memory before the first command."""
        theta = np.array(np.broadcast_to(self.theta_start, (*leading_shape, 7)))
        return AdaptiveMemory(cover.start(leading_shape), theta, np.zeros((*leading_shape, 6)))

    def command(
        self,
        belief: Any,
        reference: PoseReference,
        memory: AdaptiveMemory,
        h: Array,
        load_B: Array = NO_LOAD,
        gravity_B: Array = NO_GRAVITY,
    ) -> tuple[Array, AdaptiveMemory]:
        """Return the wrench for the interval h in body axes, and what is learnt in it.

        `load_B` is known to act too [N m, N]; `gravity_B` is an acceleration, as its force goes with the unknown mass.
        """
        limits = self.theta_low, self.theta_high, self.load_limit, self.wrench_limit
        gains = self._gains, self.K_theta, self.K_load, self.delta
        state = belief.dq_IB, belief.chi_B, *reference
        wrench_B, *learnt = _adapt(*state, *memory, load_B, gravity_B, h, *gains, *limits)
        return wrench_B, AdaptiveMemory(*learnt)


def inertia_parameters(m: Array, J: Array) -> Array:
    """Return theta (..., 7) of a mass and an inertia about the centre of mass."""
    J = np.asarray(J)
    rows, columns = np.triu_indices(3)
    entries = J[..., rows, columns]
    lead = np.broadcast_shapes(np.shape(m), entries.shape[:-1])
    return np.concatenate([np.broadcast_to(entries, (*lead, 6)), np.broadcast_to(m, lead)[..., None]], -1)


def excitation(reference: PoseReference) -> tuple[Array, int]:
    """Return the singular values (7) and the rank of what a reference (times as first axis) tells of theta.

    On the reference the regressors must single theta out beside a constant disturbance, so their mean over time does
    not count. Rank 7 identifies mass and inertia; below it some combination stays unknown, though the pose converges.
    Source: Filipe and Tsiotras (2015), proposition on mass and inertia matrix identification.
    """
    Y = _regressor(reference.chi_R, reference.chidot_R)
    values = np.linalg.svd((Y - Y.mean(axis=0)).reshape(-1, 7), compute_uv=False)
    return values, int(np.sum(values > ROUND_OFF * np.linalg.norm(Y)))


@batched("(6),(6)->(6,7)")
def _regressor(chi, chidot):
    """Return the regressor on the reference."""
    return inertia_regressor(chi, chidot)


@batched("(8),(6),(8),(6),(6),(),(7),(6),(6),(3),(),(2,6),(7),(6),(),(7),(7),(6),(6)->(6),(),(7),(6)")
def _adapt(
    dq_IB, chi_B, dq_IR, chi_R, chidot_R, sign, theta, load, known, gravity, h, gains, K_theta, K_load, delta,
    low, high, load_limit, wrench_limit,
):  # fmt: skip
    """Return the wrench, and sign, theta and load after the interval."""
    Kp, Kd = gains
    error = pose_error(dq_IB, chi_B, (dq_IR, chi_R, chidot_R), sign, delta)
    s, chidot = sliding(error, Kp)
    Y = inertia_regressor(chi_B, chidot - np.concatenate([zeros(3), gravity]))
    wrench = Y @ theta - error.e - Kd * s - load - known
    # An axis at its limit learns only what brings it back: what it learns from s changes its command against s.
    stuck = [(abs(u) > most) & (u * x < 0.0) for u, most, x in zip(wrench, wrench_limit, s, strict=True)]
    lesson = array([where(held, 0.0, x) for held, x in zip(stuck, s, strict=True)])
    theta = minimum(maximum(theta - h * K_theta * (Y.T @ lesson), low), high)
    load = minimum(maximum(load + h * K_load * lesson, -load_limit), load_limit)
    return wrench, error.sign, theta, load
