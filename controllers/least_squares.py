"""Small non-negative least squares, one per trial, by Lawson and Hanson's active sets on the normal equations.

Compiled by numba, as the loop ends by a trial's own data. A compiled function calls only functions of its own file,
because numba's cache does not notice an edit in another one. Import it on first use: numba takes its time to load.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numba import njit

DEPENDENT = 1e-12  # squared sine: a column so near to the span of others depends on them
FLAT = 1e-12  # of the largest gradient at zero: smaller ones are zero
PATIENCE = 20  # rounds per column: as many as rows are taken; a trial that is still running by then is lost


def compiled(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile without fast-math, division by zero giving infinity, and keep the code on disk if there is a place."""
    try:
        return njit(cache=True, error_model="numpy")(function)
    except RuntimeError:  # neither the source's folder nor the user's can be written
        return njit(error_model="numpy")(function)


@compiled
def append(L, y, H, f, chosen, p):
    """Extend the factor L of H over the first p chosen, and y = L^-1 f, by one more; tell whether it depends on them.

    On the diagonal L has the inverse, as it only divides.
    """
    j = chosen[p]
    rest, value = 1.0, f[j]
    for a in range(p):
        coupling = H[j, chosen[a]]
        for b in range(a):
            coupling -= L[p, b] * L[a, b]
        coupling *= L[a, a]
        L[p, a] = coupling
        rest -= coupling * coupling
        value -= coupling * y[a]
    L[p, p] = 1.0 / np.sqrt(max(rest, DEPENDENT))
    y[p] = value * L[p, p]
    return rest <= DEPENDENT


@compiled
def back_substitute(L, y, p, s):
    """Solve L^T s = y over the first p chosen."""
    for a in range(p - 1, -1, -1):
        value = y[a]
        for b in range(a + 1, p):
            value -= L[b, a] * s[b]
        s[a] = value * L[a, a]


@compiled
def blocked(chosen, p, s, u):
    """Return which of the chosen first meets zero on the way from u to s, and when; -1 if none does."""
    step, first = 1.0, -1
    for a in range(p):
        if s[a] <= 0.0:
            part = u[chosen[a]] / (u[chosen[a]] - s[a])
            if first < 0 or part < step:
                step, first = part, a
    return first, step


@compiled
def retreat(L, y, H, f, chosen, p, s, u):
    """Go towards s until the first variable is zero, drop it, and solve again, until none is negative."""
    while True:
        first, step = blocked(chosen, p, s, u)
        if first < 0:
            break
        for a in range(p):
            u[chosen[a]] += step * (s[a] - u[chosen[a]])
        u[chosen[first]] = 0.0
        p -= 1
        for a in range(first, p):
            chosen[a] = chosen[a + 1]
            append(L, y, H, f, chosen, a)
        back_substitute(L, y, p, s)
    for a in range(p):
        u[chosen[a]] = s[a]
    return p


@compiled
def steepest(H, f, chosen, p, barred, u, least):
    """Return the variable at zero of which the residual gains most, and more than the least that counts, or -1."""
    best, place = least, -1
    for j in range(len(f)):
        if not barred[j]:
            w = f[j]
            for a in range(p):
                w -= H[j, chosen[a]] * u[chosen[a]]
            if w > best:
                best, place = w, j
    return place


@compiled
def non_negative(H, f, chosen, barred, L, y, s, u):
    """Minimise u H u / 2 - f u over u >= 0 for one trial; return whether it was done in time."""
    p, least = 0, 0.0
    for j in range(len(f)):
        u[j], barred[j], least = 0.0, False, max(least, FLAT * abs(f[j]))
    for _ in range(PATIENCE * len(f)):
        if p == len(chosen):  # as many as rows: the residual is zero but for round-off
            return True
        j = steepest(H, f, chosen, p, barred, u, least)
        if j < 0:
            return True
        chosen[p] = j
        dependent = append(L, y, H, f, chosen, p)
        if dependent or y[p] <= 0.0:  # only round-off lets it seem to gain
            barred[j] = True
            continue
        back_substitute(L, y, p + 1, s)
        p = retreat(L, y, H, f, chosen, p + 1, s, u)
        for j in range(len(f)):
            barred[j] = u[j] > 0.0
    return False


@compiled
def solve(wrench, A, H, u):
    """Fill u (trials, n) that minimises |A u - wrench| over u >= 0; A (m, n) has unit columns, H = A^T A."""
    m, n = A.shape
    f, y, s, L = np.empty(n), np.empty(m), np.empty(m), np.empty((m, m))
    chosen, barred = np.empty(m, np.uint64), np.empty(n, np.bool_)
    for k in range(len(wrench)):
        total = 0.0
        for j in range(n):
            f[j] = 0.0
            for i in range(m):
                f[j] += A[i, j] * wrench[k, i]
            total += f[j]
        if not (np.isfinite(total) and non_negative(H, f, chosen, barred, L, y, s, u[k])):
            for j in range(n):
                u[k, j] = np.nan
