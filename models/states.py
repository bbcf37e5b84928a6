"""States that several models, sensors and filters share."""

from __future__ import annotations

from typing import Any, NamedTuple

Array = Any


class AttitudeState(NamedTuple):
    """Attitude and rate of a body; filters describe its error by (a, dw), q = q^ exp(a/2) and w = w^ + dw."""

    q_IB: Array  # (..., 4) unit quaternion, takes body components to inertial ones
    w_B: Array  # (..., 3) rate against inertial space, body axes [rad/s]
