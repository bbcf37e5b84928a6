"""Where the bodies of a tree are, how they move, and what they carry together: all batched over states."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from gnc import dual_quaternion, spatial
from gnc.models.multibody.joints import KINDS
from gnc.models.multibody.parts import TreeState
from gnc.models.multibody.tree import Tree, stack

Array = Any


class Bodies(NamedTuple):
    """All bodies, in the order of the tree."""

    dq_IB: Array  # (..., B, 8)
    twist_B: Array  # (..., B, 6) at the origins of the body frames, in body axes


def _links(tree: Tree, x: TreeState) -> tuple[list[Array], list[Array]]:
    """Return pose and twist of every link frame, the base first."""
    poses, twists = [np.asarray(x.dq_IB)], [np.asarray(x.twist_B)]
    for i, link in enumerate(tree.links):
        kind = KINDS[link.kind]
        dq = dual_quaternion.mul(tree.offsets[..., i, :], kind.pose(x.gamma[..., slice(*link.gamma)]))
        moved = x.rate[..., slice(*link.rate)] @ kind.mapping.T
        poses.append(dual_quaternion.mul(poses[link.parent], dq))
        twists.append(dual_quaternion.transform_twist(dual_quaternion.conj(dq), twists[link.parent]) + moved)
    return poses, twists


def bodies(tree: Tree, x: TreeState) -> Bodies:
    """Return poses and twists of all bodies. Source: DQMB eqs. (46), (63)."""
    poses, twists = (_by_body(tree, links) for links in _links(tree, x))
    dq_LB = tree.body_to_link
    back = dual_quaternion.conj(dq_LB)
    return Bodies(dual_quaternion.mul(poses, dq_LB), dual_quaternion.transform_twist(back, twists))


def _by_body(tree: Tree, links: list[Array]) -> Array:
    return stack(links[tree.link_bodies.index(i)] for i in range(len(tree.bodies)))


def _inertias(tree: Tree) -> Array:
    """Return the 6x6 inertias of all bodies in their frames (..., B, 6, 6)."""
    M = [spatial.inertia(body.mass, body.r_g, body.J_com) for body in tree.bodies]
    lead = np.broadcast_shapes(*(m.shape[:-2] for m in M))
    return np.stack([np.broadcast_to(m, (*lead, 6, 6)) for m in M], -3)


def mass(tree: Tree) -> Array:
    """Return the mass of the whole tree."""
    return sum(body.mass for body in tree.bodies)


def centre_of_mass(tree: Tree, x: TreeState) -> Array:
    """Return the centre of mass of the whole tree, in I (..., 3)."""
    poses = bodies(tree, x).dq_IB
    total: Array = 0.0
    for i, body in enumerate(tree.bodies):
        total = total + body.mass[..., None] * dual_quaternion.transform_point(poses[..., i, :], body.r_g)
    return total / np.asarray(mass(tree))[..., None]


def momentum(tree: Tree, x: TreeState) -> Array:
    """Return [angular momentum about the origin of I, linear momentum] in I (..., 6). Source: DQMB eq. (30)."""
    poses, twists = bodies(tree, x)
    return np.sum(dual_quaternion.transform_wrench(poses, spatial.momentum(_inertias(tree), twists)), axis=-2)


def kinetic_energy(tree: Tree, x: TreeState) -> Array:
    """Return the kinetic energy. Source: DQMB eq. (31)."""
    return np.sum(spatial.kinetic_energy(_inertias(tree), bodies(tree, x).twist_B), axis=-1)


def frame_pose(tree: Tree, x: TreeState, name: str) -> Array:
    """Return dq_IF (..., 8) of a frame, an end-effector say."""
    frame = tree.frame(name)
    return dual_quaternion.mul(bodies(tree, x).dq_IB[..., tree.body(frame.body), :], frame.dq_BF)


def frame_twist(tree: Tree, x: TreeState, name: str) -> Array:
    """Return [w, v] of a frame at its origin in its axes (..., 6)."""
    frame = tree.frame(name)
    twist = bodies(tree, x).twist_B[..., tree.body(frame.body), :]
    return dual_quaternion.transform_twist(dual_quaternion.conj(frame.dq_BF), twist)


def jacobian(tree: Tree, x: TreeState, name: str) -> Array:
    """Return J (..., 6, 6 + D): `frame_twist` = J [twist_B, rate]."""
    frame = tree.frame(name)
    poses = _links(tree, x)[0]
    dq_FI = dual_quaternion.conj(frame_pose(tree, x, name))
    lead = dq_FI.shape[:-1]
    J = np.zeros((*lead, 6, 6 + tree.freedoms))
    J[..., :6] = dual_quaternion.adjoint(dual_quaternion.mul(dq_FI, poses[0]))
    i = tree.link_bodies.index(tree.body(frame.body))
    while i:
        link = tree.links[i - 1]
        first, last = link.rate
        X = dual_quaternion.adjoint(dual_quaternion.mul(dq_FI, poses[i]))
        J[..., 6 + first : 6 + last] = X[..., list(KINDS[link.kind].free)]
        i = link.parent
    return J


def momentum_matrix(tree: Tree, x: TreeState) -> Array:
    """Return H (..., 6, 6 + D): the momentum about the base's origin, in base axes, is H [twist_B, rate]."""
    poses = _links(tree, x)[0]
    M = _link_inertias(tree)
    dq_BI = dual_quaternion.conj(poses[0])
    composite = [M[..., i, :, :] for i in range(len(tree.bodies))]
    lead = np.broadcast_shapes(dq_BI.shape[:-1], M.shape[:-3])
    H = np.zeros((*lead, 6, 6 + tree.freedoms))
    for i in reversed(range(1, len(poses))):
        link = tree.links[i - 1]
        dq = dual_quaternion.mul(dual_quaternion.conj(poses[link.parent]), poses[i])
        composite[link.parent] = composite[link.parent] + spatial.transform_inertia(dq, composite[i])
        X = dual_quaternion.adjoint(dual_quaternion.conj(dual_quaternion.mul(dq_BI, poses[i])))
        column = np.swapaxes(X, -1, -2) @ composite[i][..., list(KINDS[link.kind].free)]
        H[..., 6 + link.rate[0] : 6 + link.rate[1]] = column
    H[..., :6] = composite[0]
    return H


def _link_inertias(tree: Tree) -> Array:
    """Return the 6x6 inertias of the links in link frames (..., B, 6, 6), by link."""
    order = list(tree.link_bodies)
    return spatial.transform_inertia(tree.body_to_link[..., order, :], _inertias(tree)[..., order, :, :])


def generalized_jacobian(tree: Tree, x: TreeState, name: str) -> Array:
    """Return J_g (..., 6, D) of a free-floating base: `frame_twist` = J_g rate where the momentum is zero.

    The base reacts to the joints as the momentum demands, twist_B = -H_B^-1 H_J rate. Where there is a momentum h,
    J_B H_B^-1 h is to be added. Source: Umetani and Yoshida, IEEE Trans. Robotics and Automation 5 (1989) 303.
    """
    J, H = jacobian(tree, x, name), momentum_matrix(tree, x)
    return J[..., 6:] - J[..., :6] @ np.linalg.solve(H[..., :6], H[..., 6:])
