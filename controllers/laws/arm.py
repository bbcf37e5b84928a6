"""Pose tracking of a base with servos in its joints, as a part of a mission."""

from __future__ import annotations

import functools
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from gnc.batch import Kernel, batched
from gnc.config import Positive
from gnc.controllers.laws.base import Demand, LawPart
from gnc.controllers.pose import PoseMemory, PoseTracking
from gnc.controllers.reference import PoseReference
from gnc.errors import InputError
from gnc.models.known import Known
from gnc.typing import Array


class ArmLaw:
    """Pose tracking of the base, servos of the joints about the plan, the reaction of the arm fed forward or not."""

    def __init__(self, base: PoseTracking, stiffness: Array, damping: Array, feedforward: bool) -> None:
        self._base, self._stiffness, self._damping, self._feedforward = base, stiffness, damping, feedforward

    def start(self, leading_shape: tuple[int, ...]) -> PoseMemory:
        """Return the memory before the first command."""
        return self._base.start(leading_shape)

    def command(self, estimate: Any, reference: Any, memory: PoseMemory) -> tuple[Array, PoseMemory]:
        """Return the wrench on the base and, behind it, the efforts of the joints (trials, 6 + G)."""
        load_B = -reference.wrench_B if self._feedforward else np.zeros(6)
        wrench_B, memory = self._base.command(estimate, PoseReference(*reference[:3]), memory, load_B)
        planned = reference.gamma, reference.rate, reference.effort
        efforts = _servo(len(self._stiffness))(*estimate.joints, *planned, self._stiffness, self._damping)
        return np.concatenate([wrench_B, efforts], axis=-1), memory


@functools.cache
def _servo(n: int) -> Kernel:
    """Return the kernel of n servos."""

    @batched(f"({n}),({n}),({n}),({n}),({n}),({n}),({n})->({n})")
    def servo(gamma, rate, gamma_R, rate_R, effort_R, stiffness, damping):
        """Return the planned torque and what brings the joint back to the plan."""
        return effort_R + stiffness * (gamma_R - gamma) + damping * (rate_R - rate)

    return servo


class ArmLawPart(LawPart):
    """Dual-quaternion tracking of the base's pose, and servos in the joints, which follow an arm-plan."""

    kind: Literal["arm"] = "arm"
    demand: ClassVar[Demand] = "wrench"
    frequency_rad_s: Positive = 0.2
    """Natural frequency of a small error of the base."""
    damping: Annotated[float, Field(gt=0, lt=1)] = 0.8
    feedforward: bool = True
    """Whether the reaction of the planned motion is fed forward."""
    joint_stiffness_Nm_rad: tuple[Positive, ...]
    """Of each servo."""
    joint_damping_Nms_rad: tuple[Positive, ...]
    """Of each servo."""

    def build(self, known: Known) -> ArmLaw:
        """Return the law."""
        joints = 0 if known.nominal.tree is None else known.nominal.tree.freedoms
        stiffness, damping = np.array(self.joint_stiffness_Nm_rad), np.array(self.joint_damping_Nms_rad)
        if not len(stiffness) == len(damping) == joints:
            raise InputError(f"joint_stiffness_Nm_rad, joint_damping_Nms_rad: the craft has {joints} joints; give each")
        base = PoseTracking.tuned(known.M, self.frequency_rad_s, self.damping)
        return ArmLaw(base, stiffness, damping, self.feedforward)
