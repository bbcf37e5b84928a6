"""A residual magnetic dipole as a part of a mission."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from gnc.config import NonNegative, Vector3
from gnc.draws import Draws, column
from gnc.models.environment import ResidualDipole
from gnc.models.loads.base import LoadPart
from gnc.typing import Array


class DipoleLoad(LoadPart):
    """A magnetic dipole that stays in the craft; flight software does not know it, but may estimate it."""

    kind: Literal["dipole"] = "dipole"
    size_Am2: NonNegative = 0.02
    """Size of a dipole in a random direction."""
    fixed_Am2: Vector3 = (0.0, 0.0, 0.0)
    """A dipole that all trials have beside it, body axes."""

    def truth(self, name: str, J: Any, draws: Draws) -> ResidualDipole:
        """Return the dipole of each trial."""
        return ResidualDipole(column(self.size_Am2) * draws.direction(name) + self.fixed_Am2)

    def unsure(self, J: Any, env: Any) -> Array:
        """Return |m x B| about each axis for a field from anywhere: its mean square is (m_j^2 + m_k^2) B^2/3."""
        squares = self.size_Am2**2 / 3.0 + np.square(self.fixed_Am2)
        return np.sqrt((squares.sum() - squares) * (env.B_I @ env.B_I) / 3.0)
