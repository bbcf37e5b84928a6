"""Pose tracking that learns mass, inertia and a constant disturbance on the way."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from gnc import check
from gnc.batch import batched, maximum, minimum, where
from gnc.controllers import sign as cover
from gnc.controllers.pose import NO_LOAD, gain_rows, sliding
from gnc.controllers.pose_error import inertia_regressor, pose_error
from gnc.controllers.reference import PoseReference
from gnc.errors import InputError
from gnc.linalg import array, zeros
from gnc.models.parameters import each, store

Array = Any
NO_GRAVITY = np.zeros(3)
ROUND_OFF = 1e-10  # a singular value below this part of the regressors is none


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
        """Validate once; the kernels do not."""
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
