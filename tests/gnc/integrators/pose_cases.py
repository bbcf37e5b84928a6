"""The body, the wrenches and the exact solution that the tests of pose integrators share."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from gnc import dual_quaternion, lie, quaternion, spatial

MASS, R_G = 1000.0, np.array([1.0, 0.8, 0.5])
J_COM = np.array([[300.0, 50, 40], [50, 350, 30], [40, 30, 400]])
M = spatial.inertia(MASS, R_G, J_COM)
DQ = dual_quaternion.from_pose([0.5, 0.5, -0.1, 0.7], [1.0, -2.0, 0.5])
CHI = np.array([0.4, -0.5, 0.6, 0.7, 0.2, -0.3])
WRENCH = np.array([120.0, -80.0, 60.0, 300.0, -200.0, 150.0])
BOTH_FORMS = pytest.mark.parametrize("filler", [0.0, MASS], ids=["printed", "filled"])

# The data of DQVI section V, which are no rigid body's.
PAPER_J = np.array([[200.0, 100, 100], [100, 300, 100], [100, 100, 400]])
PAPER_M = spatial.inertia(MASS, R_G, PAPER_J)


def paper_start(w, velocity=(0.0, 0.0, 0.0)):
    """Return the state at the origin with a rate, and a velocity of the centre of mass."""
    return np.eye(8)[0], np.concatenate([w, velocity - np.cross(w, R_G)])


# A wrench that depends on pose and twist: a spring from a point of the body to a fixed one, and damping.
ANCHOR, HOOK, STIFFNESS = np.array([2.0, -1.0, 1.5]), np.array([0.4, -0.3, 0.6]), 800.0
DAMPING = np.diag([60.0, 80.0, 70.0, 200.0, 150.0, 180.0])
UNDAMPED = np.zeros((6, 6))


def wrench_of(dq_IB, chi_B, damping):
    """Return the wrench and its derivatives with respect to xi and chi."""
    s = dual_quaternion.inverse_transform_point(dq_IB, ANCHOR)
    force = STIFFNESS * (s - HOOK)
    by_pose = STIFFNESS * np.hstack([lie.hat(s), -np.eye(3)])
    T = np.vstack([lie.hat(HOOK) @ by_pose, by_pose])
    return np.concatenate([np.cross(HOOK, force), force]) - damping @ chi_B, T, -damping


def constant(dq_IB, chi_B):
    return WRENCH


def free(dq_IB, chi_B):
    return np.zeros(6)


def exact(wrench, duration, start=(DQ, CHI), J=J_COM):
    """Integrate Newton's and Euler's equations about the centre of mass with DOP853; wrench is a function (dq, chi).

    The numbers are quaternion, centre of mass and its velocity in inertial axes, and the body rate.
    """

    def at_reference(y):
        q = y[:4] / np.linalg.norm(y[:4])
        v = quaternion.inverse_rotate(q, y[7:10]) - np.cross(y[10:], R_G)
        return dual_quaternion.from_pose(q, y[4:7] - quaternion.rotate(q, R_G)), np.concatenate([y[10:], v])

    def rate(_, y):
        dq, chi = at_reference(y)
        torque, force = np.split(wrench(dq, chi), 2)
        spin = np.linalg.solve(J, torque - np.cross(R_G, force) - np.cross(y[10:], J @ y[10:]))
        push = quaternion.rotate(dq[:4], force) / MASS
        return np.concatenate([quaternion.derivative(y[:4], y[10:]), y[7:10], push, spin])

    dq, chi = start
    velocity = quaternion.rotate(dq[:4], chi[3:] + np.cross(chi[:3], R_G))
    y = np.concatenate([dq[:4], dual_quaternion.transform_point(dq, R_G), velocity, chi[:3]])
    return at_reference(solve_ivp(rate, (0.0, duration), y, "DOP853", rtol=1e-13, atol=1e-14).y[:, -1])


def pose_error(dq, reference):
    """Return xi of the first pose seen from the second."""
    return dual_quaternion.log(dual_quaternion.mul(dual_quaternion.conj(reference), dq))


def distance(state, reference):
    """Return the norm of the error state."""
    return np.linalg.norm(np.concatenate([pose_error(state[0], reference[0]), state[1] - reference[1]]))


def fitted_order(errors, counts):
    """Return the order that the errors of so many steps show."""
    return -np.polyfit(np.log(counts), np.log(errors), 1)[0]


def perturbed(e):
    """Return the state with an error (xi, chi)."""
    return dual_quaternion.mul(DQ, dual_quaternion.exp(e[:6])), CHI + e[6:12]


def pushed(e):
    """Return state and wrench with an error (xi, chi, wrench/1000)."""
    return *perturbed(e), WRENCH + 1e3 * e[12:]


def differences(motion, size, d=1e-5):
    """Return the central differences of the error state that a perturbation of `motion` makes."""
    nominal = motion(np.zeros(size))[0]

    def error(e):
        dq, rest = motion(e)[:2]
        return np.concatenate([pose_error(dq, nominal), rest])

    return np.transpose([(error(d * e) - error(-d * e)) / (2 * d) for e in np.eye(size)])
