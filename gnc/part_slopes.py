"""The derivative of a part that only Python can compute: central differences, extrapolated to a step of zero.

    D(h) = (y(x + h) - y(x - h)) / (2 h) = y' + a h^2 + b h^4 + ...        with h, h/4, h/16, ... (Richardson)

Of the extrapolated values the one counts that differs least from its neighbours (Ridders): what a part is solved to
spoils small steps, a switch nearby (a contact that opens) large ones. No value counts that is far from the difference
of a tiny step: beyond a gate nothing changes, and all large steps agree on that.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

Change = Callable[[np.ndarray, float], np.ndarray]

LARGEST = 1.0  # step, relative to the size of what is changed
TINY, FAR = 1e-6, 0.01  # such a step, and by how much of its difference values may differ from it
RATIO = 4.0  # of one step to the next
LEAST, MOST = 3, 14  # steps; the smallest is 1.5e-8
STANDS = 1e-8  # of a derivative: the error at which it stands
ROUNDING = 1e-14  # of what the part makes: that of a change; differences that are rounded agree by chance
LITTLE = 1e-11  # of what the part makes: the error at which a derivative stands, however small it is
KINK = 1e-3  # of the largest effect on a number: the error at which there is no derivative


def part_slopes(change: Change, count: int, made: np.ndarray) -> tuple[np.ndarray, bool]:
    """Return the derivative (count, made) by numbers in units of their sizes, and whether there is a kink.

    `change` returns half of what the part makes of some numbers (by their places) moved up by a relative step, each by
    itself, less what the part makes of them moved down; `made` is how large that is where nothing moves.
    """
    rows = np.arange(count)
    near = change(rows, TINY) / TINY
    fits = FAR * np.abs(near) + 100.0 * ROUNDING / TINY * made
    best, error = near.copy(), np.full(near.shape, np.inf)
    table, step = [change(rows, LARGEST) / LARGEST], LARGEST
    for level in range(1, MOST):
        step /= RATIO
        row = [change(rows, step) / step]
        for j, before in enumerate(table):
            row.append(row[j] + (row[j] - before[rows]) / (RATIO ** (2 * j + 2) - 1.0))
            apart = np.maximum(np.abs(row[-1] - row[j]), np.abs(row[-1] - before[rows])) + ROUNDING / step * made
            better = (apart < error[rows]) & (np.abs(row[-1] - near[rows]) <= fits[rows])
            best[rows], error[rows] = np.where(better, row[-1], best[rows]), np.where(better, apart, error[rows])
        table = [_spread(one, rows, count) for one in row]
        if level >= LEAST - 1:
            stands = error[rows] <= STANDS * np.abs(best[rows]) + LITTLE * made
            rows = rows[~stands.all(axis=1)]
        if not len(rows):
            break
    largest = np.max(np.nan_to_num(np.abs(best)), axis=0, initial=0.0)
    return best, bool(np.any(error > KINK * largest + LITTLE * made))


def _spread(some: np.ndarray, rows: np.ndarray, count: int) -> np.ndarray:
    """Return rows at their places."""
    whole = np.zeros((count, some.shape[1]))
    whole[rows] = some
    return whole
