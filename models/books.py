"""Books of momentum: what a flight has, against what it began with and what acted on it.

The truth moves by a half kick, a drift that keeps the momentum, and a half kick, so the impulse of a step about the
inertial origin is exactly h/2 times the wrenches at its two ends, and the books close to rounding.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from gnc import dual_quaternion
from gnc.batch import batched, maximum, where
from gnc.linalg import array
from gnc.typing import Array


class Books(NamedTuple):
    """What acted on a trial since the start, inertial axes, angular first."""

    start: Array  # (trials, 6) momentum at the start [N m s, N s]
    impulse_I: Array  # (trials, 6) of all that came from outside [N m s, N s]
    handled: Array  # (trials, 2) how much of it came and went, angular and linear: the scale of the rounding


def opened(momentum_I: Array) -> Books:
    """Return the books of a flight that begins."""
    return Books(momentum_I, np.zeros_like(momentum_I), np.zeros((*momentum_I.shape[:-1], 2)))


def entered(books: Books, dq_start: Array, dq_end: Array, wrench_B: Array, h: float) -> Books:
    """Return the books after a step under a wrench that kicked at both ends."""
    return Books(books.start, *_entered(books.impulse_I, books.handled, dq_start, dq_end, wrench_B, h))


def fallen(books: Books, wrench_I: Array, h: float) -> Books:
    """Return the books after half a step under a wrench about the inertial origin."""
    return Books(books.start, *_fallen(books.impulse_I, books.handled, wrench_I, h))


def gap(books: Books, momentum_I: Array) -> Array:
    """Return |P - P_0 - impulse| over all that was handled, the larger of angular and linear."""
    return _gap(momentum_I, *books)


@batched("(3)->()")
def size(v):
    """Return |v|."""
    return np.sqrt(v @ v)


@batched("(6),(2),(8),(8),(6),()->(6),(2)")
def _entered(impulse_I, handled, dq_start, dq_end, wrench_B, h):
    """Return impulse and what was handled, with those of one step."""
    halves = [(0.5 * h) * dual_quaternion.transform_wrench(dq, wrench_B) for dq in (dq_start, dq_end)]
    sizes = array([sum(size(half[part]) for half in halves) for part in (slice(0, 3), slice(3, 6))])
    return impulse_I + halves[0] + halves[1], handled + sizes


@batched("(6),(2),(6),()->(6),(2)")
def _fallen(impulse_I, handled, wrench_I, h):
    """Return impulse and what was handled, with those of half a step."""
    half = (0.5 * h) * wrench_I
    return impulse_I + half, handled + array([size(half[:3]), size(half[3:])])


def relative_gaps(momentum_I, start, impulse_I, handled):
    """Return the relative gaps of angular and linear momentum, in a kernel."""
    gaps = []
    for part, moved in ((slice(0, 3), handled[0]), (slice(3, 6), handled[1])):
        scale = size(momentum_I[part]) + size(start[part]) + moved
        gaps.append(size((momentum_I - start - impulse_I)[part]) / where(scale == 0.0, 1.0, scale))
    return gaps


@batched("(6),(6),(6),(2)->()")
def _gap(momentum_I, start, impulse_I, handled):
    """Return the larger relative gap."""
    return maximum(*relative_gaps(momentum_I, start, impulse_I, handled))
