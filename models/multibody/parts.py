"""What a tree is made of: bodies, joints, frames, and its state."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from gnc import check
from gnc.errors import InputError
from gnc.models.multibody.joints import KINDS, Kind
from gnc.models.parameters import store

Array = Any

IDENTITY = (1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
ORIGIN = (0.0, 0.0, 0.0)
NO_INERTIA = (ORIGIN, ORIGIN, ORIGIN)


def pose(name: str, dq: Array) -> Array:
    """Unit dual quaternions: the rotation unit, the dual part orthogonal to it."""
    a = check.finite(name, dq, (8,))
    q = check.unit_quaternion(name, a[..., :4])
    slant = np.abs(np.sum(q * a[..., 4:], -1))
    if np.any(slant > check.UNIT_NORM * (1.0 + np.max(np.abs(a[..., 4:]), -1))):
        raise InputError(f"{name}: the dual part is not orthogonal to the rotation; use dual_quaternion.from_pose")
    return np.concatenate([q, a[..., 4:]], -1)


@dataclass(frozen=True, eq=False)
class Body:
    """A rigid body, in its own frame, or a point mass; without mass it only joins others and cannot end a branch."""

    name: str
    mass: Array  # (...,) [kg]
    J_com: Array = NO_INERTIA  # (..., 3, 3) about the centre of mass, body axes [kg m^2]
    r_g: Array = ORIGIN  # (..., 3) centre of mass in the body frame [m]
    allow_unphysical: bool = False  # for published data that no rigid body has

    def __post_init__(self) -> None:
        """Validate once."""
        mass = check.non_negative(f"body {self.name}: mass", self.mass)
        J = check.finite(f"body {self.name}: J_com", self.J_com, (3, 3))
        if np.any(mass > 0.0) and np.any(J):
            check.inertia(f"body {self.name}: J_com", J, allow_unphysical=self.allow_unphysical)
        elif np.any(J):
            raise InputError(f"body {self.name}: J_com: a body without mass has no inertia; give a mass > 0")
        store(self, mass=mass, J_com=J, r_g=check.vector(f"body {self.name}: r_g", self.r_g, 3))


@dataclass(frozen=True, eq=False)
class Joint:
    """A joint between two bodies: its frames are given in both, and the coordinates lead from one to the other.

    Spring and damper act along its velocities, with one constant for all of them or one for each (see `springs`).
    """

    name: str
    kind: str  # R, P, S, C or U
    parent: str
    child: str
    dq_PJ: Array = IDENTITY  # (..., 8) pose of the proximal frame in the parent
    dq_CJ: Array = IDENTITY  # (..., 8) pose of the distal frame in the child
    stiffness: Array = 0.0  # (...,) or (..., d) [N m/rad, N/m]
    damping: Array = 0.0  # (...,) or (..., d) [N m s/rad, N s/m]
    limits: tuple[float, float] = (-np.inf, np.inf)  # of each coordinate [rad, m]; not for spherical joints
    stop: Array = 0.0  # (...,) or (..., d) stiffness of the stops beyond them [N m/rad, N/m]

    def __post_init__(self) -> None:
        """Validate once."""
        check.one_of(f"joint {self.name}: kind", self.kind, tuple(KINDS))
        store(
            self,
            dq_PJ=pose(f"joint {self.name}: dq_PJ", self.dq_PJ),
            dq_CJ=pose(f"joint {self.name}: dq_CJ", self.dq_CJ),
            stiffness=self._along("stiffness"),
            damping=self._along("damping"),
            stop=self._along("stop"),
        )
        low, high = self.limits
        if not low < high or (np.any(self.stop) and self.kind == "S"):
            raise InputError(f"joint {self.name}: limits {self.limits}: give [lower, upper], for no spherical joint")

    def _along(self, name: str) -> Array:
        """Return a constant for every velocity."""
        d, value = len(self.type.free), check.non_negative(f"joint {self.name}: {name}", getattr(self, name))
        value = value[..., None] if value.ndim == 0 else value
        if value.shape[-1] not in (1, d):
            raise InputError(f"joint {self.name}: {name}: expected a number or {d}, got {value.shape}")
        return np.broadcast_to(value, (*value.shape[:-1], d))

    @property
    def type(self) -> Kind:
        """What joints of this kind do."""
        return KINDS[self.kind]


@dataclass(frozen=True, eq=False)
class Frame:
    """A place on a body: an end-effector, a sensor, a thruster."""

    name: str
    body: str
    dq_BF: Array = IDENTITY  # (..., 8) pose in the body frame

    def __post_init__(self) -> None:
        """Validate once."""
        store(self, dq_BF=pose(f"frame {self.name}: dq_BF", self.dq_BF))


class TreeState(NamedTuple):
    """Minimal state of a tree: the base, and the joints one after the other in the order of the tree."""

    dq_IB: Array  # (..., 8) pose of the base body
    twist_B: Array  # (..., 6) [w, v] of the base, at the origin of its frame, in its axes
    gamma: Array  # (..., G) joint coordinates, the paper's Gamma
    rate: Array  # (..., D) joint velocities
