"""The pose filter as it is usually written, for comparison: midpoint rule and a truncated transition matrix.

The rotation about the centre of mass takes one explicit midpoint step, F = 1 + h A + (h A)^2/2 at its middle
(`standard_mekf`); the centre itself moves evenly, which is exact. All else is `DqEkf`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gnc import quaternion
from gnc.estimators import centre_motion
from gnc.estimators.dqekf import DqEkf
from gnc.estimators.pose_belief import PoseBelief
from gnc.estimators.standard_mekf import midpoint_jacobian
from gnc.typing import Array

NO_TORQUE = np.zeros(3)


def _turned(q_IB: Array, P_B: Array, J: Array, rho_B: Array, h: Array) -> tuple[Array, Array, Array]:
    q_IB, P_B, F, _ = midpoint_jacobian(q_IB, P_B, NO_TORQUE, J, rho_B, h)
    return quaternion.normalize(q_IB), P_B, F


def move(dq_IB: Array, chi_B: Array, M: Array, h: Array) -> tuple[Array, Array, Array]:
    """Return pose and twist of a free body after h, and the truncated F."""
    return centre_motion.drift(_turned, dq_IB, chi_B, M, h)


@dataclass(frozen=True, eq=False)
class MidpointDqEkf(DqEkf):
    """A `DqEkf` of a free body that knows no better."""

    def _flown(self, at: PoseBelief, C: Array, wrench_B: Array | None, h: Array) -> tuple[Array, ...]:
        """Move a free body over h, in one step."""
        dq_IB, chi_B, F = move(*self.state(at), self.M, h)
        return dq_IB, chi_B, F, self._noise(at.chi_B, chi_B, None, self.M, h), NO_EXTRAS


NO_EXTRAS = np.zeros((12, 0))
