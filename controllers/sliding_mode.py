"""Attitude tracking by sliding mode, with a boundary layer in place of chatter."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from gnc import check, quaternion
from gnc.batch import batched, maximum, minimum
from gnc.controllers import sign
from gnc.controllers.attitude import NO_WHEELS, AttitudeMemory, tracking_error
from gnc.controllers.reference import AttitudeReference
from gnc.linalg import cross
from gnc.models.parameters import store

Array = Any


@dataclass(frozen=True, eq=False, kw_only=True)
class SlidingMode:
    """tau = w x (J w + rho) + J (R^T wdot_R - w_e x R^T w_R - slope e' - reach sat(s/layer)), s = w_e + slope e.

    e = sign qv, e' = sign (q0 w_e + qv x w_e)/2. Any torque that disturbs by less than J reach is rejected down to the
    layer: |s| <= layer, and then |e| <= layer/slope. Source: Crassidis and Markley, "Sliding mode control using
    modified Rodrigues parameters", JGCD 19 (1996) 1381, with the quaternion in place of these parameters.
    """

    J: Array  # (..., 3, 3) [kg m^2]
    slope: Array  # (...) rate per e [1/s]
    reach: Array  # (...) acceleration towards the surface [rad/s^2]
    layer: Array  # (...) of s, within which the push is proportional [rad/s]
    delta: Array = sign.DELTA  # (...) of the hysteresis

    def __post_init__(self) -> None:
        """Validate once; the kernels do not."""
        store(self, J=check.inertia("J", self.J), delta=check.non_negative("delta", self.delta))
        store(self, **{name: check.positive(name, getattr(self, name)) for name in ("slope", "reach", "layer")})

    def start(self, leading_shape: tuple[int, ...] = ()) -> AttitudeMemory:
        """Return the memory before the first command."""
        return AttitudeMemory(sign.start(leading_shape))

    def command(
        self, belief: Any, reference: AttitudeReference, memory: AttitudeMemory
    ) -> tuple[Array, AttitudeMemory]:
        """Return the torque on the body, body axes [N m]."""
        rho_B, gains = getattr(belief, "rho_B", NO_WHEELS), (self.J, self.slope, self.reach, self.layer, self.delta)
        tau_B, chosen = _slide(belief.q_IB, belief.w_B, rho_B, *reference, memory.sign, *gains)
        return tau_B, AttitudeMemory(chosen)


@batched("(4),(3),(3),(4),(3),(3),(),(3,3),(),(),(),()->(3),()")
def _slide(q_IB, w_B, rho_B, q_IR, w_R, wdot_R, before, J, slope, reach, layer, delta):
    """Return the torque and the sign."""
    q_RB, w_e, w_R_B = tracking_error(q_IB, w_B, q_IR, w_R)
    chosen = sign.hysteresis(before, q_RB[0], delta)
    q0, e = chosen * q_RB[0], chosen * q_RB[1:]
    e_rate = 0.5 * (q0 * w_e + cross(e, w_e))
    push = minimum(maximum((w_e + slope * e) / layer, -1.0), 1.0)
    carried = quaternion.inverse_rotate(q_RB, wdot_R) - cross(w_e, w_R_B)
    return cross(w_B, J @ w_B + rho_B) + J @ (carried - slope * e_rate - reach * push), chosen
