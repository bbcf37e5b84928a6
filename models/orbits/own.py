"""An orbit of the user's own."""

from __future__ import annotations

from typing import Any, Literal

from gnc.models.environment.epoch import Epoch
from gnc.models.environment.orbit import OrbitState
from gnc.models.orbits.base import OrbitPart
from gnc.parts import OwnPart


class _Path:
    """A user's orbit with its epoch as the program needs it."""

    def __init__(self, own: Any) -> None:
        self._own, self.epoch = own, Epoch.of(getattr(own, "epoch", "2025-03-20T09:01:00"))

    def at(self, t: Any) -> OrbitState:
        """Return position and velocity."""
        return OrbitState(*self._own.at(t))


class OwnOrbit(OwnPart, OrbitPart):
    """An orbit of your own: a class with at(t) -> (r_I, v_I) [m, m/s] for an array of times, and perhaps epoch."""

    kind: Literal["own"] = "own"

    def path(self) -> _Path:
        """Return the orbit."""
        return _Path(self.made())
