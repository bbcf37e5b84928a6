"""Guidance, PD+ and allocation to wheels as the loop's control."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

from gnc.batch import as_numbers
from gnc.controllers.reference import AttitudeReference
from gnc.controllers.wheel_allocation import WheelAllocation
from gnc.scenarios.attitude.satellite import Command, Report

Array = Any


class Estimate(NamedTuple):
    """What a control law is given; a user's law needs nothing else."""

    q_IB: Array  # (trials, 4)
    w_B: Array  # (trials, 3) [rad/s]
    rho_B: Array  # (trials, 3) momentum of the wheels [N m s]


@dataclass(frozen=True, eq=False)
class WheelControl:
    """A law's torque, shared among the wheels; `guide(t)` gives the reference, `read(belief)` attitude and rate."""

    law: Any
    guide: Any
    read: Any
    allocation: WheelAllocation

    def command(self, belief: Any, report: Report, t: float, memory: Any) -> tuple[Command, Any]:
        """Return the torque of each wheel on the body."""
        reference: AttitudeReference = self.guide(t)
        q_IB, w_B = self.read(belief)
        tau_B, memory = self.law.command(Estimate(q_IB, w_B, report.rho_B), reference, memory)
        return Command(self.allocation.command(as_numbers(tau_B))), memory
