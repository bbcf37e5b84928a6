"""The five joints: which way they move, their coordinates, and the pose these give.

Each joint has a frame on the parent (proximal) and one on the child (distal); the coordinates say where the distal
frame J is as seen from the proximal frame P. Free directions are axes of the distal frame, so they are constant, and a
mapping matrix is a selection from the twist [w, v] or the wrench [torque, force]:

    kind            coordinates      velocities       free            DQMB Tables 3 to 6
    R  revolute     angle            its rate         w_z
    P  prismatic    z                its rate         v_z
    S  spherical    q_PJ (4)         w_PJ in J        w_x, w_y, w_z   q instead of the paper's Euler angles
    C  cylindrical  angle, z         their rates      w_z, v_z
    U  Cartesian    x, y, z          their rates      v_x, v_y, v_z

Source: DQMB section 3.1. Erratum: Table 5 orders the actuation of C as (f_z, tau_z), Table 3 its coordinates as
(angle, z); here the torque goes with the angle (test_erratum_dqmb_table_5_pairs_force_with_angle_in_joint_c).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from gnc import quaternion
from gnc.batch import batched
from gnc.linalg import array
from gnc.typing import Array


@batched("(1)->(8)")
def revolute(gamma):
    """Return the pose of a turn about z."""
    half = 0.5 * gamma[0]
    return array([np.cos(half), 0.0, 0.0, np.sin(half), 0.0, 0.0, 0.0, 0.0])


@batched("(1)->(8)")
def prismatic(gamma):
    """Return the pose of a slide along z."""
    return array([1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.5 * gamma[0]])


@batched("(4)->(8)")
def spherical(gamma):
    """Return the pose of a turn by a unit quaternion."""
    return array([*gamma, 0.0, 0.0, 0.0, 0.0])


@batched("(2)->(8)")
def cylindrical(gamma):
    """Return the pose of a turn about z and a slide along it."""
    cosine, sine, slide = np.cos(0.5 * gamma[0]), np.sin(0.5 * gamma[0]), 0.5 * gamma[1]
    return array([cosine, 0.0, 0.0, sine, -slide * sine, 0.0, 0.0, slide * cosine])


@batched("(3)->(8)")
def cartesian(gamma):
    """Return the pose of a slide along x, y and z."""
    return array([1.0, 0.0, 0.0, 0.0, 0.0, *(0.5 * gamma)])


@dataclass(frozen=True)
class Kind:
    """A type of joint."""

    name: str
    free: tuple[int, ...]  # components of the twist, in the order of the velocities
    zero: tuple[float, ...]  # coordinates at which both frames agree
    pose: Callable[[Array], Array]  # (..., coordinates) -> dq_PJ (..., 8)

    @property
    def held(self) -> tuple[int, ...]:
        """Components of the wrench that the joint transmits by itself."""
        return tuple(i for i in range(6) if i not in self.free)

    @property
    def mapping(self) -> np.ndarray:
        """The free directions (6, d): twist = mapping @ velocities. Source: DQMB Table 5, V_act."""
        return np.eye(6)[:, list(self.free)]

    @property
    def reaction(self) -> np.ndarray:
        """The directions of reaction (6, r): wrench = reaction @ reduced wrench. Source: DQMB Table 4, V."""
        return np.eye(6)[:, list(self.held)]

    def derivative(self, gamma: Array, rate: Array) -> Array:
        """Return the time derivative of the coordinates. Source: DQMB eq. (47), Table 6."""
        return quaternion.derivative(gamma, rate) if self.name == "S" else rate

    def normalize(self, gamma: Array) -> Array:
        """Remove what round-off and fixed steps did to the unit quaternion of a spherical joint."""
        return quaternion.normalize(gamma) if self.name == "S" else gamma


KINDS = {
    kind.name: kind
    for kind in (
        Kind("R", (2,), (0.0,), revolute),
        Kind("P", (5,), (0.0,), prismatic),
        Kind("S", (0, 1, 2), (1.0, 0.0, 0.0, 0.0), spherical),
        Kind("C", (2, 5), (0.0, 0.0), cylindrical),
        Kind("U", (3, 4, 5), (0.0, 0.0, 0.0), cartesian),
    )
}
