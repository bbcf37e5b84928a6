"""Docking ports: how two craft sit on each other once they are docked."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from gnc import dual_quaternion, quaternion, spatial
from gnc.errors import InputError
from gnc.models.craft.base import Nominal
from gnc.models.known import Known
from gnc.typing import Array

FACING = np.array([0.0, 0.0, 0.0, 1.0])  # half a turn about z: x of one port points into the other


class Port(NamedTuple):
    """The port of a target for a chaser."""

    dq_TB: Array  # (8) the chaser when docked: port on port, face to face
    axis_T: Array  # (3) out of the port


def docked(target: Nominal, chaser: Nominal) -> Port:
    """Return where a chaser is when it is docked to a target."""
    q_TP, r_TP = dual_quaternion.to_pose(target.port)
    q_BP, r_BP = dual_quaternion.to_pose(chaser.port)
    q_TB = quaternion.mul(quaternion.mul(q_TP, FACING), quaternion.conj(q_BP))
    dq_TB = dual_quaternion.from_pose(q_TB, r_TP - quaternion.rotate(q_TB, r_BP))
    return Port(dq_TB, quaternion.rotate(q_TP, np.array([1.0, 0.0, 0.0])))


def other(known: Known, name: str, key: str = "target") -> Nominal:
    """Return another craft as it is believed to be, with a port."""
    if name not in known.others or known.others[name].port is None or known.nominal.port is None:
        there = [n for n, one in known.others.items() if one.port is not None]
        raise InputError(f'{key} = {name!r}: both craft must be of kind "pose"; there are {", ".join(there) or "none"}')
    return known.others[name]


def together(known: Known, names: tuple[str, ...]) -> Array:
    """Return the inertia (6, 6) about the own origin of the own craft with others docked to it, as believed."""
    M = known.M
    for name in names:
        nominal = other(known, name, "docked")
        dq_TB = docked(nominal, known.nominal).dq_TB
        M = M + spatial.transform_inertia(dual_quaternion.conj(dq_TB), nominal.M)
    return M
