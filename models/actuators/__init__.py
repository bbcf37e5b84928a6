"""Actuators: each turns a command into the load that really acts on the body, per trial.

    actuator.apply(command, state, h) -> load, state      over one control interval of h seconds, the command held

| actuator | command | state | load, the average over the interval |
|---|---|---|---|
| `ReactionWheels` | (..., n) torque on the body about each wheel's axis [N m] | `WheelState` | tau_B (..., 3) |
| `Magnetorquers` | (..., 3) dipole, body axes [A m^2] | None | tau_B (..., 3), with the field B_B as fourth argument |
| `Thrusters` | (..., n) fraction of the interval each is on | `ThrusterState` | wrench_B (..., 6) = [torque, force] |

The wheels' torque is internal: `Gyrostat.step(x, external torque, h, rho_rate_B=-tau_B)` keeps the total momentum.

Limits, axes and friction are parameters, dispersed over the trials if wanted. Flight software has its own copy of the
object, with the nominal ones. `saturation` says what happens where a command is beyond the limits: "direction" scales
all parts of the command by one factor, so that the torque keeps its direction; "each" limits every part by itself.
"""

from gnc.models.actuators.magnetorquers import Magnetorquers
from gnc.models.actuators.reaction_wheels import ReactionWheels, WheelState, pyramid_axes
from gnc.models.actuators.thrusters import Thrusters, ThrusterState

__all__ = ["Magnetorquers", "ReactionWheels", "ThrusterState", "Thrusters", "WheelState", "pyramid_axes"]
