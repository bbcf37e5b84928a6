"""The bodies of a tree one by one, at their centres of mass, in the order of its links: what `variational` moves."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from gnc import dual_quaternion, spatial
from gnc.models.multibody import kinematics
from gnc.models.multibody.joints import KINDS
from gnc.models.multibody.parts import TreeState
from gnc.models.multibody.tree import Tree, stack
from gnc.models.multibody.variational_solver import Node, gap, node
from gnc.typing import Array


class BodyStates(NamedTuple):
    """All bodies one by one, in the order of the links, and the joints' coordinates."""

    dq_IC: Array  # (..., B, 8) poses of the centre-of-mass frames
    twist_C: Array  # (..., B, 6)
    gamma: Array  # (..., G) as in TreeState; angles count turns
    before: Array  # (..., J, 6) reaction wrench of the half step before, on the child at the joint, distal axes
    after: Array  # (..., J, 6) of the half step after the previous node


@dataclass(frozen=True, eq=False)
class SeparateBodies:
    """A tree taken apart: inertias, joint frames, and the way from minimal states and back."""

    tree: Tree

    # The tree in centre-of-mass frames, in the order of the links.

    @functools.cached_property
    def centres(self) -> Array:
        """dq_BC (..., B, 8)."""
        one = np.array([1.0, 0.0, 0.0, 0.0])
        return stack([dual_quaternion.from_pose(one, self.tree.bodies[i].r_g) for i in self.tree.link_bodies])

    @functools.cached_property
    def masses(self) -> Array:
        """(..., B)."""
        return stack([self.tree.bodies[i].mass[..., None] for i in self.tree.link_bodies])[..., 0]

    @functools.cached_property
    def inertias(self) -> Array:
        """M (..., B, 6, 6) about the centres of mass."""
        rows = [spatial.inertia(b.mass, np.zeros(3), b.J_com) for b in map(self.tree.bodies.__getitem__, self.order)]
        lead = np.broadcast_shapes(*(M.shape[:-2] for M in rows))
        return np.stack([np.broadcast_to(M, (*lead, 6, 6)) for M in rows], -3)

    @functools.cached_property
    def order(self) -> list[int]:
        """Bodies of the tree in the order of the links."""
        return list(self.tree.link_bodies)

    @functools.cached_property
    def parents(self) -> list[int]:
        """For each joint the place of its parent."""
        return [link.parent for link in self.tree.links]

    @functools.cached_property
    def joints(self) -> tuple[Array, Array]:
        """Poses of the proximal frames in the parents and of the distal frames in the children, (..., J, 8) each."""
        ends = [self.tree.joints[link.joint] for link in self.tree.links]
        if not ends:
            return np.zeros((0, 8)), np.zeros((0, 8))
        back = dual_quaternion.conj(self.centres)
        proximal, distal = stack([joint.dq_PJ for joint in ends]), stack([joint.dq_CJ for joint in ends])
        mul = dual_quaternion.mul
        return mul(back[..., self.parents, :], proximal), mul(back[..., 1:, :], distal)

    # From minimal states and back.

    def start(self, x: TreeState) -> BodyStates:
        """Return the bodies of a minimal state; no reaction is known yet."""
        dq_IB, twist_B = (a[..., self.order, :] for a in kinematics.bodies(self.tree, x))
        poses = dual_quaternion.mul(dq_IB, self.centres)
        twists = dual_quaternion.transform_twist(dual_quaternion.conj(self.centres), twist_B)
        none = np.full((*poses.shape[:-2], len(self.tree.joints), 6), math.nan)
        return BodyStates(poses, twists, np.asarray(x.gamma, float), none, none)

    def read(self, bodies: BodyStates) -> TreeState:
        """Return the minimal state of bodies; exact, since the joints hold."""
        poses, twists = bodies.dq_IC, bodies.twist_C
        back = dual_quaternion.conj(self.centres[..., 0, :])
        twist_B = dual_quaternion.transform_twist(self.centres[..., 0, :], twists[..., 0, :])
        return TreeState(dual_quaternion.mul(poses[..., 0, :], back), twist_B, bodies.gamma, self._rates(poses, twists))

    def _relative(self, poses: Array) -> Array:
        """Return the pose of every distal frame in its proximal frame."""
        proximal, distal = self.joints
        parents = dual_quaternion.mul(poses[..., self.parents, :], proximal)
        return dual_quaternion.mul(dual_quaternion.conj(parents), dual_quaternion.mul(poses[..., 1:, :], distal))

    def _rates(self, poses: Array, twists: Array) -> Array:
        proximal, distal = self.joints
        carried = dual_quaternion.conj(dual_quaternion.mul(proximal, self._relative(poses)))
        u = dual_quaternion.transform_twist(dual_quaternion.conj(distal), twists[..., 1:, :])
        u = u - dual_quaternion.transform_twist(carried, twists[..., self.parents, :])
        rate = np.zeros((*u.shape[:-2], self.tree.freedoms))
        for i, link in enumerate(self.tree.links):
            rate[..., slice(*link.rate)] = u[..., i, list(KINDS[link.kind].free)]
        return rate

    def coordinates(self, poses: Array, near: Array) -> Array:
        """Return the joints' coordinates, angles within half a turn of the given ones."""
        q, place = dual_quaternion.to_pose(self._relative(poses))
        gamma = np.empty((*poses.shape[:-2], self.tree.coordinates))
        for i, link in enumerate(self.tree.links):
            mine = slice(*link.gamma)
            if link.kind == "S":
                gamma[..., mine] = q[..., i, :]
                continue
            free = KINDS[link.kind].free
            pieces = [place[..., i, k - 3] for k in free if k >= 3]
            if 2 in free:
                angle = 2.0 * np.arctan2(q[..., i, 3], q[..., i, 0])
                pieces.insert(0, _nearest(angle, near[..., link.gamma[0]]))
            gamma[..., mine] = np.stack(pieces, -1)
        return gamma

    # What acts between and on them.

    @functools.cached_property
    def axes(self) -> Array:
        """S of all joints in the axes of the children (..., 6, D), at the places of their velocities."""
        _, distal = self.joints
        S = np.zeros((*distal.shape[:-2], 6, self.tree.freedoms))
        for i, link in enumerate(self.tree.links):
            S[..., slice(*link.rate)] = dual_quaternion.adjoint(distal[..., i, :])[..., list(KINDS[link.kind].free)]
        return S

    def node(self, poses: Array) -> Node:
        """Return how the joints carry motion from parents to children."""
        return node(self.tree.links, poses, self.axes)

    def gaps(self, poses: Array) -> Array:
        """Return how far the joints are open (..., J, 6) in distal axes, by link, prescribed ones not counted."""
        proximal, distal = self.joints
        gaps = [
            gap(link.kind, False)(
                poses[..., link.parent, :], poses[..., i + 1, :], proximal[..., i, :], distal[..., i, :]
            )
            for i, link in enumerate(self.tree.links)
        ]
        return np.stack(gaps, -2) if gaps else np.zeros((*poses.shape[:-2], 0, 6))

    def proximal(self, gamma: Array, prescribed: Sequence[bool]) -> Array:
        """Return the proximal frames in the parents (..., J, 8), prescribed ones moved to where they lead."""
        rows = [self.joints[0][..., i, :] for i in range(len(self.tree.links))]
        for i, link in enumerate(self.tree.links):
            if prescribed[i]:
                turn = KINDS[link.kind].pose(gamma[..., slice(*link.gamma)])
                rows[i] = dual_quaternion.mul(rows[i], turn)
        return stack(rows) if any(prescribed) else self.joints[0]

    def wrenches(self, wrench: Array) -> Array:
        """Return wrenches on the bodies at their origins as those at their centres of mass (..., B, 6), by link."""
        wrench = np.broadcast_to(wrench, np.broadcast_shapes(np.shape(wrench), (len(self.order), 6)))
        return dual_quaternion.transform_wrench(dual_quaternion.conj(self.centres), wrench[..., self.order, :])

    def at_joints(self, on_children: Array) -> Array:
        """Return wrenches on children at the joints, in the order of the joints."""
        wrench = dual_quaternion.transform_wrench(dual_quaternion.conj(self.joints[1]), on_children)
        order = np.argsort([link.joint for link in self.tree.links])
        return wrench[..., order, :] if len(order) else wrench


def _nearest(angle: Array, near: Array) -> Array:
    """Return an angle plus the turns that bring it nearest to another."""
    return angle + 2.0 * np.pi * np.round((near - angle) / (2.0 * np.pi))
