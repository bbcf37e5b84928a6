"""Three ways to integrate the same satellite, and what each of them says about its motion.

    minimal     base pose and twist, joint coordinates and velocities: `models.multibody`, by the O(B) recursion
    redundant   base pose, joint coordinates, and the dual velocity of every body: DQMB Algorithm 1 as printed
    decoupled   place, attitude, velocity and rate of every body, translation apart from rotation: `decoupled`

The states are read at the solver's own steps: between them SciPy interpolates, with errors above those shown here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from gnc import dual_quaternion, spatial
from gnc.models.multibody import Load, Tree, TreeState, integrate, kinematics, saddle

Array = Any
Efforts = Callable[[float], Array]

RTOL, ATOL = 1e-13, 1e-14


class Reading(NamedTuple):
    """A run in inertial axes, at the solver's steps."""

    t: Array  # (n,) [s]
    centre: Array  # (n, 3) centre of mass of the whole [m]
    momentum: Array  # (n, 6) [angular about the origin, linear]
    energy: Array  # (n,) kinetic [J]
    gap: Array  # (n,) the largest parting of two bodies in a joint [m]


def march(rate: Callable[[float, Array], Array], y: Array, end: float, stops: Sequence[float]) -> tuple[Array, Array]:
    """Integrate by DOP853 from 0, restarted at the stops, and keep every step (n,), (n, size)."""
    from scipy.integrate import solve_ivp  # takes a moment to load

    ends = [*(s for s in stops if 0.0 < s < end), end]
    t, rows = [0.0], [np.asarray(y, float)]
    for a, b in zip([0.0, *ends], ends, strict=False):
        inside = _clipped(rate, np.nextafter(a, b), np.nextafter(b, a))
        run = solve_ivp(inside, (a, b), rows[-1], "DOP853", rtol=RTOL, atol=ATOL)
        t += list(run.t[1:])
        rows += list(run.y.T[1:])
    return np.array(t), np.array(rows)


def _clipped(rate: Any, low: float, high: float) -> Any:
    """Keep the solver on its own side of a jump."""
    return lambda t, y: rate(min(max(t, low), high), y)


def read(tree: Tree, t: Array, poses: Array, twists: Array) -> Reading:
    """Read bodies whose frames are at their centres of mass, (n, B, 8) and (n, B, 6)."""
    masses = np.array([body.mass for body in tree.bodies])
    M = np.stack([spatial.inertia(body.mass, body.r_g, body.J_com) for body in tree.bodies])
    places = dual_quaternion.to_pose(poses)[1]
    momentum = dual_quaternion.transform_wrench(poses, spatial.momentum(M, twists)).sum(axis=-2)
    centre = np.einsum("b,nbi->ni", masses, places) / masses.sum()
    return Reading(t, centre, momentum, spatial.kinetic_energy(M, twists).sum(axis=-1), gap(tree, poses))


def gap(tree: Tree, poses: Array) -> Array:
    """Return the largest distance between the two ends of a revolute joint (n,)."""
    distances = []
    for joint in tree.joints:
        ends = [
            dual_quaternion.to_pose(dual_quaternion.mul(poses[:, tree.body(name)], dq))[1]
            for name, dq in ((joint.parent, joint.dq_PJ), (joint.child, joint.dq_CJ))
        ]
        distances.append(np.linalg.norm(ends[0] - ends[1], axis=-1))
    return np.max(distances, axis=0)


# Minimal velocities


def states(rows: Array, x: TreeState) -> TreeState:
    """Return vectors of numbers as states of the shape of x."""
    return TreeState(*np.split(rows, np.cumsum([len(a) for a in x])[:-1], axis=-1))


def minimal(tree: Tree, efforts: Efforts, end: float, stops: Sequence[float]) -> tuple[Array, TreeState]:
    """Integrate the minimal state from rest."""
    x = tree.state()

    def rate(t: float, y: Array) -> Array:
        return np.concatenate(integrate.derivative(tree, states(y, x), Load(efforts(t))))

    t, rows = march(rate, np.concatenate(x), end, stops)
    return t, integrate.normalize(tree, states(rows, x))


def read_minimal(tree: Tree, t: Array, x: TreeState) -> Reading:
    """Read a run of minimal states."""
    return read(tree, t, *kinematics.bodies(tree, x))


# The paper's dual velocities


def redundant(tree: Tree, efforts: Efforts, end: float, stops: Sequence[float]) -> Reading:
    """Integrate base pose, angles and all dual velocities from rest. Source: DQMB eq. (43), Algorithm 1."""
    D, B = tree.freedoms, len(tree.bodies)

    def rate(t: float, row: Array) -> Array:
        dq_IB, gamma, y = row[:8], row[8 : 8 + D], row[8 + D :].reshape(B, 6)
        gamma_dot, y_dot = _accelerations(tree, dq_IB, gamma, y, efforts(t))
        return np.concatenate([dual_quaternion.derivative(dq_IB, y[tree.root]), gamma_dot, y_dot])

    start = tree.state()
    t, rows = march(rate, np.concatenate([start.dq_IB, start.gamma, np.zeros(6 * B)]), end, stops)
    x = TreeState(dual_quaternion.normalize(rows[:, :8]), np.zeros((len(t), 6)), rows[:, 8 : 8 + D], np.zeros((1, D)))
    return read(tree, t, kinematics.bodies(tree, x).dq_IB, rows[:, 8 + D :].reshape(-1, B, 6))


def _accelerations(tree: Tree, dq_IB: Array, gamma: Array, y: Array, effort: Array) -> tuple[Array, Array]:
    """Return joint rates and the derivatives of all twists. Source: DQMB eqs. (46), (47), (55), (56), (60)."""
    s = saddle.system(tree, TreeState(dq_IB, np.zeros(6), gamma, np.zeros(tree.freedoms)), effort)
    B1, B2, rates = s.B1.reshape(y.shape), [], []
    M = s.S11.reshape(*y.shape, *y.shape)
    for i, v in enumerate(y):
        p = M[i, :, i] @ v
        B1[i] -= np.concatenate([np.cross(v[:3], p[:3]) + np.cross(v[3:], p[3:]), np.cross(v[:3], p[3:])])
    for joint in tree.joints:
        X_child, X_parent = saddle.joint_maps(tree, TreeState(dq_IB, y[0], gamma, gamma), joint.name)
        carried = X_parent @ y[tree.body(joint.parent)]
        u = X_child @ y[tree.body(joint.child)] - carried
        turned = np.concatenate([np.cross(carried[:3], u[:3]), _moment(carried, u)])
        B2.append(joint.type.reaction.T @ turned)
        rates.append(joint.type.mapping.T @ u)
    right = np.concatenate([B1.ravel(), *B2])
    return np.concatenate(rates), np.linalg.solve(s.matrix, right)[: y.size]


def _moment(a: Array, b: Array) -> Array:
    """Return the linear part of a x b of twists."""
    return np.cross(a[:3], b[3:]) + np.cross(a[3:], b[:3])
