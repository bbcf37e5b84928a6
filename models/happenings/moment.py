"""An event that only takes down when something first was true of a craft."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import numpy as np

from gnc.batch import batched
from gnc.config import Positive
from gnc.draws import Draws
from gnc.models.happenings.base import EventPart, Happening, place
from gnc.models.sensors.interface import rate
from gnc.typing import Array


class SlowBody(Happening):
    """The moment from which a body has turned slower than a rate."""

    def __init__(self, name: str, craft: list[str], which: int, limit: float) -> None:
        super().__init__(name, craft)
        self._which, self._limit = which, limit

    def happens(self, x: tuple[Any, ...], t: float) -> Array:
        """Tell where the body is slow."""
        return _square(rate(x[self._which])) < self._limit**2


@batched("(3)->()")
def _square(v):
    """Return |v|^2."""
    return v @ v


class SlowPart(EventPart):
    """When a craft first turns slower than a rate; it changes nothing."""

    kind: Literal["slow"] = "slow"
    of: str
    """The craft."""
    rate_deg_s: Positive = 0.5

    def build(self, name: str, craft: Mapping[str, Any], sections: Mapping[str, Any], draws: Draws) -> SlowBody:
        """Return the event."""
        return SlowBody(name, list(craft), place(name, self.of, craft), float(np.radians(self.rate_deg_s)))
