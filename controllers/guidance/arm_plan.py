"""A planned move of an arm with the base held, as a part of a mission."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

import numpy as np

from gnc.config import NonNegative, Positive
from gnc.controllers.arm import JointPlan, Move, plan
from gnc.controllers.guidance.base import View
from gnc.controllers.guidance.inertial_pose import SIGNALS, InertialPosePart, InertialPosePlan
from gnc.errors import InputError
from gnc.history import Signal
from gnc.models.known import Known
from gnc.models.multibody import sections
from gnc.typing import Array


class ArmReference(NamedTuple):
    """The base's pose, as a `PoseReference`, and what the joints are to do meanwhile."""

    dq_IR: Array  # (8)
    chi_R: Array  # (6)
    chidot_R: Array  # (6)
    gamma: Array  # (G,) joint coordinates [rad, m]
    rate: Array  # (G,)
    effort: Array  # (G,) of the joints, with the base held
    wrench_B: Array  # (6,) that holds the base against them


class ArmPlan(InertialPosePlan):
    """A pose to hold and a move of the joints."""

    def __init__(self, dq_IR: Array, joints: JointPlan, tip: str, names: tuple[str, ...]) -> None:
        super().__init__(dq_IR)
        self.joints, self._tip, self._names = joints, tip, names
        self.signals = {
            **SIGNALS,
            f"{tip}_error_m": Signal("m", f"{tip} against the plan, which is fixed in inertial space"),
            "joint_error_deg": Signal("deg", "joint angles against the plan", ("joint", names)),
        }

    def at(self, t: Any) -> ArmReference:
        """Return the reference."""
        row = self.joints.at(t)
        return ArmReference(self.dq_IR, np.zeros(6), np.zeros(6), row.gamma, row.rate, row.effort, row.wrench_B)

    def load_B(self, t: float) -> Array:
        """Return the reaction (6,) of the planned motion on the base, which filters may be told."""
        return -self.joints.at(t).wrench_B

    def observe(self, view: View) -> dict[str, Array]:
        """Return how far base, tip and joints truly are from the plan."""
        row, signals = self.joints.at(view.t), view.told
        angles = np.stack([signals[f"{name}.joint_deg"] for name in self._names], axis=-1)
        errors = {f"{self._tip}_error_m": signals[f"{self._tip}_I_m"] - row.tip_I}
        return super().observe(view) | errors | {"joint_error_deg": angles - np.degrees(row.gamma)}


class ArmPlanPart(InertialPosePart):
    """Holds the base at a pose while its revolute joints move from rest to rest, by a polynomial of fifth order."""

    kind: Literal["arm-plan"] = "arm-plan"  # type: ignore[assignment]
    start_s: NonNegative = 60.0
    """When the move begins."""
    time_s: Positive = 60.0
    """How long it takes."""
    from_deg: tuple[float, ...]
    """Joint angles before."""
    to_deg: tuple[float, ...]
    """Joint angles after."""
    tip: str = "tip"
    """The spot of the craft whose way counts."""

    def build(self, known: Known) -> ArmPlan:
        """Return the guidance."""
        tree = known.nominal.tree
        if tree is None or any(joint.kind != "R" for joint in tree.joints):
            raise InputError('arm-plan: moves revolute joints only; give a craft of kind = "tree" that has them')
        ends = [sections.coordinates(tree, getattr(self, name), name) for name in ("from_deg", "to_deg")]
        joints = plan(tree, self.pose(), Move(self.start_s, self.time_s, *ends), known.h, self.tip)
        return ArmPlan(self.pose(), joints, self.tip, tuple(joint.name for joint in tree.joints))
