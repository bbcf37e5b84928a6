"""Guidance, pose tracking and allocation to thrusters as the loop's control."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

from gnc.controllers.approach import Approach, ApproachMemory
from gnc.controllers.pose import PoseMemory, PoseTracking
from gnc.controllers.thruster_allocation import ThrusterAllocation
from gnc.scenarios.proximity.navigation import TargetBelief
from gnc.scenarios.proximity.truth import Command, Report

Array = Any


class Memory(NamedTuple):
    """What guidance and law remember."""

    approach: ApproachMemory
    law: PoseMemory


@dataclass(frozen=True, eq=False)
class ApproachControl:
    """Follow the reference that guidance makes of what is believed of the target now."""

    guidance: Approach
    law: PoseTracking
    allocation: ThrusterAllocation
    period_s: float

    def start(self, belief: TargetBelief, report: Report) -> Memory:
        """Return the memory before the first command."""
        return Memory(self.guidance.start(belief.now, report), self.law.start(report.docked.shape))

    def command(self, belief: TargetBelief, report: Report, t: float, memory: Memory) -> tuple[Command, Memory]:
        """Return how long each thruster is on."""
        reference, approach = self.guidance.guide(belief.now, report, memory.approach, self.period_s)
        wrench_B, law = self.law.command(report, reference, memory.law)
        on = self.allocation.command(wrench_B)
        return Command(on, reference.dq_IR, memory.approach.phase), Memory(approach, law)
