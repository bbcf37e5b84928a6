"""A load of the user's own."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

from gnc.draws import Draws
from gnc.models.loads.base import LoadPart
from gnc.parts import OwnPart


class OwnLoad(OwnPart, LoadPart):
    """A load of your own: a class with torque(q_IB, env) -> tau_B [N m], and force(q_IB, env) where the craft moves."""

    kind: Literal["own"] = "own"
    needs_orbit: ClassVar[bool] = False

    def truth(self, name: str, J: Any, draws: Draws) -> Any:
        """Return the load; the class is given J, draws and trials if it asks for them."""
        return self.made(J=J, draws=draws, trials=len(draws.trials))
