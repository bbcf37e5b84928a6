"""Points of a body against surfaces: gap, normal, tangents, and the directions of contact in generalised velocities.

A surface is anything with `gap_and_normal(x_I)`, which takes points (..., 3) and returns how far outside they are and
the outward unit normals: (...) and (..., 3). Points may be rounded: the centre of a small ball of the body.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from gnc import check, quaternion
from gnc.batch import batched, copysign
from gnc.errors import InputError
from gnc.linalg import array, cross
from gnc.typing import Array

UNIT_NORMAL = 1e-6  # a normal printed with seven digits passes


class Surface(Protocol):
    """What a body can touch."""

    def gap_and_normal(self, x_I: Any) -> tuple[Any, Any]:
        """Return the signed distance from the surface and the unit normal towards the point."""


def _number(name: str, x: Array) -> float:
    if x.ndim:
        raise InputError(f"{name}: expected one number, got an array {x.shape}")
    return float(x)


@batched("(3),(3),()->()")
def _height(x_I, n_I, offset):
    return n_I @ x_I - offset


@dataclass(frozen=True)
class Plane:
    """The half space n.x <= offset is solid."""

    normal_I: Any = (0.0, 0.0, 1.0)  # (3) unit, out of the solid
    offset: Any = 0.0  # of the plane from the origin along the normal [m]

    def __post_init__(self) -> None:
        normal = check.vector("normal_I", self.normal_I, 3)
        length = float(np.linalg.norm(normal))
        if normal.shape != (3,) or abs(length - 1) > UNIT_NORMAL:
            raise InputError(f"normal_I: {normal} is not one unit vector (length {length:.9g}); divide by its length")
        object.__setattr__(self, "normal_I", normal / length)
        object.__setattr__(self, "offset", _number("offset", check.finite("offset", self.offset)))

    def gap_and_normal(self, x_I: Any) -> tuple[Array, Array]:
        """Return the height above the plane and its normal."""
        return _height(x_I, self.normal_I, self.offset), np.broadcast_to(self.normal_I, np.shape(x_I))


@batched("(3),(3),()->(),(3)")
def _from_centre(x_I, centre_I, radius):
    d = x_I - centre_I
    distance = np.sqrt(d @ d)
    return distance - radius, d / distance


@dataclass(frozen=True)
class Sphere:
    """A solid ball; a point at its very centre has no normal, and its trial is lost."""

    centre_I: Any  # (3) [m]
    radius: Any  # [m]

    def __post_init__(self) -> None:
        centre = check.vector("centre_I", self.centre_I, 3)
        if centre.shape != (3,):
            raise InputError(f"centre_I: expected one point (3), got {centre.shape}")
        object.__setattr__(self, "centre_I", centre)
        object.__setattr__(self, "radius", _number("radius", check.positive("radius", self.radius)))

    def gap_and_normal(self, x_I: Any) -> tuple[Array, Array]:
        """Return the distance from the ball and the direction from its centre."""
        return _from_centre(x_I, self.centre_I, self.radius)


@batched("(3)->(3),(3)")
def tangents(n):
    """Return two vectors that complete the unit vector n to a right-handed frame (n, t1, t2).

    Source: Duff et al., "Building an Orthonormal Basis, Revisited", J. Computer Graphics Techniques 6 (2017) 1.
    """
    sign = copysign(1.0, n[2])
    a = -1.0 / (sign + n[2])
    b = n[0] * n[1] * a
    t1 = array([1.0 + sign * n[0] * n[0] * a, sign * b, -sign * n[0]])
    return t1, array([b, sign + n[1] * n[1] * a, -n[1]])


@batched("(4),(3),(),(3)->(3,7)")
def directions(q_IB, X_B, radius, n_I):
    """Return the rows (d, d.R X, X x R^T d) of contact along d = n, t1, t2, of unit q.

    A row times (v, nu, Om) is the velocity v + R (nu X + Om x X) of the touching point along d. On a rounded point X is
    the point of its ball that is deepest in the surface.
    """
    n_B = quaternion.inverse_rotate(q_IB, n_I)
    X = X_B - radius * n_B
    rows = []
    for d_I in (n_I, *tangents(n_I)):
        d_B = quaternion.inverse_rotate(q_IB, d_I)
        rows.append([*d_I, d_B @ X, *cross(X, d_B)])
    return array(rows)


def around(q_IB: Array, r_IB: Array, points_B: Array, radii: Array, surfaces: Sequence[Surface]) -> tuple[Array, Array]:
    """Return gaps and normals of all points against all surfaces, contacts last and surface by surface."""
    x_I = _world(q_IB[..., None, :], r_IB[..., None, :], points_B)
    met = [surface.gap_and_normal(x_I) for surface in surfaces]
    return np.concatenate([gap - radii for gap, _ in met], axis=-1), np.concatenate([n for _, n in met], axis=-2)


@batched("(4),(3),(3)->(3)")
def _world(q_IB, r_IB, X_B):
    return r_IB + quaternion.rotate(q_IB, X_B)
