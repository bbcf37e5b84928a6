"""Principal moments and axes of an inertia."""

from __future__ import annotations

from typing import Any

import numpy as np

from gnc.batch import batched, copysign, where
from gnc.linalg import identity

SWEEPS = 4  # leave 4e-18 of the largest moment off the diagonal in the worst of 400 000 random bodies


@batched("(3,3)->(3),(3,3)")
def principal(J):
    """Return the principal moments, ascending, and the axes: J = A diag(moments) A^T, A's columns right-handed.

    Jacobi's rotations, each of which makes one off-diagonal element zero: t = tan of the angle is the smaller root of
    t^2 + t (J_jj - J_ii)/J_ij - 1 = 0. A diagonal J is returned exactly as it is, but for the order. (LAPACK is as
    accurate, but seven times slower for a stack of bodies, and its last digits depend on the machine.)
    """
    J, A = J.copy(), identity(3)
    for _ in range(SWEEPS):
        for i, j in ((0, 1), (0, 2), (1, 2)):
            J, A = _rotated(J, A, i, j)
    moments, A = J.diagonal().copy(), A.copy()
    for i, j in ((0, 1), (1, 2), (0, 1)):
        _order(moments, A, i, j)
    return moments, A


def _rotated(J: Any, A: Any, i: int, j: int) -> tuple[Any, Any]:
    """Return J with J_ij = 0 in axes turned in the plane of i and j."""
    difference, twice = J[j, j] - J[i, i], 2.0 * J[i, j]
    size = abs(difference) + np.sqrt(difference * difference + twice * twice)
    t = copysign(1.0, difference) * twice / where(size == 0.0, 1.0, size)
    c = 1.0 / np.sqrt(1.0 + t * t)
    G = identity(3)
    G[i, i], G[i, j], G[j, i], G[j, j] = c, t * c, -(t * c), c
    turned = G.T @ J @ G
    turned[i, j] = turned[j, i] = 0.0
    turned[i, i], turned[j, j] = J[i, i] - t * J[i, j], J[j, j] + t * J[i, j]
    return turned, A @ G


def _order(moments: Any, A: Any, i: int, j: int) -> None:
    """Exchange two axes where the moments are not ascending, turning one of them over to stay right-handed."""
    swap = moments[i] > moments[j]
    moments[i], moments[j] = where(swap, moments[j], moments[i]), where(swap, moments[i], moments[j])
    A[:, i], A[:, j] = where(swap, A[:, j], A[:, i]), where(swap, -A[:, i], A[:, j])
