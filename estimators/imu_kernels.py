"""The IMU attitude filter sample by sample, forwards and backwards: loops that branch by the data, compiled by numba.

World axes ENU with y to magnetic north; R takes body components there; the error is R_true = Exp(theta) R. States:

    theta 3, b 3 gyro bias, v 2 and p 2 horizontal velocity and position, ba 3 accelerometer bias, r 2 field (north,
    up), d 3 inhomogeneity of the field, tau magnetometer delay, h 3 magnet on the body, e 3 magnet in the room

All compiled functions are in this file, because numba's cache does not notice an edit in another one; import it on
first use. `docs/replay.md` has the equations.
"""

from math import cos, exp, log, sin, sqrt
from typing import Any, NamedTuple

import numpy as np
from numba import njit

TH, B, V, POS, BA, RF, D, TAU, HI, E, N = 0, 3, 6, 8, 10, 13, 15, 18, 19, 22, 25
SHOWN = 6  # states whose covariance is told: attitude and gyro bias
MOST_UPDATES = 13  # of one number each, in one block
# Memory beside the state
NIS_MEAN, NIS_BACK, OPEN, MOVING, ELAPSED, RATE2, LAST_MAG, LAST_T, LIKELIHOOD, COUNT, MEMORY = range(11)
NIS_CAP, UNEXPLAINED, CLOSED = (
    50.0,
    50.0,
    1e-4,
)  # largest NIS in a mean, before any is seen, variance of a closed magnet


class Settings(NamedTuple):
    """Numbers of the filter, SI but for fields, which are in hundredths of half the log's own field (about 1 uT)."""

    gyro: float  # sigma of a sample at rest [rad/s]
    acc: float  # [m/s^2]
    mag: float
    dt: float  # usual step [s]
    block: float  # longest block [s]
    mag_step: float  # least time between magnetometer samples that are used [s]
    k_rate: float
    q_bias: float
    sigma_p: float
    tau_p: float
    sigma_d: float
    tau_d: float
    gate: float
    gate_mean: float
    t_mean: float
    share_e: float
    tau_e: float
    t_move: float
    t_back: float
    back: float
    sigma_zru: float
    sigma_zv: float
    rest_step: float  # time over which a zero rate or velocity counts as one measurement [s]
    gap: float  # a step longer than this is a gap [s]


class State(NamedTuple):
    """Attitude, states, covariance, sums over the block under way, memory; all are written in place."""

    q: Any  # (4,)
    x: Any  # (N,)
    P: Any  # (N, N)
    SR: Any  # (3, 3) integral of R
    SF: Any  # (3, 3) integral of [f]x
    m: Any  # (MEMORY,)


class Samples(NamedTuple):
    """Rows of the log in order of time, and whether the body rests; NaN where there is no measurement."""

    t: Any
    gyro: Any  # (n, 3) [rad/s]
    acc: Any  # (n, 3) [m/s^2]
    mag: Any  # (n, 3)
    rest: Any  # (n,) bool


class Told(NamedTuple):
    """What the filter says per sample, and of each magnetometer sample that was used."""

    q: Any  # (n, 4)
    w: Any  # (n, 3)
    bias: Any  # (n, 3)
    C: Any  # (n, 6, 6) attitude in body axes, bias
    magnet: Any  # (n, 6)
    row: Any  # (n,) sample of an innovation
    y: Any  # (n, 3)
    S: Any  # (n, 3, 3)
    nis: Any  # (n,)


class Trace(NamedTuple):
    """What the way back needs of every block; empty arrays where there is no way back."""

    row: Any  # (blocks,) sample at which a block ends
    first: Any  # (blocks + 1,) its first update
    SR: Any  # (blocks, 3, 3)
    SF: Any
    c: Any  # (blocks, 3) duration, decay of d and e
    P: Any  # (blocks, 6, N) after all updates
    h: Any  # (updates, N)
    k: Any
    ys: Any  # (updates, 2) residual, its variance
    n: Any  # (2,) blocks, updates


def compiled(function):
    """Compile without fast-math, division by zero giving infinity, and keep the code on disk if there is a place."""
    try:
        return njit(cache=True, error_model="numpy")(function)
    except RuntimeError:  # neither the source's folder nor the user's can be written
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


@compiled
def fit(y, H, P, r, S):
    """Write S = H P H^T + r, and return y.S^-1 y and log det S."""
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
    return square / det, log(det)


@inlined
def strapdown(state, w, acc, dt, turns, R):
    """Move attitude, velocity and position by one sample; R becomes the new rotation matrix."""
    x, m = state.x, state.m
    if turns:
        turn(state.q, w[0] * dt, w[1] * dt, w[2] * dt, False)
    matrix(state.q, R)
    a, b, c = acc[0] - x[BA], acc[1] - x[BA + 1], acc[2] - x[BA + 2]
    f = (
        R[0, 0] * a + R[0, 1] * b + R[0, 2] * c,
        R[1, 0] * a + R[1, 1] * b + R[1, 2] * c,
        R[2, 0] * a + R[2, 1] * b + R[2, 2] * c,
    )
    for i in range(3):
        for j in range(3):
            state.SR[i, j] += R[i, j] * dt
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
    m[ELAPSED] += dt
    m[RATE2] += dt * (w[0] * w[0] + w[1] * w[1] + w[2] * w[2])


@compiled
def propagate(state, s, trace):
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
    for i in range(3):
        x[D + i] *= c[1]
        x[E + i] *= c[2]
        P[TH + i, TH + i] += s.gyro**2 * s.dt * T + s.k_rate**2 * m[RATE2]
        P[B + i, B + i] += s.q_bias**2 * T
        P[D + i, D + i] += (1.0 - c[1] ** 2) * s.sigma_d**2
        P[HI + i, HI + i] += moving * (1.0 - s.share_e)
        P[E + i, E + i] += moving * s.share_e
        for j in range(3):
            state.SR[i, j] = state.SF[i, j] = 0.0
    for i in range(2):
        P[V + i, V + i] += s.acc**2 * s.dt * T
    m[MOVING] *= exp(-T / s.t_move)
    m[ELAPSED] = m[RATE2] = 0.0
    return T


@compiled
def know(state, s, T, w_measured, rests, trace):
    """Use what needs no sensor: the body stays near its place, and while it rests neither turns nor moves."""
    H, y, variance, x = np.zeros((5, N)), np.empty(5), np.empty(5), state.x
    for i in range(2):
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
    m[NIS_BACK] = keep * m[NIS_BACK] + (1.0 - keep) * min(NIS_CAP, fit(y_0, H_0, state.P, r, S)[0])
    return m[NIS_BACK] < s.back


@compiled
def magnetic(state, s, T, w_measured, mag, told, row, trace):
    """Use a magnetometer sample: as attitude, or, where it contradicts, as a magnet that comes or goes."""
    H, y, variance, m = np.empty((6, N)), np.empty(6), np.empty(6), state.m
    r = look(state, s, w_measured, mag, H[:3], y)
    at = int(m[COUNT])
    nis, log_det = fit(y, H[:3], state.P, r, told.S[at])
    told.row[at], told.nis[at] = row, nis
    square = y[0] ** 2 + y[1] ** 2 + y[2] ** 2
    for i in range(3):
        told.y[at, i], variance[i] = y[i], r
    m[COUNT] += 1.0
    m[LIKELIHOOD] -= 0.5 * (nis + log_det)
    keep = exp(-T / s.t_mean)
    m[NIS_MEAN] = keep * m[NIS_MEAN] + (1.0 - keep) * min(nis, NIS_CAP)
    if nis > s.gate or m[NIS_MEAN] > s.gate_mean:
        for i in range(3):
            state.P[HI + i, HI + i] += square / 3.0 * (1.0 - s.share_e)
            state.P[E + i, E + i] += square / 3.0 * s.share_e
        m[MOVING], m[OPEN] = max(m[MOVING], square / 3.0), 1.0
        m[NIS_MEAN] = 3.0 if m[NIS_MEAN] > s.gate_mean else m[NIS_MEAN]
    if not explained(state, s, T, H[:3], y, r):
        correct(state, H, y, variance, 3, trace)
        return
    m[OPEN], m[NIS_BACK], m[NIS_MEAN], m[MOVING] = 0.0, UNEXPLAINED, 3.0, 0.0
    clear(H)
    for i in range(6):
        H[i, HI + i], y[i], variance[i] = 1.0, -state.x[HI + i], CLOSED
    correct(state, H, y, variance, 6, trace)


@compiled
def interrupt(state, s, w, dt):
    """Let the covariance grow over a gap of the log, in which nobody saw the body turn and move."""
    rate2 = max(w[0] * w[0] + w[1] * w[1] + w[2] * w[2], 0.01)
    for i in range(3):
        state.P[TH + i, TH + i] += rate2 * dt * dt
    for i in range(2):
        state.P[V + i, V + i] += 1.0
        state.P[POS + i, POS + i] += s.sigma_p**2


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
def run(state, s, samples, with_field, final, told, trace):
    """Take samples through the filter; the sample k of the gyro is the mean rate since k - 1. `final`: the log ends."""
    m, w, R, last = state.m, np.empty(3), np.empty((3, 3)), len(samples.t) - 1
    W = np.empty((SHOWN, SHOWN))
    m[COUNT] = 0.0
    for k in range(last + 1):
        t, begun = samples.t[k], not np.isnan(m[LAST_T])
        dt = t - m[LAST_T] if begun else s.dt
        if not begun:
            m[LAST_MAG] = t - s.dt
        m[LAST_T] = t
        for i in range(3):
            w[i] = samples.gyro[k, i] - state.x[B + i]
        if dt > s.gap:
            interrupt(state, s, w, dt)
            dt = s.gap
        strapdown(state, w, samples.acc[k], dt, begun, R)
        sees = with_field and not np.isnan(samples.mag[k, 0]) and t - m[LAST_MAG] > s.mag_step - 0.5 * s.dt
        if sees or m[ELAPSED] > s.block - 0.5 * s.dt or (final and k == last):
            T = propagate(state, s, trace)
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
            unlearn(lam, Lam, trace.h[u], trace.k[u], trace.ys[u, 0], trace.ys[u, 1])
        backward(lam.reshape(N, 1), trace.SR[b], trace.SF[b], trace.c[b])
        backward(Lam, trace.SR[b], trace.SF[b], trace.c[b])
        transpose(Lam)
        backward(Lam, trace.SR[b], trace.SF[b], trace.c[b])
    smooth(told, 0, after, dx, W)


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
