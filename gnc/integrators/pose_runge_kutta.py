"""The comparators of DQVI: classical Runge-Kutta steps of the Newton-Euler equations about any reference point.

    M chi' = wrench + [L x w + P x v; P x w]        (L, P) = M chi, chi = [w, v]
    q' = q w/2, r' = R(q) v                         QUAT-RK4, the quaternion normalised after every step
    (roll, pitch, yaw)' = rates of ZYX angles       EULER-RK4, singular at pitch = +-90 deg ("gimbal lock")

They conserve neither momentum nor energy. Wrenches are constant in body axes over a step, as in `dqvi.step`.
Source: DQVI section V.A.
"""

import numpy as np

from gnc import quaternion, spatial
from gnc.batch import batched, jacobian
from gnc.dual_quaternion import adjoint, conj, left_matrix, mul, normalize, pure
from gnc.integrators.runge_kutta import classical
from gnc.linalg import array, block, cross, zeros


def _twist_rate(chi_B, wrench_B, M):
    """Return chi', the acceleration of a body about an arbitrary reference point."""
    mu = M @ chi_B
    w, v, L, P = chi_B[:3], chi_B[3:], mu[:3], mu[3:]
    return spatial.inverse(M) @ (wrench_B + np.concatenate([cross(L, w) + cross(P, v), cross(P, w)]))


@batched("(4),(3),(6),(6),(6,6),()->(4),(3),(6)")
def quaternion_step(q_IB, r_IB, chi_B, wrench_B, M, h):
    """Take one step of QUAT-RK4."""

    def rate(y):
        q, chi = y[:4], y[7:]
        turn, velocity = quaternion.derivative(q, chi[:3]), quaternion.rotate(q, chi[3:])
        return np.concatenate([turn, velocity, _twist_rate(chi, wrench_B, M)])

    y = classical(rate, np.concatenate([q_IB, r_IB, chi_B]), h)
    return quaternion.normalize(y[:4]), y[4:7], y[7:]


@batched("(3),(3),(6),(6),(6,6),()->(3),(3),(6)")
def euler_step(angles, r_IB, chi_B, wrench_B, M, h):
    """Take one step of EULER-RK4; angles are [roll, pitch, yaw], turned in the order yaw, pitch, roll (ZYX)."""

    def rate(y):
        chi = y[6:]
        turn, velocity = _euler_rate(y[:3], chi[:3]), euler_matrix(y[:3]) @ chi[3:]
        return np.concatenate([turn, velocity, _twist_rate(chi, wrench_B, M)])

    y = classical(rate, np.concatenate([angles, r_IB, chi_B]), h)
    return y[:3], y[3:6], y[6:]


def _euler_rate(angles, w_B):
    sr, cr, sp, cp = np.sin(angles[0]), np.cos(angles[0]), np.sin(angles[1]), np.cos(angles[1])
    yaw_rate = (sr * w_B[1] + cr * w_B[2]) / cp
    return array([w_B[0] + sp * yaw_rate, cr * w_B[1] - sr * w_B[2], yaw_rate])


@batched("(3)->(3,3)")
def euler_matrix(angles):
    """Return R_IB of [roll, pitch, yaw]: Rz(yaw) Ry(pitch) Rx(roll)."""
    (sr, sp, sy), (cr, cp, cy) = np.sin(angles), np.cos(angles)
    return array(
        [
            [cy * cp, cy * sp * sr - sy * cr, cy * sp * cr + sy * sr],
            [sy * cp, sy * sp * sr + cy * cr, sy * sp * cr - cy * sr],
            [-sp, cp * sr, cp * cr],
        ]
    )


@batched("(6),(6),(6,6),()->(8),(6)")
def _body_step(chi_B, wrench_B, M, h):
    """Return the motion during a step, as a pose in the body's first axes, and the twist after it."""

    def rate(y):
        return np.concatenate([mul(y[:8], pure(0.5 * y[8:])), _twist_rate(y[8:], wrench_B, M)])

    y = classical(rate, np.concatenate([array([1.0, *zeros(7)]), chi_B]), h)
    return normalize(y[:8]), y[8:]


@batched("(8),(6),(6),(6,6),(),()->(8),(6)")
def step(dq_IB, chi_B, wrench_B, M, filler, h):
    """Take a step of the dual quaternion itself, dq' = dq chi/2, with the arguments of `dqvi.step`.

    The filler has no part in it. Unlike QUAT-RK4, which rotates by quaternions that are not quite unit, it makes the
    same motion whatever the pose.
    """
    motion, chi_B = _body_step(chi_B, wrench_B, M, h)
    return mul(dq_IB, motion), chi_B


_body_slopes = jacobian(_body_step, ("chi_B", "wrench_B"), value=True)


@batched("(8),(6),(6),(6,6),(),()->(8),(6),(12,12),(12,6)")
def step_jacobian(dq_IB, chi_B, wrench_B, M, filler, h):
    """Return what `step` does, and F and G as `dqvi.step_jacobian` does, by forward mode."""
    motion, chi_B, by_twist, by_wrench, F22, G2 = _body_slopes(chi_B, wrench_B, M, h)
    to_error = 2.0 * left_matrix(conj(motion))[[1, 2, 3, 5, 6, 7]]
    F = block([[adjoint(conj(motion)), to_error @ by_twist], [zeros(6, 6), F22]])
    return mul(dq_IB, motion), chi_B, F, np.concatenate([to_error @ by_wrench, G2])
