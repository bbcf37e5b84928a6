"""A step that is taken whole, in one kernel from rates to rates.

A few trials pay for every call of a kernel more than for what is in it, so the usual case, a step that needs no
substeps, is one call. It has the bits of the long way, `Turning.step` between conversions, as these are the same
operations in the same order.
"""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np

from gnc.batch import Kernel, batched, recording, where
from gnc.integrators import attitude_method
from gnc.integrators.substeps import ANGLE, count
from gnc.integrators.table import AttitudeMethod
from gnc.models import rates

Array = Any
FEW = 16  # trials that fit side by side in a kernel


def few(x: Any) -> bool:
    """Tell whether there are so few trials that calls cost more than a step taken in vain; in a program none do."""
    return getattr(x.w_B, "size", 3) <= 3 * FEW and not recording()


def all_taken(w_B: Array) -> bool:
    """Tell whether the step is done with; if a trial needs substeps or is lost, all have to go the long way."""
    if w_B.size == 3:  # asking NumPy takes five times as long
        return not math.isnan(w_B.item(0))
    return not np.isnan(w_B).any()


@functools.cache
def rigid(name: str, divide: bool) -> Kernel | None:
    """Return the kernel of a rigid body for a method that may divide its steps, or not; None if it has no kernel."""
    method = attitude_method(name)
    if not isinstance(method.step, Kernel):
        return None

    @batched("(4),(3),(3),(3,3),(3),()->(4),(3)")
    def step(q_IB, w_B, tau_B, J, rho_B, h):
        """Return the attitude and rate after the step; the rate is NaN if it was too long."""
        P_B = rates.to_momentum(w_B, J, rho_B)
        q_1, P_1 = method.step(q_IB, P_B, tau_B, J, rho_B, h)
        taken = _taken(method, divide, P_B, P_1, tau_B, J, rho_B, h)
        return q_1, where(taken, rates.to_rate(P_1, J, rho_B), math.nan)

    return step


@functools.cache
def gyrostat(name: str, divide: bool) -> Kernel | None:
    """Return the kernel of a body with wheels for a method that may divide its steps, or not; None if it has none."""
    method = attitude_method(name)
    if not isinstance(method.step, Kernel):
        return None

    @batched("(4),(3),(3),(3),(3),(3,3),()->(4),(3),(3)")
    def step(q_IB, w_B, rho_B, rho_rate_B, tau_B, J, h):
        """Return attitude, rate and wheels after the step; the rate is NaN if it was too long."""
        P_B = rates.to_momentum(w_B, J, rho_B)
        mean, end = rates.kick(rho_B, rho_rate_B, h), rates.kick(rho_B, rho_rate_B, 2.0 * h)
        q_1, P_1 = method.step(q_IB, P_B, tau_B, J, mean, h)
        taken = _taken(method, divide, P_B, P_1, tau_B, J, mean, h)
        return q_1, where(taken, rates.to_rate(P_1, J, end), math.nan), end

    return step


def _taken(method: AttitudeMethod, divide: bool, P_B, P_1, tau_B, J, rho_B, h):
    """Tell whether the step is right as it is: not lost, and short enough unless steps are never divided."""
    alive = (P_1[0] == P_1[0]) & (P_1[1] == P_1[1]) & (P_1[2] == P_1[2])
    if not divide or method.substep is None:
        return alive
    return alive & (count(P_B, tau_B, J, rho_B, h, ANGLE / method.substep) == 1.0)
