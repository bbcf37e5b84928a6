"""Hill's problem: a circle about the Earth, beside which craft move by Clohessy and Wiltshire's equations."""

from __future__ import annotations

from typing import ClassVar, Literal

from gnc.models.orbits.circular import Circular


class Hill(Circular):
    """A circle without J2, beside which craft move in Hill's linear field: Clohessy and Wiltshire's equations."""

    kind: Literal["hill"] = "hill"  # type: ignore[assignment]
    linear: ClassVar[bool] = True
    J2: ClassVar[bool] = False
