"""A first attitude from vectors, with its covariance.

All vectors are directions: b_B as measured (any length), r_I as known, sigma the noise of each component [rad]. The
covariance is that of a, q = q^ exp(a/2), in body axes. Directions that are parallel give infinities or NaN.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from gnc import quaternion
from gnc.batch import batched, sized, where
from gnc.linalg import array, block, cross, det3, identity, inv3, zeros
from gnc.models.sensors import CoarseSunSensor, FineSunSensor, Magnetometer, VectorSensor
from gnc.typing import Array

NEWTON_STEPS = 12  # from above the largest root; a wrong vector or a bad angle needs more than QUEST's one or two


def _unit(v):
    return v / np.sqrt(v @ v)


def _triad(a, b):
    """Return the rows a, n, a x n of the frame that two directions span, n normal to both."""
    first, normal = _unit(a), _unit(cross(a, b))
    return array([first, normal, cross(first, normal)])


@batched("(3),(3),(3),(3),(),()->(4),(3,3)")
def triad(b_1, b_2, r_1, r_2, sigma_1, sigma_2):
    """Return q_IB and its covariance; the first vector is met exactly, so the better one comes first.

    C = s1^2 1 + ((s2^2 - s1^2) b1 b1^T + s1^2 (b1.b2) (b1 b2^T + b2 b1^T)) / |b1 x b2|^2
    Source: Shuster and Oh, "Three-axis attitude determination from vector observations", J. Guidance 4 (1981) 70.
    """
    q_IB = quaternion.from_matrix(_triad(r_1, r_2).T @ _triad(b_1, b_2))
    b_1, b_2 = _unit(b_1), _unit(b_2)
    normal, v_1, v_2 = cross(b_1, b_2), sigma_1 * sigma_1, sigma_2 * sigma_2
    mixed = np.outer(b_1, b_2)
    spread = (v_2 - v_1) * np.outer(b_1, b_1) + (v_1 * (b_1 @ b_2)) * (mixed + mixed.T)
    return q_IB, v_1 * identity(3) + spread / (normal @ normal)


def quest(b_B: Array, r_I: Array, sigma: Array) -> tuple[Array, Array]:
    """Return q_IB and its covariance from n >= 2 vectors (..., n, 3), each weighted by 1/sigma^2.

    It solves Wahba's problem: q is the eigenvector of Davenport's K with the largest eigenvalue, found from the
    characteristic polynomial; C = (sum (1 - b b^T)/sigma^2)^-1. Source: Shuster and Oh 1981; the eigenvector by the
    adjugate as in Markley and Crassidis, "Fundamentals of Spacecraft Attitude Determination and Control", section 5.3.
    """
    return _quest(np.shape(b_B)[-2])(b_B, r_I, sigma)


@sized(lambda n: f"({n},3),({n},3),({n})->(4),(3,3)")
def _quest(b_B, r_I, sigma):
    weights = 1.0 / (sigma * sigma)
    total = sum(weights[1:], weights[0])
    b_B, r_I = array([_unit(b) for b in b_B]), array([_unit(r) for r in r_I])
    profile = sum(((w / total) * np.outer(r, b) for w, r, b in zip(weights, r_I, b_B, strict=True)), zeros(3, 3))
    spread = sum((w * (identity(3) - np.outer(b, b)) for w, b in zip(weights, b_B, strict=True)), zeros(3, 3))
    return _largest(_davenport(profile)), inv3(spread)


def _davenport(A):
    """Return the symmetric K, trace 0, with q.K q = sum of w r.R(q) b, from A = sum of w r b^T."""
    z = array([A[2, 1] - A[1, 2], A[0, 2] - A[2, 0], A[1, 0] - A[0, 1]])
    trace = A[0, 0] + A[1, 1] + A[2, 2]
    K = zeros(4, 4)
    K[0, 0], K[0, 1:], K[1:, 0], K[1:, 1:] = trace, z, z, A + A.T - trace * identity(3)
    return K


def _minor(M, i, j):
    return det3(array([[M[r, c] for c in range(4) if c != j] for r in range(4) if r != i]))


def _largest(K):
    """Return the unit eigenvector of the largest eigenvalue, at most 1, of Davenport's matrix.

    Newton's method from 1 comes down to the largest root x of the characteristic polynomial x^4 + b x^2 + c x + d; the
    adjugate of K - x 1 is a multiple of q q^T, whose longest column is taken.
    """
    square = K @ K
    b = -0.5 * (square[0, 0] + square[1, 1] + square[2, 2] + square[3, 3])
    c = -(_minor(K, 0, 0) + _minor(K, 1, 1) + _minor(K, 2, 2) + _minor(K, 3, 3))
    d = sum(((-1.0) ** j * K[0, j] * _minor(K, 0, j) for j in range(4)), 0.0)
    x = 1.0
    for _ in range(NEWTON_STEPS):
        x = x - (((x * x + b) * x + c) * x + d) / ((4.0 * x * x + 2.0 * b) * x + c)
    M = K - x * identity(4)
    best, size = None, None
    for i in range(4):
        column = array([(-1.0) ** (i + j) * _minor(M, i, j) for j in range(4)])
        longer = None if best is None else abs(column[i]) > size
        best = column if longer is None else where(longer, column, best)
        size = abs(column[i]) if longer is None else where(longer, abs(column[i]), size)
    return quaternion.canonical(quaternion.normalize(best))


@batched("(3,3),()->(6,6)")
def attitude_covariance(C_attitude, sigma_rate):
    """Return the covariance over (a, dw) of an attitude and a rate that is known to sigma_rate [rad/s] per axis."""
    return block([[C_attitude, zeros(3, 3)], [zeros(3, 3), (sigma_rate * sigma_rate) * identity(3)]])


VECTOR_SENSORS = VectorSensor, FineSunSensor, CoarseSunSensor, Magnetometer


def observed_vector(sensor: Any, z: Array, env: Any) -> tuple[Array, Array, Array]:
    """Return the vector of a measurement in body axes, the one it is of in inertial axes, and its noise as an angle."""
    return in_body(sensor, z), *known_vector(sensor, env)


def in_body(sensor: Any, z: Array) -> Array:
    """Return the vector of a measurement in body axes."""
    return z if isinstance(sensor, VectorSensor) else sensor.in_body(z)


def known_vector(sensor: Any, env: Any) -> tuple[Array, Array]:
    """Return the vector that a sensor measures, in inertial axes, and its noise as an angle [rad]."""
    if isinstance(sensor, VectorSensor):
        return sensor.r_I, np.radians(sensor.sigma_deg)
    if isinstance(sensor, FineSunSensor):  # a horizon sensor too
        return sensor.aim(env)[0], np.radians(sensor.sigma_deg)
    if isinstance(sensor, CoarseSunSensor):
        return env.sun_I, sensor.sigma
    assert isinstance(sensor, Magnetometer)
    return env.B_I, _angle(np.radians(sensor.sigma_deg), sensor.sigma_T, env.B_I)


def stacked(seen: Sequence[tuple[Array, Array, Array]]) -> tuple[Array, Array, Array]:
    """Return observed vectors as QUEST takes them: measured (..., n, 3), known (..., n, 3), noise (..., n)."""
    b_B, r_I, sigma = zip(*seen, strict=True)
    wide = [_each(b, r, np.asarray(s, float)) for b, r, s in zip(b_B, r_I, sigma, strict=True)]
    return np.stack(b_B, -2), np.stack([r for r, _ in wide], -2), np.stack([s for _, s in wide], -1)


@batched("(3),(3),()->(3),()")
def _each(b_B, r_I, sigma):
    """Return a known vector and its noise once for every measured one."""
    return r_I + 0.0 * b_B, sigma + 0.0 * b_B[0]


@batched("(),(),(3)->()")
def _angle(sigma, sigma_T, B_I):
    """Return noise that is an angle and a field together, as an angle."""
    return np.sqrt(sigma * sigma + sigma_T * sigma_T / (B_I @ B_I))
