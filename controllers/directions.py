"""Directions that move: a vector in inertial axes with its first and second derivative, of any length.

The acceleration of the spacecraft is that of two bodies. What J2 adds, up to 3 J2 n = 4e-6 rad/s in a low orbit, is
missing from the rate of axes that follow the velocity or the orbit's normal, and only from theirs.
"""

import math
from typing import NamedTuple

import numpy as np

from gnc.batch import batched
from gnc.linalg import array, cross, zeros
from gnc.models.environment import Environment, Epoch
from gnc.models.environment.constants import ASTRONOMICAL_UNIT, EARTH_MU, EARTH_RATE, SUN_SYNCHRONOUS_RATE
from gnc.models.environment.epoch import inertial_to_earth, turn
from gnc.typing import Array

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
