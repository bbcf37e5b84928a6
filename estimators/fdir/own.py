"""A watch of the user's own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from gnc.estimators.fdir.base import Fdir, FdirPart
from gnc.models.craft.base import Report
from gnc.models.known import Known
from gnc.parts import OwnPart
from gnc.typing import Array


class OwnWatch(Fdir):
    """A user's class, which may leave methods out."""

    def __init__(self, own: Any) -> None:
        self.own = own

    def start(self, trials: int) -> Any:
        """Return the memory before the flight."""
        return self.own.start(trials)

    def innovation(self, memory: Any, name: str, valid: Array, made: Any, t: Any) -> Any:
        """Return the memory after a measurement."""
        see = getattr(self.own, "innovation", None)
        return memory if see is None or made is None else see(memory, name, valid, made, t)

    def telemetry(self, memory: Any, command: Mapping[str, Array], report: Report, t: Any, h: Any) -> Any:
        """Return the memory after h."""
        see = getattr(self.own, "telemetry", None)
        return memory if see is None else see(memory, command, report, t, h)

    def excluded(self, memory: Any) -> Mapping[str, Array]:
        """Return what is left out."""
        return self.own.excluded(memory)


class OwnFdir(OwnPart, FdirPart):
    """A watch of your own: a class with start(trials) -> memory and excluded(memory) -> {part: 1 where left out}.

    It sees by innovation(memory, name, valid, made, t) -> memory, telemetry(memory, command, report, t, h) -> memory.
    It is given J, sensors, actuators, sky, h, period_s, trials if its constructor asks for them by these names.
    """

    kind: Literal["own"] = "own"

    def build(self, known: Known) -> OwnWatch:
        """Return the watch."""
        return OwnWatch(self.made(**known.offered()))
