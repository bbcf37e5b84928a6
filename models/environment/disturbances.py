"""Disturbance torques: gravity gradient, residual dipole, and the sum of all that act.

Each source is a frozen dataclass with

    torque(q_IB, env) -> tau_B              (..., 3) [N m], about the centre of mass
    linearize(q_IB, env) -> tau_B, T        T = d tau / d a (..., 3, 3) for q_IB exp(a/2)
    force(q_IB, env) -> force_B             (..., 3) [N]; zero where the source turns the body only

A vector u fixed in I has u_B = R_BI u_I and d u_B / d a = [u_B], so T = (d tau / d u_B) [u_B].
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from gnc import check
from gnc.batch import batched
from gnc.errors import InputError
from gnc.linalg import cross, skew
from gnc.models.environment.constants import EARTH_MU
from gnc.models.environment.table import Environment
from gnc.quaternion import inverse_rotate

Array = NDArray[np.float64]


class Disturbance(Protocol):
    """What pushes or turns a spacecraft because of where it is."""

    def torque(self, q_IB: Array, env: Environment) -> Array:
        """Return tau_B (..., 3) [N m]."""

    def linearize(self, q_IB: Array, env: Environment) -> tuple[Array, Array]:
        """Return tau_B and its gradient T (..., 3, 3) to the attitude."""

    def force(self, q_IB: Array, env: Environment) -> Array:
        """Return force_B (..., 3) [N]."""


class _PureTorque:
    """A source without force."""

    def force(self, q_IB: Array, env: Environment) -> Array:
        """Return no force."""
        return np.zeros(np.broadcast_shapes(np.shape(q_IB)[:-1], np.shape(env.r_I)[:-1]) + (3,))


@dataclass(frozen=True)
class GravityGradient(_PureTorque):
    """The torque of a point-like Earth, 3 mu/r^3 n x J n with n = r/|r| in body axes."""

    J: Any  # (..., 3, 3) about the centre of mass, body axes [kg m^2]

    def __post_init__(self) -> None:
        object.__setattr__(self, "J", check.inertia("J", self.J))

    def torque(self, q_IB: Array, env: Environment) -> Array:
        """Return tau_B (..., 3) [N m]."""
        return gravity_gradient_torque(q_IB, env.r_I, self.J)

    def linearize(self, q_IB: Array, env: Environment) -> tuple[Array, Array]:
        """Return tau_B and its gradient T (..., 3, 3) to the attitude."""
        return gravity_gradient_linear(q_IB, env.r_I, self.J)


@dataclass(frozen=True)
class ResidualDipole(_PureTorque):
    """The torque m x B of a magnetic moment that stays in the spacecraft."""

    m_B: Any  # (..., 3) [A m^2]

    def __post_init__(self) -> None:
        object.__setattr__(self, "m_B", check.vector("m_B", self.m_B, 3))

    def torque(self, q_IB: Array, env: Environment) -> Array:
        """Return tau_B (..., 3) [N m]."""
        return dipole_torque(q_IB, env.B_I, self.m_B)

    def linearize(self, q_IB: Array, env: Environment) -> tuple[Array, Array]:
        """Return tau_B and its gradient T (..., 3, 3) to the attitude."""
        return _dipole_linear(q_IB, env.B_I, self.m_B)


@dataclass(frozen=True)
class Disturbances:
    """The sum of sources, itself one."""

    sources: Sequence[Disturbance]

    def __post_init__(self) -> None:
        object.__setattr__(self, "sources", tuple(self.sources))
        if not self.sources:
            raise InputError("sources: nothing disturbs; give at least one source")

    def torque(self, q_IB: Array, env: Environment) -> Array:
        """Return tau_B (..., 3) [N m]."""
        return _total(source.torque(q_IB, env) for source in self.sources)

    def linearize(self, q_IB: Array, env: Environment) -> tuple[Array, Array]:
        """Return tau_B and its gradient T (..., 3, 3) to the attitude."""
        tau_B, T = zip(*(source.linearize(q_IB, env) for source in self.sources), strict=True)
        return _total(tau_B), _total(T)

    def force(self, q_IB: Array, env: Environment) -> Array:
        """Return force_B (..., 3) [N]."""
        return _total(source.force(q_IB, env) for source in self.sources)


def _total(parts: Any) -> Array:
    """Add in order: the bits of a trial must not depend on the batch, as those of np.sum may."""
    first, *rest = parts
    for part in rest:
        first = first + part
    return first


# Kernels


def _gradient_scale(r_I):
    rr = r_I @ r_I
    return 3.0 * EARTH_MU / (rr * rr * np.sqrt(rr))  # n n is r r / r^2


@batched("(4),(3),(3,3)->(3)")
def gravity_gradient_torque(q_IB, r_I, J):
    """Return 3 mu/r^5 r x J r. Source: Hughes, Spacecraft Attitude Dynamics, 1986, section 8.1."""
    r_B = inverse_rotate(q_IB, r_I)
    return _gradient_scale(r_I) * cross(r_B, J @ r_B)


@batched("(4),(3),(3,3)->(3),(3,3)")
def gravity_gradient_linear(q_IB, r_I, J):
    """Return the torque and 3 mu/r^5 ([r] J - [J r]) [r]."""
    r_B = inverse_rotate(q_IB, r_I)
    k, Jr = _gradient_scale(r_I), J @ r_B
    return k * cross(r_B, Jr), k * ((skew(r_B) @ J - skew(Jr)) @ skew(r_B))


@batched("(4),(3),(3)->(3)")
def dipole_torque(q_IB, B_I, m_B):
    """Return m x B."""
    return cross(m_B, inverse_rotate(q_IB, B_I))


@batched("(4),(3),(3)->(3),(3,3)")
def _dipole_linear(q_IB, B_I, m_B):
    """Return the torque and [m] [B]."""
    B_B = inverse_rotate(q_IB, B_I)
    return cross(m_B, B_B), skew(m_B) @ skew(B_B)
