"""A constant torque as a part of a mission."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from gnc.config import NonNegative, Vector3
from gnc.draws import Draws, column
from gnc.models.loads.base import LoadPart
from gnc.typing import Array


@dataclass(frozen=True, eq=False)
class ConstantTorque:
    """A torque that stays the same in body axes."""

    tau_B: Array  # (..., 3) [N m]

    def torque(self, q_IB: Array, env: Any) -> Array:
        """Return the torque."""
        return self.tau_B

    def force(self, q_IB: Array, env: Any) -> Array:
        """Return no force."""
        return np.zeros(3)


class TorqueLoad(LoadPart):
    """A torque, constant in body axes, that flight software does not know."""

    kind: Literal["torque"] = "torque"
    needs_orbit: ClassVar[bool] = False
    size_Nm: NonNegative = 1e-4
    """Size of a torque in a random direction."""
    fixed_Nm: Vector3 = (0.0, 0.0, 0.0)
    """A torque that all trials have beside it, body axes."""

    def truth(self, name: str, J: Any, draws: Draws) -> ConstantTorque:  # type: ignore[override]
        """Return the torque of each trial."""
        return ConstantTorque(column(self.size_Nm) * draws.direction(name) + self.fixed_Nm)

    def unsure(self, J: Any, env: Any) -> Array:
        """Return all of the torque."""
        return np.sqrt(self.size_Nm**2 / 3.0 + np.square(self.fixed_Nm))
