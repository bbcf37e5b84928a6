"""The two halves of the pose filter as kernels: propagate the covariance, correct with a measurement."""

from __future__ import annotations

import functools
import math

import numpy as np

from gnc import dual_quaternion
from gnc.batch import Kernel, batched, maximum, minimum, where
from gnc.estimators.kalman import propagated, symmetric_product, update_kernel
from gnc.lie import se3_right_jacobian, se3_right_jacobian_inverse
from gnc.linalg import block, identity, zeros

LARGEST = 1e150  # beyond, the covariance of a trial has diverged: its products would overflow


@functools.cache
def propagation_kernel(k: int) -> Kernel:
    """Return the kernel that propagates the covariance of pose, twist and k extra states.

    C <- F (C + W/2) F^T + W/2 + Q with F = [[F_12, B], [0, 1]]: the random walk W acts half before and half after.
    """
    n = 12 + k

    @batched(f"({n},{n}),(12,12),(12,12),(12,{k}),({k}),()->({n},{n})")
    def propagate(C, F, Q, B, walk, h):
        whole = block([[F, B], [zeros(k, 12), identity(k)]])
        half = zeros(n, n)
        for i in range(k):
            half[12 + i, 12 + i] = (0.5 * h) * walk[i]
        Q = block([[Q, zeros(12, k)], [zeros(k, 12), zeros(k, k)]])
        return propagated(whole, C + half, 12) + (Q + half)

    return propagate


@functools.cache
def relinearised_kernel(n: int) -> Kernel:
    """Return the kernel of a prediction that is linearised about another state than the estimate.

    With d the error of the estimate against that state, and the motion taken there: p^ = p_1 exp(F d), x^ = x_1 + F d;
    the covariance is taken there by J_r(d)^-1, moved, and taken back by J_r(F d).
    """

    def on_pose(J):
        return block([[J, zeros(6, n - 6)], [zeros(n - 6, 6), identity(n - 6)]])

    @batched(f"(8),({n - 6}),({n},{n}),(8),({n - 6}),(8),({n - 6}),({n},{n}),({n},{n})->(8),({n - 6}),({n},{n})")
    def relinearised(dq_IB, x, C, dq_about, x_about, dq_1, x_1, F, Q):
        between = dual_quaternion.mul(dual_quaternion.conj(dq_about), dq_IB)
        d = np.concatenate([dual_quaternion.log(between), x - x_about])
        C = symmetric_product(F @ on_pose(se3_right_jacobian_inverse(d[:6])), C) + Q
        d = F @ d
        moved = dual_quaternion.mul(dq_1, dual_quaternion.exp(d[:6]))
        return moved, x_1 + d[6:], symmetric_product(on_pose(se3_right_jacobian(d[:6])), C)

    return relinearised


@functools.cache
def correction_kernel(n: int, m: int) -> Kernel:
    """Return the kernel of an update with m measurements of a state of n numbers.

    x = (chi, extras), errors (dxi, dx); limits = (gate, patience, inflation, and the four of `_inflated`). Beyond the
    Kalman update: p <- p exp(dxi/2), and the covariance of what is left of it, J_r(dxi) C J_r(dxi)^T, J_r the right
    Jacobian of SE(3); after `patience` refusals in a row `_inflated`; a trial whose covariance is not positive or
    overflows becomes NaN.
    """
    update = update_kernel(n, m)

    @batched(
        f"(8),({n - 6}),({n},{n}),(),(),({m},{n}),({m},{m}),({m}),(),(7)->(8),({n - 6}),({n},{n}),(),(),({m},{m}),(),()"
    )
    def correct(dq_IB, x, C, rejected, recoveries, H, R, y, valid, limits):
        d, C_used, S, nis, used = update(C, H, R, y, valid, limits[0])
        took = used > 0.0
        J_r = block([[se3_right_jacobian(d[:6]), zeros(6, n - 6)], [zeros(n - 6, 6), identity(n - 6)]])
        C = where(took, symmetric_product(J_r, C_used), C)
        moved = dual_quaternion.normalize(dual_quaternion.mul(dq_IB, dual_quaternion.exp(d[:6])))
        state = where(took, moved, dq_IB), x + d[6:], C
        return *watched(*state, nis, rejected, recoveries, valid, used, limits), S, nis, used

    return correct


def watched(dq_IB, x, C, nis, rejected, recoveries, valid, used, limits):
    """Return belief and counts after a measurement: inflated where too many were refused, NaN where a trial is lost."""
    _, patience, inflation, *widest = limits
    rejected = where(used > 0.0, 0.0, where(valid > 0.0, rejected + 1.0, rejected))
    recover = rejected >= patience
    C = where(recover, _inflated(C, inflation, widest), C)
    good = _healthy(C) & ((nis >= 0.0) | (valid == 0.0))
    counts = where(recover, 0.0, rejected), where(recover, recoveries + 1.0, recoveries)
    return *(where(good, part, math.nan) for part in (dq_IB, x, C)), *counts


def _inflated(C, inflation, widest):
    """Return C with pose and twist up to `inflation` times as uncertain, but no wider than `widest`.

    widest: standard deviations per axis of angle, position, rate and velocity. All correlations go: they were those of
    a wrong state. The extra states stay as well known as they were: a wrong pose says nothing of an inertia, which,
    made uncertain too, would take the rest of the error and become that of no body (`tests/scenarios/
    test_rendezvous.py`: test_outliers_let_in_at_the_start_are_recovered_from).
    """
    wide = zeros(*C.shape)
    for k, limit in enumerate(widest):
        part = slice(3 * k, 3 * k + 3)
        V = C[part, part]
        growth = maximum(minimum(inflation, 3.0 * limit * limit / (V[0, 0] + V[1, 1] + V[2, 2])), 1.0)
        wide[part, part] = growth * V
    wide[12:, 12:] = C[12:, 12:]
    return wide


def _healthy(C):
    """Tell whether all variances are positive and none has overflowed."""
    good = np.True_
    for variance in np.diagonal(C):
        good = (variance > 0.0) & (variance < LARGEST) & good
    return good
