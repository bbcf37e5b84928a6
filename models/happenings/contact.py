"""Events of a craft that lands: the first contact, and rest."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal

from gnc.config import Positive
from gnc.draws import Draws
from gnc.errors import InputError
from gnc.models.happenings.base import EventPart, Happening, place
from gnc.typing import Array


class Landing(Happening):
    """The moment at which something first is true of a craft that lands."""

    def __init__(self, name: str, craft: list[str], which: int, true_of: Callable[[Any], Array]) -> None:
        super().__init__(name, craft)
        self._which, self._true_of = which, true_of

    def happens(self, x: tuple[Any, ...], t: float) -> Array:
        """Tell where it is true."""
        return self._true_of(x[self._which])


def _landing(name: str, of: str, craft: Mapping[str, Any], true_of: Callable[[Any], Array]) -> Landing:
    which = place(name, of, craft)
    if not hasattr(craft[of].start(), "still_s"):
        raise InputError(f'events.{name}.of = {of!r}: touches nothing; give a craft of kind = "contact"')
    return Landing(name, list(craft), which, true_of)


class ContactEventPart(EventPart):
    """When a craft first touches the ground; it changes nothing."""

    kind: Literal["contact"] = "contact"
    of: str
    """The craft."""

    def build(self, name: str, craft: Mapping[str, Any], sections: Mapping[str, Any], draws: Draws) -> Landing:
        """Return the event."""
        return _landing(name, self.of, craft, lambda x: x.touched)


class RestPart(EventPart):
    """When a craft has been at rest on the ground for a while; it changes nothing."""

    kind: Literal["rest"] = "rest"
    of: str
    """The craft."""
    for_s: Positive = 1.0
    """Without a break."""

    def build(self, name: str, craft: Mapping[str, Any], sections: Mapping[str, Any], draws: Draws) -> Landing:
        """Return the event."""
        return _landing(name, self.of, craft, lambda x: x.still_s >= self.for_s)
