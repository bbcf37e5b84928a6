"""Which of q and -q a law steers to: a sign with hysteresis, so that noise at half a turn cannot make it chatter."""

from typing import NamedTuple

import numpy as np

from gnc.batch import batched, where
from gnc.typing import Array

DELTA = 0.2  # the other way is taken once it is shorter by 4 arcsin(0.2) = 46 deg: beyond noise, and no unwinding
UNDECIDED = 0.0  # before the first command, which takes the shorter way


class CoverMemory(NamedTuple):
    """What a law remembers that has no other memory."""

    sign: Array  # (...) which of q and -q it steers to; 0 before the first command


class OnCover:
    """A law with that memory."""

    def start(self, leading_shape: tuple[int, ...] = ()) -> CoverMemory:
        """Return the memory before the first command."""
        return CoverMemory(start(leading_shape))


def start(leading_shape: tuple[int, ...] = ()) -> Array:
    """Return the sign before the first command, for trials of this leading shape."""
    return np.full(leading_shape, UNDECIDED)


@batched("(),(),()->()")
def hysteresis(sign, q0, delta):
    """Return the sign, flipped only where sign q0 < -delta; q0 is the scalar of the error quaternion.

    A sign of 0 is undecided and becomes that of q0. A lost trial's NaN keeps the sign. Source: Mayhew, Sanfelice and
    Teel, "Quaternion-based hybrid control for robust global attitude tracking", IEEE TAC 56 (2011) 2555.
    """
    kept = where(sign * q0 < -delta, -sign, sign)
    return where(sign == UNDECIDED, where(q0 < 0.0, -1.0, 1.0), kept)
