"""Turning from one attitude to another about a single axis, within limits of rate and acceleration."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from gnc import check, quaternion
from gnc.batch import batched, maximum, minimum, where
from gnc.controllers.reference import AttitudeReference
from gnc.linalg import array, cross
from gnc.models.parameters import store

Array = Any


class SlewPlan(NamedTuple):
    """A turn of R against its target T: at rest, ramp up, coast, ramp down, at rest."""

    axis: Array  # (..., 3) unit vector, the same in T and R axes
    angle: Array  # (...) from 0 to pi [rad]
    ramp_s: Array  # (...) how long the rate grows, and how long it falls [s]
    coast_s: Array  # (...) how long it stays [s]
    t_start: Array  # (...) [s]

    @property
    def t_end(self) -> Array:
        """When the turn is over [s]."""
        return self.t_start + 2.0 * self.ramp_s + self.coast_s


@dataclass(frozen=True, eq=False, kw_only=True)
class Slew:
    """The fastest turn whose acceleration ramps as a (1 - cos)/2, so that even its derivative is continuous.

    A ramp of duration T at the limit a gains the rate a T/2. If the angle is at least 2 w^2/a the rate reaches its
    limit w, T = 2 w/a, and the rest is coasted; else T = sqrt(2 angle/a). The limits are those of the turn about its
    axis, against the target.
    """

    rate_limit: Array  # (...) [rad/s]
    acceleration_limit: Array  # (...) [rad/s^2]

    def __post_init__(self) -> None:
        """Validate once; the kernels do not."""
        store(self, rate_limit=check.positive("rate_limit", self.rate_limit))
        store(self, acceleration_limit=check.positive("acceleration_limit", self.acceleration_limit))

    def plan(self, q_from: Array, q_to: Array, t_start: Array = 0.0) -> SlewPlan:
        """Plan the turn from one attitude to another, the short way, both against the same frame.

        For a target that moves give the two attitudes at t_start; the turn is then one against the target.
        """
        axis, angle, ramp_s, coast_s = _plan(q_from, q_to, self.rate_limit, self.acceleration_limit)
        return SlewPlan(axis, angle, ramp_s, coast_s, np.asarray(t_start, float))

    def reference(self, plan: SlewPlan, target: AttitudeReference, t: Array) -> AttitudeReference:
        """Return where the turn to a target, at rest or moving, is at t; before it and after it the ends hold."""
        return AttitudeReference(*_turn(*plan, *target, t))


@batched("(4),(4),(),()->(3),(),(),()")
def _plan(q_from, q_to, rate_limit, acceleration_limit):
    """Return axis, angle, and the durations of ramp and coast."""
    turn = quaternion.log(quaternion.mul(quaternion.conj(q_from), q_to))
    angle = np.sqrt(turn @ turn)
    still = angle == 0.0
    axis = where(still, array([1.0, 0.0, 0.0]), turn / where(still, 1.0, angle))
    longest = 2.0 * rate_limit / acceleration_limit
    short = angle < rate_limit * longest
    ramp_s = where(short, np.sqrt(2.0 * angle / acceleration_limit), longest)
    return axis, angle, ramp_s, where(short, 0.0, angle / rate_limit - longest)


def _profile(angle, ramp_s, coast_s, t):
    """Return the angle still to go, the rate and the acceleration at t after the start.

    Up to the middle of the turn it is what has been turned that is known exactly, after it what is left.
    """
    whole = 2.0 * ramp_s + coast_s
    late = t > 0.5 * whole
    s = maximum(where(late, whole - t, t), 0.0)  # time from the nearer end
    T = where(ramp_s > 0.0, ramp_s, 1.0)
    u = minimum(s / T, 1.0)
    phase = 2.0 * math.pi * u
    rate = where(ramp_s > 0.0, angle / (T + coast_s), 0.0)
    gone = rate * (T * (0.5 * u * u + (np.cos(phase) - 1.0) / (4.0 * math.pi**2)) + maximum(s - T, 0.0))
    speed = rate * (u - np.sin(phase) / (2.0 * math.pi))
    push = where(s < T, rate / T * (1.0 - np.cos(phase)), 0.0)
    return where(late, gone, angle - gone), speed, where(late, -push, push)


@batched("(3),(),(),(),(),(4),(3),(3),()->(4),(3),(3)")
def _turn(axis, angle, ramp_s, coast_s, t_start, q_IT, w_T, wdot_T, t):
    """Return attitude, rate and acceleration of R: q_IR = q_IT exp(-axis left), all of it in R axes."""
    left, speed, push = _profile(angle, ramp_s, coast_s, t - t_start)
    q_TR = quaternion.exp(-left * axis)
    w_T_R, relative = quaternion.inverse_rotate(q_TR, w_T), speed * axis
    wdot_R = quaternion.inverse_rotate(q_TR, wdot_T) - cross(relative, w_T_R) + push * axis
    return quaternion.mul(q_IT, q_TR), w_T_R + relative, wdot_R
