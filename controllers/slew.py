"""Turning from one attitude to another within limits of its rate: about a single axis, or around the Sun."""

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from gnc import check, quaternion
from gnc.batch import batched, maximum, minimum, where
from gnc.controllers.reference import AttitudeReference
from gnc.linalg import array, cross, zeros
from gnc.models.parameters import store

Array = Any


class SlewPlan(NamedTuple):
    """A turn of R against its target T: at rest, ramp up, coast, ramp down, at rest.

    Where x is still to go, q_TR = exp(x a_1) exp(x a_2) exp(x a_3); about one axis a_1 alone is not zero.
    """

    turns: Array  # (..., 3, 3) rows a_1, a_2, a_3, whose lengths add up to 1
    angle: Array  # (...) x at the start, from 0 to pi about a single axis [rad]
    ramp_s: Array  # (...) how long the rate grows, and how long it falls [s]
    coast_s: Array  # (...) how long it stays [s]
    t_start: Array  # (...) [s]
    smooth: Array  # (...) 1: the acceleration ramps as (1 - cos)/2; 0: it is constant

    @property
    def axis(self) -> Array:
        """The unit vector (..., 3) of a turn about a single axis, the same in T and R axes."""
        return -self.turns[..., 0, :]

    @property
    def t_end(self) -> Array:
        """When the turn is over [s]."""
        return self.t_start + 2.0 * self.ramp_s + self.coast_s


@dataclass(frozen=True, eq=False, kw_only=True)
class Slew:
    """The fastest turn whose acceleration ramps as a (1 - cos)/2, so that even its derivative is continuous.

    A ramp of duration T at the limit a gains the rate a T/2. If the angle is at least 2 w^2/a the rate reaches its
    limit w, T = 2 w/a, and the rest is coasted; else T = sqrt(2 angle/a). With smooth = False the acceleration is
    constant, T is half of it, and no turn about that axis is faster. The limits are those of the turn, against the
    target; around the Sun they bound the sum of the sizes of three turns.
    """

    rate_limit: Array  # (...) [rad/s]
    acceleration_limit: Array  # (...) [rad/s^2]
    smooth: bool = True

    def __post_init__(self) -> None:
        store(self, rate_limit=check.positive("rate_limit", self.rate_limit))
        store(self, acceleration_limit=check.positive("acceleration_limit", self.acceleration_limit))

    def plan(self, q_from: Array, q_to: Array, t_start: Array = 0.0) -> SlewPlan:
        """Plan the turn from one attitude to another, the short way, both against the same frame.

        For a target that moves give the two attitudes at t_start; the turn is then one against the target.
        """
        limits = self.rate_limit, self.acceleration_limit
        turns, angle = single(q_from, q_to)
        return timed(turns, angle, limits, float(self.smooth), np.asarray(t_start, float))

    def reference(self, plan: SlewPlan, target: AttitudeReference, t: Array) -> AttitudeReference:
        """Return where the turn to a target, at rest or moving, is at t; before it and after it the ends hold."""
        return follow(plan, target, t)


def timed(turns: Array, angle: Array, limits: tuple[Array, Array], smooth: Any, t_start: Any) -> SlewPlan:
    """Return the plan of a path within limits of rate and acceleration."""
    return SlewPlan(turns, *_timed(turns, angle, *limits, smooth, t_start))


def follow(plan: SlewPlan, target: AttitudeReference, t: Any) -> AttitudeReference:
    """Return where a turn to a target is at t."""
    return AttitudeReference(*_turn(*plan, *target, t))


@batched("(4),(4)->(3,3),()")
def single(q_from, q_to):
    """Return the turns about a single axis, and the angle."""
    turn = quaternion.log(quaternion.mul(quaternion.conj(q_from), q_to))
    angle = np.sqrt(turn @ turn)
    still = angle == 0.0
    axis = where(still, array([1.0, 0.0, 0.0]), turn / where(still, 1.0, angle))
    return array([-axis, zeros(3), zeros(3)]), angle


@batched("(4),(4),(3),(),(3),(3,3),()->(3,3),()")
def around(q_from, q_to, axis_B, cosine, away_T, turns, angle):
    """Return the turns that go around a direction where those about a single axis would come too near.

    The body axis d is turned about the direction s by alpha, and away from it by beta, so that its angle to s goes
    straight from that of the start to that of the end; gamma turns about the body axis itself:
    q_TR = exp(x alpha s) exp(x beta n) exp(x gamma d), n = s x d/|s x d|.
    """
    q_TR = quaternion.mul(quaternion.conj(q_to), q_from)
    d_start, d, s = quaternion.rotate(q_TR, axis_B), axis_B, away_T
    near = _nearest(d_start, -turns[0], angle, s) > cosine
    n = cross(s, d)
    size = np.sqrt(n @ n)
    n = n / where(size > 0.0, size, 1.0)
    beta = np.arctan2(_length(cross(s, d_start)), s @ d_start) - np.arctan2(size, s @ d)
    across, across_start = d - (s @ d) * s, d_start - (s @ d_start) * s
    alpha = np.arctan2(s @ cross(across, across_start), across @ across_start)
    left = quaternion.mul(quaternion.exp(alpha * s), quaternion.exp(beta * n))
    gamma = quaternion.log(quaternion.mul(quaternion.conj(left), q_TR)) @ d
    whole = abs(alpha) + abs(beta) + abs(gamma)
    unit = where(whole > 0.0, whole, 1.0)
    path = array([(alpha / unit) * s, (beta / unit) * n, (gamma / unit) * d])
    return where(near, path, turns), where(near, whole, angle)


def _length(v):
    return np.sqrt(v @ v)


def _nearest(d, axis, angle, s):
    """Return the cosine of the smallest angle between s and d as it is turned about an axis."""
    along, c = (s @ axis) * (d @ axis), s @ cross(axis, d)
    b = s @ d - along
    ends = maximum(s @ d, along + b * np.cos(angle) + c * np.sin(angle))
    peak = np.arctan2(c, b)
    peak = where(peak < 0.0, peak + 2.0 * math.pi, peak)
    return where(peak < angle, along + np.sqrt(b * b + c * c), ends)


@batched("(3,3),(),(),(),(),()->(),(),(),(),()")
def _timed(turns, angle, rate_limit, acceleration_limit, smooth, t_start):
    """Return angle, durations of ramp and coast, start, and whether it is smooth."""
    longest = (1.0 + smooth) * rate_limit / acceleration_limit
    short = angle < rate_limit * longest
    ramp_s = where(short, np.sqrt((1.0 + smooth) * angle / acceleration_limit), longest)
    return angle, ramp_s, where(short, 0.0, angle / rate_limit - longest), t_start, smooth


def _profile(angle, ramp_s, coast_s, smooth, t):
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
    gone = rate * (T * (0.5 * u * u + smooth * ((np.cos(phase) - 1.0) / (4.0 * math.pi**2))) + maximum(s - T, 0.0))
    speed = rate * (u - smooth * (np.sin(phase) / (2.0 * math.pi)))
    push = where((s < T) & (s > 0.0), rate / T * (1.0 - smooth * np.cos(phase)), 0.0)
    return where(late, gone, angle - gone), speed, where(late, -push, push)


@batched("(3,3),(),(),(),(),(),(4),(3),(3),()->(4),(3),(3)")
def _turn(turns, angle, ramp_s, coast_s, t_start, smooth, q_IT, w_T, wdot_T, t):
    """Return attitude, rate and acceleration of R: q_IR = q_IT q_TR(x), all of it in R axes.

    The rate against T is x' g with g = a_3 + E_3^T (a_2 + E_2^T a_1), E_k = exp(x a_k).
    """
    left, speed, push = _profile(angle, ramp_s, coast_s, smooth, t - t_start)
    a_1, a_2, a_3 = turns
    e_1, e_2, e_3 = (quaternion.exp(left * a) for a in turns)
    q_TR = quaternion.mul(quaternion.mul(e_1, e_2), e_3)
    second = quaternion.inverse_rotate(e_2, a_1)
    third = quaternion.inverse_rotate(e_3, a_2 + second)
    g = a_3 + third
    g_slope = -cross(a_3, third) - quaternion.inverse_rotate(e_3, cross(a_2, second))
    w_T_R, relative = quaternion.inverse_rotate(q_TR, w_T), -speed * g
    turned = -push * g + (speed * speed) * g_slope
    wdot_R = quaternion.inverse_rotate(q_TR, wdot_T) - cross(relative, w_T_R) + turned
    return quaternion.mul(q_IT, q_TR), w_T_R + relative, wdot_R
