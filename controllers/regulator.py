"""The law of a linear-quadratic design: u = u_R - K x, of attitude or of pose, steady or along a reference."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from gnc import check, dual_quaternion, lie, quaternion
from gnc.batch import batched
from gnc.controllers import sign as cover
from gnc.controllers.pose_error import inverse_dynamics
from gnc.controllers.reference import AttitudeReference, PoseReference
from gnc.errors import InputError
from gnc.linalg import cross
from gnc.models.parameters import store

Array = Any
NO_WHEELS = np.zeros(3)


class RegulatorMemory(NamedTuple):
    """What the law remembers of a trial."""

    sign: Array  # (...) of the cover it steers to; 0 before the first command
    step: Array  # (...) commands given so far


@dataclass(frozen=True, eq=False, kw_only=True)
class _Regulator:
    """Gains of one design for all times, or with `along` one for each step as the first axis; the last one stays."""

    K: Array
    along: bool = False
    delta: Array = cover.DELTA  # (...) of the hysteresis

    def __post_init__(self) -> None:
        store(self, K=check.finite("K", self.K, self._core()), delta=check.non_negative("delta", self.delta))
        if self.along and self.K.ndim < 3:
            raise InputError(f"K: expected steps as the first axis, got {self.K.shape}")

    def _core(self) -> tuple[int, int]:
        raise NotImplementedError

    def start(self, leading_shape: tuple[int, ...] = ()) -> RegulatorMemory:
        """Return the memory before the first command."""
        return RegulatorMemory(cover.start(leading_shape), np.zeros(leading_shape))

    def _gain(self, step: Array) -> Array:
        if not self.along:
            return self.K
        return self.K[np.minimum(step, len(self.K) - 1).astype(int)]


@dataclass(frozen=True, eq=False, kw_only=True)
class AttitudeRegulator(_Regulator):
    """tau = w_R x (J w_R + rho) + J wdot_R - K [a, w - w_R], with q = q_R exp(a/2)."""

    K: Array  # (..., 3, 6), or (steps, 3, 6)
    J: Array  # (..., 3, 3) nominal [kg m^2]

    def __post_init__(self) -> None:
        super().__post_init__()
        store(self, J=check.inertia("J", self.J))

    def _core(self) -> tuple[int, int]:
        return 3, 6

    def command(
        self, belief: Any, reference: AttitudeReference, memory: RegulatorMemory
    ) -> tuple[Array, RegulatorMemory]:
        """Return the torque in body axes; the wheels' momentum is the belief's, if it has one."""
        rho_B, K = getattr(belief, "rho_B", NO_WHEELS), self._gain(memory.step)
        tau_B, sign = _turn(belief.q_IB, belief.w_B, rho_B, *reference, memory.sign, K, self.J, self.delta)
        return tau_B, RegulatorMemory(sign, memory.step + 1.0)


@dataclass(frozen=True, eq=False, kw_only=True)
class PoseRegulator(_Regulator):
    """Wrench = Newton and Euler of the reference - K [dxi, chi - chi_R], with dq = dq_R exp(dxi/2)."""

    K: Array  # (..., 6, 12), or (steps, 6, 12)
    M: Array  # (..., 6, 6) nominal, about the body's reference point

    def __post_init__(self) -> None:
        super().__post_init__()
        store(self, M=check.inertia6("M", self.M))

    def _core(self) -> tuple[int, int]:
        return 6, 12

    def command(self, belief: Any, reference: PoseReference, memory: RegulatorMemory) -> tuple[Array, RegulatorMemory]:
        """Return the wrench in body axes about the reference point."""
        K = self._gain(memory.step)
        wrench_B, sign = _move(belief.dq_IB, belief.chi_B, *reference, memory.sign, K, self.M, self.delta)
        return wrench_B, RegulatorMemory(sign, memory.step + 1.0)


@batched("(4),(3),(3),(4),(3),(3),(),(3,6),(3,3),()->(3),()")
def _turn(q_IB, w_B, rho_B, q_IR, w_R, wdot_R, sign, K, J, delta):
    """Return the torque and the sign."""
    q = quaternion.mul(quaternion.conj(q_IR), q_IB)
    sign = cover.hysteresis(sign, q[0], delta)
    x = np.concatenate([quaternion.log_cover(sign * q), w_B - w_R])
    return cross(w_R, J @ w_R + rho_B) + J @ wdot_R - K @ x, sign


@batched("(8),(6),(8),(6),(6),(),(6,12),(6,6),()->(6),()")
def _move(dq_IB, chi_B, dq_IR, chi_R, chidot_R, sign, K, M, delta):
    """Return the wrench and the sign; the logarithm is taken on the cover that hysteresis keeps."""
    q, r = dual_quaternion.to_pose(dual_quaternion.mul(dual_quaternion.conj(dq_IR), dq_IB))
    sign = cover.hysteresis(sign, q[0], delta)
    a = quaternion.log_cover(sign * q)
    x = np.concatenate([a, lie.so3_left_jacobian_inverse(a) @ r, chi_B - chi_R])
    return inverse_dynamics(M, chi_R, chidot_R) - K @ x, sign
