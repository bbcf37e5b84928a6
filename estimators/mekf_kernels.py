"""The two halves of the attitude filter as kernels: propagate the covariance, correct with a measurement."""

from __future__ import annotations

import functools
import math

import numpy as np

from gnc import quaternion
from gnc.batch import Kernel, batched, maximum, minimum, where
from gnc.batch.layout import Layout
from gnc.estimators.conserved_chart import retract
from gnc.estimators.kalman import propagated, symmetric_product, update_kernel
from gnc.lie import so3_right_jacobian
from gnc.linalg import block, cross, identity, skew, solve3, zeros

FORGIVEN = 0.5  # refusals that one accepted measurement makes up for: one of two sensors may agree for ever
CORRELATED = 1.0 + 1e-9  # square of a correlation, with round-off
SMALLEST = 1e-200  # stands for zero in a denominator
LARGEST = 1e150  # beyond, the covariance of a trial has diverged: its products would overflow


@functools.cache
def moving_kernel(step_jacobian: Kernel) -> Kernel:
    """Return the kernel q, P, C, tau, J, rho, h -> q, P, F C F^T of one substep; made to be repeated."""

    @batched("(4),(3),(6,6),(3),(3,3),(3),()->(4),(3),(6,6)")
    def move(q_IB, P_B, C, tau_B, J, rho_B, h):
        q_IB, P_B, F, _ = step_jacobian(q_IB, P_B, tau_B, J, rho_B, h)
        return quaternion.normalize(q_IB), P_B, propagated(F, C, 6)

    return move


def _whole(F, B, T_0, D_0, T_1, D_1, h):
    """Return F over all states: K(T_1, D_1) [[F_6, B], [0, 1]] K(T_0, D_0)."""
    k = B.shape[1]

    def kick(T, D):
        K = identity(6 + k)
        K[3:6, :3], K[3:6, 6:] = (0.5 * h) * T, (0.5 * h) * D
        return K

    return kick(T_1, D_1) @ block([[F, B], [zeros(k, 6), identity(k)]]) @ kick(T_0, D_0)


def _augmented(C, F, Q, B, T_0, D_0, T_1, D_1, walk, h):
    k = len(walk)
    half = zeros(6 + k, 6 + k)
    for i in range(k):
        half[6 + i, 6 + i] = (0.5 * h) * walk[i]
    Q = block([[Q, zeros(6, k)], [zeros(k, 6), zeros(k, k)]])
    return propagated(_whole(F, B, T_0, D_0, T_1, D_1, h), C + half, 6) + (Q + half)


@functools.cache
def augmented_kernel(k: int) -> Kernel:
    """Return the kernel that propagates the covariance of a state with k extra ones.

    F = K(T_1, D_1) [[F_6, B], [0, 1]] K(T_0, D_0), where K is half a kick by a torque of gradients T = d tau/d a and
    D = d tau/d e. The random walk acts half before and half after: C <- F (C + W/2) F^T + W/2 + Q.
    """
    n = 6 + k

    @batched(f"({n},{n}),(6,6),(6,6),(6,{k}),(3,3),(3,{k}),(3,3),(3,{k}),({k}),()->({n},{n})")
    def augmented(C, F, Q, B, T_0, D_0, T_1, D_1, walk, h):
        return _augmented(C, F, Q, B, T_0, D_0, T_1, D_1, walk, h)

    return augmented


@functools.cache
def transition_kernel(k: int) -> Kernel:
    """Return the kernel of F and Q over all states, with which `augmented_kernel` propagates the covariance."""
    n = 6 + k
    none = zeros(n, n)

    @batched(f"(6,6),(6,6),(6,{k}),(3,3),(3,{k}),(3,3),(3,{k}),({k}),()->({n},{n}),({n},{n})")
    def transition(F, Q, B, T_0, D_0, T_1, D_1, walk, h):
        return _whole(F, B, T_0, D_0, T_1, D_1, h), _augmented(none, F, Q, B, T_0, D_0, T_1, D_1, walk, h)

    return transition


@functools.cache
def correction_kernel(n: int, m: int, columns: int, conserved: bool = False) -> Kernel:
    """Return the kernel of an update with m measurements of a state of n numbers.

    x = (P, extras); limits = (gate, patience, inflation, widest angle, widest rate); H is over (a, dw, extras), or its
    first columns where the others are zero, with dw = J^-1 M (dP, dextras). Beyond the Kalman update: R grows by what H
    leaves out (`curvature`); the state moves by `_retracted`, or in the conserved chart;
    after `patience` refusals `_inflated`; a trial whose covariance is not positive or overflows becomes NaN.
    """
    update = update_kernel(n, m)

    @batched(
        f"(4),({n - 3}),({n},{n}),(),(),(3,3),(3),(3,{n - 3}),({m},{columns}),({m},{m}),({m}),(),(5)"
        f"->(4),({n - 3}),({n},{n}),(),(),({m},{m}),(),()"
    )
    def correct(q_IB, x, C, rejected, recoveries, J, rho_B, M, H, R, y, valid, limits):
        H, R, was_good = over_momentum(H, J, M, n), R + curvature(H[:, :3], C[:3, :3]) * identity(m), _healthy(C)
        d, C_used, S, nis, used = update(C, H, R, y, valid, limits[0])
        took = used > 0.0
        *moved, reset = in_chart(q_IB, x, d, C, C, J, rho_B, conserved)
        C = where(took, symmetric_product(reset, C_used), C)
        q_IB, x = (where(took, new, old) for new, old in zip(moved, (q_IB, x), strict=True))
        good = was_good & ((nis >= 0.0) | (valid == 0.0))
        return *watched(q_IB, x, C, good, rejected, recoveries, J, [valid], [used], limits[1:]), S, nis, used

    return correct


def over_momentum(H, J, M, n):
    """Return H over (a, dP, extras) from that over (a, dw, extras), or its first columns: dw = J^-1 M (dP, dextras)."""
    m, columns = H.shape
    H = np.concatenate([H, zeros(m, n - columns)], axis=1) if columns < n else H
    by_momentum = H[:, 3:6] @ solve3(J, M)
    by_momentum[:, 3:] = by_momentum[:, 3:] + H[:, 6:]
    return np.concatenate([H[:, :3], by_momentum], axis=1)


def watched(q_IB, x, C, good, rejected, recoveries, J, valid, used, limits):
    """Return belief and counts after the sensors' measurements: inflated where too many were refused, NaN where lost.

    limits = (patience, inflation, widest angle, widest rate).
    """
    patience, inflation, *widest = limits
    for there, took in zip(valid, used, strict=True):
        counted = where(took > 0.0, maximum(rejected - FORGIVEN, 0.0), rejected + 1.0)
        rejected = where(there > 0.0, counted, rejected)
    recover = rejected >= patience
    C = where(recover, _inflated(C, J, inflation, widest), C)
    good = good & _healthy(C)
    state = where(good, q_IB, math.nan), where(good, x, math.nan), where(good, C, math.nan)
    return *state, where(recover, 0.0, rejected), where(recover, recoveries + 1.0, recoveries)


@functools.cache
def measuring_kernel(predict: Kernel, n: int, conserved: bool = False) -> Kernel:
    """Return the kernel of an update that predicts the measurement too, by a sensor's kernel q, ... -> z, H, R.

    Arguments are those of `correction_kernel`, with the sensor's and z in place of H, R and y; y comes last. What is
    zero in H is known when the kernel is traced, and costs nothing.
    """
    given = ",".join(f"({','.join(map(str, core))})" for core in predict.layout.ins[1:])
    m, columns = predict.layout.outs[1]
    correct = correction_kernel(n, m, columns, conserved)

    def measure(q_IB, x, C, rejected, recoveries, J, rho_B, M, *more):
        *arguments, z, valid, limits = more
        expected, H, R = predict(q_IB, *arguments)
        y = z - expected
        return *correct(q_IB, x, C, rejected, recoveries, J, rho_B, M, H, R, y, valid, limits), y

    belief, after = f"(4),({n - 3}),({n},{n}),(),()", f"({m},{m}),(),(),({m})"
    layout = f"{belief},(3,3),(3),(3,{n - 3}),{given},({m}),(),(5)->{belief},{after}"
    state = ("q_IB", "x", "C", "rejected", "recoveries", "J", "rho_B", "M")
    names = (*state, *predict.layout.names[1:], "z", "valid", "limits")
    return Kernel(measure, Layout.parse(layout, names))


def _trace(A):
    return A[0, 0] + A[1, 1] + A[2, 2]


def curvature(H_a, C_a):
    """Return the variance of the part of a measurement that is quadratic in the attitude error, if H is blind to it.

    A vector seen with the error a is off by [b] a + a x (a x b)/2. The second part lies mostly along b, which [b] a
    does not reach: without its variance, |b|^2 (tr C_a/2)^2 and at most |b|^2, a gate refuses every measurement while
    the attitude is unknown. It is given to all components: the rest of the series is as large when it counts. With
    W = H H^T, h^2 = tr W^2/tr W, the matrix (h^2 1 - W)^2/h^2 is b b^T for a vector, and zero for a sensor of the whole
    attitude, whose residual is a itself; its trace is taken.
    """
    W, half = H_a @ H_a.T, 0.5 * _trace(C_a)
    square = sum((w * w for w in W.ravel()), 0.0)
    h2 = square / maximum(sum((W[i, i] for i in range(len(W))), 0.0), SMALLEST)
    blind = sum((w * w for w in (h2 * identity(len(W)) - W).ravel()), 0.0) / maximum(h2, SMALLEST)
    return blind * minimum(half * half, 1.0)


def _inflated(C, J, inflation, widest):
    """Return C with attitude and momentum up to `inflation` times as uncertain, but no wider than `widest`.

    widest: standard deviations of angle [rad] and rate [rad/s] per axis. The correlations between attitude, momentum
    and extra states go: they were those of a wrong attitude.
    """
    C_w = solve3(J, solve3(J, C[3:6, 3:6]).T)
    angle, rate = (
        maximum(minimum(inflation, 3.0 * limit * limit / _trace(V)), 1.0)
        for limit, V in zip(widest, (C[:3, :3], C_w), strict=True)
    )
    wide = zeros(*C.shape)
    wide[:3, :3], wide[3:6, 3:6], wide[6:, 6:] = angle * C[:3, :3], rate * C[3:6, 3:6], C[6:, 6:]
    return wide


def _healthy(C):
    """Tell whether all variances are positive, none has overflowed, and no correlation exceeds 1."""
    good = C[0, 0] > 0.0
    for i in range(len(C)):
        good = good & (C[i, i] > 0.0) & (C[i, i] < LARGEST)
        for j in range(i):
            good = good & (C[i, j] * C[i, j] <= CORRELATED * (C[i, i] * C[j, j]))
    return good


def in_chart(q_IB, x, d, C, C_known, J, rho_B, conserved):
    """Return the state moved by d, and the reset, in the conserved chart, which takes C_known, or the usual one."""
    return retract(q_IB, x, d, C_known, J, rho_B) if conserved else _retracted(q_IB, x, d, C)


def _retracted(q_IB, x, d, C):
    """Return the corrected state, and the matrix that takes the error about the old estimate to that about the new.

    q <- q exp(a/2), a' = J_r(a) (a_true - a), J_r the right Jacobian of SO(3). The momentum is corrected in the axes in
    which it is known better: in body axes, P <- P + dP, or in inertial ones, where a free body keeps it. There, with
    l = dP - [P] a

        P <- R(a)^T (P + l);        l' = R(a)^T (l_true - l),   dP' = l' + [P'] a'

    Both are the same to first order. In a tumble P + dP would turn R P away by a^2/2, and NEES at 0.1 Hz grows to 9
    instead of 7 (test_the_momentum_is_corrected_in_inertial_axes); while the attitude is unknown and the body rate is
    not, the other one spoils the rate.
    """
    a, P = d[:3], x[:3]
    turn = quaternion.exp(a)
    R, J_r = quaternion.to_matrix(turn).T, so3_right_jacobian(a)
    inertial = _trace(_inertial_covariance(P, C)) < _trace(C[3:6, 3:6])
    P_new = where(inertial, R @ (P + d[3:6] - cross(P, a)), P + d[3:6])
    reset = identity(len(d))
    reset[:3, :3] = J_r
    reset[3:6, :3] = where(inertial, skew(P_new) @ J_r - R @ skew(P), 0.0)
    reset[3:6, 3:6] = where(inertial, R, identity(3))
    q_IB = quaternion.normalize(quaternion.mul(q_IB, turn))
    return q_IB, np.concatenate([P_new, x[3:] + d[6:]]), reset


def _inertial_covariance(P, C):
    """Return the covariance of l = dP - [P] a."""
    S = skew(P)
    mixed = S @ C[:3, 3:6]
    return C[3:6, 3:6] - mixed - mixed.T + S @ C[:3, :3] @ S.T


@functools.cache
def start_kernel(k: int) -> Kernel:
    """Return the kernel of a start with k extra states: everything with all leading axes, the covariances as one."""
    if k == 0:

        @batched("(4),(3),(3),(6,6),(3,3)->(4),(3),(3),(6,6)")
        def start(q_IB, w_B, rho_B, C, J):
            return q_IB, w_B, rho_B, C

        return start

    @batched(f"(4),(3),(3),(6,6),(3,3),({k}),({k},{k})->(4),(3),(3),({6 + k},{6 + k}),({k})")
    def start_with_extras(q_IB, w_B, rho_B, C, J, values, C_extras):
        whole = block([[C, zeros(6, k)], [zeros(k, 6), C_extras]])
        return q_IB, w_B, rho_B, whole, values

    return start_with_extras
