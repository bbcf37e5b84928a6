"""Limits of commands, inside kernels."""

from __future__ import annotations

import functools

from gnc.batch import maximum, minimum, where
from gnc.typing import Array

SATURATIONS = ("direction", "each")


def clipped(x: Array, limit: Array) -> Array:
    """Return x within +-limit, element by element."""
    return minimum(maximum(x, -limit), limit)


def scaled(command: Array, room: Array) -> Array:
    """Return the command times one factor, 1 at most, by which no element exceeds its room."""
    factors = [where(r < abs(c), r / abs(c), 1.0) for c, r in zip(command, room, strict=True)]
    return functools.reduce(minimum, factors) * command


def saturated(command: Array, limit: Array, saturation: str) -> Array:
    """Return the command within +-limit, by the one way or the other."""
    return clipped(scaled(command, limit) if saturation == "direction" else command, limit)
