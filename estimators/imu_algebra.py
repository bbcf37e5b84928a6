"""Algebra of the IMU attitude filter in loops that numba compiles: rotations, F and F^T, small products, updates."""

import os
from math import cos, sin, sqrt
from pathlib import Path

import numpy as np
from numba import njit

from gnc.estimators.imu_layout import BA, POS, SHOWN, TH, B, D, E, N, V

KERNELS = ("imu_algebra", "imu_backward", "imu_kernels", "imu_layout", "imu_magnetometer")
STAMP = tuple(os.stat(Path(__file__).with_name(f"{name}.py")).st_mtime for name in KERNELS)


def compiled(function):
    """Compile without fast-math, division by zero giving infinity, and keep the code on disk if there is a place."""
    try:
        kernel = njit(cache=True, error_model="numpy")(function)
        # An edit of any of these files counts, as kernels call others
        kernel._cache._cache_file._source_stamp = STAMP  # type: ignore[attr-defined]
        return kernel
    except (RuntimeError, AttributeError):  # neither the source's folder nor the user's can be written; no compiler
        return njit(error_model="numpy")(function)


def inlined(function):
    """Compile as part of what calls it: passing tuples of arrays costs more than these small functions do."""
    return njit(error_model="numpy", forceinline=True)(function)


@compiled
def turn(q, x, y, z, left):
    """Turn q by a rotation vector, in the world (left) or in the body."""
    angle = sqrt(x * x + y * y + z * z)
    s = sin(0.5 * angle) / angle if angle > 1e-9 else 0.5
    a, x, y, z = cos(0.5 * angle), s * x, s * y, s * z
    w, i, j, k = q[0], q[1], q[2], q[3]
    sign = 1.0 if left else -1.0
    q[0] = a * w - x * i - y * j - z * k
    q[1] = a * i + x * w + sign * (y * k - z * j)
    q[2] = a * j + y * w + sign * (z * i - x * k)
    q[3] = a * k + z * w + sign * (x * j - y * i)
    n = 1.0 / sqrt(q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3])
    for r in range(4):
        q[r] *= n


@compiled
def matrix(q, R):
    """Write the rotation matrix of q."""
    w, x, y, z = q[0], q[1], q[2], q[3]
    R[0, 0], R[0, 1], R[0, 2] = 1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)
    R[1, 0], R[1, 1], R[1, 2] = 2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)
    R[2, 0], R[2, 1], R[2, 2] = 2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)


@compiled
def forward(A, SR, SF, c):
    """Write F A: theta <- -SR b, v <- -SF theta - SR ba, p <- T (v + half of what v gains), d and e decay."""
    for i in range(2):
        for n in range(A.shape[1]):
            gain = -(SF[i, 0] * A[TH, n] + SF[i, 1] * A[TH + 1, n] + SF[i, 2] * A[TH + 2, n])
            gain -= SR[i, 0] * A[BA, n] + SR[i, 1] * A[BA + 1, n] + SR[i, 2] * A[BA + 2, n]
            A[POS + i, n] += c[0] * (A[V + i, n] + 0.5 * gain)
            A[V + i, n] += gain
    for i in range(3):
        for n in range(A.shape[1]):
            A[TH + i, n] -= SR[i, 0] * A[B, n] + SR[i, 1] * A[B + 1, n] + SR[i, 2] * A[B + 2, n]
            A[D + i, n] *= c[1]
            A[E + i, n] *= c[2]


@compiled
def backward(A, SR, SF, c):
    """Write F^T A."""
    for j in range(3):
        for n in range(A.shape[1]):
            A[B + j, n] -= SR[0, j] * A[TH, n] + SR[1, j] * A[TH + 1, n] + SR[2, j] * A[TH + 2, n]
    for i in range(2):
        for n in range(A.shape[1]):
            gain = A[V + i, n] + 0.5 * c[0] * A[POS + i, n]
            for j in range(3):
                A[TH + j, n] -= SF[i, j] * gain
                A[BA + j, n] -= SR[i, j] * gain
            A[V + i, n] += c[0] * A[POS + i, n]
    for i in range(3):
        for n in range(A.shape[1]):
            A[D + i, n] *= c[1]
            A[E + i, n] *= c[2]


@compiled
def transpose(A):
    """Transpose in place."""
    for i in range(N):
        for j in range(i):
            A[i, j], A[j, i] = A[j, i], A[i, j]


@compiled
def clear(A):
    """Write zeros; numba's own array assignments take seconds to compile."""
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            A[i, j] = 0.0


@compiled
def multiply(P, h, Ph):
    """Write P h of a symmetric P; most of h is zero."""
    for i in range(N):
        Ph[i] = 0.0
    for j in range(N):
        if h[j] != 0.0:
            for i in range(N):
                Ph[i] += P[j, i] * h[j]


@compiled
def fit(y, H, P, r, S):
    """Write S = H P H^T + r, and return y.S^-1 y."""
    Ph = np.empty(N)
    for u in range(3):
        multiply(P, H[u], Ph)
        for v in range(3):
            S[u, v] = r if u == v else 0.0
            for i in range(N):
                S[u, v] += H[v, i] * Ph[i]
    a = S[1, 1] * S[2, 2] - S[1, 2] * S[2, 1]
    b = S[1, 2] * S[2, 0] - S[1, 0] * S[2, 2]
    c = S[1, 0] * S[2, 1] - S[1, 1] * S[2, 0]
    det = S[0, 0] * a + S[0, 1] * b + S[0, 2] * c
    d = S[0, 0] * S[2, 2] - S[0, 2] * S[2, 0]
    e = S[0, 1] * S[2, 0] - S[0, 0] * S[2, 1]
    f = S[0, 0] * S[1, 1] - S[0, 1] * S[1, 0]
    square = a * y[0] ** 2 + d * y[1] ** 2 + f * y[2] ** 2
    square += 2.0 * (b * y[0] * y[1] + c * y[0] * y[2] + e * y[1] * y[2])
    return square / det


@compiled
def in_body(R, W, C):
    """Write the covariance W (6, 6) of attitude in world axes and bias as one with the attitude in body axes."""
    for i in range(3):
        for j in range(SHOWN):
            C[3 + i, j] = W[3 + i, j]
            C[i, j] = R[0, i] * W[0, j] + R[1, i] * W[1, j] + R[2, i] * W[2, j]
    for i in range(SHOWN):
        a, b, c = C[i, 0], C[i, 1], C[i, 2]
        for j in range(3):
            C[i, j] = a * R[0, j] + b * R[1, j] + c * R[2, j]


@compiled
def correct(state, H, y, variance, n, trace):
    """Use n numbers y = H dx + noise of a diagonal covariance one after the other, and move the state."""
    P, dx, k = state.P, np.zeros(N), np.empty(N)
    Ph = np.empty(N)
    for u in range(n):
        h, residual, s = H[u], y[u], variance[u]
        multiply(P, h, Ph)
        for i in range(N):
            residual -= h[i] * dx[i]
            s += h[i] * Ph[i]
        for i in range(N):
            k[i] = Ph[i] / s
            dx[i] += k[i] * residual
        for i in range(N):
            if k[i] != 0.0:  # closed magnets have no variance
                for j in range(N):
                    P[i, j] -= k[i] * Ph[j]
        if len(trace.row):
            at = trace.n[1]
            for i in range(N):
                trace.h[at, i], trace.k[at, i] = h[i], k[i]
            trace.ys[at, 0], trace.ys[at, 1] = residual, s
            trace.n[1] += 1
    turn(state.q, dx[0], dx[1], dx[2], True)
    for i in range(3, N):
        state.x[i] += dx[i]
