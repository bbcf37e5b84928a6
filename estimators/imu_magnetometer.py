"""The magnetometer of the IMU attitude filter: a sample is attitude, or, where it contradicts, a magnet.

Compiled by numba; `imu_layout` has the states.
"""

from math import exp

import numpy as np

from gnc.estimators.imu_algebra import clear, compiled, correct, fit, matrix
from gnc.estimators.imu_layout import (
    COUNT,
    GONE,
    HI,
    MOVING,
    NIS_BACK,
    NIS_MEAN,
    OPEN,
    RF,
    TAU,
    UNEXPLAINED,
    B,
    D,
    E,
    N,
)  # fmt: skip

NIS_CAP = 50.0  # largest NIS in a mean


@compiled
def look(state, s, w_measured, mag, H, y):
    """Write residual and Jacobian of a magnetometer sample in world axes, and return its variance.

    y = R (m - h) - tau (w x r) - r - d - e
    """
    x, R, w = state.x, np.empty((3, 3)), np.empty(3)
    matrix(state.q, R)
    square = 0.0
    for i in range(3):
        w[i] = 0.0
        square += (w_measured[i] - x[B + i]) ** 2
        for j in range(3):
            w[i] += R[i, j] * (w_measured[j] - x[B + j])
    north, up = x[RF], x[RF + 1]
    slip = (w[1] * up - w[2] * north, -w[0] * up, w[0] * north)
    field = (0.0, north, up)
    clear(H)
    H[0, 1], H[0, 2], H[1, 0], H[2, 0] = -up, north, up, -north
    H[1, RF], H[2, RF + 1] = 1.0, 1.0
    for i in range(3):
        y[i] = -x[TAU] * slip[i] - field[i] - x[D + i] - x[E + i]
        H[i, D + i] = H[i, E + i] = 1.0
        H[i, TAU] = slip[i]
        for j in range(3):
            y[i] += R[i, j] * (mag[j] - x[HI + j])
            H[i, HI + j] = R[i, j]
    return s.mag**2 + (0.5 * s.dt) ** 2 * square * (north * north + up * up)


@compiled
def explained(state, s, T, H, y, r):
    """Tell whether the field is explained without magnets, by the mean of their NIS since they were opened."""
    if state.m[OPEN] == 0.0:
        return False
    H_0, y_0, S = np.zeros((3, N)), np.empty(3), np.empty((3, 3))
    for i in range(3):
        y_0[i] = y[i]
        for j in range(HI):
            H_0[i, j] = H[i, j]
        for j in range(6):
            y_0[i] += H[i, HI + j] * state.x[HI + j]
    keep, m = exp(-T / s.t_back), state.m
    m[NIS_BACK] = keep * m[NIS_BACK] + (1.0 - keep) * min(NIS_CAP, fit(y_0, H_0, state.P, r, S))
    return m[NIS_BACK] < s.back


@compiled
def forget(state, trace):
    """Close the magnets: they are gone, which says nothing of what they were, nor of the attitude meanwhile."""
    for i in range(HI, N):
        state.x[i] = 0.0
        for j in range(N):
            state.P[i, j] = state.P[j, i] = 0.0
    if len(trace.row):
        at = trace.n[1]
        for i in range(N):
            trace.h[at, i] = trace.k[at, i] = 0.0
        trace.ys[at, 0], trace.ys[at, 1] = 0.0, GONE
        trace.n[1] += 1


@compiled
def magnetic(state, s, T, w_measured, mag, told, row, trace):
    """Use a magnetometer sample: as attitude, or, where it contradicts, as a magnet that comes or goes."""
    H, y, variance, m = np.empty((6, N)), np.empty(6), np.empty(6), state.m
    r = look(state, s, w_measured, mag, H[:3], y)
    at = int(m[COUNT])
    nis = fit(y, H[:3], state.P, r, told.S[at])
    told.row[at], told.nis[at] = row, nis
    square = y[0] ** 2 + y[1] ** 2 + y[2] ** 2
    for i in range(3):
        told.y[at, i], variance[i] = y[i], r
    m[COUNT] += 1.0
    keep = exp(-T / s.t_mean)
    m[NIS_MEAN] = keep * m[NIS_MEAN] + (1.0 - keep) * min(nis, NIS_CAP)
    if nis > s.gate or m[NIS_MEAN] > s.gate_mean:
        for i in range(3):
            state.P[HI + i, HI + i] += square / 3.0 * (1.0 - s.share_e)
            state.P[E + i, E + i] += square / 3.0 * s.share_e
        m[MOVING], m[OPEN] = max(m[MOVING], square / 3.0), 1.0
        m[NIS_MEAN] = 3.0 if m[NIS_MEAN] > s.gate_mean else m[NIS_MEAN]
    if explained(state, s, T, H[:3], y, r):
        m[OPEN], m[NIS_BACK], m[NIS_MEAN], m[MOVING] = 0.0, UNEXPLAINED, 3.0, 0.0
        forget(state, trace)
        r = look(state, s, w_measured, mag, H[:3], y)
    correct(state, H, y, variance, 3, trace)
