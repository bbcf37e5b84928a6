"""The MEKF as the loop's navigation: which sensors it trusts, which torques it knows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from gnc import quaternion
from gnc.batch import batched
from gnc.estimators.attitude_belief import Belief
from gnc.estimators.kalman import Innovation
from gnc.estimators.mekf import Mekf
from gnc.linalg import cross
from gnc.models.environment import GravityGradient
from gnc.models.environment.sky import Sky
from gnc.scenarios.attitude.satellite import Command, Report

Array = Any


@dataclass(frozen=True, eq=False)
class MekfNavigation:
    """A filter that knows the wheels by their tachometers, gravity by its inertia, torquers by their command."""

    mekf: Mekf
    sensors: Mapping[str, Any]  # as the filter believes them to be
    sky: Sky
    gravity: GravityGradient | None = None
    torquers: bool = False
    ungated_s: float = 0.0  # until then all measurements are let in, while the rate is being acquired

    def predict(self, belief: Belief, command: Command, report: Report, t: float, h: float) -> Belief:
        """Move over h; the environment is that of the middle."""
        env = self.sky.at(t + 0.5 * h)
        tau_B = np.zeros((*np.shape(belief.q_IB)[:-1], 3))
        if self.gravity is not None:
            tau_B = tau_B + self.gravity.torque(belief.q_IB, env)
        if self.torquers:
            tau_B = tau_B + magnetic_torque(belief.q_IB, command.dipole_B, env.B_I)
        return self.mekf.predict(belief, tau_B, h, report.rho_B, env)

    def update(self, belief: Belief, name: str, measurement: Any, t: float) -> tuple[Belief, Innovation]:
        """Correct with a measurement."""
        gated = t >= self.ungated_s
        return self.mekf.update(belief, self.sensors[name], measurement, self.sky.at(t), gated=gated)


@batched("(4),(3),(3)->(3)")
def magnetic_torque(q_IB, dipole_B, B_I):
    """Return m x B in body axes."""
    return cross(dipole_B, quaternion.inverse_rotate(q_IB, B_I))
