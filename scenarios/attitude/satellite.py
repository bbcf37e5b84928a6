"""The truth of a satellite that turns: body, wheels, magnetic torquers and what disturbs it, with its books kept."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from gnc import quaternion
from gnc.batch import batched
from gnc.integrators import attitude_method
from gnc.models import rates
from gnc.models.actuators import Magnetorquers, ReactionWheels, WheelState
from gnc.models.environment import Disturbances
from gnc.scenarios.attitude.sky import Sky

Array = Any
NONE = np.zeros(3)


class SatelliteState(NamedTuple):
    """Attitude and total momentum; w_B is kept beside them for those who look."""

    q_IB: Array  # (trials, 4)
    P_B: Array  # (trials, 3) J w + rho [kg m^2/s]
    w_B: Array  # (trials, 3) [rad/s]
    wheels: Array  # (trials, n) momentum of each [N m s]
    tau_B: Array  # (trials, 3) external torque at this moment [N m]
    impulse_I: Array  # (trials, 3) of all external torques since the start [N m s]


class Command(NamedTuple):
    """What flight software asks of the actuators."""

    wheels: Array  # (trials, n) torque of each on the body [N m]
    dipole_B: Array = NONE  # (trials, 3) [A m^2]


class Report(NamedTuple):
    """What the actuators tell."""

    wheels: Array  # (trials, n) momentum of each [N m s]
    rho_B: Array  # (trials, 3) of all [N m s]


@dataclass(frozen=True, eq=False)
class Satellite:
    """Half a kick by the external torques, a drift with the wheels at work, half a kick.

    The drift turns the body and leaves the inertial momentum as it is, so the books close to rounding:
    R P - R_0 P_0 = sum of R tau h/2 at both ends of every step.
    """

    J: Array  # (..., 3, 3) of body and wheels [kg m^2]
    sky: Sky
    disturbances: Disturbances | None
    wheels: ReactionWheels | None = None
    torquers: Magnetorquers | None = None
    method: str = "taylor"  # none of those that the filters use

    def start(self, q_IB: Array, w_B: Array, wheels: Array) -> SatelliteState:
        """Return the state at time zero, before any command."""
        rho_B = self._rho(wheels)
        P_B = rates.to_momentum(w_B, self.J, rho_B)
        tau_B = self.torque(q_IB, NONE, 0.0)
        return SatelliteState(q_IB, P_B, rates.to_rate(P_B, self.J, rho_B), wheels, tau_B, np.zeros_like(P_B))

    def torque(self, q_IB: Array, dipole_B: Array, t: float) -> Array:
        """Return the external torque at an attitude and time [N m]."""
        env = self.sky.at(t)
        tau_B = np.zeros((*np.shape(q_IB)[:-1], 3))
        if self.disturbances is not None:
            tau_B = tau_B + self.disturbances.torque(q_IB, env)
        if self.torquers is not None:
            B_B = quaternion.inverse_rotate(q_IB, env.B_I)
            tau_B = tau_B + self.torquers.apply(dipole_B, None, 0.0, B_B)[0]
        return tau_B

    def step(self, x: SatelliteState, command: Command, t: float, h: float) -> SatelliteState:
        """Move over h; the torquers switch at once, so their torque at the start is that of the new command."""
        start = x.tau_B if self.torquers is None else self.torque(x.q_IB, command.dipole_B, t)
        before = self._rho(x.wheels)
        wheels = x.wheels if self.wheels is None else self.wheels.apply(command.wheels, WheelState(x.wheels), h)[1][0]
        after = self._rho(wheels)
        P_B = rates.kick(x.P_B, start, h)
        q_IB, P_B = attitude_method(self.method).advance(1, x.q_IB, P_B, NONE, self.J, 0.5 * (before + after), h)
        end = self.torque(q_IB, command.dipole_B, t + h)
        P_B = rates.kick(P_B, end, h)
        impulse_I = _impulse(x.impulse_I, x.q_IB, start, q_IB, end, h)
        return SatelliteState(q_IB, P_B, rates.to_rate(P_B, self.J, after), wheels, end, impulse_I)

    def report(self, x: SatelliteState) -> Report:
        """Return the wheels' momentum, by their tachometers."""
        return Report(x.wheels, self._rho(x.wheels))

    def _rho(self, wheels: Array) -> Array:
        return np.zeros((*wheels.shape[:-1], 3)) if self.wheels is None else self.wheels.momentum_B(WheelState(wheels))


@batched("(4),(3)->(3)")
def inertial_momentum(q_IB, P_B):
    """Return R P."""
    return quaternion.rotate(q_IB, P_B)


@batched("(3),(4),(3),(4),(3),()->(3)")
def _impulse(impulse_I, q_start, start_B, q_end, end_B, h):
    """Return the impulse with that of one step added."""
    return impulse_I + (0.5 * h) * (quaternion.rotate(q_start, start_B) + quaternion.rotate(q_end, end_B))
