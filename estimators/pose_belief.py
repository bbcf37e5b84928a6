"""What a filter of pose and twist believes."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from gnc.notebook import of_belief
from gnc.typing import Array


class PoseBelief(NamedTuple):
    """Estimate and covariance of every trial, and a state that sensors predict from; NaN marks a lost trial."""

    dq_IB: Array  # (..., 8)
    chi_B: Array  # (..., 6) twist [w, v] of the reference point, body axes [rad/s, m/s]
    extras: Array  # (..., k) the extra states, one after the other
    C: Array  # (..., 12 + k, 12 + k) covariance of (dxi, dchi, extras)
    watch: Array  # (..., 24) how much the filter doubts itself, see `recovery`
    idle: Array  # (...) since the last measurement [s]
    recoveries: Array  # (...) how often the covariance was inflated

    def _repr_html_(self) -> str:
        return of_belief(self)


def lost(belief: PoseBelief) -> Array:
    """Tell which trials have no belief left."""
    return ~np.isfinite(belief.dq_IB[..., 0])
