"""Pointing guidance: one body axis to a direction, a second as near as can be to another, with feed-forward.

A direction moves: it is a vector in inertial axes with its first and second derivative, of any length. The acceleration
of the spacecraft is that of two bodies. What J2 adds, up to 3 J2 n = 4e-6 rad/s in a low orbit, is missing from the
rate of axes that follow the velocity or the orbit's normal, and only from theirs.
"""

import math
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from gnc import check, quaternion
from gnc.batch import batched, jacobian
from gnc.controllers.reference import AttitudeReference
from gnc.errors import InputError
from gnc.linalg import array, cross, zeros
from gnc.models.environment import Environment, Epoch
from gnc.models.environment.constants import ASTRONOMICAL_UNIT, EARTH_MU, EARTH_RATE, SUN_SYNCHRONOUS_RATE
from gnc.models.environment.epoch import inertial_to_earth, turn
from gnc.models.parameters import store

Array = Any

OBLIQUITY = math.radians(23.43929)  # of the ecliptic
SUN_RATE_I = SUN_SYNCHRONOUS_RATE * np.array([0.0, -math.sin(OBLIQUITY), math.cos(OBLIQUITY)])  # the mean Sun's [rad/s]


class Direction(NamedTuple):
    """A vector, its velocity and its acceleration; only where it points matters to guidance."""

    d_I: Array  # (..., 3)
    rate_I: Array = np.zeros(3)  # (..., 3)
    acceleration_I: Array = np.zeros(3)  # (..., 3)


class Target(NamedTuple):
    """Where something is, in inertial axes from the centre of the Earth."""

    r_I: Array  # (..., 3) [m]
    v_I: Array  # (..., 3) [m/s]
    a_I: Array  # (..., 3) [m/s^2]


def nadir(env: Environment) -> Direction:
    """Point to the centre of the Earth."""
    return Direction(*_nadir(env.r_I, env.v_I))


def velocity(env: Environment) -> Direction:
    """Point along the inertial velocity."""
    return Direction(*_velocity(env.r_I, env.v_I))


def orbit_normal(env: Environment) -> Direction:
    """Point along r x v."""
    return Direction(*_normal(env.r_I, env.v_I))


def sun(env: Environment) -> Direction:
    """Point to the Sun, which moves with the mean Sun and the parallax of the orbit."""
    return Direction(*_sun(env.sun_I, env.r_I, env.v_I))


def towards(env: Environment, target: Target) -> Direction:
    """Point to a target: a site, or another spacecraft."""
    return Direction(*_towards(env.r_I, env.v_I, *target))


def site(epoch: Epoch, t: Array, r_E: Array) -> Target:
    """Return where a site fixed to the Earth is, t seconds after the epoch; r_E in Earth-fixed axes (ITRS) [m]."""
    R_IE = np.swapaxes(inertial_to_earth(epoch, t), -1, -2)
    return Target(*_carried(turn(R_IE, np.asarray(r_E, float)), R_IE[..., 2]))


def _gravity(r_I):
    return r_I * (-EARTH_MU / (r_I @ r_I * np.sqrt(r_I @ r_I)))


@batched("(3),(3)->(3),(3),(3)")
def _nadir(r_I, v_I):
    return -r_I, -v_I, -_gravity(r_I)


@batched("(3),(3)->(3),(3),(3)")
def _velocity(r_I, v_I):
    """Return v, a = -mu r/r^3, and the derivative of a."""
    square = r_I @ r_I
    factor = -EARTH_MU / (square * np.sqrt(square))
    return v_I, factor * r_I, factor * (v_I - (3.0 * (r_I @ v_I) / square) * r_I)


@batched("(3),(3)->(3),(3),(3)")
def _normal(r_I, v_I):
    return cross(r_I, v_I), zeros(3), zeros(3)


@batched("(3),(3),(3)->(3),(3),(3)")
def _sun(sun_I, r_I, v_I):
    """Return the vector to the Sun at one astronomical unit."""
    far, w = ASTRONOMICAL_UNIT * sun_I, array(SUN_RATE_I.tolist())
    return far, cross(w, far) - v_I, cross(w, cross(w, far)) - _gravity(r_I)


@batched("(3),(3),(3),(3),(3)->(3),(3),(3)")
def _towards(r_I, v_I, r_T_I, v_T_I, a_T_I):
    return r_T_I - r_I, v_T_I - v_I, a_T_I - _gravity(r_I)


@batched("(3),(3)->(3),(3),(3)")
def _carried(r_I, pole_I):
    """Return position, velocity and acceleration of a point that the Earth carries."""
    v_I = cross(EARTH_RATE * pole_I, r_I)
    return r_I, v_I, cross(EARTH_RATE * pole_I, v_I)


OF_ENVIRONMENT = {
    "sun": sun,
    "nadir": nadir,
    "velocity": velocity,
    "orbit normal": orbit_normal,
}
GIVEN = "target"  # the direction is handed over with each call
PARALLEL = 1e-6  # sine below which two body axes count as one


@dataclass(frozen=True, eq=False, kw_only=True)
class Pointing:
    """The reference frame R with axis_B along one direction and roll_axis_B nearest to another.

    With e1 = p/|p|, e2 = p x s/|p x s|, e3 = e1 x e2 from the directions p, s, and likewise from the two body axes, R
    takes the one triad to the other. Its rate in the triad is (e3.n'/|n|, -e3.p'/|p|, e2.p'/|p|) with n = p x s;
    its acceleration is the exact derivative of that. Where p and s are parallel there is no roll, and the result NaN.
    """

    axis_B: Array  # (3) body axis that points
    at: str = "nadir"  # where it points: "sun", "nadir", "velocity", "orbit normal" or "target"
    roll_axis_B: Array  # (3) body axis that is turned about it
    roll: str = "orbit normal"  # where to, as near as can be
    triad_B: Array = field(init=False, repr=False)  # (3, 3) columns

    def __post_init__(self) -> None:
        choices = (*OF_ENVIRONMENT, GIVEN)
        check.one_of("at", self.at, choices)
        check.one_of("roll", self.roll, choices)
        a, b = check.vector("axis_B", self.axis_B, 3), check.vector("roll_axis_B", self.roll_axis_B, 3)
        if not np.linalg.norm(np.cross(a, b)) > PARALLEL * np.linalg.norm(a) * np.linalg.norm(b):
            raise InputError("roll_axis_B: expected another direction than axis_B, neither zero")
        store(self, axis_B=a, roll_axis_B=b, triad_B=triad(a, b))
        if self.at == self.roll:
            raise InputError(f"roll: {self.roll!r} is where the first axis points already; give another direction")

    def reference(self, env: Environment, target: Direction | None = None) -> AttitudeReference:
        """Return attitude, rate and acceleration of R in an environment, and for "target" the direction given."""
        p, s = self._direction(self.at, env, target), self._direction(self.roll, env, target)
        return AttitudeReference(*_reference(*p, *s, self.triad_B))

    def _direction(self, name: str, env: Environment, target: Direction | None) -> Direction:
        if name != GIVEN:
            return OF_ENVIRONMENT[name](env)
        if target is None:
            raise InputError("target: expected a Direction, as it is to be pointed at")
        return target


@batched("(3),(3)->(3,3)")
def triad(p, s):
    """Return the columns e1 = p/|p|, e2 = p x s/|p x s|, e3 = e1 x e2."""
    n = cross(p, s)
    e1, e2 = p / np.sqrt(p @ p), n / np.sqrt(n @ n)
    return array([e1, e2, cross(e1, e2)]).T


@batched("(12)->(3)")
def triad_rate(x):
    """Return the rate of the triad in its own axes from x = (p, s, p', s')."""
    p, s, p_rate, s_rate = x[:3], x[3:6], x[6:9], x[9:]
    n, n_rate = cross(p, s), cross(p_rate, s) + cross(p, s_rate)
    _, e2, e3 = triad(p, s).T
    return array([e3 @ n_rate / np.sqrt(n @ n), *(array([-(e3 @ p_rate), e2 @ p_rate]) / np.sqrt(p @ p))])


_slope = jacobian(triad_rate, wrt="x")


@batched("(3),(3),(3),(3),(3),(3),(3,3)->(4),(3),(3)")
def _reference(p, p_rate, p_acceleration, s, s_rate, s_acceleration, triad_B):
    """Return attitude, rate and acceleration of R, the latter two in R axes."""
    x = np.concatenate([p, s, p_rate, s_rate])
    x_rate = np.concatenate([p_rate, s_rate, p_acceleration, s_acceleration])
    q_IR = quaternion.from_matrix(triad(p, s) @ triad_B.T)
    return q_IR, triad_B @ triad_rate(x), triad_B @ (_slope(x) @ x_rate)
