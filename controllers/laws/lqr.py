"""A linear-quadratic regulator of the attitude as a part of a mission."""

from __future__ import annotations

from typing import Literal

import numpy as np

from gnc.config import Positive
from gnc.config.arrays import Gains
from gnc.controllers.laws.base import LawPart
from gnc.controllers.regulator import AttitudeRegulator
from gnc.models.known import Known
from gnc.models.rigid_body import RigidBody
from gnc.models.states import AttitudeState


class LqrPart(LawPart):
    """A discrete LQR on the exact Jacobian of the integrator's step at rest, or with gains of `gnc design lqr`."""

    kind: Literal["lqr"] = "lqr"
    attitude_deg: Positive = 1.0
    """An attitude error that costs as much as the rate and the torque below."""
    rate_deg_s: Positive = 0.05
    """A rate error that costs as much."""
    torque_Nm: Positive = 1e-3
    """A torque that costs as much."""
    K: Gains | None = None
    """Gains from (a, w - w_R) to the torque, in place of a design [N m/rad, N m s/rad]."""

    def build(self, known: Known) -> AttitudeRegulator:
        """Return the law; every trial has its own design where the believed inertia is dispersed."""
        J = np.asarray(known.J)
        if self.K is not None:
            return AttitudeRegulator(K=np.array(self.K), J=J)
        from gnc.controllers.lqr import lqr  # here: python-control takes a second to load

        angle, rate = np.radians(self.attitude_deg), np.radians(self.rate_deg_s)
        Q, R = np.repeat([angle**-2, rate**-2], 3), np.full(3, self.torque_Nm**-2)
        rest = AttitudeState(np.array([1.0, 0.0, 0.0, 0.0]), np.zeros(3))
        gains = [lqr(RigidBody(one), rest, np.zeros(3), known.control_s, Q, R).K for one in J.reshape(-1, 3, 3)]
        return AttitudeRegulator(K=np.reshape(gains, (*J.shape[:-2], 3, 6)), J=J)
