"""PID attitude tracking as a part of a mission."""

from __future__ import annotations

from typing import Literal

import numpy as np

from gnc.config import Positive
from gnc.controllers.laws.pd import PdPart
from gnc.controllers.pid import AttitudePid
from gnc.models.actuators.reaction_wheels import WheelSet
from gnc.models.known import Known


class PidPart(PdPart):
    """PD+ attitude tracking with an integral and no wind-up: constant torques leave no error."""

    kind: Literal["pid"] = "pid"  # type: ignore[assignment]
    integral_s: Positive = 100.0
    """Time constant by which the integral takes over."""
    limit_Nm: Positive | None = None
    """Torque of an axis beyond which nothing is integrated; by default that of a wheel, none without wheels."""

    def build(self, known: Known) -> AttitudePid:  # type: ignore[override]
        """Return the law."""
        pd = super().build(known)
        wheels = [np.min(one.wheels.torque_limit) for one in known.effectors.values() if isinstance(one, WheelSet)]
        limit = self.limit_Nm if self.limit_Nm is not None else min(wheels, default=np.inf)
        return AttitudePid(pd=pd, Ki=pd.Kp / self.integral_s, limit=limit, period_s=known.control_s)
