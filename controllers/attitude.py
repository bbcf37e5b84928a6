"""Attitude tracking: PD+ with wheels and a sign with hysteresis, the same with an integral, and sliding mode."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from gnc import check, quaternion
from gnc.batch import batched, maximum, minimum, where
from gnc.controllers import sign
from gnc.controllers.reference import AttitudeReference
from gnc.controllers.sign import CoverMemory, OnCover
from gnc.errors import InputError
from gnc.linalg import array, cross
from gnc.models.parameters import between, each, store

Array = Any

NO_WHEELS = np.zeros(3)


@dataclass(frozen=True, eq=False, kw_only=True)
class AttitudeController(OnCover):
    """PD+: tau = -sign Kp qv - Kd w_e + w x (J w + rho) + J (R^T wdot_R - w_e x R^T w_R).

    q_RB = (q0, qv) is the body against the reference, R^T takes reference components to the body, w_e = w - R^T w_R.
    What is left is J w_e' = -sign Kp qv - Kd w_e, so V = w_e Kp^-1 J w_e / 2 + 2 (1 - sign q0) falls wherever
    Kp^-1 J is symmetric and Kp^-1 Kd positive definite: gains that are numbers, or both multiples of J as from
    `tuned`. Source: Wen and Kreutz-Delgado, "The attitude control problem", IEEE TAC 36 (1991) 1148, with wheels.
    """

    J: Array  # (..., 3, 3) what the flight software takes the inertia for, wheels included [kg m^2]
    Kp: Array  # (..., 3, 3), or a number [N m]
    Kd: Array  # (..., 3, 3), or a number [N m s]
    delta: Array = sign.DELTA  # (...) how far q0 must cross zero before the sign follows

    def __post_init__(self) -> None:
        store(self, J=check.inertia("J", self.J), delta=between("delta", self.delta, 0.0, 0.9))
        store(self, Kp=_gain("Kp", self.Kp), Kd=_gain("Kd", self.Kd))

    @classmethod
    def tuned(cls, J: Array, frequency: Array, damping: Array = 0.8, **options: Any) -> AttitudeController:
        """Give all axes the natural frequency [rad/s] and damping of a small error: Kp = 2 w^2 J, Kd = 2 d w J."""
        J = check.inertia("J", J)
        w = check.positive("frequency", frequency)[..., None, None]
        d = check.positive("damping", damping)[..., None, None]
        return cls(J=J, Kp=2.0 * w * w * J, Kd=2.0 * d * w * J, **options)

    def command(
        self, belief: Any, reference: AttitudeReference, memory: CoverMemory, rho_B: Array | None = None
    ) -> tuple[Array, CoverMemory]:
        """Return the torque on the body, body axes [N m], which wheels make by rho' = -tau.

        The wheels' momentum rho_B is the belief's, if it has one, unless it is given.
        """
        if rho_B is None:
            rho_B = getattr(belief, "rho_B", NO_WHEELS)
        gains = self.J, self.Kp, self.Kd, self.delta
        tau_B, chosen = _command(belief.q_IB, belief.w_B, rho_B, *reference, memory.sign, *gains)
        return tau_B, CoverMemory(chosen)


def _gain(name: str, x: Array) -> Array:
    """Return a gain as a symmetric positive definite matrix; a number counts for all axes."""
    a = np.asarray(x)
    K = check.finite(name, a if a.ndim else a * np.eye(3), (3, 3))
    askew = np.abs(K - np.swapaxes(K, -1, -2)).max(axis=(-1, -2)) > 1e-9 * np.abs(K).max(axis=(-1, -2))
    if np.any(askew | (np.linalg.eigvalsh(K)[..., 0] <= 0.0)):
        raise InputError(f"{name}: expected a number > 0, or a symmetric positive definite matrix (..., 3, 3)")
    return K


@batched("(4),(3),(4),(3)->(4),(3),(3)")
def tracking_error(q_IB, w_B, q_IR, w_R):
    """Return q_RB, the rate w_e of the body against the reference and the rate of the reference, both in body axes."""
    q_RB = quaternion.mul(quaternion.conj(q_IR), q_IB)
    w_R_B = quaternion.inverse_rotate(q_RB, w_R)
    return q_RB, w_B - w_R_B, w_R_B


@batched("(4),(3),(3),(4),(3),(3),(),(3,3),(3,3),(3,3),()->(3),()")
def _command(q_IB, w_B, rho_B, q_IR, w_R, wdot_R, sign_before, J, Kp, Kd, delta):
    """Return the torque and the sign."""
    q_RB, w_e, w_R_B = tracking_error(q_IB, w_B, q_IR, w_R)
    chosen = sign.hysteresis(sign_before, q_RB[0], delta)
    feedback = -(Kp @ (chosen * q_RB[1:])) - Kd @ w_e
    carried = quaternion.inverse_rotate(q_RB, wdot_R) - cross(w_e, w_R_B)
    return feedback + cross(w_B, J @ w_B + rho_B) + J @ carried, chosen


class PidMemory(NamedTuple):
    """What the law remembers from command to command."""

    sign: Array  # (...) of the cover it steers to; 0 before the first command
    integral_B: Array  # (..., 3) torque [N m]


@dataclass(frozen=True, eq=False, kw_only=True)
class AttitudePid:
    """The PD+ law with -Ki int sign qv dt; an axis whose torque is beyond its limit integrates back only."""

    pd: AttitudeController
    Ki: Array  # (..., 3, 3) [N m/s]
    limit: Array = np.inf  # (..., 3), or one number: torque that the actuators can make [N m]
    period_s: float

    def __post_init__(self) -> None:
        store(self, Ki=check.finite("Ki", self.Ki, (3, 3)), limit=each("limit", self.limit, 3, "limit"))

    def start(self, leading_shape: tuple[int, ...] = ()) -> PidMemory:
        """Return the memory before the first command."""
        return PidMemory(self.pd.start(leading_shape).sign, np.zeros((*leading_shape, 3)))

    def command(self, belief: Any, reference: AttitudeReference, memory: PidMemory) -> tuple[Array, PidMemory]:
        """Return the torque on the body, body axes [N m]."""
        tau_B, (sign,) = self.pd.command(belief, reference, CoverMemory(memory.sign))
        q_RB, _, _ = tracking_error(belief.q_IB, belief.w_B, reference.q_IR, reference.w_R)
        tau_B, integral_B = _integrated(tau_B, q_RB, sign, memory.integral_B, self.Ki, self.limit, self.period_s)
        return tau_B, PidMemory(sign, integral_B)


@batched("(3),(4),(),(3),(3,3),(3),()->(3),(3)")
def _integrated(tau_B, q_RB, sign, integral_B, Ki, limit, period_s):
    """Return the torque with the integral, and the integral after the interval."""
    total = tau_B + integral_B
    change = -period_s * sign * (Ki @ q_RB[1:])
    free = [where((abs(x) < most) | (x * d < 0.0), d, 0.0) for x, d, most in zip(total, change, limit, strict=True)]
    after = minimum(maximum(integral_B + array(free), -limit), limit)
    return total, after


@dataclass(frozen=True, eq=False, kw_only=True)
class SlidingMode(OnCover):
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
        store(self, J=check.inertia("J", self.J), delta=check.non_negative("delta", self.delta))
        store(self, **{name: check.positive(name, getattr(self, name)) for name in ("slope", "reach", "layer")})

    def command(self, belief: Any, reference: AttitudeReference, memory: CoverMemory) -> tuple[Array, CoverMemory]:
        """Return the torque on the body, body axes [N m]."""
        rho_B, gains = getattr(belief, "rho_B", NO_WHEELS), (self.J, self.slope, self.reach, self.layer, self.delta)
        tau_B, chosen = _slide(belief.q_IB, belief.w_B, rho_B, *reference, memory.sign, *gains)
        return tau_B, CoverMemory(chosen)


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
