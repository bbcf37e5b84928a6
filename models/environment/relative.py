"""Relative motion: Clohessy-Wiltshire in closed form, and two bodies in full.

Hill's frame H rides with the target: x outward along its position, y ahead in its orbit, z along its orbital momentum.
Relative states in H are [position, velocity] as seen in H, (..., 6).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gnc import check, quaternion
from gnc.batch import batched
from gnc.coefficients import cosine, sinc, sine_gap, versine
from gnc.linalg import array, cross
from gnc.models.environment.constants import EARTH_MU

Array = NDArray[np.float64]


# Clohessy-Wiltshire


@dataclass(frozen=True)
class ClohessyWiltshire:
    """Linear relative motion about a circular orbit; off by distance^2/radius and distance times eccentricity."""

    n: Any  # (...) mean motion of the target [rad/s]

    def __post_init__(self) -> None:
        object.__setattr__(self, "n", check.positive("n", self.n))

    def step(self, x_H: Array, a_H: Array, h: Any) -> Array:
        """Advance the relative state (..., 6) by h under a thrust acceleration that is constant in H."""
        return _clohessy_wiltshire_step(x_H, a_H, self.n, h)

    def linearize(self, h: Any) -> tuple[Array, Array]:
        """Return F (..., 6, 6) and G (..., 6, 3) with step = F x + G a."""
        return transition(self.n, h)


@batched("(),()->(6,6),(6,3)")
def transition(n, h):
    """Return F and G of x" = 3 n^2 x + 2 n y' + a_x, y" = -2 n x' + a_y, z" = -n^2 z + a_z over h.

    Source: Clohessy and Wiltshire, "Terminal Guidance System for Satellite Rendezvous", J. Aerosp. Sci. 27 (1960) 653.
    """
    z = (n * h) ** 2
    c, S, V, W = cosine(z), h * sinc(z), h * h * versine(z), h * h * h * sine_gap(z)
    n2, along = n * n, 4.0 * V - 1.5 * h * h  # S = sin/n, V = (1 - cos)/n^2, W = (n h - sin)/n^3
    F = array(
        [
            [1.0 + 3.0 * n2 * V, 0.0, 0.0, S, 2.0 * n * V, 0.0],
            [-6.0 * n * n2 * W, 1.0, 0.0, -2.0 * n * V, 4.0 * S - 3.0 * h, 0.0],
            [0.0, 0.0, c, 0.0, 0.0, S],
            [3.0 * n2 * S, 0.0, 0.0, c, 2.0 * n * S, 0.0],
            [-6.0 * n * n2 * V, 0.0, 0.0, -2.0 * n * S, 4.0 * c - 3.0, 0.0],
            [0.0, 0.0, -n2 * S, 0.0, 0.0, c],
        ]
    )
    G_position = array([[V, 2.0 * n * W, 0.0], [-2.0 * n * W, along, 0.0], [0.0, 0.0, V]])
    return F, np.concatenate([G_position, F[:3, 3:]])


@batched("(6),(3),(),()->(6)")
def _clohessy_wiltshire_step(x_H, a_H, n, h):
    """Return F x + G a."""
    F, G = transition(n, h)
    return F @ x_H + G @ a_H


# Two bodies


class RelativeState(NamedTuple):
    """A chaser from a target, and the target itself, in inertial axes."""

    rho_I: Array  # (..., 3) position of the chaser from the target [m]
    rho_rate_I: Array  # (..., 3) its derivative [m/s]
    r_I: Array  # (..., 3) position of the target from the Earth [m]
    v_I: Array  # (..., 3) velocity of the target [m/s]


@dataclass(frozen=True)
class TwoBody:
    """Relative motion in the field of a point mass, any distance and eccentricity, by fourth-order Runge-Kutta steps.

    Steps of 10 s in low orbit keep the relative position to 1e-7 of itself per orbit.
    """

    mu: Any = EARTH_MU  # (...) [m^3/s^2]

    def __post_init__(self) -> None:
        object.__setattr__(self, "mu", check.positive("mu", self.mu))

    def step(self, x: RelativeState, a_I: Array, h: Any) -> RelativeState:
        """Advance by h under a thrust acceleration of the chaser that is constant in inertial axes."""
        return RelativeState(*two_body_step(*x, a_I, self.mu, h))

    def steps(self, count: Any, x: RelativeState, a_I: Array, h: Any) -> RelativeState:
        """Advance by so many steps at once."""
        return RelativeState(*two_body_step.repeat(count, *x, a_I, self.mu, h))


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


@batched("(3),(3),(3),(3),(3),(),()->(3),(3),(3),(3)")
def two_body_step(rho_I, rho_rate_I, r_I, v_I, a_I, mu, h):
    """Take one classical Runge-Kutta step of both bodies."""

    def rate(y):
        rr = y[6:9] @ y[6:9]
        gravity = (-mu / (rr * np.sqrt(rr))) * y[6:9]
        return np.concatenate([y[3:6], relative_gravity(y[:3], y[6:9], mu) + a_I, y[9:], gravity])

    y = np.concatenate([rho_I, rho_rate_I, r_I, v_I])
    k1 = rate(y)
    k2 = rate(y + (0.5 * h) * k1)
    k3 = rate(y + (0.5 * h) * k2)
    k4 = rate(y + h * k3)
    y = y + (h / 6.0) * (k1 + 2.0 * (k2 + k3) + k4)
    return y[:3], y[3:6], y[6:9], y[9:]


# Hill's frame


@batched("(3),(3)->(4)")
def hill_frame(r_I, v_I):
    """Return q_IH of Hill's frame at a target's state."""
    momentum = cross(r_I, v_I)
    x, z = r_I / np.sqrt(r_I @ r_I), momentum / np.sqrt(momentum @ momentum)
    return quaternion.from_matrix(array([x, cross(z, x), z]).T)


@batched("(3),(3),(3),(3)->(6)")
def to_hill(rho_I, rho_rate_I, r_I, v_I):
    """Return the relative state as seen in Hill's frame, which turns by r x v / r^2, from the parts of another."""
    q_IH, w_I = hill_frame(r_I, v_I), cross(r_I, v_I) / (r_I @ r_I)
    velocity_I = rho_rate_I - cross(w_I, rho_I)
    return np.concatenate([quaternion.inverse_rotate(q_IH, rho_I), quaternion.inverse_rotate(q_IH, velocity_I)])


@batched("(6),(3),(3)->(3),(3)")
def from_hill(x_H, r_I, v_I):
    """Return rho_I and its derivative from the relative state in Hill's frame."""
    q_IH, w_I = hill_frame(r_I, v_I), cross(r_I, v_I) / (r_I @ r_I)
    rho_I = quaternion.rotate(q_IH, x_H[:3])
    return rho_I, quaternion.rotate(q_IH, x_H[3:]) + cross(w_I, rho_I)
