"""How a sensor sits on the body: its axes S, and three axes that are neither straight nor equally long.

A sensor is mounted at q_BS and turned away from there by the rotation vector `misalignment` (in S): its real axes are
q_BS exp(misalignment/2). One that measures a vector v along three axes with factors 1 + scale reads D_SB v_B.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gnc import check, quaternion
from gnc.batch import batched, maximum, minimum, where
from gnc.linalg import array, solve3
from gnc.models.parameters import store
from gnc.typing import Array

ALIGNED = (1.0, 0.0, 0.0, 0.0)  # q_BS of a sensor whose axes are the body's
ZERO = (0.0, 0.0, 0.0)


def store_mounting(sensor: Any) -> Array:
    """Check the rate and the mounting of a sensor, from its __post_init__, and return its real q_BS."""
    q_BS = check.unit_quaternion("q_BS", sensor.q_BS)
    misalignment = check.vector("misalignment", sensor.misalignment, 3)
    store(sensor, rate_hz=float(check.positive("rate_hz", sensor.rate_hz)), q_BS=q_BS, misalignment=misalignment)
    return quaternion.mul(q_BS, quaternion.exp(misalignment))


@batched("(4),(3)->(3,3)")
def sensitivity(q_BS, scale):
    """Return D_SB = diag(1 + scale) R_SB."""
    R_SB = quaternion.to_matrix(q_BS).T
    return array([(1.0 + scale[i]) * R_SB[i] for i in range(3)])


def read(z: Array, most: Array, quantum: Array) -> Array:
    """Return a reading in whole quanta, and at most so large, if the sensor has either."""
    return _read(z, most, quantum) if np.any(np.isfinite(most)) or np.any(quantum > 0.0) else z


@batched("(3),(),()->(3)")
def _read(z, most, quantum):
    """Return a reading in whole quanta, and at most so large."""
    step = where(quantum > 0.0, quantum, 1.0)
    whole = where(quantum > 0.0, step * np.rint(z / step), z)
    return minimum(maximum(whole, -most), most)


@batched("(3),(3,3),(3)->(3)")
def in_body(z, D_SB, bias):
    """Return the body vector that reads z: D_SB^-1 (z - bias)."""
    return solve3(D_SB, z - bias)
