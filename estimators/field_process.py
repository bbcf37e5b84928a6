"""A vector field as a process model: the classical Runge-Kutta rule with its own transition matrix.

The field is a kernel `*x, *u, *p -> *xdot` in the numbers of the state; the step's exact derivative comes from the same
stages, k_i' = A_i (1 + c_i h k_{i-1}'), A = d xdot/dx. It is what a variational process model is to be measured by:
the strongest usual filter on the same equations.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from gnc.batch import Kernel, jacobian
from gnc.batch.layout import Layout
from gnc.estimators.chart import Chart, blocks, retraction, size
from gnc.estimators.kernel_process import State, by_steps, density_matrix
from gnc.models.parameters import store

Array = Any


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
class FieldProcess:
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

    def propagate(self, x: State, C: Array, u: State, h: float) -> tuple[State, Array]:
        """Return state and covariance after h, in substeps."""
        n = math.ceil(abs(h) / self.longest - 1e-9) or 1
        return by_steps(self.advance, self.density, x, C, u, h, n)
