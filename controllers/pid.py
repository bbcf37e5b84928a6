"""Attitude tracking with an integral, which does not wind up where the torque is at its limit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from gnc import check
from gnc.batch import batched, maximum, minimum, where
from gnc.controllers.attitude import AttitudeController, AttitudeMemory, tracking_error
from gnc.controllers.reference import AttitudeReference
from gnc.linalg import array
from gnc.models.parameters import each, store

Array = Any


class PidMemory(NamedTuple):
    """What the law remembers from command to command."""

    sign: Array  # (...) of the cover it steers to; 0 before the first command
    integral_B: Array  # (..., 3) torque [N m]


@dataclass(frozen=True, eq=False, kw_only=True)
class AttitudePid:
    """The PD+ law with -Ki int sign qv dt; an axis whose torque is beyond its limit integrates back only."""

    pd: AttitudeController
    Ki: Array  # (..., 3, 3) [N m/s]
    limit: Array = np.inf  # (..., 3), or one number: torque that the actuators can make [N m]
    period_s: float

    def __post_init__(self) -> None:
        """Validate once; the kernels do not."""
        store(self, Ki=check.finite("Ki", self.Ki, (3, 3)), limit=each("limit", self.limit, 3, "limit"))

    def start(self, leading_shape: tuple[int, ...] = ()) -> PidMemory:
        """Return the memory before the first command."""
        return PidMemory(self.pd.start(leading_shape).sign, np.zeros((*leading_shape, 3)))

    def command(self, belief: Any, reference: AttitudeReference, memory: PidMemory) -> tuple[Array, PidMemory]:
        """Return the torque on the body, body axes [N m]."""
        tau_B, (sign,) = self.pd.command(belief, reference, AttitudeMemory(memory.sign))
        q_RB, _, _ = tracking_error(belief.q_IB, belief.w_B, reference.q_IR, reference.w_R)
        tau_B, integral_B = _integrated(tau_B, q_RB, sign, memory.integral_B, self.Ki, self.limit, self.period_s)
        return tau_B, PidMemory(sign, integral_B)


@batched("(3),(4),(),(3),(3,3),(3),()->(3),(3)")
def _integrated(tau_B, q_RB, sign, integral_B, Ki, limit, period_s):
    """Return the torque with the integral, and the integral after the interval."""
    total = tau_B + integral_B
    change = -period_s * sign * (Ki @ q_RB[1:])
    free = [where((abs(x) < most) | (x * d < 0.0), d, 0.0) for x, d, most in zip(total, change, limit, strict=True)]
    after = minimum(maximum(integral_B + array(free), -limit), limit)
    return total, after
