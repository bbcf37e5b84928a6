"""Dividing steps that are too long: as many substeps as each trial needs.

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
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from gnc.batch import Kernel, batched, maximum, where
from gnc.integrators.composition import chained, no_step
from gnc.linalg import inv3

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
