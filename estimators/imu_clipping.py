"""What samples of a gyro or an accelerometer do not show: at the end of their range, and where some are missing.

At a limit a sensor repeats itself, which at that speed it does nowhere else. The hidden peak is the cubic through both
ends of the run with their slopes; of random motions it is right to a seventh of what it adds (standard deviation).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

Array = Any

EQUAL = 1e-5  # of the largest number, by which samples in a row differ at a limit
FEWEST, LONGER = 3, 2.0  # samples of the longest run at a limit; how much longer it is than runs elsewhere
NOISELESS = 20  # samples on a straight line elsewhere: a log of a rate table without noise
FAST = 0.5  # of the largest number: from there on runs elsewhere count
SLOPE_STEPS = 3  # over which the slope at an end is taken
DOUBT = 0.15  # of what is added: its standard deviation
UNSEEN, UNSEEN_S = 0.06, 0.17  # doubt of what a gap hides: its share, and over which time [s] it doubles
CHUNK = 65536  # rows that are looked at together
LEAST = {"gyro": 1.5, "accelerometer": 12.0}  # end of a range [rad/s], [m/s^2]: at rest sensors repeat themselves, too


def limits(z: Array, kind: str, unit: float = 1.0) -> Array:
    """Return the limits (2, k) below and above which no sample of z (n, k) is; infinite if none is at a limit."""
    parts = [z[i : i + CHUNK] for i in range(0, len(z), CHUNK)]
    found = np.array([-1.0, 1.0])[:, None] * np.full((2, z.shape[1]), np.inf)
    for side, end in enumerate((np.nanmin, np.nanmax)):
        for axis in range(z.shape[1]):
            most = float(end([end(part[:, axis]) for part in parts])) if len(z) else 0.0
            if np.isfinite(most) and unit * abs(most) >= LEAST[kind] and np.sign(most) == 2 * side - 1:
                runs = np.max([_longest_runs(part[:, axis] / most) for part in parts], axis=0)
                if runs[1] < NOISELESS and runs[0] >= max(FEWEST, LONGER * runs[1] + 1):
                    found[side, axis] = most
    return found


def _longest_runs(x: Array) -> tuple[int, int]:
    """Return how many samples in a row are 1, and of others as large how many lie on a straight line."""
    at = x > 1.0 - EQUAL
    straight = np.append(np.append(False, np.abs(x[2:] - 2.0 * x[1:-1] + x[:-2]) < EQUAL), False)
    others = straight & (x > FAST) & ~at
    return _longest(at), _longest(others)


def _longest(on: Array) -> int:
    begins, ends = _edges(on)
    return int((ends - begins).max(initial=0))


def _edges(on: Array) -> tuple[Array, Array]:
    """Return first rows of runs, and the rows behind them."""
    steps = np.diff(np.concatenate([[0], on.astype(np.int8), [0]]))
    return np.flatnonzero(steps == 1), np.flatnonzero(steps == -1)


def mend(t: Array, z: Array, limit: Array, doubt: Array | None = None) -> tuple[int, float]:
    """Write the likeliest samples over those at a limit; return their number and the longest time of one run.

    `doubt` (n, k) takes how much the variance of the integral grows at each sample.
    """
    number, longest_s = 0, 0.0
    for axis in range(z.shape[1]):
        for side, sign in enumerate((-1.0, 1.0)):
            if not np.isfinite(limit[side, axis]):
                continue
            for begin, end in list(_runs(z[:, axis], sign, sign * limit[side, axis])):
                before, after = max(begin - SLOPE_STEPS - 1, 0), min(end + SLOPE_STEPS + 1, len(z))
                times, part = np.array(t[before:after]), sign * np.array(z[before:after, axis])
                added = _hidden(times, part - sign * limit[side, axis], begin - before, end - before)
                z[begin:end, axis] = limit[side, axis] + sign * added
                steps = np.diff(times)[max(begin - before - 1, 0) :][: end - begin]
                sums = np.cumsum(DOUBT * added * np.resize(steps, end - begin)) ** 2
                if doubt is not None:
                    doubt[begin:end, axis] += np.diff(sums, prepend=0.0)
                number, longest_s = number + end - begin, max(longest_s, float(t[end - 1] - t[begin]))
    return number, longest_s


def _runs(column: Array, sign: float, most: float) -> Iterator[tuple[int, int]]:
    """Return begins and ends of runs at a limit."""
    rows = [
        i + np.flatnonzero(sign * column[i : i + CHUNK] >= most * (1.0 - EQUAL)) for i in range(0, len(column), CHUNK)
    ]
    at = np.concatenate([*rows, np.zeros(0, int)])
    parts = np.split(at, np.flatnonzero(np.diff(at) > 1) + 1) if len(at) else []
    yield from ((int(part[0]), int(part[-1]) + 1) for part in parts)


def _hidden(t: Array, x: Array, begin: int, end: int) -> Array:
    """Return by how much samples from `begin` to `end` exceed zero: the cubic through their neighbours.

    Without a neighbour on one side the other side's slope counts for both.
    """
    first, last = max(begin - 1, 0), min(end, len(t) - 1)
    tails = (first, max(begin - 1 - SLOPE_STEPS, 0)), (last, min(end + SLOPE_STEPS, len(t) - 1))
    slopes = [(x[a] - x[b]) / abs(t[a] - t[b]) if a != b else np.nan for a, b in tails]
    up, down = (np.nanmax([slope, -np.inf]) for slope in slopes)
    up, down = (own if np.isfinite(own) else other for own, other in ((up, down), (down, up)))
    if not np.isfinite(up) or t[last] <= t[first]:
        return np.zeros(end - begin)
    span = t[last] - t[first]
    s = (t[begin:end] - t[first]) / span
    return np.maximum(cubic(s, x[first], x[last], span * up, -span * down), 0.0)


def cubic(s: Array, first: Array, last: Array, rise: Array, fall: Array) -> Array:
    """Return the cubic over 0 <= s <= 1 with its ends and the slopes there."""
    return (1 - s) ** 2 * ((1 + 2 * s) * first + s * rise) + s**2 * ((3 - 2 * s) * last - (1 - s) * fall)


def bridge(rows: Array, after: Array, dt: float) -> tuple[Array, Array]:
    """Return rows (t, gyro, acc) between rows `after` and the next, a usual step dt apart, and the gyro's doubt.

    The turn of random motions is right to 0.06 (1 + (T / 0.17 s)^3) of how far the cubic over T is from both ends.
    """
    ends = [np.clip(after + shift, 0, len(rows) - 1) for shift in (0, 1, -SLOPE_STEPS, 1 + SLOPE_STEPS)]
    (t, z), (t_1, z_1), (t_0, z_0), (t_2, z_2) = ((rows[k, :1], rows[k, 1:]) for k in ends)
    span = t_1 - t
    with np.errstate(invalid="ignore", divide="ignore"):
        rise, fall = (np.nan_to_num(slope) * span for slope in ((z - z_0) / (t - t_0), (z_2 - z_1) / (t_2 - t_1)))
    number = np.maximum(np.rint(span[:, 0] / dt).astype(int) - 1, 0)
    of = np.repeat(np.arange(len(after)), number)
    s = ((np.arange(len(of)) - np.repeat(np.cumsum(number) - number, number) + 1) / (number[of] + 1))[:, None]
    added = np.concatenate([t[of] + s * span[of], cubic(s, z[of], z_1[of], rise[of], fall[of])], axis=1)
    far = np.hypot(span * (rise - fall) / 12.0, 0.5 * span * (z_1 - z))[:, :3]
    sigma = UNSEEN * (1.0 + (span / UNSEEN_S) ** 3) * far
    return added, (sigma**2 / np.maximum(number, 1)[:, None])[of]
