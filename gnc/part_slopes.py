"""The derivative of a part that only Python can compute: central differences, extrapolated to a step of zero.

    D(h) = (y(x + h) - y(x - h)) / (2 h) = y' + a h^2 + b h^4 + ...        with h, h/4, h/16, ... (Richardson)

Of the extrapolated values the one counts that differs least from its neighbours (Ridders): what a part is solved to
spoils small steps, a switch nearby (a contact that opens) large ones. No value counts that is far from the difference
of a tiny step: beyond a gate nothing changes, and all large steps agree on that.

From tick to tick of a flight the same steps do: where the best were is known, only those near them are tried.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

Change = Callable[[np.ndarray, np.ndarray], np.ndarray]

LARGEST = 1.0  # step, relative to the size of what is changed
TINY, FAR = 1e-6, 0.01  # such a step, and by how much of its difference values may differ from it
RATIO = 4.0  # of one step to the next
LEAST, MOST = 3, 14  # steps; the smallest is 1.5e-8
AROUND = 3  # steps before the last that improved a derivative, from which the next tick begins
STANDS = 1e-8  # of a derivative: the error at which it stands
AMONG = 0.1  # of the largest effect on a number: smaller ones need not stand by themselves
NOTHING = 1e-15  # of the largest effect on any number: what is but rounding, the moment of a joint that has none say
ROUNDING = 1e-14  # of what the part makes: that of a change; differences that are rounded agree by chance
LITTLE = 1e-11  # of what the part makes: the error at which a derivative stands, however small it is
KINK = 1e-3  # of the largest effect on a number: the error at which there is no derivative


def part_slopes(
    change: Change, count: int, made: np.ndarray, known: np.ndarray | None = None
) -> tuple[np.ndarray, bool, np.ndarray]:
    """Return the derivative (count, made) by numbers in their sizes, whether there is a kink, and what is known.

    `change` returns half of what the part makes of some numbers (by their places) moved up by relative steps, each by
    itself, less what the part makes of them moved down; `made` is how large that is where nothing moves. `known` is for
    each number the last of the steps that improved its derivative, in a tick before.
    """
    rows, first = np.arange(count), np.zeros(count, int) if known is None else np.maximum(known - AROUND, 0)
    last, most = first.copy(), MOST if known is None else AROUND + 2
    near = change(rows, np.full(count, TINY)) / TINY
    fits = FAR * np.abs(near) + 100.0 * ROUNDING / TINY * made
    best, error = near.copy(), np.full(near.shape, np.inf)
    table = [change(rows, LARGEST / RATIO**first) / (LARGEST / RATIO**first)[:, None]]
    for level in range(1, most):
        step = (LARGEST / RATIO ** (first + level))[rows, None]
        row = [change(rows, step[:, 0]) / step]
        for j, before in enumerate(table):
            row.append(row[j] + (row[j] - before[rows]) / (RATIO ** (2 * j + 2) - 1.0))
            apart = np.maximum(np.abs(row[-1] - row[j]), np.abs(row[-1] - before[rows])) + ROUNDING / step * made
            better = (apart < error[rows]) & (np.abs(row[-1] - near[rows]) <= fits[rows])
            improved = rows[np.any(better & (apart < 0.5 * error[rows]), axis=1)]
            last[improved] = first[improved] + level
            best[rows], error[rows] = np.where(better, row[-1], best[rows]), np.where(better, apart, error[rows])
        table = [_spread(one, rows, count) for one in row]
        if level >= LEAST - 1:
            largest = np.max(np.nan_to_num(np.abs(best)), axis=0, initial=0.0)
            stands = error[rows] <= STANDS * np.maximum(np.abs(best[rows]), AMONG * largest) + LITTLE * made
            stands |= largest <= NOTHING * largest.max(initial=0.0)
            rows = rows[~stands.all(axis=1)]
        if not len(rows):
            break
    largest = np.max(np.nan_to_num(np.abs(best)), axis=0, initial=0.0)
    return best, bool(np.any(error > KINK * largest + LITTLE * made)), last


def _spread(some: np.ndarray, rows: np.ndarray, count: int) -> np.ndarray:
    """Return rows at their places."""
    whole = np.zeros((count, some.shape[1]))
    whole[rows] = some
    return whole
