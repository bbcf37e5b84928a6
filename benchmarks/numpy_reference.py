"""The steps of QVI and DQVI in plain NumPy with leading axes: what a careful user would write without kernels.

Same equations and the same Newton iterations as the kernels; cross products by components and `np.linalg.solve` for all
trials at once, which measured faster than `np.cross` and `np.einsum`.
"""

from __future__ import annotations

import numpy as np

from gnc.typing import Array


def _cross(a: Array, b: Array) -> Array:
    (a1, a2, a3), (b1, b2, b3) = np.moveaxis(a, -1, 0), np.moveaxis(b, -1, 0)
    return np.stack([a2 * b3 - a3 * b2, a3 * b1 - a1 * b3, a1 * b2 - a2 * b1], axis=-1)


def _skew(v: Array) -> Array:
    S = np.zeros((*v.shape[:-1], 3, 3))
    S[..., 2, 1], S[..., 0, 2], S[..., 1, 0] = v[..., 0], v[..., 1], v[..., 2]
    return S - np.swapaxes(S, -1, -2)


def _outer(a: Array, b: Array) -> Array:
    return a[..., :, None] * b[..., None, :]


def _dot(a: Array, b: Array) -> Array:
    return (a * b).sum(axis=-1, keepdims=True)


def _apply(A: Array, v: Array) -> Array:
    """Return A v; a matrix that all trials share is one product."""
    return v @ A.T if A.ndim == 2 else (A @ v[..., None])[..., 0]


def _solve(A: Array, b: Array) -> Array:
    return np.linalg.solve(A, b[..., None])[..., 0]


def _quaternion_product(p: Array, q: Array) -> Array:
    vector = p[..., :1] * q[..., 1:] + q[..., :1] * p[..., 1:] + _cross(p[..., 1:], q[..., 1:])
    return np.concatenate([p[..., :1] * q[..., :1] - _dot(p[..., 1:], q[..., 1:]), vector], axis=-1)


def qvi_drift_numpy(q: Array, P: Array, J: Array, h: float, iterations: int) -> tuple[Array, Array]:
    """Move a free rigid body over h: attitude and body angular momentum, as `qvi.drift` without wheels."""
    one = np.eye(3)
    phi = (0.5 * h) * _apply(np.linalg.inv(J), P)
    target = (0.5 * h) * P
    for _ in range(iterations):
        s, v = np.sqrt(1.0 - _dot(phi, phi)), _apply(J, phi)
        K = (s[..., None] * one + _skew(phi)) @ J - _outer(v, phi / s) - _skew(v)
        phi = phi - _solve(K, s * v + _cross(phi, v) - target)
    s, v = np.sqrt(1.0 - _dot(phi, phi)), _apply(J, phi)
    turned = _quaternion_product(q, np.concatenate([s, phi], axis=-1))
    return turned, P - (4.0 / h) * _cross(phi, v)


def dqvi_step_numpy(dq: Array, chi: Array, M: Array, filler: float, h: float, iterations: int) -> tuple[Array, Array]:
    """Move a free body over h: pose and twist, as `dqvi.step` without a wrench."""
    x = (0.5 * h) * chi
    target = _apply(M, x)
    for _ in range(iterations):
        x = x - _solve(_slope(x, M, filler), np.add(*_momentum(x, M, filler)) - target)
    _, even = _momentum(x, M, filler)
    chi = chi - (4.0 / h) * _apply(np.linalg.inv(M), even)
    f0, fb, _ = _scalars(x)
    real, dual = np.concatenate([f0, x[..., :3]], axis=-1), np.concatenate([fb, x[..., 3:]], axis=-1)
    moved = _quaternion_product(dq[..., :4], dual) + _quaternion_product(dq[..., 4:], real)
    return np.concatenate([_quaternion_product(dq[..., :4], real), moved], axis=-1), chi


def _scalars(x: Array) -> tuple[Array, Array, Array]:
    """Return f0, fb and Phi/f0."""
    f0 = np.sqrt(1.0 - _dot(x[..., :3], x[..., :3]))
    p = x[..., :3] / f0
    return f0, -_dot(x[..., 3:], p), p


def _momentum(x: Array, M: Array, filler: float) -> tuple[Array, Array]:
    """Return the odd and the even part of g."""
    Phi, Psi, z = x[..., :3], x[..., 3:], _apply(M, x)
    f0, fb, _ = _scalars(x)
    za, zb = z[..., :3], z[..., 3:]
    odd = np.concatenate([f0 * za + fb * (zb - filler * Psi), f0 * zb - filler * fb * Phi], axis=-1)
    return odd, np.concatenate([_cross(Phi, za) + _cross(Psi, zb), _cross(Phi, zb)], axis=-1)


def _slope(x: Array, M: Array, filler: float) -> Array:
    """Return dg/dx."""
    Phi, Psi, z = x[..., :3], x[..., 3:], _apply(M, x)
    f0, fb, p = _scalars(x)
    za, zb, c = z[..., :3], z[..., 3:], (fb * p - Psi) / f0
    f0, fb, one = f0[..., None], fb[..., None], np.eye(3)
    turn_Phi, turn_Psi = f0 * one + _skew(Phi), fb * one + _skew(Psi)
    free, lower, upper = zb - filler * Psi, M[..., 3:, :], M[..., :3, :]
    J = np.empty((*x.shape[:-1], 6, 6))
    J[..., :3, :] = turn_Phi @ upper + turn_Psi @ lower
    J[..., 3:, :] = turn_Phi @ lower
    slot = filler * fb * one + _skew(zb)
    J[..., :3, :3] += _outer(free, c) - _outer(za, p) - _skew(za)
    J[..., :3, 3:] -= _outer(free, p) + slot
    J[..., 3:, :3] -= filler * _outer(Phi, c) + _outer(zb, p) + slot
    J[..., 3:, 3:] += filler * _outer(Phi, p)
    return J
