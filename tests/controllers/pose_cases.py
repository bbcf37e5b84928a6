"""Bodies, references and errors that the tests of the pose laws share, written without the laws' own code."""

import numpy as np
from scipy.spatial.transform import Rotation

from gnc import dual_quaternion, quaternion
from gnc.controllers.reference import PoseReference
from gnc.models.pose_body import PoseBody, PoseState

J = np.array([[22.0, 0.2, 0.5], [0.2, 20.0, 0.4], [0.5, 0.4, 23.0]])
CENTRED = PoseBody.of(100.0, [0.0, 0.0, 0.0], J)
OFFSET = PoseBody.of(100.0, [0.3, -0.2, 0.4], J)

# Filipe and Tsiotras (2015): attitude (scalar last there), position and twist against the reference.
PUBLISHED_Q = quaternion.normalize(np.array([0.3320, 0.4618, 0.1917, 0.7999]))
PUBLISHED_R_B = np.array([2.0, 2.0, 2.0])


def published_start(reference):
    dq_RB = dual_quaternion.from_pose(PUBLISHED_Q, quaternion.rotate(PUBLISHED_Q, PUBLISHED_R_B))
    carried = dual_quaternion.transform_twist(dual_quaternion.conj(dq_RB), reference.chi_R)
    return PoseState(dual_quaternion.mul(reference.dq_IR, dq_RB), 0.1 + carried)


def spinning(t, rate=0.01):
    """A reference that turns about z at a constant rate, its origin at rest."""
    w = np.array([0.0, 0.0, rate])
    return PoseReference(dual_quaternion.from_pose(quaternion.exp(w * t), np.zeros(3)), np.array([*w, 0, 0, 0]))


def swinging(t, axis=(0.6, 0.0, 0.8)):
    """A reference that swings about an axis of its own while its origin moves on a curve; all by hand."""
    n, t = np.array(axis), np.asarray(t, float)[..., None]
    angle, rate, acceleration = 0.7 * np.sin(0.5 * t), 0.35 * np.cos(0.5 * t), -0.175 * np.sin(0.5 * t)
    r_I = np.concatenate([3.0 * np.cos(0.3 * t), 0.2 * t, np.sin(0.4 * t)], -1)
    v_I = np.concatenate([-0.9 * np.sin(0.3 * t), 0.2 + 0.0 * t, 0.4 * np.cos(0.4 * t)], -1)
    a_I = np.concatenate([-0.27 * np.cos(0.3 * t), 0.0 * t, -0.16 * np.sin(0.4 * t)], -1)
    back = Rotation.from_rotvec(-n * angle)
    v_R, a_R = back.apply(v_I), back.apply(a_I)
    chidot = np.concatenate([n * acceleration, a_R - np.cross(n * rate, v_R)], -1)
    return PoseReference(
        dual_quaternion.from_pose(quaternion.exp(n * angle), r_I), np.concatenate([n * rate, v_R], -1), chidot
    )


def random_states(count, seed=0):
    rng = np.random.default_rng(seed)
    q, r = quaternion.normalize(rng.normal(size=(count, 4))), 3.0 * rng.normal(size=(count, 3))
    return PoseState(dual_quaternion.from_pose(q, r), 0.3 * rng.normal(size=(count, 6)))


def error(x, reference):
    """Return q_RB (scalar first, the short way), r_RB in body axes, and the twist against the reference."""
    (q_B, r_B), (q_R, r_R) = dual_quaternion.to_pose(x.dq_IB), dual_quaternion.to_pose(reference.dq_IR)
    R_B = Rotation.from_quat(q_B, scalar_first=True)
    R_R = Rotation.from_quat(np.broadcast_to(q_R, q_B.shape), scalar_first=True)
    q_RB = (R_R.inv() * R_B).as_quat(canonical=True, scalar_first=True)
    away = r_B - r_R
    chi_R = np.array(reference.chi_R)  # SciPy takes no read-only arrays
    w_I, v_I = R_R.apply(chi_R[..., :3]), R_R.apply(chi_R[..., 3:])
    carried = np.concatenate([R_B.inv().apply(w_I), R_B.inv().apply(v_I + np.cross(w_I, away))], -1)
    return q_RB, R_B.inv().apply(away), x.chi_B - carried


def miss(x, reference):
    """Return the angle [deg] and the distance [m] from the reference."""
    q, r, _ = error(x, reference)
    return np.degrees(2.0 * np.arccos(np.minimum(q[..., 0], 1.0))), np.linalg.norm(r, axis=-1)
