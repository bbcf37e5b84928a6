"""Laws that follow a pose as parts of a mission, among them that of a base with an arm."""

from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from gnc import dual_quaternion, spatial
from gnc.batch import sized
from gnc.config import Positive
from gnc.controllers.laws.base import Demand, LawPart
from gnc.controllers.pose import (
    AdaptivePoseTracking,
    PoseTracking,
    VelocityFreePoseTracking,
    inertia_parameters,
)
from gnc.controllers.reference import PoseReference
from gnc.controllers.regulator import PoseRegulator
from gnc.controllers.sign import CoverMemory
from gnc.errors import InputError
from gnc.models.known import Known, together
from gnc.models.pose_body import PoseBody, PoseState
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


class PoseLqrPart(LawPart):
    """A discrete LQR of pose and twist on the exact Jacobian of the integrator's step at rest."""

    kind: Literal["pose-lqr"] = "pose-lqr"
    demand: ClassVar[Demand] = "wrench"
    docked: tuple[str, ...] = ()
    """Other craft that are docked to the own one: the law is designed for all of them as one body."""
    attitude_deg: Positive = 1.0
    """An attitude error that costs as much as each of those below."""
    position_m: Positive = 0.02
    rate_deg_s: Positive = 0.2
    velocity_m_s: Positive = 0.01
    torque_Nm: Positive = 0.2
    force_N: Positive = 1.0

    def build(self, known: Known) -> PoseRegulator:
        """Return the law."""
        from gnc.controllers.lqr import lqr  # here: python-control takes a second to load

        M, turns = together(known, self.docked), np.radians([self.attitude_deg, self.rate_deg_s])
        Q = np.repeat([turns[0], self.position_m, turns[1], self.velocity_m_s], 3) ** -2.0
        R = np.repeat([self.torque_Nm, self.force_N], 3) ** -2.0
        rest = PoseState(dual_quaternion.from_pose(np.eye(4)[0], np.zeros(3)), np.zeros(6))
        return PoseRegulator(K=lqr(PoseBody(M), rest, np.zeros(6), known.control_s, Q, R).K, M=M)


class ArmLaw:
    """Pose tracking of the base, servos of the joints about the plan, the reaction of the arm fed forward or not."""

    def __init__(self, base: PoseTracking, stiffness: Array, damping: Array, feedforward: bool) -> None:
        self._base, self._stiffness, self._damping, self._feedforward = base, stiffness, damping, feedforward

    def start(self, leading_shape: tuple[int, ...]) -> CoverMemory:
        """Return the memory before the first command."""
        return self._base.start(leading_shape)

    def command(self, estimate: Any, reference: Any, memory: CoverMemory) -> tuple[Array, CoverMemory]:
        """Return the wrench on the base and, behind it, the efforts of the joints (trials, 6 + G)."""
        load_B = -reference.wrench_B if self._feedforward else np.zeros(6)
        wrench_B, memory = self._base.command(estimate, PoseReference(*reference[:3]), memory, load_B)
        planned = reference.gamma, reference.rate, reference.effort
        efforts = _servo(len(self._stiffness))(*estimate.joints, *planned, self._stiffness, self._damping)
        return np.concatenate([wrench_B, efforts], axis=-1), memory


@sized(lambda n: f"({n}),({n}),({n}),({n}),({n}),({n}),({n})->({n})")
def _servo(gamma, rate, gamma_R, rate_R, effort_R, stiffness, damping):
    """Return the planned torque and what brings the joint back to the plan."""
    return effort_R + stiffness * (gamma_R - gamma) + damping * (rate_R - rate)


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
