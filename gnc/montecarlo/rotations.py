"""Kernels that turn uniform or normal numbers into directions, attitudes and inertias."""

from __future__ import annotations

import math

import numpy as np

from gnc.batch import batched
from gnc.linalg import array
from gnc.quaternion import exp, from_two_vectors, mul, rotate, to_matrix


@batched("(2),(3),()->(3)")
def in_cone(u, axis, cone_rad):
    """Return a direction uniform on the cap within `cone_rad` of `axis`, as long as the axis; pi is the sphere.

    The height 1 - cos(angle) is uniform (Archimedes), here 2 sin^2(angle/2), which does not cancel in a narrow cone.
    """
    half = np.sin(0.5 * cone_rad)
    fall = 2.0 * u[0] * half * half
    side, azimuth = np.sqrt(fall * (2.0 - fall)), 2.0 * math.pi * u[1]
    local = array([side * np.cos(azimuth), side * np.sin(azimuth), 1.0 - fall])
    return np.sqrt(axis @ axis) * rotate(from_two_vectors(array([0.0, 0.0, 1.0]), axis), local)


@batched("(3)->(4)")
def any_attitude(u):
    """Return an attitude uniform on SO(3). Source: Shoemake, "Uniform random rotations", Graphics Gems III, 1992."""
    a, b = np.sqrt(1.0 - u[0]), np.sqrt(u[0])
    s, t = 2.0 * math.pi * u[1], 2.0 * math.pi * u[2]
    return array([b * np.cos(t), a * np.sin(s), a * np.cos(s), b * np.sin(t)])


@batched("(4),(3)->(4)")
def turned(q_AB, phi_B):
    """Return an attitude turned by a rotation vector in body axes."""
    return mul(q_AB, exp(phi_B))


@batched("(3),(3,3),(3)->(3,3)")
def inertia(second, axes, phi):
    """Return the inertia of a body whose second moments of mass along its principal axes are `second` >= 0.

    J_1 = second_2 + second_3 and so on round: the triangle inequality holds because second moments are not negative.
    The axes (columns) are turned by the rotation vector `phi`.
    """
    A = to_matrix(exp(phi)) @ axes
    moments = array([second[1] + second[2], second[2] + second[0], second[0] + second[1]])
    J = array([[sum(A[i, k] * moments[k] * A[j, k] for k in range(3)) for j in range(3)] for i in range(3)])
    return 0.5 * (J + J.T)
