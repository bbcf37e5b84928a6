"""Gauss-Legendre quadrature."""

from __future__ import annotations

import functools
import math
from decimal import Decimal, localcontext


@functools.cache
def gauss_legendre(n: int) -> tuple[tuple[float, float], ...]:
    """Return the nodes in (0, 1) with their weights, for an even number n of nodes in (-1, 1).

    Newton's method on P_n, k P_k = (2k - 1) x P_(k-1) - (k - 1) P_(k-2), in decimal arithmetic: rounded once, so the
    numbers are the same on every machine, unlike those of an eigenvalue solver.
    """
    if n % 2 or n < 2:
        raise ValueError(f"n: expected an even number of nodes, got {n}")
    with localcontext() as context:
        context.prec = 40
        return tuple(_node(n, i) for i in range(n // 2))


def _node(n: int, i: int) -> tuple[float, float]:
    x = Decimal(math.cos(math.pi * (i + 0.75) / (n + 0.5)))
    for _ in range(6):
        before, value = Decimal(1), x
        for k in range(2, n + 1):
            before, value = value, ((2 * k - 1) * x * value - (k - 1) * before) / k
        slope = n * (before - x * value) / (1 - x * x)
        x -= value / slope
    return float(x), float(2 / ((1 - x * x) * slope * slope))
