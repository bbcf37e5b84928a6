"""Frames: I is inertial (GCRS), E fixed to the Earth (ITRS), TEME the frame of two-line elements.

All from IAU models in pyerfa, without tables and hence without a network: polar motion (below 0.6 arcsec) is left out,
and UT1 is UTC (within 0.9 s). In low orbit that is at most 450 m along the ground and 3 nT of the field; inertial
positions from two-line elements do not feel it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from gnc.models.environment.epoch import Epoch

Array = NDArray[np.float64]


def inertial_to_earth(epoch: Epoch, t: Any) -> Array:
    """Return R_EI (..., 3, 3), GCRS to ITRS, t seconds after the epoch: precession, IAU 2000B nutation, rotation."""
    import erfa

    return erfa.c2t00b(*epoch.tt(t), *epoch.ut1(t), 0.0, 0.0)


def teme_to_inertial(epoch: Epoch, t: Any) -> Array:
    """Return the matrix (..., 3, 3) from TEME to GCRS: to the Earth by the mean sidereal time of 1982, and back.

    It turns by 50 arcsec a year, so velocities change as vectors do, to 0.1 mm/s.
    Source: Vallado et al., "Revisiting Spacetrack Report #3", AIAA 2006-6753, appendix C.
    """
    import erfa

    teme_to_earth = erfa.rz(erfa.gmst82(*epoch.ut1(t)), np.eye(3))
    return np.swapaxes(inertial_to_earth(epoch, t), -1, -2) @ teme_to_earth


def turn(R_AB: Array, v_B: Array) -> Array:
    """Return v_A = R_AB v_B over any leading axes."""
    return np.einsum("...ij,...j->...i", R_AB, v_B)
