"""Small linear programmes, one per trial: least cost u with A u = b and 0 <= u <= 1, by the dual simplex method.

Without upper limits the optimal bases are known beforehand (`optimal_bases`): `walk` goes from one to the next, a
product of 6 by 6 at each, to that of b. If it keeps all u <= 1, this is the answer. If not, `climb` lets b grow from
zero along its ray, and whenever a basic variable meets a bound the dual simplex method exchanges it. So all that is
passed is optimal, and where no exchange is possible the ray leaves the reachable set.
"""

from __future__ import annotations

import numpy as np

from gnc.controllers.compiled import compiled

ROWS = 6  # of A, always: a length known to the compiler makes all of it twice as fast
PIVOT = 1e-9  # of T = inverse A, of order one: smaller elements are round-off and no pivots
STILL = 1e-12  # of the largest slope: basic variables slower than this do not move
PATIENCE = 20  # exchanges per column and row: some ten are made; a trial that is still running by then is lost


@compiled
def dot(M, i, v):
    """Return row i of M times v."""
    return M[i, 0] * v[0] + M[i, 1] * v[1] + M[i, 2] * v[2] + M[i, 3] * v[3] + M[i, 4] * v[4] + M[i, 5] * v[5]


@compiled
def walk(b, inverses, neighbours, slope):
    """Fill slope, the basic variables of b without upper limits; return which basis, and the largest or infinity.

    Infinity means that the last known basis is not that of b; the walk leads always nearer to it, by the dual cost.
    """
    s = 0
    for _ in range(len(neighbours)):
        least, row, size = 0.0, -1, 0.0
        for i in range(ROWS):
            slope[i] = dot(inverses[s], i, b)
            size = max(size, abs(slope[i]))
            if slope[i] < least:
                least, row = slope[i], i
        if -least <= STILL * size:
            return s, size
        if neighbours[s, row] < 0:
            return s, np.inf
        s = neighbours[s, row]
    for i in range(ROWS):
        slope[i] = dot(inverses[s], i, b)
    return s, np.inf


@compiled
def leaving(x, slope):
    """Return which basic variable first meets 0 or 1, and how far along the ray: the fastest of those that tie."""
    row, distance, speed = -1, np.inf, 0.0
    size = 0.0
    for i in range(ROWS):
        size = max(size, abs(slope[i]))
    for i in range(ROWS):
        room = max(((1.0 if slope[i] > 0.0 else 0.0) - x[i]) / slope[i], 0.0)
        nearer = room < distance or (room == distance and abs(slope[i]) > speed)
        if nearer and abs(slope[i]) > STILL * size:
            row, distance, speed = i, room, abs(slope[i])
    return row, distance


@compiled
def entering(A, inverse, row, z, side, falls, T_row, ratio):
    """Fill T_row and return which variable may take over, by the least ratio of reduced cost to pivot; -1 if none."""
    sign = -1.0 if falls else 1.0
    a, b, c = inverse[row, 0], inverse[row, 1], inverse[row, 2]
    d, e, f = inverse[row, 3], inverse[row, 4], inverse[row, 5]
    for j in range(len(z)):
        T_row[j] = a * A[0, j] + b * A[1, j] + c * A[2, j] + d * A[3, j] + e * A[4, j] + f * A[5, j]
        pushed = sign * side[j] * T_row[j]
        ratio[j] = abs(z[j]) / (pushed if pushed > PIVOT else 0.0)
    best, column = np.inf, -1
    for j in range(len(z)):
        if ratio[j] < best:
            best, column = ratio[j], j
    return column


@compiled
def pivot(A, inverse, slope, z, T_row, row, column):
    """Exchange the basic variable of a row for that of a column, by Gauss and Jordan."""
    scale = 1.0 / T_row[column]
    slope[row] *= scale
    for j in range(ROWS):
        inverse[row, j] *= scale
    entering_column = A[:, column]
    for i in range(ROWS):
        if i != row:
            factor = dot(inverse, i, entering_column)
            slope[i] -= factor * slope[row]
            for j in range(ROWS):
                inverse[i, j] -= factor * inverse[row, j]
    factor = z[column] * scale
    for j in range(len(z)):
        z[j] -= factor * T_row[j]
    z[column] = 0.0


@compiled
def climb(A, inverse, slope, z, basis, side, x, T_row, ratio):
    """Go from no wrench towards the wanted one, always at least cost; return the fraction reached, 1 if it can be."""
    reached = 0.0
    for _ in range(PATIENCE * (A.shape[0] + A.shape[1])):
        row, distance = leaving(x, slope)
        if not reached + distance < 1.0:
            for i in range(ROWS):
                x[i] += (1.0 - reached) * slope[i]
            return 1.0
        reached += distance
        for i in range(ROWS):
            x[i] += distance * slope[i]
        falls = slope[row] < 0.0
        column = entering(A, inverse, row, z, side, falls, T_row, ratio)
        if column < 0:
            return reached
        pivot(A, inverse, slope, z, T_row, row, column)
        side[basis[row]] = 1.0 if falls else -1.0
        x[row] = 1.0 if side[column] < 0.0 else 0.0
        basis[row], side[column] = column, 0.0
    return np.nan


@compiled
def begin(start, scratch):
    """Copy what `climb` changes; side is 1 for variables at 0, -1 for those at 1, and 0 for basic ones."""
    inverse_start, z_start, basis_start = start
    inverse, z, basis, side, x = scratch
    for j in range(len(z)):
        z[j], side[j] = z_start[j], 1.0
    for i in range(ROWS):
        basis[i], x[i] = basis_start[i], 0.0
        side[basis[i]] = 0.0
        for j in range(ROWS):
            inverse[i, j] = inverse_start[i, j]


@compiled
def solve(wrench, A, inverses, neighbours, reduced, members, u, reached):
    """Fill u (trials, n) and the fraction reached (trials) for wrenches (trials, 6), from the table of bases of A."""
    n = A.shape[1]
    inverse, basis, slope, x = np.empty((ROWS, ROWS)), np.empty(ROWS, np.int64), np.empty(ROWS), np.empty(ROWS)
    z, side, T_row, ratio = np.empty(n), np.empty(n), np.empty(n), np.empty(n)
    for k in range(len(wrench)):
        if not np.isfinite(wrench[k].sum()):
            u[k], reached[k] = np.nan, np.nan
            continue
        u[k], reached[k] = 0.0, 1.0
        s, size = walk(wrench[k], inverses, neighbours, slope)
        if size <= 1.0:
            for i in range(ROWS):
                u[k, members[s, i]] = max(slope[i], 0.0)
            continue
        begin((inverses[s], reduced[s], members[s]), (inverse, z, basis, side, x))
        reached[k] = climb(A, inverse, slope, z, basis, side, x, T_row, ratio)
        for j in range(n):
            u[k, j] = np.nan if np.isnan(reached[k]) else (1.0 if side[j] < 0.0 else 0.0)
        for i in range(ROWS):
            u[k, basis[i]] = np.nan if np.isnan(reached[k]) else min(max(x[i], 0.0), 1.0)
