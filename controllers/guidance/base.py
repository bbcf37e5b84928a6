"""What every kind of guidance gives a flight."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, NamedTuple, Protocol

from gnc.models.craft.base import Report
from gnc.models.known import Known
from gnc.parts import Part
from gnc.typing import Array


class View(NamedTuple):
    """What guidance is shown to tell how well it is followed."""

    craft: str  # the own one
    truth: Mapping[str, Any]  # states of all craft
    estimate: Any
    wanted: Array  # (trials, 4 or 8) the reference that holds
    told: Mapping[str, Array]  # values of the own craft's signals
    t: float


class Guidance(Protocol):
    """What makes references.

    It may have `signals` with observe(view) -> values of them, which compare with the truth; `words` with
    asked(word, t, estimate) -> a number of each trial that guards may ask for; and, if its part has `legs`,
    enter(memory, leg, estimate) -> the memory of a leg that begins. `wanted` is 8 if its references are poses.
    """

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
    poses: ClassVar[bool] = False  # whether it asks for poses, not for attitudes
    legs: ClassVar[tuple[str, ...]] = ()  # modes that stand for the mode with this guidance, one after the other

    def ways(self, mode: str) -> list[tuple[str, str, str]]:
        """Return from which leg to which it usually goes, and when; `mode` is the name of the mode in its file."""
        return []

    def build(self, known: Known) -> Guidance:
        """Return the guidance."""
        raise NotImplementedError
