"""Small linear programmes, one per trial: least cost u with A u = b and 0 <= u <= 1, by the dual simplex method.

Everything starts from one basis that is optimal for some b, and thus for b = 0 and u = 0. Then b grows along the ray to
the wanted one, and whenever a basic variable meets a bound the dual simplex method exchanges it. So all that is passed
is optimal, and where no exchange is possible the ray leaves the reachable set.
"""

from __future__ import annotations

import numpy as np

from gnc.controllers.compiled import compiled

PIVOT = 1e-9  # of T, of order one: smaller elements are round-off and no pivots
STILL = 1e-12  # of the largest slope: basic variables slower than this do not move
PATIENCE = 20  # exchanges per column and row: some ten are made; a trial that is still running by then is lost


@compiled
def leaving(x, slope):
    """Return which basic variable first meets 0 or 1, and how far along the ray: the fastest of those that tie."""
    row, distance, speed = -1, np.inf, 0.0
    size = 0.0
    for i in range(len(x)):
        size = max(size, abs(slope[i]))
    for i in range(len(x)):
        if abs(slope[i]) > STILL * size:
            room = max(((1.0 - x[i]) if slope[i] > 0.0 else -x[i]) / slope[i], 0.0)
            if room < distance or (room == distance and abs(slope[i]) > speed):
                row, distance, speed = i, room, abs(slope[i])
    return row, distance


@compiled
def entering(T_row, z, upper, basic, falls):
    """Return which variable may take over, by the least ratio of reduced cost to pivot; -1 if none can."""
    best, column = np.inf, -1
    for j in range(len(T_row)):
        pushed = T_row[j] if falls == upper[j] else -T_row[j]
        if not basic[j] and pushed > PIVOT:
            ratio = abs(z[j]) / pushed
            if ratio < best:
                best, column = ratio, j
    return column


@compiled
def pivot(T, slope, z, row, column):
    """Exchange the basic variable of a row for that of a column, by Gauss and Jordan."""
    m, n = T.shape
    scale = 1.0 / T[row, column]
    slope[row] *= scale
    for j in range(n):
        T[row, j] *= scale
    for i in range(m):
        factor = T[i, column]
        if i != row and factor != 0.0:
            slope[i] -= factor * slope[row]
            for j in range(n):
                T[i, j] -= factor * T[row, j]
    factor = z[column]
    for j in range(n):
        z[j] -= factor * T[row, j]
    z[column] = 0.0


@compiled
def climb(T, slope, z, basis, basic, upper, x):
    """Go from no wrench towards the wanted one, always at least cost; return the fraction reached, 1 if it can be."""
    reached = 0.0
    for _ in range(PATIENCE * (T.shape[0] + T.shape[1])):
        row, distance = leaving(x, slope)
        if not reached + distance < 1.0:
            for i in range(len(x)):
                x[i] += (1.0 - reached) * slope[i]
            return 1.0
        reached += distance
        for i in range(len(x)):
            x[i] += distance * slope[i]
        falls = slope[row] < 0.0
        column = entering(T[row], z, upper, basic, falls)
        if column < 0:
            return reached
        pivot(T, slope, z, row, column)
        out = basis[row]
        upper[out], basic[out] = not falls, False
        x[row] = 1.0 if upper[column] else 0.0
        basis[row], basic[column], upper[column] = column, True, False
    return np.nan


@compiled
def begin(start, scratch):
    """Copy what the method changes."""
    T_start, z_start, basis_start = start
    T, z, basis, basic, upper, x = scratch
    for j in range(len(z)):
        z[j], basic[j], upper[j] = z_start[j], False, False
    for i in range(len(x)):
        basis[i], x[i] = basis_start[i], 0.0
        basic[basis[i]] = True
        for j in range(len(z)):
            T[i, j] = T_start[i, j]


@compiled
def solve(wrench, inverse, T_start, z_start, basis_start, u, reached):
    """Fill u (trials, n) and the fraction reached (trials) for wrenches (trials, m).

    The start is a basis that is optimal for some wrench: its inverse (m, m), T = inverse A (m, n), reduced costs z.
    """
    m, n = T_start.shape
    T, z, basis, slope, x = np.empty((m, n)), np.empty(n), np.empty(m, np.int64), np.empty(m), np.empty(m)
    basic, upper = np.empty(n, np.bool_), np.empty(n, np.bool_)
    for k in range(len(wrench)):
        begin((T_start, z_start, basis_start), (T, z, basis, basic, upper, x))
        total = 0.0
        for i in range(m):
            slope[i] = 0.0
            for j in range(m):
                slope[i] += inverse[i, j] * wrench[k, j]
            total += slope[i]
        reached[k] = climb(T, slope, z, basis, basic, upper, x) if np.isfinite(total) else np.nan
        lost = np.isnan(reached[k])
        for j in range(n):
            u[k, j] = np.nan if lost else (1.0 if upper[j] else 0.0)
        for i in range(m):
            u[k, basis[i]] = np.nan if lost else min(max(x[i], 0.0), 1.0)
