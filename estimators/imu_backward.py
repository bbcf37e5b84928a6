"""The way back of the IMU attitude filter: modified Bryson-Frazier smoothing, compiled by numba."""

import numpy as np

from gnc.estimators.imu_algebra import backward, compiled, in_body, matrix, transpose, turn
from gnc.estimators.imu_layout import GONE, HI, SHOWN, B, N


@compiled
def add_told(told, row, W):
    """Add the covariance told at a sample, its attitude turned to world axes."""
    R, back, C = np.empty((3, 3)), np.empty((3, 3)), np.empty((SHOWN, SHOWN))
    matrix(told.q[row], R)
    for i in range(3):
        for j in range(3):
            back[i, j] = R[j, i]
    in_body(back, told.C[row], C)
    for i in range(SHOWN):
        for j in range(SHOWN):
            W[i, j] += C[i, j]


@compiled
def unlearn(lam, Lam, h, k, y, s):
    """Take lam and Lam to before an update: C^T lam - h y/s, C^T Lam C + h h^T/s with C = I - k h^T."""
    Lk, kLk, kl = np.zeros(N), 0.0, 0.0
    for i in range(N):
        kl += k[i] * lam[i]
        for j in range(N):
            Lk[i] += Lam[i, j] * k[j]
    for i in range(N):
        kLk += k[i] * Lk[i]
    for i in range(N):
        lam[i] -= h[i] * (kl + y / s)
        for j in range(N):
            Lam[i, j] += h[i] * h[j] * (kLk + 1.0 / s) - h[i] * Lk[j] - Lk[i] * h[j]


@compiled
def gain(P, lam, Lam, dx, W):
    """Write dx = -P lam and W = -P Lam P^T of the states that are told."""
    PL = np.zeros((SHOWN, N))
    for i in range(SHOWN):
        dx[i] = 0.0
        for j in range(N):
            dx[i] -= P[i, j] * lam[j]
            for k in range(N):
                PL[i, j] += P[i, k] * Lam[k, j]
    for i in range(SHOWN):
        for j in range(SHOWN):
            W[i, j] = 0.0
            for k in range(N):
                W[i, j] -= PL[i, k] * P[j, k]


@compiled
def smooth(told, start, end, dx, W):
    """Correct the samples of a block, which all have its covariance at the end."""
    R = np.empty((3, 3))
    for k in range(start, end):
        turn(told.q[k], dx[0], dx[1], dx[2], True)
        matrix(told.q[k], R)
        in_body(R, W, told.C[k])
        for i in range(3):
            told.bias[k, i] += dx[B + i]
            told.w[k, i] -= dx[B + i]


@compiled
def go_back(trace, lam, Lam, dx, W, told):
    """Run from the end of a trace to its begin; smoothed attitude, bias and covariance are written over those told.

    Modified Bryson-Frazier: no inverse of P, which is singular while the magnets are closed. dx (6,) and W (6, 6) are
    the correction and the covariance of the block that follows, for samples behind the last whole block.
    Source: G. J. Bierman, "Fixed interval smoothing with discrete measurements", Int. J. Control 18 (1973) 65.
    """
    after = len(told.q)
    for b in range(trace.n[0] - 1, -1, -1):
        smooth(told, trace.row[b] + 1, after, dx, W)
        after = trace.row[b] + 1
        gain(trace.P[b], lam, Lam, dx, W)
        add_told(told, trace.row[b], W)
        for u in range(trace.first[b + 1] - 1, trace.first[b] - 1, -1):
            if trace.ys[u, 1] == GONE:
                for i in range(HI, N):
                    lam[i] = 0.0
                    for j in range(N):
                        Lam[i, j] = Lam[j, i] = 0.0
                continue
            unlearn(lam, Lam, trace.h[u], trace.k[u], trace.ys[u, 0], trace.ys[u, 1])
        backward(lam.reshape(N, 1), trace.SR[b], trace.SF[b], trace.c[b])
        backward(Lam, trace.SR[b], trace.SF[b], trace.c[b])
        transpose(Lam)
        backward(Lam, trace.SR[b], trace.SF[b], trace.c[b])
    smooth(told, 0, after, dx, W)
