"""The linear algebra of a Kalman filter, for one trial, any number n of states and m of measurements.

    S = H C H^T + R,   K = C H^T S^-1,   d = K y,   C <- (1 - K H) C (1 - K H)^T + K R K^T        (Joseph)

C is the covariance of the error state. The Joseph form stays symmetric and positive whatever the gain, so a measurement
that is not used is one with gain zero, and all trials take the same path. It is computed as W + (K R - W H^T) K^T,
W = C - K H C, for about two thirds of the operations; as the mean of its two halves, since with scales 1e8 apart that
rounds 25 times better than one half, and ten times worse than the form as it is written
(test_the_covariance_of_a_hard_problem).

Without process noise C may come so near to a singular matrix that rounding takes it across. So a prediction is rounded
up: variances by 2^-44 of themselves, which is a millionth after 17 million steps, and more than what rounding takes
(test_covariance_health.py). S is factored with its pivots looked at: where one is not positive, C is none of a
covariance, and the trial becomes NaN.
"""

import functools
import math
import operator
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from gnc.batch import maximum, minimum, precise, sized, where
from gnc.linalg import array, zeros

Array = Any


class Innovation(NamedTuple):
    """What a measurement said beyond what was expected."""

    y: Array  # (..., m) residual
    S: Array  # (..., m, m) its covariance as the filter sees it
    nis: Array  # (...) y . S^-1 y; NaN where S is not positive definite
    used: Array  # (...) bool: valid and within the gate

    @property
    def broken(self) -> Array:
        """(...) bool: whether the covariance has ceased to be one, and the trial is NaN from here on."""
        return ~(np.asarray(self.nis) >= 0.0)


ROUNDING = 2.0**-44  # of a variance, by which it is rounded up
ROUNDED_UP = precise(1.0 + ROUNDING, 1.0 + 2.0**-18)


def symmetric_product(F: Array, C: Array) -> Array:
    """Return F C F^T for use in kernels, C symmetric; each pair of elements is computed once."""
    return _symmetric(F @ C, F)


def propagated(F: Array, C: Array, moving: int) -> Array:
    """Return F C F^T over a step, the variances of the first `moving` states, which the dynamics mix, rounded up."""
    product = symmetric_product(F, C)
    for i in range(moving):
        product[i, i] = product[i, i] * ROUNDED_UP
    return product


def with_walk(whole: Array, C: Array, Q: Array, walk: Array, h: Any) -> Array:
    """Return the covariance over a step with the transition `whole`, Q over the states before the extra ones.

    The random walk of the extra states acts half before and half after: C <- F (C + W/2) F^T + W/2 + Q.
    """
    n, k = len(C), len(walk)
    half = zeros(n, n)
    for i in range(k):
        half[n - k + i, n - k + i] = (0.5 * h) * walk[i]
    Q = np.concatenate([np.concatenate([Q, zeros(n - k, k)], axis=1), zeros(k, n)])
    return propagated(whole, C + half, n - k) + (Q + half)


def _symmetric(W: Array, F: Array) -> Array:
    """Return W F^T, known to be symmetric; each pair of elements is computed once."""
    n = len(F)
    product = np.empty((n, n), dtype=object)
    for i in range(n):
        for j in range(i, n):
            product[i, j] = product[j, i] = W[i] @ F[j]
    return product


def mirrored(C: Array) -> Array:
    """Return a symmetric matrix by its upper half: what products of its halves have in common is computed once."""
    whole = C.copy()
    for i in range(len(C)):
        whole[i:, i] = C[i, i:]
    return whole


def _mean_with_transpose(A: Array) -> Array:
    """Return (A + A^T)/2 of a matrix that is symmetric but for rounding."""
    mean = A.copy()
    for i in range(len(A)):
        for j in range(i + 1, len(A)):
            mean[i, j] = mean[j, i] = 0.5 * (A[i, j] + A[j, i])
    return mean


def factor(S: Array) -> tuple[list[list[Any]], list[Any], Any]:
    """Return L and 1/d of S = L diag(d) L^T, and whether all d are positive."""
    m = len(S)
    L: list[list[Any]] = [[0.0] * m for _ in range(m)]
    d: list[Any] = [0.0] * m
    inverse: list[Any] = [0.0] * m
    for i in range(m):
        scaled = [0.0] * m
        for j in range(i):
            scaled[j] = S[i, j] - sum((scaled[k] * L[j][k] for k in range(j)), 0.0)
            L[i][j] = scaled[j] * inverse[j]
        d[i] = S[i, i] - sum((scaled[k] * L[i][k] for k in range(i)), 0.0)
        inverse[i] = 1.0 / d[i]
    return L, inverse, functools.reduce(operator.and_, (pivot > 0.0 for pivot in d))


def solve(L: list[list[Any]], inverse: list[Any], B: Array) -> Array:
    """Return S^-1 B from the factors of S, B (m, n)."""
    rows, m = list(B), len(inverse)
    for i in range(m):
        for j in range(i):
            rows[i] = rows[i] - L[i][j] * rows[j]
    rows = [row * inverse[i] for i, row in enumerate(rows)]
    for i in reversed(range(m)):
        for j in range(i + 1, m):
            rows[i] = rows[i] - L[j][i] * rows[j]
    return array(rows)


def joseph(C: Array, H: Array, R: Array, K: Array) -> Array:
    """Return the covariance after an update with the gain K."""
    W = C - K @ (C @ H.T).T
    return _mean_with_transpose(W + (K @ R - W @ H.T) @ K.T)


def gated(S: Array, r: Array, valid: Array, gates: Array, sizes: tuple[int, ...]) -> tuple[Array, Array]:
    """Return the normalised innovation of each of several sensors, and which are used: 1 or 0."""
    nis, used, start = [], [], 0
    for i, size in enumerate(sizes):
        rows = slice(start, start + size)
        L, inverse, positive = factor(S[rows, rows])
        nis.append(where(positive, r[rows] @ solve(L, inverse, r[rows].reshape(size, 1))[:, 0], math.nan))
        used.append(where((valid[i] > 0.0) & (nis[i] <= gates[i]), 1.0, 0.0))
        start += size
    return array(nis), array(used)


def without_unused(H: Array, r: Array, S: Array, used: Array, sizes: tuple[int, ...]) -> tuple[Array, Array, Array]:
    """Return H, residual and S with the rows of unused sensors zero, those of S one, as if they measured nothing."""
    rows = array([u for u, size in zip(used, sizes, strict=True) for _ in range(size)])
    m, n = H.shape
    H = array([where(rows[i] > 0.0, H[i], zeros(n)) for i in range(m)])
    r = array([where(rows[i] > 0.0, r[i], 0.0) for i in range(m)])
    both = [[(rows[i] > 0.0) & (rows[j] > 0.0) for j in range(m)] for i in range(m)]
    S = array([[where(both[i][j], S[i, j], float(i == j)) for j in range(m)] for i in range(m)])
    return H, r, S


def innovations(y: Array, S: Array, nis: Array, used: Array, sizes: Sequence[int]) -> list[Innovation]:
    """Return what each of several sensors said, from what all said together; nis and used have one number for each."""
    ends = np.cumsum((0, *sizes))
    parts = [slice(a, b) for a, b in zip(ends[:-1], ends[1:], strict=True)]
    return [Innovation(y[..., p], S[..., p, p], nis[..., i], used[..., i] > 0.0) for i, p in enumerate(parts)]


def cholesky(C: Array) -> Array:
    """Return L with C = L L^T."""
    n = len(C)
    L = zeros(n, n)
    for i in range(n):
        for j in range(i + 1):
            rest = C[i, j] - sum((L[i, k] * L[j, k] for k in range(j)), 0.0)
            L[i, j] = np.sqrt(rest) if i == j else rest / L[j, j]
    return L


@sized(lambda n: f"({n},{n}),({n},{n}),({n},{n})->({n},{n})")
def propagate_kernel(C, F, Q, *, n):
    """Return the kernel C, F, Q -> F C F^T + Q."""
    return propagated(F, C, n) + Q


@sized(lambda n, m: f"({n},{n}),({m},{n}),({m},{m}),({m}),(),()->({n}),({n},{n}),({m},{m}),(),()")
def update_kernel(C, H, R, y, valid, gate, *, n, m):
    """Return the kernel C, H, R, y, valid, gate -> correction, C, S, nis, used.

    A measurement counts if valid is not 0 and nis <= gate; otherwise correction and C are as if it had not been made.
    If it is valid and S is not positive definite, all is NaN.
    """
    C, R = mirrored(C), mirrored(R)
    CH = C @ H.T
    S = _symmetric(CH.T, H) + R
    L, inverse, positive = factor(S)
    solved = solve(L, inverse, np.concatenate([CH.T, y.reshape(m, 1)], axis=1))
    nis = where(positive, y @ solved[:, n], math.nan)
    used = where((valid > 0.0) & (nis <= gate), 1.0, 0.0)
    K = where(used > 0.0, solved[:, :n].T, zeros(n, m))  # chosen, not multiplied: NaN of an unused one stays out
    C_new = joseph(C, H, R, K)
    correction = where(used > 0.0, K @ y, zeros(n))
    good = positive | (valid == 0.0)
    return where(good, correction, math.nan), where(good, C_new, math.nan), S, nis, used


@functools.cache
def gate(probability: float, m: int) -> float:
    """Return the value that the normalised innovation of m measurements stays below with this probability."""
    if probability >= 1.0:
        return np.inf
    from scipy.special import chdtri  # here: takes as long to load as a short flight

    return float(chdtri(m, 1.0 - probability))


@sized(lambda n: f"({n},{n}),(),({n})->({n},{n})")
def grow_kernel(C, factor, largest, *, n):
    """Return the kernel C, factor, largest -> C with standard deviations up to `factor` times as large.

    Each grows to no more than its own of `largest` (n), and never shrinks; the correlations stay.
    """
    sigma = np.sqrt(array([C[i, i] for i in range(n)]))
    growth = array([maximum(minimum(factor, most / s), 1.0) for s, most in zip(sigma, largest, strict=True)])
    return np.outer(growth, growth) * C
