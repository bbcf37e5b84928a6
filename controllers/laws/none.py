"""No control, as a part of a mission."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

import numpy as np

from gnc.controllers.laws.base import LawPart
from gnc.models.known import Known
from gnc.typing import Array


class Coast:
    """A law that asks for nothing."""

    def start(self, leading_shape: tuple[int, ...]) -> tuple[()]:
        """Return no memory."""
        return ()

    def command(self, estimate: Any, reference: Any, memory: Any) -> tuple[Array, Any]:
        """Return no torque."""
        return np.zeros(np.shape(estimate.w_B)), memory


class NonePart(LawPart):
    """No control: the craft drifts."""

    kind: Literal["none"] = "none"
    guided: ClassVar[bool] = False

    def build(self, known: Known) -> Coast:
        """Return the law."""
        return Coast()
