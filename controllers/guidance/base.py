"""What every kind of guidance gives a flight."""

from __future__ import annotations

from typing import Any, ClassVar, Protocol

from gnc.models.craft.base import Report
from gnc.models.known import Known
from gnc.parts import Part

Array = Any


class Guidance(Protocol):
    """What makes references."""

    def start(self, estimate: Any, report: Report) -> Any:
        """Return the memory before the first reference."""

    def guide(self, t: Any, estimate: Any, report: Report, memory: Any) -> tuple[Any, Any]:
        """Return the reference at a time, and what to remember."""


class Plan:
    """Guidance that depends on time alone."""

    def at(self, t: Any) -> Any:
        """Return the reference."""
        raise NotImplementedError

    def start(self, estimate: Any, report: Report) -> tuple[()]:
        """Return no memory."""
        return ()

    def guide(self, t: Any, estimate: Any, report: Report, memory: Any) -> tuple[Any, Any]:
        """Return the reference at a time."""
        return self.at(t), memory


class GuidancePart(Part):
    """What to do: an attitude or a pose to hold or to follow."""

    slot: ClassVar[str] = "guidance"
    needs_orbit: ClassVar[bool] = False

    def build(self, known: Known) -> Guidance:
        """Return the guidance."""
        raise NotImplementedError
