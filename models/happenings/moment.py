"""An event that only takes down when something first was true of a craft."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import numpy as np

from gnc.config import Positive
from gnc.draws import Draws
from gnc.errors import InputError
from gnc.models.happenings.base import EventPart, Happening
from gnc.models.sensors.error_state import rate

Array = Any


class SlowBody(Happening):
    """The moment from which a body has turned slower than a rate."""

    def __init__(self, name: str, craft: list[str], which: int, limit: float) -> None:
        super().__init__(name, craft)
        self._which, self._limit = which, limit

    def happens(self, x: tuple[Any, ...], t: float) -> Array:
        """Tell where the body is slow."""
        w_B = rate(x[self._which])
        return np.sqrt(w_B[..., 0] ** 2 + w_B[..., 1] ** 2 + w_B[..., 2] ** 2) < self._limit


class SlowPart(EventPart):
    """When a craft first turns slower than a rate; it changes nothing."""

    kind: Literal["slow"] = "slow"
    of: str
    """The craft."""
    rate_deg_s: Positive = 0.5

    def build(self, name: str, craft: Mapping[str, Any], sections: Mapping[str, Any], draws: Draws) -> SlowBody:
        """Return the event."""
        if self.of not in craft:
            raise InputError(f"events.{name}.of = {self.of!r}: there is no such craft; there are {', '.join(craft)}")
        return SlowBody(name, list(craft), list(craft).index(self.of), float(np.radians(self.rate_deg_s)))
