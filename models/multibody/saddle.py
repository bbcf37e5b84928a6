"""The paper's dense system: accelerations of all bodies and all reaction wrenches at once, the readable reference.

    [ S11  S12 ] [ ydot ]   [ B1 ]       y: twists of the bodies at their centres of mass, in body axes (6B)
    [ S21   0  ] [  T   ] = [ B2 ]       T: reaction wrenches in joint axes, reduced to what the joint holds (R)

S11 holds the inertias, S21 what each joint forbids, S12 = -S21^T what its reaction does to its bodies. A prescribed
joint holds all six directions: the rows of its free ones demand the acceleration, and their multipliers are the holding
effort. The two scalars that the paper carries for each body are always zero and are left out. For one state; O(B^3).
Source: DQMB eqs. (50) to (60). Errata: eq. (44) numbers the last joint B, it is B - 1
(test_erratum_dqmb_eq_44_has_one_joint_too_many); for eqs. (65) to (76) see `articulated.accelerations`.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, NamedTuple

import numpy as np

from gnc import dual_quaternion
from gnc.models.multibody import kinematics
from gnc.models.multibody.articulated import Accelerations
from gnc.models.multibody.parts import TreeState
from gnc.models.multibody.tree import Tree

Array = Any


class System(NamedTuple):
    """The blocks of the saddle system, in our order: angular first."""

    S11: Array  # (6B, 6B)
    S21: Array  # (R, 6B)
    B1: Array  # (6B)
    B2: Array  # (R)
    reactions: list[Array]  # by joint (6, r): the directions of its wrench that are unknown
    twists: Array  # (B, 6) y, by body

    @property
    def matrix(self) -> Array:
        """S (6B + R, 6B + R). Source: DQMB eq. (57)."""
        R = len(self.B2)
        return np.block([[self.S11, -self.S21.T], [self.S21, np.zeros((R, R))]])


def accelerations(
    tree: Tree,
    x: TreeState,
    effort: Array = 0.0,
    wrench: Array = 0.0,
    prescribed: Collection[str] = (),
    rate_dot: Array = 0.0,
) -> Accelerations:
    """Return what `articulated.accelerations` returns, by the Schur complement of S11. Source: DQMB eq. (60)."""
    from scipy.linalg import cho_factor, cho_solve  # takes a moment to load

    s = system(tree, x, effort, wrench, prescribed, rate_dot)
    S11 = cho_factor(s.S11)
    schur = s.S21 @ cho_solve(S11, s.S21.T)
    T = cho_solve(cho_factor(schur), s.B2 - s.S21 @ cho_solve(S11, s.B1))
    ydot = cho_solve(S11, s.B1 + s.S21.T @ T).reshape(-1, 6)
    return _read(tree, x, effort, prescribed, s, ydot, T)


def system(
    tree: Tree,
    x: TreeState,
    effort: Array = 0.0,
    wrench: Array = 0.0,
    prescribed: Collection[str] = (),
    rate_dot: Array = 0.0,
) -> System:
    """Assemble the blocks. Source: DQMB eqs. (51) to (56)."""
    B, twists = len(tree.bodies), _centre_twists(tree, x)
    S11, B1 = _newton_euler(tree, twists, np.broadcast_to(wrench, (B, 6)))
    effort, rate_dot = np.broadcast_to(effort, tree.freedoms), np.broadcast_to(rate_dot, tree.freedoms)
    rows, right, reactions = [], [], []
    for joint in tree.joints:
        X_child, X_parent = joint_maps(tree, x, joint.name)
        child, parent, mine = tree.body(joint.child), tree.body(joint.parent), tree.rate_slice(joint.name)
        held = joint.name in prescribed
        V = np.eye(6) if held else joint.type.reaction
        row = np.zeros((V.shape[1], B, 6))
        row[:, child], row[:, parent] = V.T @ X_child, -V.T @ X_parent
        carried, moved = X_parent @ twists[parent], joint.type.mapping @ x.rate[mine]
        acceleration = joint.type.mapping @ rate_dot[mine] if held else np.zeros(6)
        rows.append(row.reshape(len(row), -1))
        right.append(V.T @ (_cross_twist(carried, moved) + acceleration))
        reactions.append(V)
        if not held:
            B1[child] += X_child.T @ (joint.type.mapping @ effort[mine])
            B1[parent] -= X_parent.T @ (joint.type.mapping @ effort[mine])
    S21 = np.concatenate(rows) if rows else np.zeros((0, 6 * B))
    return System(S11, S21, B1.ravel(), np.concatenate([*right, []]), reactions, twists)


def joint_maps(tree: Tree, x: TreeState, name: str) -> tuple[Array, Array]:
    """Return the 6x6 maps of twists of the child and of the parent, at their centres of mass, to the joint frame."""
    joint = tree.joints[tree.joint(name)]
    child, parent = tree.bodies[tree.body(joint.child)], tree.bodies[tree.body(joint.parent)]
    turned = dual_quaternion.mul(joint.dq_PJ, joint.type.pose(x.gamma[tree.gamma_slice(name)]))
    X_child, X_parent = (
        dual_quaternion.adjoint(dual_quaternion.mul(dual_quaternion.conj(dq), _centre(body)))
        for dq, body in ((joint.dq_CJ, child), (turned, parent))
    )
    return X_child, X_parent


def _centre(body: Any) -> Array:
    """Return the pose of the centre-of-mass frame in the body frame."""
    return dual_quaternion.from_pose(np.array([1.0, 0.0, 0.0, 0.0]), body.r_g)


def _centre_twists(tree: Tree, x: TreeState) -> Array:
    """Return the twists of all bodies at their centres of mass (B, 6)."""
    back = dual_quaternion.conj(np.stack([_centre(body) for body in tree.bodies]))
    return dual_quaternion.transform_twist(back, kinematics.bodies(tree, x).twist_B)


def _newton_euler(tree: Tree, twists: Array, wrench: Array) -> tuple[Array, Array]:
    """Return S11 and the right side of every body without its joints. Source: DQMB eqs. (51), (55)."""
    B = len(tree.bodies)
    S11, B1 = np.zeros((B, 6, B, 6)), np.zeros((B, 6))
    for i, (body, twist, load) in enumerate(zip(tree.bodies, twists, wrench, strict=True)):
        S11[i, :3, i, :3], S11[i, 3:, i, 3:] = body.J_com, body.mass * np.eye(3)
        w, v = twist[:3], twist[3:]
        B1[i, :3] = load[:3] - np.cross(body.r_g, load[3:]) - np.cross(w, body.J_com @ w)
        B1[i, 3:] = load[3:] - body.mass * np.cross(w, v)
    return S11.reshape(6 * B, 6 * B), B1


def _cross_twist(a: Array, b: Array) -> Array:
    return np.concatenate([np.cross(a[:3], b[:3]), np.cross(a[:3], b[3:]) + np.cross(a[3:], b[:3])])


def _read(tree: Tree, x: TreeState, effort: Any, prescribed: Any, s: System, ydot: Array, T: Array) -> Accelerations:
    """Read the solution as the recursion gives it."""
    effort = np.broadcast_to(effort, tree.freedoms)
    wrench, rate_dot = np.zeros((len(tree.joints), 6)), np.zeros(tree.freedoms)
    ends = np.cumsum([V.shape[1] for V in s.reactions])
    efforts = np.zeros(tree.freedoms)
    for j, (joint, V, end) in enumerate(zip(tree.joints, s.reactions, ends, strict=True)):
        mine, S = tree.rate_slice(joint.name), joint.type.mapping
        wrench[j] = V @ T[end - V.shape[1] : end]
        if joint.name not in prescribed:
            wrench[j] += S @ effort[mine]
        X_child, X_parent = joint_maps(tree, x, joint.name)
        child, parent = tree.body(joint.child), tree.body(joint.parent)
        carried = X_parent @ s.twists[parent]
        relative = X_child @ ydot[child] - X_parent @ ydot[parent] - _cross_twist(carried, S @ x.rate[mine])
        rate_dot[mine], efforts[mine] = S.T @ relative, S.T @ wrench[j]
    base = tree.bodies[tree.root]
    return Accelerations(dual_quaternion.transform_twist(_centre(base), ydot[tree.root]), rate_dot, wrench, efforts)
