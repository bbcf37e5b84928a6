"""How a filter did over many trials, lost ones apart."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from gnc.typing import Array

LOST_DEG = 45.0  # a trial whose error in the second half is larger follows the truth no more


class Bound(NamedTuple):
    """The Cramer-Rao bound on RMS errors."""

    deg: float
    m: float | None = None


class Score(NamedTuple):
    """RMS errors and mean NEES of the trials that were kept."""

    deg: float
    nees: float
    lost: int
    m: float | None = None
    nees_inertial: float | None = None  # in (a, inertial momentum), by sigma points


def scored(
    angle_square: Array, nees: Array, position_square: Array | None = None, inertial: Array | None = None
) -> Score:
    """Judge trials by their mean squares in the second half [rad^2, m^2] and mean NEES."""
    kept = np.degrees(np.sqrt(angle_square)) < LOST_DEG  # false for NaN
    lost = int(np.sum(~kept))
    if not kept.any():
        return Score(np.nan, np.nan, lost, None if position_square is None else np.nan)
    metres = None if position_square is None else float(np.sqrt(position_square[kept].mean()))
    other = None if inertial is None else float(inertial[kept].mean())
    return Score(float(np.degrees(np.sqrt(angle_square[kept].mean()))), float(nees[kept].mean()), lost, metres, other)
