"""What every kind of event gives a flight."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from gnc.draws import Draws
from gnc.errors import InputError
from gnc.events import Event
from gnc.history import Signal
from gnc.parts import Part
from gnc.typing import Array


class EventPart(Part):
    """Something that happens after a step of the truth, once per trial."""

    slot: ClassVar[str] = "event"

    def build(self, name: str, craft: Mapping[str, Any], sections: Mapping[str, Any], draws: Draws) -> Happening:
        """Return the event; the truth is a tuple with the state of each craft, in the order of `craft`."""
        raise NotImplementedError


class Happening:
    """An event, built: when it happens, what becomes of the truth, and what is told of it."""

    signals: ClassVar[Mapping[str, Signal]] = {}

    def __init__(self, name: str, craft: Sequence[str]) -> None:
        self.name, self.craft = name, list(craft)

    def happens(self, x: tuple[Any, ...], t: float) -> Array:
        """Tell where it happens (trials,)."""
        raise NotImplementedError

    def begin(self, x: tuple[Any, ...]) -> tuple[Any, ...]:
        """Return the truth at time zero, with what it holds together from the start."""
        return x

    def act(self, x: tuple[Any, ...], t: float) -> tuple[Any, ...]:
        """Return the truth after it."""
        return x

    def hold(self, x: tuple[Any, ...]) -> tuple[Any, ...]:
        """Return the truth at the end of every step, with what it holds together from then on; without branches."""
        return x

    def observe(self, x: tuple[Any, ...]) -> Mapping[str, Array]:
        """Return the values of its signals."""
        return {}

    def event(self) -> Event:
        """Return it as the loop takes it."""
        return Event(self.name, self.happens, self.act)


def place(name: str, of: str, craft: Mapping[str, Any]) -> int:
    """Return the place among all craft of the one that an event is of."""
    if of not in craft:
        raise InputError(f"events.{name}: {of!r} is no craft; there are {', '.join(craft)}")
    return list(craft).index(of)
