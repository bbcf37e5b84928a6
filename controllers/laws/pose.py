"""Tracking of poses as a part of a mission."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from gnc import spatial
from gnc.config import Positive
from gnc.controllers.adaptive import AdaptivePoseTracking, inertia_parameters
from gnc.controllers.laws.base import Demand, LawPart
from gnc.controllers.pose import PoseTracking
from gnc.controllers.velocity_free import VelocityFreePoseTracking
from gnc.errors import InputError
from gnc.models.known import Known, together
from gnc.typing import Array


class Timed:
    """A law that is told how long an interval is."""

    def __init__(self, law: Any, period_s: float) -> None:
        self.law, self._period_s = law, period_s

    def start(self, leading_shape: tuple[int, ...]) -> Any:
        """Return the memory before the first command."""
        return self.law.start(leading_shape)

    def command(self, estimate: Any, reference: Any, memory: Any) -> tuple[Array, Any]:
        """Return the wrench."""
        return self.law.command(estimate, reference, memory, self._period_s)


class TrackingPart(LawPart):
    """What laws of poses have in common."""

    demand: ClassVar[Demand] = "wrench"
    frequency_rad_s: Positive = 0.3
    """Natural frequency of a small error."""
    damping: Annotated[float, Field(gt=0, lt=1)] = 0.8
    docked: tuple[str, ...] = ()
    """Other craft that are docked to the own one: the law is tuned to all of them as one body."""


class PosePart(TrackingPart):
    """Dual-quaternion tracking of a pose."""

    kind: Literal["pose"] = "pose"

    def build(self, known: Known) -> PoseTracking:
        """Return the law."""
        return PoseTracking.tuned(together(known, self.docked), self.frequency_rad_s, self.damping)


class VelocityFreePart(TrackingPart):
    """Tracking by the pose alone: the law reads no rate and no velocity of the body."""

    kind: Literal["velocity-free"] = "velocity-free"
    bandwidth: Positive = 5.0
    """Of the filter that stands for the twist, in natural frequencies."""

    def build(self, known: Known) -> Timed:
        """Return the law: kp = 2 J w^2, kr = m w^2, damping by what the filter makes of the error's rate."""
        M, w = together(known, self.docked), self.frequency_rad_s
        J, m, a = float(np.trace(M[:3, :3])) / 3.0, float(M[3, 3]), self.bandwidth * w
        spring, damper = {"kp": 2.0 * J * w**2, "kr": m * w**2}, 2.0 * self.damping * w * a
        return Timed(VelocityFreePoseTracking(M=M, **spring, a=a, gq=4.0 * damper * J, gr=damper * m), known.control_s)


class AdaptivePart(TrackingPart):
    """Tracking that learns mass, inertia and a constant load on the way, about the centre of mass."""

    kind: Literal["adaptive"] = "adaptive"
    spread_percent: Annotated[float, Field(gt=0, le=90)] = 30.0
    """How far mass and inertia may be off from what is believed."""
    learning: Positive = 0.1
    """How fast they are learnt."""

    def build(self, known: Known) -> Timed:
        """Return the law, which begins with what is believed."""
        m, centre, J = spatial.parts(together(known, self.docked))
        if np.any(np.abs(centre) > 1e-9):
            raise InputError("law: adaptive is for bodies whose origin is the centre of mass; use pose")
        theta, w, spread = inertia_parameters(m, J), self.frequency_rad_s, 0.01 * self.spread_percent
        off = spread * np.array([np.trace(J) / 3.0] * 6 + [m])
        decay, gain = 2.0 * self.damping * w, self.learning * off**2
        damping = {"Kq": w, "Kr": w, "Kw": decay * np.diagonal(J), "Kv": decay * m}
        bounds = {"theta_low": theta - off, "theta_high": theta + off, "theta_start": theta}
        return Timed(AdaptivePoseTracking(**damping, K_theta=gain, K_load=self.learning, **bounds), known.control_s)
