"""Error states of states that are products: rotations and poses of groups, and plain vectors.

    part            numbers   errors   x + e
    ROTATION        q (4)     a (3)    q exp(a/2)
    POSE            p (8)     xi (6)   p exp(xi/2)
    vector(n)       v (n)     dv (n)   v + dv

A chart is the tuple of the parts of a state, in its order; its error state has theirs one after the other. `traced`
makes the exact Jacobian of any kernel between two charts: what a user writes is the kernel alone.
"""

import functools
import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from gnc import dual_quaternion, lie, quaternion
from gnc.batch import Kernel, jacobian
from gnc.batch.layout import Core, Layout
from gnc.errors import InputError
from gnc.linalg import identity, zeros
from gnc.typing import Array


@dataclass(frozen=True)
class Part:
    """A factor of a state; its functions are for one trial, inside kernels."""

    name: str
    numbers: int
    errors: int
    lift: Callable[[Array], Array]  # x -> (numbers, errors): x + e is x + lift e to first order
    retract: Callable[[Array, Array], Array]  # x, e -> x + e
    local: Callable[[Array, Array], Array]  # x, y -> the e that leads from x to y
    slope: Callable[[Array], Array]  # x -> (errors, numbers): e = slope dx, the inverse of lift
    reset: Callable[[Array], Array]  # d -> (errors, errors): what an error is after the mean has moved by d


_MOVING = [1, 2, 3, 5, 6, 7]  # numbers of a dual quaternion that a pose error moves, at the identity


def _pose_slope(p: Array) -> Array:
    return 2.0 * dual_quaternion.left_matrix(dual_quaternion.conj(p))[_MOVING]


ROTATION = Part(
    "rotation", 4, 3,
    lambda q: 0.5 * quaternion.left_matrix(q)[:, 1:],
    lambda q, a: quaternion.normalize(quaternion.mul(q, quaternion.exp(a))),
    lambda q, other: quaternion.log(quaternion.mul(quaternion.conj(q), other)),
    lambda q: 2.0 * quaternion.left_matrix(quaternion.conj(q))[1:],
    lie.so3_right_jacobian,
)  # fmt: skip
POSE = Part(
    "pose", 8, 6,
    lambda p: 0.5 * dual_quaternion.left_matrix(p)[:, _MOVING],
    lambda p, xi: dual_quaternion.normalize(dual_quaternion.mul(p, dual_quaternion.exp(xi))),
    lambda p, other: dual_quaternion.log(dual_quaternion.mul(dual_quaternion.conj(p), other)),
    _pose_slope,
    lie.se3_right_jacobian,
)  # fmt: skip


@functools.cache
def vector(n: int) -> Part:
    """Return the part of n plain numbers."""
    one = lambda v: identity(n)  # noqa: E731
    return Part(f"vector({n})", n, n, one, lambda v, d: v + d, lambda v, other: other - v, one, one)


Chart = tuple[Part, ...]


def size(chart: Chart) -> int:
    """Return how many numbers the error state has."""
    return sum(part.errors for part in chart)


def place(chart: Chart, k: int) -> slice:
    """Return where the errors of the k-th part are."""
    first = size(chart[:k])
    return slice(first, first + chart[k].errors)


def _split(chart: Chart, e: Array) -> list[Array]:
    return [e[place(chart, k)] for k in range(len(chart))]


def _cores(chart: Chart) -> tuple[Core, ...]:
    return tuple((part.numbers,) for part in chart)


def blocks(matrices: Sequence[Array]) -> Array:
    """Return the block-diagonal matrix, for use in kernels."""
    whole = zeros(sum(len(A) for A in matrices), sum(A.shape[1] for A in matrices))
    row = column = 0
    for A in matrices:
        whole[row : row + len(A), column : column + A.shape[1]] = A
        row, column = row + len(A), column + A.shape[1]
    return whole


@functools.cache
def retraction(chart: Chart) -> Kernel:
    """Return the kernel (*x, d) -> *(x + d), reset."""
    n = size(chart)

    def retract(*args: Array) -> tuple[Array, ...]:
        pairs = list(zip(chart, args[:-1], _split(chart, args[-1]), strict=True))
        moved = [part.retract(x, d) for part, x, d in pairs]
        return *moved, blocks([part.reset(d) for part, _, d in pairs])

    names = tuple(f"x{k}" for k in range(len(chart)))
    return Kernel(retract, Layout((*names, "d"), (*_cores(chart), (n,)), (*_cores(chart), (n, n))))


@functools.cache
def difference(chart: Chart) -> Kernel:
    """Return the kernel (*x, *y) -> the error state that leads from x to y."""
    m = len(chart)

    def local(*args: Array) -> Array:
        return np.concatenate([part.local(x, y) for part, x, y in zip(chart, args[:m], args[m:], strict=True)])

    names = tuple(f"{letter}{k}" for letter, k in itertools.product("xy", range(m)))
    return Kernel(local, Layout(names, _cores(chart) * 2, ((size(chart),),)))


def traced(kernel: Kernel, chart: Chart, after: Chart, first: int = 0) -> Kernel:
    """Return the kernel with the same arguments and results and then F, the exact Jacobian between the error states.

    The state stands at the `first` and following arguments; the results are of the chart `after`. The state is nudged
    by an error e, and the slopes along e of what comes out are read in the chart there.
    """
    old, m, n = kernel.layout, len(chart), size(chart)
    _fits(kernel, chart, old.ins[first : first + m], "arguments")
    _fits(kernel, after, old.outs, "results")

    def nudged(e: Array, *args: Array) -> Any:
        parts = zip(chart, args[first : first + m], _split(chart, e), strict=True)
        state = [x + part.lift(x) @ d for part, x, d in parts]
        return kernel(*args[:first], *state, *args[first + m :])

    slopes = jacobian(Kernel(nudged, Layout(("e", *old.names), ((n,), *old.ins), old.outs)), "e", value=True)

    def with_jacobian(*args: Array) -> tuple[Array, ...]:
        results = slopes(zeros(n), *args)
        values, along = results[: len(after)], results[len(after) :]
        return *values, np.concatenate([part.slope(x) @ dx for part, x, dx in zip(after, values, along, strict=True)])

    with_jacobian.__name__ = with_jacobian.__qualname__ = f"{kernel.__name__}_traced"
    return Kernel(with_jacobian, Layout(old.names, old.ins, (*old.outs, (size(after), n))))


def _fits(kernel: Kernel, chart: Chart, cores: Sequence[Core], what: str) -> None:
    """Refuse a kernel whose shapes are not those of the chart."""
    if tuple(cores) != _cores(chart):
        names = ", ".join(part.name for part in chart)
        raise InputError(f"{kernel.__name__}: its {what} have shapes {tuple(cores)}; the chart ({names}) has others")
