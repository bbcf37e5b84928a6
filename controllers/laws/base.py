"""What every kind of law gives a flight."""

from __future__ import annotations

from typing import Any, ClassVar, Literal, Protocol

from gnc.models.known import Known
from gnc.parts import Part
from gnc.typing import Array

Demand = Literal["torque", "wrench", "dipole"]


class Law(Protocol):
    """What turns an estimate and a reference into a demand: a torque (trials, 3), a wrench (trials, 6), a dipole."""

    def start(self, leading_shape: tuple[int, ...]) -> Any:
        """Return the memory before the first command."""

    def command(self, estimate: Any, reference: Any, memory: Any) -> tuple[Array, Any]:
        """Return the demand, body axes, and what to remember."""


class LawPart(Part):
    """How flight software follows a reference."""

    slot: ClassVar[str] = "law"
    demand: ClassVar[Demand] = "torque"
    guided: ClassVar[bool] = True  # whether it needs a reference

    def build(self, known: Known) -> Law:
        """Return the law."""
        raise NotImplementedError
