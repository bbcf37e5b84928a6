"""Three ways to integrate the same satellite, and what each of them says about its motion.

    minimal     base pose and twist, joint coordinates and velocities: `models.multibody`, by the O(B) recursion
    redundant   base pose, joint coordinates, and the dual velocity of every body: DQMB Algorithm 1 as printed
    decoupled   place, attitude, velocity and rate of every body, translation apart from rotation: `decoupled`

The states are read at the solver's own steps: between them SciPy interpolates, with errors above those shown here.

The comparator of Fig. 6: Newton and Euler apart, every body with a place, an attitude, a velocity and a rate.

For bodies i with mass m, inertia J and rotation R, and revolute joints j with force F and torque T on the child:

    m vdot = sum of +-F                                   in inertial axes
    J wdot + w x J w = R^T (sum of +-(T + d x F))         in body axes, d the joint from the centre of mass
    both ends of a joint have the same acceleration; across its axis both bodies have the same angular acceleration

Unknowns: vdot, wdot of all bodies, F and the two parts of T across the axis, in one dense system. This is the
formulation of E. Stoneking, "Newton-Euler dynamic equations of motion for a multi-body spacecraft", AIAA 2007-6441,
written down here from its principle, with the axis of a revolute joint held by two equations as DQMB section 4 says.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from gnc import dual_quaternion, quaternion, spatial
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


class Moving(NamedTuple):
    """All bodies, (..., B, 3) and (..., B, 4)."""

    r: Array  # centres of mass in inertial axes
    q: Array
    v: Array  # inertial axes
    w: Array  # body axes


def _unpack(row: Array, B: int) -> Moving:
    parts = np.split(row, np.cumsum([3 * B, 4 * B, 3 * B]), axis=-1)
    return Moving(*(a.reshape(*row.shape[:-1], B, -1) for a in parts))


def decoupled(tree: Tree, efforts: Efforts, end: float, stops: Sequence[float]) -> Reading:
    """Integrate a tree of revolute joints from rest."""
    B = len(tree.bodies)

    def rate(t: float, row: Array) -> Array:
        x = _unpack(row, B)
        v_dot, w_dot = accelerations(tree, x, efforts(t))
        return np.concatenate([a.ravel() for a in (x.v, quaternion.derivative(x.q, x.w), v_dot, w_dot)])

    q, r = dual_quaternion.to_pose(kinematics.bodies(tree, tree.state()).dq_IB)
    t, rows = march(rate, np.concatenate([r.ravel(), q.ravel(), np.zeros(6 * B)]), end, stops)
    x = _unpack(rows, B)
    q = quaternion.normalize(x.q)
    twists = np.concatenate([x.w, quaternion.inverse_rotate(q, x.v)], axis=-1)
    return read(tree, t, dual_quaternion.from_pose(q, x.r), twists)


def accelerations(tree: Tree, x: Moving, effort: Array) -> tuple[Array, Array]:
    """Return vdot in inertial and wdot in body axes, (B, 3) each."""
    B, J = len(tree.bodies), len(tree.joints)
    R = quaternion.to_matrix(x.q)
    A, b = np.zeros((6 * B + 5 * J, 6 * B + 5 * J)), np.zeros(6 * B + 5 * J)
    for i, (body, w) in enumerate(zip(tree.bodies, x.w, strict=True)):
        translation, rotation = _rows(B, i)
        A[translation, translation] = body.mass * np.eye(3)
        A[rotation, rotation] = body.J_com
        b[rotation] = -np.cross(w, body.J_com @ w)
    for j, joint in enumerate(tree.joints):
        _join(A, b, tree, j, (tree.body(joint.child), tree.body(joint.parent)), R, x.w, effort[j])
    solution = np.linalg.solve(A, b)
    return solution[: 3 * B].reshape(B, 3), solution[3 * B : 6 * B].reshape(B, 3)


def _rows(B: int, i: int) -> tuple[slice, slice]:
    """Return where the translation and the rotation of a body are."""
    return slice(3 * i, 3 * i + 3), slice(3 * B + 3 * i, 3 * B + 3 * i + 3)


def _join(A: Array, b: Array, tree: Tree, j: int, ends: tuple[int, int], R: Array, w: Array, effort: float) -> None:
    """Enter a joint: its force and torque into the equations of both bodies, and its five constraints."""
    B, joint = len(tree.bodies), tree.joints[j]
    force, torque = slice(6 * B + 5 * j, 6 * B + 5 * j + 3), slice(6 * B + 5 * j + 3, 6 * B + 5 * j + 5)
    child, parent = ends
    axes = R[parent] @ quaternion.to_matrix(joint.dq_PJ[:4])
    across, axis = axes[:, :2], axes[:, 2]
    for i, dq, sign in ((child, joint.dq_CJ, 1.0), (parent, joint.dq_PJ, -1.0)):
        translation, rotation = _rows(B, i)
        d = dual_quaternion.to_pose(dq)[1]
        lever = R[i] @ _skew(d)  # transposed it is minus the moment of a force
        A[translation, force] = -sign * np.eye(3)
        A[rotation, force] = sign * lever.T
        A[rotation, torque] = -sign * R[i].T @ across
        b[rotation] += sign * effort * (R[i].T @ axis)
        A[force, translation] = sign * np.eye(3)
        A[force, rotation] = -sign * lever
        A[torque, rotation] = sign * across.T @ R[i]
        b[force] -= sign * R[i] @ np.cross(w[i], np.cross(w[i], d))
    turning = R[parent] @ w[parent]
    b[torque] = -np.cross(turning, across.T) @ (R[child] @ w[child] - turning)


def _skew(a: Array) -> Array:
    return np.array([[0.0, -a[2], a[1]], [a[2], 0.0, -a[0]], [-a[1], a[0], 0.0]])
