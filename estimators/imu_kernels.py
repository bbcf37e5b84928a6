"""The IMU attitude filter sample by sample: loops that branch by the data, compiled by numba.

Import it on first use. `docs/replay.md` has the equations, `imu_layout` the states.
"""

from math import exp

import numpy as np

from gnc.estimators.imu_algebra import clear, compiled, correct, forward, in_body, inlined, matrix, transpose, turn
from gnc.estimators.imu_layout import (
    ACC_BEFORE,
    AWAY,
    BA,
    COUNT,
    ELAPSED,
    HI,
    LAST_ACC,
    LAST_GYRO,
    LAST_MAG,
    LAST_T,
    MOVING,
    POS,
    RATE2,
    RESTED,
    RF,
    SHOWN,
    TH,
    B,
    D,
    E,
    N,
    V,
)  # fmt: skip
from gnc.estimators.imu_magnetometer import magnetic

LEFT = 3.0  # reaches beyond which a body is at another place
JOLT = 6.0 * 25.0  # variance of a second difference of noise, five sigma
MISSED = 1.5  # usual steps: a longer one misses a sample
IDLE, SHOVE = 0.06, 3.0  # [rad/s], [m/s^2] that a body turns and is pushed unseen, at least
PUSHED = 4.0  # [m^2/s^3] of the velocity while the accelerometer is silent


@inlined
def strapdown(state, w, acc, dt, turns, R):
    """Move attitude, velocity and position by one sample; R becomes the new rotation matrix."""
    x, m = state.x, state.m
    if turns:
        turn(state.q, w[0] * dt, w[1] * dt, w[2] * dt, False)
    matrix(state.q, R)
    for i in range(3):
        for j in range(3):
            state.SR[i, j] += R[i, j] * dt
    m[ELAPSED] += dt
    m[RATE2] += dt * (w[0] * w[0] + w[1] * w[1] + w[2] * w[2])
    if np.isnan(acc[0]):  # nobody sees how the body is pushed
        for i in range(2):
            x[POS + i] += dt * x[V + i]
            state.P[V + i, V + i] += PUSHED * dt
        return
    a, b, c = acc[0] - x[BA], acc[1] - x[BA + 1], acc[2] - x[BA + 2]
    f = (
        R[0, 0] * a + R[0, 1] * b + R[0, 2] * c,
        R[1, 0] * a + R[1, 1] * b + R[1, 2] * c,
        R[2, 0] * a + R[2, 1] * b + R[2, 2] * c,
    )
    for i in range(2):
        x[POS + i] += dt * (x[V + i] + 0.5 * dt * f[i])
        x[V + i] += dt * f[i]
    S = state.SF
    S[0, 1] -= f[2] * dt
    S[0, 2] += f[1] * dt
    S[1, 0] += f[2] * dt
    S[1, 2] -= f[0] * dt
    S[2, 0] -= f[1] * dt
    S[2, 1] += f[0] * dt


@compiled
def propagate(state, s, rests, trace):
    """Move the covariance over the block, and begin a new one."""
    x, P, m, T = state.x, state.P, state.m, state.m[ELAPSED]
    c = np.empty(3)
    c[0], c[1], c[2] = T, exp(-T / s.tau_d), exp(-T / s.tau_e)
    if len(trace.row):
        b = trace.n[0]
        for i in range(3):
            trace.c[b, i] = c[i]
            for j in range(3):
                trace.SR[b, i, j], trace.SF[b, i, j] = state.SR[i, j], state.SF[i, j]
    forward(P, state.SR, state.SF, c)
    transpose(P)
    forward(P, state.SR, state.SF, c)
    moving = m[MOVING] * T / s.t_move
    shifted = s.shift**2 if rests != (m[RESTED] > 0.0) else 0.0
    magnet = 0.0
    for i in range(HI, N):
        magnet += x[i] ** 2
    for i in range(3):
        x[D + i] *= c[1]
        x[E + i] *= c[2]
        P[TH + i, TH + i] += s.gyro**2 * s.dt * T + s.k_rate**2 * m[RATE2]
        P[B + i, B + i] += s.q_bias**2 * T + shifted
        P[D + i, D + i] += (1.0 - c[1] ** 2) * s.sigma_d**2
        P[HI + i, HI + i] += moving * (1.0 - s.share_e) + s.loose**2 * T * magnet
        P[E + i, E + i] += moving * s.share_e
        for j in range(3):
            state.SR[i, j] = state.SF[i, j] = 0.0
    for i in range(2):
        P[V + i, V + i] += s.acc**2 * s.dt * T
    m[MOVING] *= exp(-T / s.t_move)
    m[ELAPSED] = m[RATE2] = 0.0
    m[RESTED] = 1.0 if rests else 0.0
    return T


@compiled
def know(state, s, T, w_measured, rests, trace):
    """Use what needs no sensor: the body stays near a place, and while it rests neither turns nor moves."""
    H, y, variance, x = np.zeros((5, N)), np.empty(5), np.empty(5), state.x
    away = x[POS] ** 2 + x[POS + 1] ** 2
    if away > (LEFT * s.sigma_p) ** 2:
        state.m[AWAY] += T
    for i in range(2):
        if away > (LEFT * s.sigma_p) ** 2:  # the body has left its place for another, which says nothing of a tilt
            state.P[POS + i, POS + i] = max(state.P[POS + i, POS + i], away)
        H[i, POS + i], y[i], variance[i] = 1.0, -x[POS + i], s.sigma_p**2 * 2.0 * s.tau_p / T
    correct(state, H, y, variance, 2, trace)
    if not rests:
        return
    clear(H)
    for i in range(3):
        H[i, B + i], y[i], variance[i] = 1.0, w_measured[i] - x[B + i], s.sigma_zru**2 * s.rest_step / T
    for i in range(2):
        H[3 + i, V + i], y[3 + i], variance[3 + i] = 1.0, -x[V + i], s.sigma_zv**2 * s.rest_step / T
    correct(state, H, y, variance, 5, trace)


@compiled
def interrupt(state, s, gyro, acc, unseen):
    """Let the covariance grow over a time without samples before a sample: in 0.5 s a body turns and moves anew."""
    share, turned, pushed = min(unseen / s.gap, 1.0), 0.0, 0.0
    for i in range(3):
        before, after = state.m[LAST_GYRO + i] - state.x[B + i], gyro[i] - state.x[B + i]
        turned += (0.5 * abs(after - before) + share * max(abs(before), abs(after), IDLE)) ** 2
        change = acc[i] - state.m[LAST_ACC + i]
        pushed += 0.0 if np.isnan(change) else (0.5 * change) ** 2
    pushed = min(unseen**2 * (pushed + (share * SHOVE) ** 2), 1.0)
    for i in range(3):
        state.P[TH + i, TH + i] += unseen**2 * turned / 3.0
    for i in range(2):
        state.P[V + i, V + i] += pushed
        state.P[POS + i, POS + i] += min(unseen**2 * pushed, s.sigma_p**2)


@inlined
def add_unseen(state, s, R, w, with_field, W):
    """Add what no sensor shows: a sample's length of time, and a constant part of d to the east. Only told.

    Source: measured; without it NEES of the attitude is twice as large (docs/replay.md).
    """
    for i in range(3):
        for j in range(3):
            turned_i = R[i, 0] * w[0] + R[i, 1] * w[1] + R[i, 2] * w[2]
            turned_j = R[j, 0] * w[0] + R[j, 1] * w[1] + R[j, 2] * w[2]
            W[i, j] += s.dt**2 * turned_i * turned_j
    if with_field:
        W[2, 2] += (s.sigma_d / state.x[RF]) ** 2


@inlined
def tell(state, s, R, w, with_field, told, k, W):
    """Write what is known at a sample, W being room; since the begin of the block the gyro's noise counts."""
    since = s.gyro**2 * s.dt * state.m[ELAPSED]
    for i in range(SHOWN):
        for j in range(SHOWN):
            W[i, j] = state.P[i, j]
        told.magnet[k, i] = state.x[HI + i]
    add_unseen(state, s, R, w, with_field, W)
    for i in range(3):
        W[i, i] += since
        told.w[k, i], told.bias[k, i] = w[i], state.x[B + i]
    in_body(R, W, told.C[k])
    for i in range(4):
        told.q[k, i] = state.q[i]


@compiled
def mark(state, trace, k):
    """Note the end of a block at sample k."""
    b = trace.n[0]
    trace.row[b] = k
    for i in range(SHOWN):
        for j in range(N):
            trace.P[b, i, j] = state.P[i, j]
    trace.n[0] += 1
    trace.first[b + 1] = trace.n[1]


@inlined
def overrun(state, R, doubt):
    """Let the attitude be uncertain about the body axes whose gyro was at the end of its range."""
    for i in range(3):
        for j in range(3):
            for axis in range(3):
                state.P[TH + i, TH + j] += R[i, axis] * R[j, axis] * doubt[axis]


@inlined
def jolt(state, s, gyro, acc, dt):
    """Let the velocity be uncertain by what samples miss of a knock: a quarter of its second difference. Keep both."""
    square = 0.0
    for i in range(3):
        apart = acc[i] - 2.0 * state.m[LAST_ACC + i] + state.m[ACC_BEFORE + i]
        state.m[ACC_BEFORE + i], state.m[LAST_ACC + i], state.m[LAST_GYRO + i] = state.m[LAST_ACC + i], acc[i], gyro[i]
        square += apart * apart / 3.0
    if square > JOLT * s.acc**2:  # not if a sample is missing
        for i in range(2):
            state.P[V + i, V + i] += 0.0625 * square * dt * dt


@compiled
def run(state, s, samples, with_field, final, told, trace):
    """Take samples through the filter; the sample k of the gyro is the mean rate since k - 1. `final`: the log ends."""
    m, w, R, last = state.m, np.empty(3), np.empty((3, 3)), len(samples.t) - 1
    W = np.empty((SHOWN, SHOWN))
    m[COUNT] = m[AWAY] = 0.0
    for k in range(last + 1):
        t, begun = samples.t[k], not np.isnan(m[LAST_T])
        dt = t - m[LAST_T] if begun else s.dt
        if not begun:
            m[LAST_MAG] = t - s.dt
        m[LAST_T] = t
        for i in range(3):
            w[i] = samples.gyro[k, i] - state.x[B + i]
        if dt > MISSED * s.dt:
            interrupt(state, s, samples.gyro[k], samples.acc[k], dt - s.dt)
            dt = min(dt, s.gap)
        strapdown(state, w, samples.acc[k], dt, begun, R)
        if samples.doubt[k, 0] + samples.doubt[k, 1] + samples.doubt[k, 2] > 0.0:
            overrun(state, R, samples.doubt[k])
        jolt(state, s, samples.gyro[k], samples.acc[k], dt)
        sees = with_field and not np.isnan(samples.mag[k, 0]) and t - m[LAST_MAG] > s.mag_step - 0.5 * s.dt
        if sees or m[ELAPSED] > s.block - 0.5 * s.dt or (final and k == last):
            T = propagate(state, s, samples.rest[k], trace)
            know(state, s, T, samples.gyro[k], samples.rest[k], trace)
            if sees:
                magnetic(state, s, T, samples.gyro[k], samples.mag[k], told, k, trace)
                m[LAST_MAG] = t
            matrix(state.q, R)
            for i in range(3):
                w[i] = samples.gyro[k, i] - state.x[B + i]
            if len(trace.row):
                mark(state, trace, k)
        tell(state, s, R, w, with_field, told, k, W)
