"""Rate damping as a part of a mission."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

import numpy as np

from gnc.batch import batched
from gnc.config import Positive
from gnc.controllers.laws.base import LawPart
from gnc.models.known import Known
from gnc.typing import Array


class RateDamping:
    """tau = -J w / time, which stops a body wherever it points."""

    def __init__(self, J: Array, time_s: float) -> None:
        self._J, self._time_s = np.asarray(J), time_s

    def start(self, leading_shape: tuple[int, ...]) -> tuple[()]:
        """Return no memory."""
        return ()

    def command(self, estimate: Any, reference: Any, memory: Any) -> tuple[Array, Any]:
        """Return the torque."""
        return _damped(estimate.w_B, self._J, self._time_s), memory


@batched("(3),(3,3),()->(3)")
def _damped(w_B, J, time_s):
    """Return the torque against a rate."""
    return -(J @ w_B) / time_s


class RateDampingPart(LawPart):
    """Stops the body wherever it points, by the believed rate alone; needs no guidance."""

    kind: Literal["rate-damping"] = "rate-damping"
    guided: ClassVar[bool] = False
    time_s: Positive = 20.0
    """In which the rate falls to 1/e."""

    def build(self, known: Known) -> RateDamping:
        """Return the law."""
        return RateDamping(known.J, max(self.time_s, 2.0 * known.control_s))
