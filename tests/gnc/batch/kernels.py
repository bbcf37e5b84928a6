"""Kernels the tests of `gnc.batch` share: short, long, with functions, with several results."""

import numpy as np

from gnc.batch import batched, copysign, maximum, minimum, where
from gnc.linalg import array, cross, skew, solve, solve3


@batched("(4),(4)->(4)")
def product(a, b):
    """Multiply quaternions."""
    return array([a[0] * b[0] - a[1:] @ b[1:], *(a[0] * b[1:] + b[0] * a[1:] + cross(a[1:], b[1:]))])


@batched("(4),(3),(3,3)->(4),(3)")
def advance(q, phi, J):
    """Take one step of a free rigid body, three Newton iterations: about 600 operations."""
    s, u = np.sqrt(1.0 - phi @ phi), J @ phi
    target = s * u - cross(phi, u)
    for _ in range(3):
        s, u = np.sqrt(1.0 - phi @ phi), J @ phi
        K = s * J - np.outer(u, phi / s) + skew(phi) @ J - skew(u)
        phi = phi - solve3(K, s * u + cross(phi, u) - target)
    return product(q, array([np.sqrt(1.0 - phi @ phi), *phi])), phi


@batched("(),()->(6)")
def functions(x, y):
    """Use every function there is."""
    test = (x < y) & ~(x == 0.0) | (y >= 2.0)
    angles = [np.sin(x), np.cos(y), np.tan(x) + np.arctan2(y, x), np.arcsin(minimum(abs(x), 1.0))]
    return array([*angles, where(test, maximum(x, y), np.floor(x) - np.rint(y)), copysign(np.sqrt(abs(x)), y)])


@batched("(6,6),(6)->(6)")
def linear(A, b):
    """Solve six equations."""
    return solve(A, b)


def random_arguments(kernel, leading, rng):
    """Draw arguments for a kernel that keep it in its domain."""

    def draw(name, core):
        x = rng.normal(size=(*leading, *core))
        if name == "phi":
            return 0.1 * x
        if name in "JA":
            return x @ np.swapaxes(x, -1, -2) + 3.0 * np.eye(core[0])
        return x

    return [draw(name, core) for name, core in zip(kernel.layout.names, kernel.layout.ins, strict=True)]


ALL = [product, advance, functions, linear]
