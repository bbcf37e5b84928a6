"""A linear-quadratic regulator of the pose as a part of a mission."""

from __future__ import annotations

from typing import ClassVar, Literal

import numpy as np

from gnc import dual_quaternion
from gnc.config import Positive
from gnc.controllers.laws.base import Demand, LawPart
from gnc.controllers.regulator import PoseRegulator
from gnc.models.known import Known, together
from gnc.models.pose_body import PoseBody, PoseState


class PoseLqrPart(LawPart):
    """A discrete LQR of pose and twist on the exact Jacobian of the integrator's step at rest."""

    kind: Literal["pose-lqr"] = "pose-lqr"
    demand: ClassVar[Demand] = "wrench"
    docked: tuple[str, ...] = ()
    """Other craft that are docked to the own one: the law is designed for all of them as one body."""
    attitude_deg: Positive = 1.0
    """An attitude error that costs as much as each of those below."""
    position_m: Positive = 0.02
    rate_deg_s: Positive = 0.2
    velocity_m_s: Positive = 0.01
    torque_Nm: Positive = 0.2
    force_N: Positive = 1.0

    def build(self, known: Known) -> PoseRegulator:
        """Return the law."""
        from gnc.controllers.lqr import lqr  # here: python-control takes a second to load

        M, turns = together(known, self.docked), np.radians([self.attitude_deg, self.rate_deg_s])
        Q = np.repeat([turns[0], self.position_m, turns[1], self.velocity_m_s], 3) ** -2.0
        R = np.repeat([self.torque_Nm, self.force_N], 3) ** -2.0
        rest = PoseState(dual_quaternion.from_pose(np.eye(4)[0], np.zeros(3)), np.zeros(6))
        return PoseRegulator(K=lqr(PoseBody(M), rest, np.zeros(6), known.control_s, Q, R).K, M=M)
