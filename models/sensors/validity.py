"""Masks inside kernels. Every test says what is good, so that a lost trial, whose numbers are NaN, passes none."""

from __future__ import annotations

from typing import Any

import numpy as np

from gnc.batch import where

Number = Any  # a kernel's number, or test


def reading(z: Any, valid: Number) -> tuple[Any, Number]:
    """Return a kernel's results of a measurement, z or zeros, and 1 or 0; what is not finite is not valid."""
    valid = valid & all_below(abs(z), np.inf)
    return where(valid, z, 0.0), where(valid, 1.0, 0.0)


def all_below(values: Any, bound: Number) -> Number:
    """Tell whether all values are below the bound; infinite ones are not below infinity."""
    below = values[0] < bound
    for value in values[1:]:
        below = below & (value < bound)
    return below


def within_cone(direction: Any, cosine: Number) -> Number:
    """Tell whether a vector is within the cone about the z axis, the boresight of every sensor that has one."""
    return direction[2] >= cosine * np.sqrt(direction @ direction)
