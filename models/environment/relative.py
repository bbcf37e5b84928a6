"""Relative motion: Hill's frame, and how craft fall beside an orbit.

Hill's frame H rides with the target: x outward along its position, y ahead in its orbit, z along its orbital momentum.
Relative states in H are [position, velocity] as seen in H, (..., 6).

Craft that move have their places from an origin O that falls freely along the orbit, in axes that do not turn:
rho" = g(R + rho) - g(R), R that of O, with the field of a point mass and J2. Two craft beside O then move against each
other as they do about the Earth, at any distance and eccentricity.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from gnc import quaternion, spatial
from gnc.batch import batched
from gnc.linalg import array, cross
from gnc.models.environment.constants import EARTH_J2, EARTH_MU, EARTH_RADIUS
from gnc.models.environment.orbit import Orbit, OrbitState
from gnc.typing import Array

PRECISION = 1e-12  # of the path of a free fall, relative


def relative_gravity(rho_I, r_I, mu):
    """Return the chaser's acceleration less the target's, without cancellation.

    |r + rho|^2 = r^2 (1 + q), and (1 + q)^(-3/2) - 1 = -q (3 + 3 q + q^2) / (k (1 + k)) with k = (1 + q)^(3/2).
    Source: Battin, An Introduction to the Mathematics and Methods of Astrodynamics, 1999, section 8.4 (Encke).
    """
    rr = r_I @ r_I
    q = (rho_I @ (rho_I + 2.0 * r_I)) / rr
    k = (1.0 + q) * np.sqrt(1.0 + q)
    lessening = -q * (3.0 + 3.0 * q + q * q) / (k * (1.0 + k))
    return (-mu / (rr * np.sqrt(rr))) * (rho_I + lessening * (r_I + rho_I))


@batched("(3),(3)->(4)")
def hill_frame(r_I, v_I):
    """Return q_IH of Hill's frame at a target's state."""
    momentum = cross(r_I, v_I)
    x, z = r_I / np.sqrt(r_I @ r_I), momentum / np.sqrt(momentum @ momentum)
    return quaternion.from_matrix(array([x, cross(z, x), z]).T)


@batched("(6),(3),(3)->(3),(3)")
def from_hill(x_H, r_I, v_I):
    """Return rho_I and its derivative from the relative state in Hill's frame."""
    q_IH, w_I = hill_frame(r_I, v_I), cross(r_I, v_I) / (r_I @ r_I)
    rho_I = quaternion.rotate(q_IH, x_H[:3])
    return rho_I, quaternion.rotate(q_IH, x_H[3:]) + cross(w_I, rho_I)


def oblateness(r_I, J2):
    """Return the acceleration by J2 about the axis of I; Vallado, 4th ed., eq. (8-30)."""
    rr, z = r_I @ r_I, r_I[2]
    k, s = (-1.5 * J2 * EARTH_MU * EARTH_RADIUS**2) / (rr * rr * np.sqrt(rr)), 5.0 * z * z / rr
    return k * array([r_I[0] * (1.0 - s), r_I[1] * (1.0 - s), z * (3.0 - s)])


@batched("(3),()->(3)")
def gravity(r_I, J2):
    """Return the acceleration of a body in the Earth's field."""
    rr = r_I @ r_I
    return (-EARTH_MU / (rr * np.sqrt(rr))) * r_I + oblateness(r_I, J2)


@batched("(3),(3),()->(3)")
def falling_beside(rho_I, r_I, J2):
    """Return g(r + rho) - g(r)."""
    return relative_gravity(rho_I, r_I, EARTH_MU) + (oblateness(r_I + rho_I, J2) - oblateness(r_I, J2))


@batched("(3),(3),()->(3)")
def falling_beside_linear(rho_I, r_I, J2):
    """Return mu/r^3 (3 n n^T - 1) rho, which on a circle is Hill's and Clohessy and Wiltshire's field."""
    rr = r_I @ r_I
    return (EARTH_MU / (rr * np.sqrt(rr))) * ((3.0 * (r_I @ rho_I) / rr) * r_I - rho_I)


@batched("(4),(3),(6,6)->(6)")
def weight(q_IB, acceleration_I, M):
    """Return the load on the centre of mass [0, m a], body axes, of a body that falls at an acceleration."""
    force_B = spatial.parts(M)[0] * quaternion.inverse_rotate(q_IB, acceleration_I)
    return np.concatenate([0.0 * force_B, force_B])


class Tide:
    """How craft fall beside the origin: exactly, or in Hill's linear field."""

    def __init__(self, J2: float = EARTH_J2, linear: bool = False) -> None:
        self.J2, self._law = J2, falling_beside_linear if linear else falling_beside

    def acceleration_I(self, rho_I: Array, env: Any) -> Array:
        """Return the acceleration (..., 3) of a place rho_I from the origin, which is at env.r_I."""
        return self._law(rho_I, env.r_I, self.J2)

    def load_B(self, q_IB: Array, rho_I: Array, M: Array, env: Any) -> Array:
        """Return [torque, force] (..., 6) on the centre of mass, at rho_I."""
        return weight(q_IB, self.acceleration_I(rho_I, env), M)


class FreeFall:
    """The path of a body that falls freely from where another path begins."""

    def __init__(self, path: Orbit, duration_s: float, J2: float) -> None:
        self._start, self.epoch, self._duration_s, self._J2 = path.at(0.0), path.epoch, duration_s, J2

    @cached_property
    def _solution(self) -> Any:
        from scipy.integrate import solve_ivp

        def rate(t: float, y: Array) -> Array:
            return np.concatenate([y[3:], gravity(y[:3], self._J2)])

        begin = np.concatenate(self._start)
        return solve_ivp(rate, (0.0, self._duration_s), begin, "DOP853", dense_output=True, rtol=PRECISION).sol

    def at(self, t: Any) -> OrbitState:
        """Return the state t seconds after the epoch."""
        y = np.moveaxis(self._solution(np.asarray(t, float)), 0, -1)
        return OrbitState(y[..., :3], y[..., 3:])
