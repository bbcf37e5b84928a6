"""One's own process model: any kernel `*x, *u, *p, h -> *x`, with the Jacobian over the error state made from it.

    @batched("(3),(3),(),()->(3),(3)")
    def fall(r, v, c, h): ...                                   # a step of any length h

    model = KernelProcess(fall, (vector(3), vector(3)), parameters=(c,), density=[0, 0, 0, 1e-6, 1e-6, 1e-6])
    model.advance((r, v), (), h)                                # the state after h, and F
    ekf = ProductEkf(model)                                     # see `product_ekf`

The state's numbers come first, in the order of the chart, then what is different in every step (u), then the parameters
and h. A kernel that has an exact Jacobian of its own gives it as `jacobian`, with the same arguments and F after the
state; F of a step that is not a kernel (a tree) is made by a class of its own, `tree_process`.

A vector field as a process model: the classical Runge-Kutta rule with its own transition matrix.

The field is a kernel `*x, *u, *p -> *xdot` in the numbers of the state; the step's exact derivative comes from the same
stages, k_i' = A_i (1 + c_i h k_{i-1}'), A = d xdot/dx. It is what a variational process model is to be measured by:
the strongest usual filter on the same equations.
"""

import functools
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from gnc import check
from gnc.batch import Kernel, jacobian
from gnc.batch.layout import Layout
from gnc.errors import InputError
from gnc.estimators.chart import Chart, blocks, retraction, size, traced
from gnc.estimators.kalman import symmetric_product
from gnc.models.parameters import store

Array = Any

State = tuple[Array, ...]


class Process(Protocol):
    """What drives a `ProductEkf`."""

    @property
    def chart(self) -> Chart:
        """The parts of the state."""

    def propagate(self, x: State, C: Array, u: State, h: float) -> tuple[State, Array]:
        """Return state and covariance after h."""


@functools.cache
def _moving(jacobian: Kernel, parts: int) -> Kernel:
    """Return the kernel (*x, C, *u, *p, density, h) -> *x, C of one substep; made to be repeated.

    The noise acts half before and half after: C <- F (C + h D/2) F^T + h D/2.
    """
    old = jacobian.layout
    n = old.outs[parts][0]

    def move(*args: Array) -> tuple[Array, ...]:
        x, C, given, D, h = args[:parts], args[parts], args[parts + 1 : -2], args[-2], args[-1]
        results, half = jacobian(*x, *given, h), (0.5 * h) * D
        return *results[:parts], symmetric_product(results[parts], C + half) + half

    names = (*old.names[:parts], "C", *old.names[parts:-1], "density", "h")
    ins = (*old.ins[:parts], (n, n), *old.ins[parts:-1], (n, n), ())
    return Kernel(move, Layout(names, ins, (*old.outs[:parts], (n, n))))


def density_matrix(density: Array, n: int) -> Array:
    """Return a spectral density over the error state as a matrix; a vector is its diagonal, a number counts for all."""
    D = np.asarray(density, float)
    D = D * np.eye(n) if D.ndim == 0 else D[..., None] * np.eye(n) if D.shape[-1:] == (n,) and D.ndim == 1 else D
    return check.covariance("density", D, n)


class Stepwise:
    """What a process model has whose step is no kernel: `advance`, repeated."""

    density: Array
    longest: float

    def advance(self, x: State, u: State, h: float) -> tuple[State, Array]:
        """Return the state after one step of h, and F."""
        raise NotImplementedError

    def propagate(self, x: State, C: Array, u: State, h: float) -> tuple[State, Array]:
        """Return state and covariance after h, in substeps."""
        n = math.ceil(abs(h) / self.longest - 1e-9) or 1
        half = 0.5 * (h / n) * self.density
        for _ in range(n):
            x, F = self.advance(x, u, h / n)
            C = F @ (C + half) @ np.swapaxes(F, -1, -2) + half
        return x, C


@dataclass(frozen=True, eq=False)
class KernelProcess(Stepwise):
    """A kernel as a process model; parameters and density may have leading axes, one for each trial."""

    step: Kernel  # (*x, *u, *parameters, h) -> *x
    chart: Chart
    parameters: tuple[Array, ...] = ()
    density: Array = 0.0  # (..., n, n), (n,) or a number: of white noise in the error state [1/s]
    longest: float = math.inf  # [s] of a substep
    jacobian: Callable[..., Any] | None = None  # the same with F; made from the step if None
    _move: Kernel | None = field(init=False, repr=False)

    def __post_init__(self) -> None:
        """Validate once, and make F."""
        own = self.jacobian or traced(self.step, self.chart, self.chart)
        check.positive("longest", min(self.longest, 1e300))
        parts = len(self.chart)
        store(self, parameters=tuple(np.asarray(p, float) for p in self.parameters), jacobian=own)
        store(self, density=density_matrix(self.density, size(self.chart)))
        store(self, _move=_moving(own, parts) if isinstance(own, Kernel) else None)
        if len(self.step.layout.ins) < parts + len(self.parameters) + 1:
            raise InputError(f"step: {self.step.__name__} takes fewer arguments than state, parameters and h")

    def advance(self, x: State, u: State, h: float) -> tuple[State, Array]:
        """Return the state after one step of h, and F."""
        assert self.jacobian is not None
        results = self.jacobian(*x, *u, *self.parameters, h)
        return tuple(results[: len(self.chart)]), results[len(self.chart)]

    def propagate(self, x: State, C: Array, u: State, h: float) -> tuple[State, Array]:
        """Return state and covariance after h, in substeps."""
        if self._move is None:
            return super().propagate(x, C, u, h)
        n = math.ceil(abs(h) / self.longest - 1e-9) or 1
        *x_after, C = self._move.repeat(n, *x, C, *u, *self.parameters, self.density, h / n)
        return tuple(x_after), C


@functools.cache
def _slopes(field: Kernel, parts: int) -> Kernel:
    """Return the kernel (numbers of x, *u, *p) -> xdot, d xdot/dx."""
    old = field.layout
    ends = np.cumsum([core[0] for core in old.ins[:parts]]).tolist()

    def flat(x: Array, *given: Array) -> Array:
        rates = field(*np.split(x, ends[:-1]), *given)
        return np.concatenate(rates) if parts > 1 else rates

    s = (ends[-1],)
    return jacobian(Kernel(flat, Layout(("x", *old.names[parts:]), (s, *old.ins[parts:]), (s,))), "x", value=True)


@functools.cache
def _charted(chart: Chart, lifting: bool) -> Kernel:
    """Return the kernel of the matrix from errors to numbers (`lifting`) or back."""
    s, n = sum(part.numbers for part in chart), size(chart)
    ends = np.cumsum([part.numbers for part in chart]).tolist()

    def matrix(x: Array) -> Array:
        pieces = zip(chart, np.split(x, ends[:-1]), strict=True)
        return blocks([part.lift(piece) if lifting else part.slope(piece) for part, piece in pieces])

    return Kernel(matrix, Layout(("x",), ((s,),), ((s, n) if lifting else (n, s),)))


@dataclass(frozen=True, eq=False)
class FieldProcess(Stepwise):
    """RK4 on a vector field; groups are normalised after every step."""

    field: Kernel  # (*x, *u, *parameters) -> *xdot
    chart: Chart
    parameters: tuple[Array, ...] = ()
    density: Array = 0.0
    longest: float = math.inf  # [s] of a substep

    def __post_init__(self) -> None:
        store(self, parameters=tuple(np.asarray(p, float) for p in self.parameters))
        store(self, density=density_matrix(self.density, size(self.chart)))

    def rate(self, numbers: Array, *u: Array) -> Array:
        """Return xdot of the numbers of a state, all parts in one vector."""
        return _slopes(self.field, len(self.chart))(numbers, *u, *self.parameters)[0]

    def advance(self, x: State, u: State, h: float) -> tuple[State, Array]:
        """Return the state after one step, and F."""
        y = np.concatenate([np.broadcast_to(a, (*np.shape(x[0])[:-1], np.shape(a)[-1])) for a in x], -1)
        k, dk, total, slope = 0.0, np.zeros((y.shape[-1],) * 2), 0.0, 0.0
        for c, weight in zip((0.0, 0.5, 0.5, 1.0), (1.0, 2.0, 2.0, 1.0), strict=True):
            k, A = _slopes(self.field, len(self.chart))(y + c * h * k, *u, *self.parameters)
            dk = A + c * h * (A @ dk)
            total, slope = total + (weight * h / 6.0) * k, slope + (weight * h / 6.0) * dk
        after = tuple(np.split(y + total, np.cumsum([part.numbers for part in self.chart])[:-1], axis=-1))
        *after, _ = retraction(self.chart)(*after, np.zeros(size(self.chart)))
        lift, read = _charted(self.chart, True)(y), _charted(self.chart, False)(np.concatenate(after, -1))
        return tuple(after), read @ (lift + slope @ lift)
