"""Braking and holding as a part of a mission."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np

from gnc import dual_quaternion, quaternion
from gnc.batch import batched, where
from gnc.config import Positive
from gnc.controllers.guidance.base import GuidancePart, View
from gnc.controllers.reference import PoseReference
from gnc.history import Signal
from gnc.models.craft.base import Report
from gnc.models.known import Known
from gnc.typing import Array

SIGNALS = {
    "hold_error_m": Signal("m", "true position from where it is held; NaN while it is braked", partial=True),
    "hold_error_deg": Signal("deg", "true attitude from where it is held; NaN while it is braked", partial=True),
}


class HoldMemory(NamedTuple):
    """Where to hold."""

    dq_IH: Array  # (trials, 8)
    begun: Array  # (trials,) 1 from the first reference on


class HoldGuidance:
    """While the body turns or moves faster than `slow`, the reference is where it is, at rest; then it stays."""

    wanted: ClassVar[int] = 8
    signals: ClassVar[Mapping[str, Signal]] = SIGNALS

    def __init__(self, slow: Array) -> None:
        self._slow = slow  # (2) [rad/s, m/s] of the origin

    def start(self, estimate: Any, report: Report) -> HoldMemory:
        """Return the memory before the first reference."""
        return HoldMemory(estimate.dq_IB, np.zeros(estimate.dq_IB.shape[:-1]))

    def guide(self, t: Any, estimate: Any, report: Report, memory: HoldMemory) -> tuple[PoseReference, HoldMemory]:
        """Return the reference now, and what to remember."""
        dq_IH = _held(estimate.dq_IB, estimate.chi_B, *memory, self._slow)
        return PoseReference(dq_IH), HoldMemory(dq_IH, 1.0 + 0.0 * memory.begun)

    def observe(self, view: View) -> Mapping[str, Array]:
        """Return how far the body truly is from where it is held; one that still moves has no such place."""
        truth = view.truth[view.craft]
        far, turned = _away(view.wanted, truth.dq_IB, truth.chi_B, self._slow)
        return {"hold_error_m": far, "hold_error_deg": np.degrees(turned)}


def _is_slow(chi_B, slow):
    """Tell whether a body turns and moves no faster than this."""
    rate, speed = (np.sqrt(v @ v) for v in (chi_B[:3], chi_B[3:]))
    return (rate <= slow[0]) & (speed <= slow[1])


@batched("(8),(6),(8),(),(2)->(8)")
def _held(dq_IB, chi_B, dq_IH, begun, slow):
    """Return where to hold: here, until the body is slow."""
    return where((begun > 0.0) & _is_slow(chi_B, slow), dq_IH, dq_IB)


@batched("(8),(8),(6),(2)->(),()")
def _away(dq_IH, dq_IB, chi_B, slow):
    """Return distance and angle from where a body is held, NaN of one that is not slow."""
    q, r = dual_quaternion.to_pose(dual_quaternion.mul(dual_quaternion.conj(dq_IH), dq_IB))
    turn, held = quaternion.log(q), _is_slow(chi_B, slow)
    return where(held, np.sqrt(r @ r), np.nan), where(held, np.sqrt(turn @ turn), np.nan)


class HoldPart(GuidancePart):
    """Brake, then hold the pose where it came to rest."""

    kind: Literal["hold"] = "hold"
    poses: ClassVar[bool] = True
    slow_deg_s: Positive = 0.1
    """It is braked until it turns no faster, then held."""
    slow_m_s: Positive = 0.005
    """The same for the velocity of the body's origin."""

    def build(self, known: Known) -> HoldGuidance:
        """Return the guidance."""
        return HoldGuidance(np.array([np.radians(self.slow_deg_s), self.slow_m_s]))
