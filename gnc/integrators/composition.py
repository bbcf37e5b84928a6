"""Steps made of steps: kicks around drifts, and symmetric compositions of higher order, with their exact Jacobians.

A drift or step is a kernel whose first arguments are the state, as are its results, and whose last is h. The momentum
is the last part of the state; a torque has its shape and follows it:

    drift(q_IB, P_B, J, rho_B, h) -> q_IB, P_B          drift_jacobian: the same, and F
    step(q_IB, P_B, tau_B, J, rho_B, h) -> q_IB, P_B    step_jacobian: the same, F, and G = d(a, dP)/d tau_B

Everything here takes such a pair of kernels and returns the pair of what it made; Jacobians are those of the parts, in
a chain. The new kernels are called `name` and `name_jacobian`, in the module of their parts: assigned there under these
names they can be pickled.

Dividing steps that are too long: as many substeps as each trial needs.

The balance of QVI has a solution for (|w| + |rho|/J_min) |h| < 1 rad, and is near the motion for much less. A step of
angle (|w| + |rho|/J_min) |h| is divided into

    n = ceil(c angle / 0.4)        c: the longest stage of a composed step, as a part of h

For the wheels a softer measure is not enough: by the rate of nutation, (rho.J rho/det J)^(1/2), slender bodies are
lost at 0.2 rad, because their wheels spin them up within a step. 1/J_min is taken as the largest row sum of |J^-1|:
exact for principal axes, and at most sqrt 3 too large. A trial that would need more than 10 000 substeps, or is not
finite, becomes NaN.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from gnc.batch import Kernel, batched, maximum, where
from gnc.batch.layout import Layout
from gnc.linalg import block, identity, inv3, zeros
from gnc.typing import Array

Pair = tuple[Kernel, Kernel]

_SUZUKI = 1.0 / (4.0 - 4.0 ** (1.0 / 3.0))
_YOSHIDA = 1.0 / (2.0 - 2.0 ** (1.0 / 3.0))
SUZUKI4 = (_SUZUKI, _SUZUKI, 1.0 - 4.0 * _SUZUKI, _SUZUKI, _SUZUKI)  # no stage is longer than 0.66 h
YOSHIDA4 = (_YOSHIDA, 1.0 - 2.0 * _YOSHIDA, _YOSHIDA)  # three stages, but the middle one is -1.70 h
ABA2 = (0.5 - 0.5 / math.sqrt(3.0), 1.0 / math.sqrt(3.0), 0.5 - 0.5 / math.sqrt(3.0))  # drifts between two half kicks


def largest_stage(stages: Sequence[float]) -> float:
    """Return the longest stage as a part of h: it is what meets the limit on |w| h."""
    return max(abs(c) for c in stages)


def compose(step: Kernel, step_jacobian: Kernel, stages: Sequence[float] = SUZUKI4, name: str = "composed") -> Pair:
    """Return the kernels that take stages of c_1 h, c_2 h ... one after the other.

    SUZUKI4 and YOSHIDA4 make a symmetric method of second order one of fourth; what it conserves stays conserved.
    Source: Hairer, Lubich and Wanner, "Geometric Numerical Integration", section II.4.
    """
    n, chain = len(step.layout.outs), chained(step, step_jacobian)

    def through(kernel: Kernel, state: tuple[Array, ...], parameters: tuple[Array, ...]) -> tuple[Array, ...]:
        for c in stages:
            state = kernel(*state, *parameters[:-1], c * parameters[-1])
        return state

    def composed(*args: Array) -> tuple[Array, ...]:
        return through(step, args[:n], args[n:])

    def composed_jacobian(*args: Array) -> tuple[Array, ...]:
        return through(chain, (*args[:n], *no_step(step, step_jacobian)), args[n:])

    doc = f"Return the state after stages of {', '.join(f'{c:.3f}' for c in stages)} times h."
    return (
        _kernel(composed, step.layout, name, step, doc),
        _kernel(composed_jacobian, step_jacobian.layout, f"{name}_jacobian", step, f"{doc} With F and G."),
    )


def chained(step: Kernel, step_jacobian: Kernel) -> Kernel:
    """Return the kernel (state, F, G, ..., h) -> state, F, G that takes one step more; made to be repeated.

    F' = F_step F and G' = F_step G + G_step; a drift has no G.
    """
    n, old = len(step.layout.outs), step_jacobian.layout
    m = len(old.outs)

    def chain(*args: Array) -> tuple[Array, ...]:
        F, *G = args[n:m]
        results = step_jacobian(*args[:n], *args[m:])
        F_step, *G_step = results[n:]
        return *results[:n], F_step @ F, *[F_step @ g + g_step for g, g_step in zip(G, G_step, strict=True)]

    layout = Layout((*old.names[:n], *("F", "G")[: m - n], *old.names[n:]), (*old.outs, *old.ins[n:]), old.outs)
    return _kernel(chain, layout, f"{step.__name__}_chained", step, f"Chain one more {step.__name__}.")


def no_step(step: Kernel, step_jacobian: Kernel) -> tuple[Array, ...]:
    """Return F = 1 and G = 0, where a chain begins; of a drift F only."""
    F, *G = step_jacobian.layout.outs[len(step.layout.outs) :]
    return identity(F[0]), *[zeros(*g) for g in G]


def kick_drift_kick(drift: Kernel, drift_jacobian: Kernel, name: str = "step") -> Pair:
    """Return the step under a torque that is constant in body axes: half a kick, the drift, half a kick.

    Second order, symmetric if the drift is. Source: QVI eq. (63), in momentum form.
    """
    return _kicked(drift, drift_jacobian, (0.0, 1.0, 0.0), name)


def aba2(drift: Kernel, drift_jacobian: Kernel, name: str = "aba2") -> Pair:
    """Return D(c1 h) K(h/2) D(c2 h) K(h/2) D(c1 h), c1 = (1 - 1/sqrt 3)/2, c2 = 1/sqrt 3.

    With an exact drift the error is of order e h^4 + e^2 h^2, e the size of the torque: fourth order if that is weak.
    Source: McLachlan, "Composition methods in the presence of small parameters", BIT 35 (1995) 258.
    """
    return _kicked(drift, drift_jacobian, ABA2, name)


def _kicked(drift: Kernel, drift_jacobian: Kernel, drifts: Sequence[float], name: str) -> Pair:
    """Return the pair of three drifts with half a kick between each two; those of no length are left out."""
    n = len(drift.layout.outs)
    size, errors = drift.layout.outs[-1][0], drift_jacobian.layout.outs[-1][0]
    kicks = (0.5, 0.5, 0.0)

    def step(*args: Array) -> tuple[Array, ...]:
        state, tau, parameters, h = args[:n], args[n], args[n + 1 : -1], args[-1]
        for part, kick in zip(drifts, kicks, strict=True):
            *q, P = drift(*state, *parameters, part * h) if part else state
            state = (*q, P + (kick * h) * tau)
        return state

    def step_jacobian(*args: Array) -> tuple[Array, ...]:
        state, tau, parameters, h = args[:n], args[n], args[n + 1 : -1], args[-1]
        F, G = identity(errors), zeros(errors, size)
        for part, kick in zip(drifts, kicks, strict=True):
            *q, P, F_drift = drift_jacobian(*state, *parameters, part * h) if part else (*state, identity(errors))
            state = (*q, P + (kick * h) * tau)
            F, G = F_drift @ F, F_drift @ G + (kick * h) * identity(errors)[:, -size:]
        return *state, F, G

    names, ins = drift.layout.names, drift.layout.ins
    names, ins = (*names[:n], "tau_B", *names[n:]), (*ins[:n], (size,), *ins[n:])
    layouts = Layout(names, ins, drift.layout.outs), Layout(names, ins, (*drift_jacobian.layout.outs, (errors, size)))
    doc = f"Return the state after h under a constant torque, with kicks around {drift.__name__}."
    return (
        _kernel(step, layouts[0], name, drift, doc),
        _kernel(step_jacobian, layouts[1], f"{name}_jacobian", drift, f"{doc} With F and G."),
    )


@batched("(3,3),()->(6,6)")
def kick_jacobian(T, h):
    """Return [[1, 0], [h T, 1]], the Jacobian of a kick P += h tau(q) whose torque has the gradient T = d tau/d a.

    With an attitude-dependent torque a step has F = kick_jacobian(T_{k+1}, h/2) F_drift kick_jacobian(T_k, h/2).
    """
    return block([[identity(3), zeros(3, 3)], [h * T, identity(3)]])


def _kernel(function: Callable[..., Any], layout: Layout, name: str, of: Kernel, doc: str) -> Kernel:
    """Make a kernel with a name, in the module of the kernel that it is made of."""
    function.__name__ = function.__qualname__ = name
    function.__module__, function.__doc__ = of.__module__, doc
    return Kernel(function, layout)


ANGLE = 0.4  # [rad] of one substep; the limit is 1 rad, and the rate changes between the nodes
MOST = 10_000  # substeps of a step


@batched("(3),(3),(3,3),(3),()->()")
def angle(P_B, tau_B, J, rho_B, h):
    """Return (|w| + |rho|/J_min) |h| [rad] of a step, w the faster of the rates before and after the torque acted."""
    J_inverse = inv3(J)
    w_0 = J_inverse @ (P_B - rho_B)
    w_1 = w_0 + J_inverse @ (h * tau_B)
    rows = [abs(row[0]) + abs(row[1]) + abs(row[2]) for row in J_inverse]
    stiffest = maximum(maximum(rows[0], rows[1]), rows[2])
    rate = np.sqrt(maximum(w_0 @ w_0, w_1 @ w_1)) + np.sqrt(rho_B @ rho_B) * stiffest
    return rate * abs(h)


@batched("(3),(3),(3,3),(3),(),()->()")
def count(P_B, tau_B, J, rho_B, h, longest_stage):
    """Return the number of substeps of a step, at least 1; NaN if it is lost."""
    n = -np.floor(angle(P_B, tau_B, J, rho_B, h) * longest_stage * (-1.0 / ANGLE))
    return where(n <= MOST, maximum(n, 1.0), math.nan)


def substepped(
    step: Kernel, step_jacobian: Kernel, longest_stage: float = 1.0
) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """Return functions that do what the two kernels do, in as many substeps as each trial needs.

    Arguments and results are those of the kernels, in the order that `composition` asks for; P_B, J, rho_B, h, and
    tau_B where there is one, are found by their names. F and G are those of the whole step. The functions are no
    kernels: they run from Python, over all trials at once.
    """
    divided = _Divided(step, step_jacobian, longest_stage)
    return divided.move, divided.move_jacobian


@dataclass(frozen=True)
class _Divided:
    """A step and what divides it; an object, so that its methods can be pickled."""

    step: Kernel
    step_jacobian: Kernel
    longest_stage: float

    def move(self, *args: Any) -> Any:
        """Take the step."""
        n, h = self._divide(args)
        return self.step.repeat(n, *args[:-1], h)

    def move_jacobian(self, *args: Any) -> Any:
        """Take the step, with F and G."""
        n, h = self._divide(args)
        states = len(self.step.layout.outs)
        chain, start = _chain(self.step, self.step_jacobian)
        return chain.repeat(n, *args[:states], *start, *args[states:-1], h)

    def _divide(self, args: tuple[Any, ...]) -> tuple[Any, Any]:
        """Return the number of substeps and their length, NaN for a lost trial."""
        values = dict(zip(self.step.layout.names, args, strict=True))
        tau_B = values.get("tau_B", np.zeros(3))
        n = count(values["P_B"], tau_B, values["J"], values["rho_B"], values["h"], self.longest_stage)
        return n, values["h"] / n


@functools.cache
def _chain(step: Kernel, step_jacobian: Kernel) -> tuple[Kernel, tuple[Any, ...]]:
    return chained(step, step_jacobian), tuple(x.astype(float) for x in no_step(step, step_jacobian))
