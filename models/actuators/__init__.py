"""Actuators: each turns a command into the load that really acts on the body, per trial.

    wheels.apply(command, momentum, h) -> tau_B, momentum           over h seconds, the command held
    thrusters.apply(command, impulse, h) -> wrench_B, impulse
    torquers.dipole_B(command) -> m_B                               tau_B = m_B x B_B

| actuator | command | state | load, the average over the interval |
|---|---|---|---|
| `ReactionWheels` | (..., n) torque on the body by each wheel [N m] | momentum of each [N m s] | tau_B (..., 3) |
| `Thrusters` | (..., n) fraction of h each is on | impulse of each [N s] | wrench_B (..., 6) = [torque, force] |
| `Magnetorquers` | (..., 3) dipole, body axes [A m^2] | none | tau_B (..., 3) |

The wheels' torque is internal: `Gyrostat.step(x, external torque, h, rho_rate_B=-tau_B)` keeps the total momentum.

Limits, axes and friction are parameters, dispersed over the trials if wanted. Flight software has its own copy of the
object, with the nominal ones. `saturation` says what happens where a command is beyond the limits: "direction" scales
all parts of the command by one factor, so that the torque keeps its direction; "each" limits every part by itself.
"""

from gnc.models.actuators.magnetorquers import Magnetorquers
from gnc.models.actuators.reaction_wheels import ReactionWheels, pyramid_axes
from gnc.models.actuators.thrusters import Thrusters

__all__ = ["Magnetorquers", "ReactionWheels", "Thrusters", "pyramid_axes"]
