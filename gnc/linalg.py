"""Small vectors and matrices inside kernels: what NumPy does not do on a kernel's numbers, or does not do exactly so.

These are plain functions of one trial's arrays, used in kernels only; `@`, `+`, slices, `np.outer` are NumPy's own.
Nothing pivots on a trial's data and nothing raises: a singular matrix gives infinities or NaN in its own trial.
"""

from __future__ import annotations

from typing import Any

import numpy as np

Array = Any  # an object array of one trial's numbers


def array(x: Any) -> Array:
    """Return an object array: kernels build their vectors and matrices with it."""
    return np.array(x, dtype=object)


def cross(a: Array, b: Array) -> Array:
    """Return a x b."""
    return array([a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]])


def skew(a: Array) -> Array:
    """Return the matrix [a] with [a] b = a x b."""
    return array([[0.0, -a[2], a[1]], [a[2], 0.0, -a[0]], [-a[1], a[0], 0.0]])


def block(rows: list[list[Array]]) -> Array:
    """Join blocks into one matrix."""
    return np.concatenate([np.concatenate(row, axis=1) for row in rows])


def identity(n: int) -> Array:
    """Return the unit matrix, whose zeros and ones cost nothing in a kernel."""
    return array(np.eye(n).tolist())


def zeros(*shape: int) -> Array:
    """Return zeros that cost nothing in a kernel."""
    return array(np.zeros(shape).tolist())


def mirrored(A: Array) -> Array:
    """Return a symmetric matrix by its upper triangle: what is twice the same is then computed once."""
    return np.triu(A) + np.triu(A, 1).T


def _cofactors(A: Array) -> Array:
    return array([cross(A[1], A[2]), cross(A[2], A[0]), cross(A[0], A[1])])


def det3(A: Array) -> Any:
    """Return the determinant of a 3x3 matrix."""
    return A[0] @ cross(A[1], A[2])


def inv3(A: Array) -> Array:
    """Return the inverse of a 3x3 matrix by cofactors."""
    C = _cofactors(A)
    return C.T * (1.0 / (A[0] @ C[0]))


def solve3(A: Array, b: Array) -> Array:
    """Solve A x = b for a 3x3 matrix A and a vector or matrix b, by cofactors."""
    C = _cofactors(A)
    return (C.T @ b) * (1.0 / (A[0] @ C[0]))


def solve(A: Array, b: Array) -> Array:
    """Solve A x = b, b a vector or a matrix, by elimination without pivoting.

    For matrices whose leading minors cannot vanish: positive definite, or near one as the integrators' Jacobians are.
    """
    A, b = A.copy(), b.copy()
    n = len(A)
    inverse = [None] * n
    for k in range(n):
        inverse[k] = 1.0 / A[k, k]
        for i in range(k + 1, n):
            factor = A[i, k] * inverse[k]
            A[i, k + 1 :] = A[i, k + 1 :] - factor * A[k, k + 1 :]
            b[i] = b[i] - factor * b[k]
    for i in reversed(range(n)):
        for j in range(i + 1, n):
            b[i] = b[i] - A[i, j] * b[j]
        b[i] = b[i] * inverse[i]
    return b
