"""Hill's frame and Clohessy and Wiltshire's equations, written independently of the code."""

import numpy as np
from scipy.linalg import expm


def to_hill(rho_I, rate_I, r_I, v_I):
    """Return the relative state as seen in a frame that turns by r x v / r^2."""
    x, momentum = r_I / np.linalg.norm(r_I), np.cross(r_I, v_I)
    z = momentum / np.linalg.norm(momentum)
    R_HI = np.array([x, np.cross(z, x), z])
    return np.concatenate([R_HI @ rho_I, R_HI @ (rate_I - np.cross(momentum / (r_I @ r_I), rho_I))])


def clohessy_wiltshire(x_H, n, t):
    """Return the relative state after t by the matrix exponential of its equations."""
    A = np.zeros((6, 6))
    A[:3, 3:] = np.eye(3)
    A[3, 0], A[5, 2], A[3, 4], A[4, 3] = 3 * n**2, -(n**2), 2 * n, -2 * n
    return expm(A * t) @ x_H
