"""Basilisk's side: its example `scenarioAttitudeFeedback`, and a free tumble by any of its integrators.

Without gravity and without recording, which the example has: what is left is the least that Basilisk has to do. The
command reaches the body in the step that follows the measurement, as in our loop (in the example a step later).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from Basilisk.architecture import messaging
from Basilisk.fswAlgorithms import attTrackingError, inertial3D, mrpFeedback
from Basilisk.simulation import extForceTorque, simpleNav, spacecraft, svIntegrators
from Basilisk.utilities import SimulationBaseClass, macros

from gnc.typing import Array

FIXED = {"RK2": svIntegrators.svIntegratorRK2, "RK4": svIntegrators.svIntegratorRK4}
ADAPTIVE = {"RKF45": svIntegrators.svIntegratorRKF45, "RKF78": svIntegrators.svIntegratorRKF78}


class Simulation:
    """A spacecraft that goes on from where it is."""

    def __init__(self, J: Array, sigma_BN: Array, w_B: Array, h: float) -> None:
        self.sim = SimulationBaseClass.SimBaseClass()
        process = self.sim.CreateNewProcess("process")
        process.addTask(self.sim.CreateNewTask("task", macros.sec2nano(h)))
        self.body = spacecraft.Spacecraft()
        self.body.hub.mHub = 750.0
        self.body.hub.r_BcB_B = [[0.0], [0.0], [0.0]]
        self.body.hub.IHubPntBc_B = np.asarray(J).tolist()
        self.body.hub.sigma_BNInit = [[float(x)] for x in sigma_BN]
        self.body.hub.omega_BN_BInit = [[float(x)] for x in w_B]
        self.keep: list[Any] = []  # Basilisk points to them and does not own them
        self.stop_ns = 0

    def add(self, *modules: Any) -> None:
        """Run modules in this order at every step."""
        for module in modules:
            self.sim.AddModelToTask("task", module)
        self.keep += modules

    def run(self, seconds: float) -> None:
        """Go on for so long."""
        if self.stop_ns == 0:
            self.sim.InitializeSimulation()
        self.stop_ns += macros.sec2nano(seconds)
        self.sim.ConfigureStopTime(self.stop_ns)
        self.sim.ExecuteSimulation()

    @property
    def q_IB(self) -> Array:
        """The attitude now."""
        sigma = np.array(self.body.scStateOutMsg.read().sigma_BN)
        return np.array([1.0 - sigma @ sigma, *(2.0 * sigma)]) / (1.0 + sigma @ sigma)


def attitude_feedback(J: Array, sigma_BN: Array, w_B: Array, K: float, P: float, h: float) -> Simulation:
    """Return the example: hub, torque, perfect navigation, reference at rest, tracking error, MRP feedback."""
    s = Simulation(J, sigma_BN, w_B, h)
    torque, nav = extForceTorque.ExtForceTorque(), simpleNav.SimpleNav()
    reference, error, law = inertial3D.inertial3D(), attTrackingError.attTrackingError(), mrpFeedback.mrpFeedback()
    s.body.addDynamicEffector(torque)
    reference.sigma_R0N = [0.0, 0.0, 0.0]
    law.K, law.P, law.Ki, law.integralLimit = K, P, -1.0, -0.2  # a negative Ki turns the integral off
    about = messaging.VehicleConfigMsg().write(messaging.VehicleConfigMsgPayload(ISCPntB_B=np.ravel(J).tolist()))
    nav.scStateInMsg.subscribeTo(s.body.scStateOutMsg)
    error.attNavInMsg.subscribeTo(nav.attOutMsg)
    error.attRefInMsg.subscribeTo(reference.attRefOutMsg)
    law.guidInMsg.subscribeTo(error.attGuidOutMsg)
    law.vehConfigInMsg.subscribeTo(about)
    torque.cmdTorqueInMsg.subscribeTo(law.cmdTorqueOutMsg)
    s.add(s.body, nav, reference, error, law, torque)
    s.keep.append(about)
    return s


def tumble(integrator: str, J: Array, w_B: Array, h: float, tolerance: float | None = None) -> Simulation:
    """Return a free body; an adaptive integrator takes a tolerance, and h is how often it stops."""
    s = Simulation(J, np.zeros(3), w_B, h)
    method = {**FIXED, **ADAPTIVE}[integrator](s.body)
    if tolerance is not None:
        method.setRelativeTolerance(tolerance)
        method.setAbsoluteTolerance(tolerance)
    s.body.setIntegrator(method)
    s.keep.append(method)
    s.add(s.body)
    return s
