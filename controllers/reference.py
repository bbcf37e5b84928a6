"""What guidance asks of a control law: the reference frame R, its motion and its acceleration.

All of a reference is told in R's own axes, so that it does not depend on where the body is:

    q_IR' = q_IR o w_R / 2        w_R, wdot_R     rate of R against I and its derivative, R axes
    dq_IR' = dq_IR o chi_R / 2    chi_R, chidot_R  twist [w_R, v_R] of R against I, R axes, and its derivative

v_R is the inertial velocity of R's origin in R axes; chidot_R = [wdot_R, vdot_R] is the derivative of these numbers, so
that the acceleration of the origin is vdot_R + w_R x v_R. A law turns them into body axes itself. Arrays have any
leading axes that broadcast with the trials'.
"""

from typing import Any, NamedTuple

import numpy as np

Array = Any


class AttitudeReference(NamedTuple):
    """An attitude to hold or to follow; by default at rest against inertial space."""

    q_IR: Array  # (..., 4) takes reference components to inertial ones
    w_R: Array = np.zeros(3)  # (..., 3) rate of R against I, R axes [rad/s]
    wdot_R: Array = np.zeros(3)  # (..., 3) its derivative, the same in R axes and in inertial space [rad/s^2]


class PoseReference(NamedTuple):
    """A pose to hold or to follow; by default at rest against inertial space."""

    dq_IR: Array  # (..., 8) takes reference components to inertial ones
    chi_R: Array = np.zeros(6)  # (..., 6) twist [w_R, v_R] of R against I, R axes [rad/s, m/s]
    chidot_R: Array = np.zeros(6)  # (..., 6) derivative of those numbers [rad/s^2, m/s^2]
