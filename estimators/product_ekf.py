"""An extended Kalman filter for any process model on a product of groups and vectors.

    ekf = ProductEkf(KernelProcess(step, (ROTATION, vector(3)), parameters=(J,)))
    belief = ekf.start((q_IB, P_B), C)
    belief = ekf.predict(belief, (tau_B,), h)
    belief, innovation = ekf.update(belief, reading, z)

A `Reading` is a kernel `z, *x, *given -> y` of what a measurement says beyond what was expected, y = z - h(x) for
plain numbers, a logarithm for rotations; its H is made from it. `jump` takes a belief through a sudden change of the
state, or of what the state is: a separation, a capture. All Jacobians are exact (`chart.traced`).
Source: Bar-Shalom, Li and Kirubarajan, section 10.3; Markley, J. Guidance 26 (2003) 311, for the errors of rotations.
"""

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from gnc import check
from gnc.batch import Kernel
from gnc.estimators.chart import Chart, difference, retraction, size, traced, vector
from gnc.estimators.consistency import nees
from gnc.estimators.kalman import Innovation, gate, propagate_kernel, update_kernel
from gnc.estimators.kernel_process import Process, State
from gnc.models.parameters import between, store
from gnc.notebook import of_belief

Array = Any


class Belief(NamedTuple):
    """A state and the covariance of its error state."""

    x: State
    C: Array  # (..., n, n)

    def _repr_html_(self) -> str:
        return of_belief(self)


@dataclass(frozen=True, eq=False)
class Reading:
    """A measurement as a kernel of its residual."""

    residual: Kernel  # (z, *x, *given) -> y
    R: Array  # (..., m, m) covariance of y
    chart: Chart
    given: tuple[Array, ...] = ()
    _traced: Kernel = field(init=False, repr=False)

    def __post_init__(self) -> None:
        """Validate once, and make H."""
        m = self.residual.layout.outs[0][0]
        store(self, R=check.covariance("R", self.R, m), given=tuple(np.asarray(g, float) for g in self.given))
        store(self, _traced=traced(self.residual, self.chart, (vector(m),), first=1))

    def linearize(self, z: Array, x: State) -> tuple[Array, Array]:
        """Return the residual y, and H = -dy/de."""
        y, slope = self._traced(z, *x, *self.given)
        return y, -slope


@dataclass(frozen=True, eq=False)
class ProductEkf:
    """The filter; `Belief` is its state. A trial whose covariance fails becomes NaN; the others fly on."""

    process: Process
    gate_probability: float = 1.0  # with which a good measurement passes; 1 lets all in

    def __post_init__(self) -> None:
        between("gate_probability", self.gate_probability, 0.0, 1.0)

    @property
    def chart(self) -> Chart:
        """The parts of the state."""
        return self.process.chart

    @property
    def size(self) -> int:
        """How many numbers the error state has."""
        return size(self.chart)

    def start(self, x: State, C: Array) -> Belief:
        """Return the belief at a state."""
        return Belief(tuple(np.asarray(part, float) for part in x), check.covariance("C", C, self.size))

    def predict(self, belief: Belief, u: State, h: float) -> Belief:
        """Move over h."""
        return Belief(*self.process.propagate(belief.x, belief.C, u, h))

    def update(self, belief: Belief, reading: Reading, z: Array, valid: Array = 1.0) -> tuple[Belief, Innovation]:
        """Take a measurement into account."""
        y, H = reading.linearize(z, belief.x)
        m = np.shape(y)[-1]
        d, C, S, nis, used = update_kernel(self.size, m)(
            belief.C, H, reading.R, y, valid, gate(self.gate_probability, m)
        )
        took = np.asarray(used) > 0.0
        after = self.moved(belief.x, C, d)
        return after._replace(C=np.where(took[..., None, None], after.C, belief.C)), Innovation(y, S, nis, took)

    def moved(self, x: State, C: Array, d: Array) -> Belief:
        """Return the belief after its mean has moved by d; C is then written in the axes of the new mean."""
        *x_new, reset = retraction(self.chart)(*x, d)
        return Belief(tuple(x_new), propagate_kernel(self.size)(C, reset, np.zeros((self.size,) * 2)))

    def error(self, belief: Belief, truth: State) -> Array:
        """Return the error state that leads from the mean to the truth."""
        return difference(self.chart)(*belief.x, *truth)

    def nees(self, belief: Belief, truth: State) -> Array:
        """Return the normalised squared error, chi-square with `size` degrees of freedom if the filter is honest."""
        return nees(self.error(belief, truth), belief.C)


@dataclass(frozen=True, eq=False)
class Jump:
    """A sudden change of state: a kernel `*x, *given -> *x'`, to the same chart or to another."""

    change: Kernel
    chart: Chart
    after: Chart
    Q: Array = 0.0  # (n', n') covariance of what the change adds
    _traced: Kernel = field(init=False, repr=False)

    def __post_init__(self) -> None:
        """Make F once."""
        n = size(self.after)
        store(self, Q=check.covariance("Q", np.zeros((n, n)) + self.Q, n))
        store(self, _traced=traced(self.change, self.chart, self.after))

    def __call__(self, belief: Belief, *given: Array) -> Belief:
        """Return the belief after the change."""
        *x, F = self._traced(*belief.x, *given)
        return Belief(tuple(x), F @ belief.C @ np.swapaxes(F, -1, -2) + self.Q)
