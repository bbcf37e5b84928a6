"""Control after capture: the stack is brought to rest and then held where it is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from gnc.batch import batched, where
from gnc.controllers.approach import PHASES
from gnc.controllers.pose import PoseMemory, PoseTracking
from gnc.controllers.reference import PoseReference
from gnc.events import chosen
from gnc.scenarios.proximity.control import ApproachControl, Memory
from gnc.scenarios.proximity.navigation import TargetBelief
from gnc.scenarios.proximity.truth import Command, Report

Array = Any
DOCKED = float(len(PHASES))  # the phase after those of the approach


class DockingMemory(NamedTuple):
    """What both laws remember."""

    approach: Memory
    law: PoseMemory  # of the stack
    dq_IH: Array  # (trials, 8) where to hold


@dataclass(frozen=True, eq=False)
class DockingControl:
    """The approach, and once the latches have closed the same law for the stack.

    While the stack turns or moves faster than `slow`, the reference is where it is, at rest: the law brakes. Then the
    reference stays.
    """

    approach: ApproachControl
    law: PoseTracking  # tuned to the stack, as flight software believes it to be
    slow: Array  # (2) [rad/s, m/s] of the chaser's origin

    def start(self, belief: TargetBelief, report: Report) -> DockingMemory:
        """Return the memory before the first command."""
        return DockingMemory(self.approach.start(belief, report), self.law.start(report.docked.shape), report.dq_IB)

    def command(
        self, belief: TargetBelief, report: Report, t: float, memory: DockingMemory
    ) -> tuple[Command, DockingMemory]:
        """Return how long each thruster is on."""
        command, approach = self.approach.command(belief, report, t, memory.approach)
        if not report.docked.any():
            return command, memory._replace(approach=approach)
        dq_IH = _held(report.dq_IB, report.chi_B, memory.dq_IH, report.docked, self.slow)
        wrench_B, law = self.law.command(report, PoseReference(dq_IH), memory.law)
        braking = Command(self.approach.allocation.command(wrench_B), dq_IH, np.full_like(command.phase, DOCKED))
        docked = report.docked > 0.0
        return chosen(docked, braking, command), DockingMemory(approach, chosen(docked, law, memory.law), dq_IH)


@batched("(8),(6),(8),(),(2)->(8)")
def _held(dq_IB, chi_B, dq_IH, docked, slow):
    """Return where to hold: here, until the body is slow."""
    rate, speed = (np.sqrt(v @ v) for v in (chi_B[:3], chi_B[3:]))
    return where((docked > 0.0) & (rate <= slow[0]) & (speed <= slow[1]), dq_IH, dq_IB)
