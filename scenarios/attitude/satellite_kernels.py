"""A whole step of a satellite in one kernel: wheels, half a kick, a drift, half a kick, and the books."""

from __future__ import annotations

import functools
import math

from gnc import quaternion
from gnc.batch import Kernel, batched, where
from gnc.integrators import attitude_method
from gnc.integrators.substeps import ANGLE, count
from gnc.linalg import cross, zeros
from gnc.models import rates
from gnc.models.actuators.reaction_wheels import spin_kernel, sum_kernel
from gnc.models.environment.disturbances import dipole_torque, gravity_gradient_torque
from gnc.models.environment.drag import drag_on_plates

PLATES = 6  # of the box that air drags on

# What of the environment turns the satellite, at one moment, and what it is like: see `External`.
AROUND = "(3),(3),(3),()"
LIKE = f"(3,3),(3),(),({PLATES}),({PLATES},3),({PLATES},3)"


@batched(f"(4),{AROUND},{LIKE}->(3)")
def external_torque(q_IB, r_I, B_I, air_I, strength, J, m_B, gravity, area, normal_B, centre_B):
    """Return the torque of gravity gradient (if `gravity` is 1), residual dipole and drag; strength is rho C/2."""
    air_B = quaternion.inverse_rotate(q_IB, air_I)
    drag_B, _ = drag_on_plates(PLATES)(air_B, strength, area, normal_B, centre_B)
    return gravity * gravity_gradient_torque(q_IB, r_I, J) + dipole_torque(q_IB, B_I, m_B) + drag_B


@functools.cache
def whole_step(method: str, wheels: int, saturation: str) -> Kernel:
    """Return the kernel of a step; w_B is NaN where the method would need substeps, or the trial is lost."""
    n, step = wheels, attitude_method(method)
    longest = ANGLE / (step.substep or math.inf)
    state = f"(4),(3),({n}),(3),(3)"
    ends = f"(3),{AROUND}"

    @batched(f"{state},({n}),(3),{ends},{LIKE},({n},3),({n}),({n}),({n}),({n}),()->(4),(3),(3),({n}),(3),(3)")
    def satellite_step(
        q_IB, P_B, momentum, tau_B, impulse_I, command, m_command, B_start, r_I, B_I, air_I, strength,
        J, m_B, gravity, area, normal_B, centre_B, axes_B, torque_limit, momentum_limit, viscous, coulomb, h,
    ):  # fmt: skip
        """Return attitude, momentum, rate, wheels, torque of the environment at the end, impulse."""
        limits = torque_limit, momentum_limit, viscous, coulomb
        _, after = spin_kernel(n, saturation)(command, momentum, axes_B, *limits, h)
        rho_0, rho_1 = sum_kernel(n)(momentum, axes_B), sum_kernel(n)(after, axes_B)
        rho_B = 0.5 * (rho_0 + rho_1)
        start = tau_B + cross(m_command, quaternion.inverse_rotate(q_IB, B_start))
        P_0 = rates.kick(P_B, start, h)
        q_1, P_1 = step.step(q_IB, P_0, zeros(3), J, rho_B, h)
        around = r_I, B_I, air_I, strength, J, m_B, gravity, area, normal_B, centre_B
        disturbance = external_torque(q_1, *around)
        end = disturbance + cross(m_command, quaternion.inverse_rotate(q_1, B_I))
        P_1 = rates.kick(P_1, end, h)
        kicks = quaternion.rotate(q_IB, start) + quaternion.rotate(q_1, end)
        whole = count(P_0, zeros(3), J, rho_B, h, longest) == 1.0
        w_1 = where(whole, rates.to_rate(P_1, J, rho_1), math.nan)
        return q_1, P_1, w_1, after, disturbance, impulse_I + (0.5 * h) * kicks

    return satellite_step
