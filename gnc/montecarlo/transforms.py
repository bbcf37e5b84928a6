"""From uniform numbers to others, with the same bits in every position of every batch."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from gnc.errors import InputError
from gnc.typing import Array

LEAST, MOST = (
    2.0**-54,
    1.0 - 2.0**-53,
)  # half the least number drawn and the greatest below 1: normal numbers stay finite


def standard_normal(u: Array) -> Array:
    """Standard normal numbers from uniform ones, by the inverse of the distribution function."""
    from scipy.special import ndtri  # here: takes as long to load as a short flight

    return ndtri(np.clip(u, LEAST, MOST))


def exponential(x: Array) -> Array:
    """Exp of each number by itself: NumPy's own may differ in the last bit with the place in the array."""
    return np.array([math.exp(value) for value in x.ravel()]).reshape(x.shape)


def cholesky(C: Array) -> Array:
    """L with C = L L^T of a positive semi-definite matrix; written out, since LAPACK's last bits depend on the machine.

    A pivot lost in round-off is zero, and its column with it: that number is a combination of those before.
    """
    n = len(C)
    L = np.zeros_like(C)
    for j in range(n):
        pivot = C[j, j] - sum(L[j, k] ** 2 for k in range(j))
        if pivot <= 1e-14 * C[j, j]:
            continue
        L[j, j] = math.sqrt(pivot)
        for i in range(j + 1, n):
            L[i, j] = (C[i, j] - sum(L[i, k] * L[j, k] for k in range(j))) / L[j, j]
    return L


def broadcast(name: str, value: Any, like: Array) -> Array:
    """One number for all, or one for each: an array of the shape of `like`, which also stands in for None."""
    numbers = like if value is None else np.asarray(value, dtype=np.float64)
    if numbers.shape not in ((), like.shape):
        raise InputError(f"{name}: {numbers.shape} numbers for a field of {like.shape or 'one number'}")
    return np.broadcast_to(numbers, like.shape)
