"""Springs and dampers in the joints of a tree: efforts that belong to the tree itself.

    effort = -stiffness gamma - stop e - damping rate        energy (stiffness gamma^2 + stop e^2)/2

with e how far gamma is beyond the limits of its joint.

A spherical joint with its turn q = (cos t/2, n sin t/2) has the torque -stiffness n sin t in distal axes and the energy
stiffness (1 - cos t), which is smooth in q. Springs are at rest where the coordinates are zero: the frames of a joint
are placed there.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gnc import lie
from gnc.models.multibody.parts import Joint, TreeState
from gnc.models.multibody.tree import Tree

Array = Any


def effort(tree: Tree, gamma: Array) -> Array:
    """Return the efforts of the springs (..., D)."""
    pieces = []
    for joint in tree.joints:
        mine = gamma[..., tree.gamma_slice(joint.name)]
        stretch = 2.0 * mine[..., :1] * mine[..., 1:] if joint.kind == "S" else mine
        push = -joint.stiffness * stretch
        pieces.append(push - joint.stop * _beyond(joint, mine) if np.any(joint.stop) else push)
    return np.concatenate(pieces, -1) if pieces else np.zeros(gamma.shape)


def _beyond(joint: Joint, gamma: Array) -> Array:
    """Return how far coordinates are beyond the limits of their joint."""
    return gamma - np.clip(gamma, *joint.limits)


def passive(tree: Tree, x: TreeState) -> Array:
    """Return the efforts of springs and dampers together (..., D), or 0 where there is none."""
    return effort(tree, x.gamma) - tree.damping * x.rate if tree.elastic else 0.0


def slope(tree: Tree, gamma: Array) -> Array:
    """Return d effort/d gamma (..., D, 3): in the row of a velocity the derivatives along those of its own joint."""
    rows = np.zeros((*gamma.shape[:-1], tree.freedoms, 3))
    for joint in tree.joints:
        mine, q = tree.rate_slice(joint.name), gamma[..., tree.gamma_slice(joint.name)]
        d = len(joint.type.free)
        part = np.broadcast_to(np.eye(d), (*gamma.shape[:-1], d, d))
        if joint.kind == "S":
            s, v = q[..., :1, None], q[..., 1:]
            part = s * s * part + s * lie.hat(v) - v[..., :, None] * v[..., None, :]
        stiffness = joint.stiffness
        if np.any(joint.stop):
            stiffness = stiffness + np.where(_beyond(joint, q) != 0.0, joint.stop, 0.0)
        rows[..., mine, :d] = -stiffness[..., :, None] * part
    return rows


def energy(tree: Tree, gamma: Array) -> Array:
    """Return the energy of the springs (...)."""
    total: Array = np.zeros(gamma.shape[:-1])
    for joint in tree.joints:
        mine = gamma[..., tree.gamma_slice(joint.name)]
        square = 4.0 * mine[..., 1:] ** 2 if joint.kind == "S" else mine**2
        total = total + 0.5 * np.sum(joint.stiffness * square, -1)
        if np.any(joint.stop):
            total = total + 0.5 * np.sum(joint.stop * _beyond(joint, mine) ** 2, -1)
    return total
