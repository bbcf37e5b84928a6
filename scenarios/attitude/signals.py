"""What is recorded of a satellite in closed loop, with units."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from gnc import quaternion
from gnc.batch import batched
from gnc.estimators import consistency
from gnc.estimators.attitude_belief import inertial_error
from gnc.history import Signal
from gnc.linalg import array
from gnc.loop import Moment
from gnc.models.environment.sky import Sky
from gnc.scenarios.attitude.satellite import SatelliteState

Array = Any
WHEELS = ("wheel", ("1", "2", "3", "4"))

SIGNALS = {
    "q_IB": Signal("1", "true attitude, body to inertial, scalar first"),
    "w_B_deg_s": Signal("deg/s", "true rate, body axes"),
    "pointing_error_deg": Signal("deg", "true attitude against the reference, rotation vector, body axes"),
    "knowledge_error_deg": Signal(
        "deg", "true attitude against the estimate, rotation vector, body axes", sigma="sigma_deg"
    ),
    "sigma_deg": Signal("deg", "what the filter believes of its attitude error, one sigma, body axes"),
    "rate_error_deg_s": Signal("deg/s", "true rate minus its estimate, body axes"),
    "nees": Signal("1", "normalised error of attitude and momentum, over its 6 dimensions"),
    "wheel_Nms": Signal("N m s", "momentum of each wheel", WHEELS),
    "wheel_torque_Nm": Signal("N m", "commanded torque of each wheel on the body", WHEELS),
    "disturbance_Nm": Signal("N m", "external torque, body axes"),
    "momentum_gap": Signal("1", "momentum less start and impulses, over the largest momentum that could be involved"),
    "sun_I": Signal("1", "direction of the Sun, inertial axes", shared=True),
    "B_I_T": Signal("T", "magnetic field, inertial axes", shared=True),
    "r_I_m": Signal("m", "position, inertial axes", shared=True),
    "shadow": Signal("1", "hidden fraction of the Sun", shared=True),
}
JUDGED = frozenset(
    {"pointing_error_deg", "knowledge_error_deg", "rate_error_deg_s", "nees", "wheel_Nms", "momentum_gap", "shadow"}
)


@dataclass(frozen=True)
class Observer:
    """Turns a moment into signals."""

    start: SatelliteState
    sky: Sky
    guide: Callable[[float], Any]
    read: Callable[[Any], Any]  # belief -> attitude and rate

    def __call__(self, moment: Moment) -> Mapping[str, Any]:
        """Return the values of all signals."""
        x, belief, env = moment.truth, moment.belief, self.sky.at(moment.t)
        q_IB, w_B = self.read(belief)
        reference = self.guide(moment.t)
        values = {
            "q_IB": x.q_IB,
            "w_B_deg_s": np.degrees(x.w_B),
            "pointing_error_deg": turn_deg(reference.q_IR, x.q_IB),
            "knowledge_error_deg": turn_deg(q_IB, x.q_IB),
            "rate_error_deg_s": np.degrees(x.w_B - w_B),
            "wheel_Nms": x.wheels,
            "wheel_torque_Nm": moment.command.wheels,
            "disturbance_Nm": x.tau_B,
            "momentum_gap": momentum_gap(x.q_IB, x.P_B, self.start.q_IB, self.start.P_B, x.impulse_I),
            **{"sun_I": env.sun_I, "B_I_T": env.B_I, "r_I_m": env.r_I, "shadow": env.shadow},
        }
        return values | honesty(belief, x)


def honesty(belief: Any, x: SatelliteState) -> dict[str, Any]:
    """Return what a filter believes of its error, and whether that is true; nothing if it has no covariance."""
    C = getattr(belief, "C", None)
    if C is None:
        return {}
    error, C_inertial = inertial_error(belief.q_IB, belief.P_B, C[..., :6, :6], x.q_IB, x.P_B)
    return {"nees": consistency.nees(error, C_inertial) / 6.0, "sigma_deg": np.degrees(_sigma3(C[..., :3, :3]))}


def innovation_signals(names: Iterable[str]) -> dict[str, Signal]:
    """Return the signals of the innovations of some sensors."""
    found = {}
    for name in names:
        found[f"{name}_innovation"] = Signal("1", f"{name}: innovation over its standard deviation")
        found[f"{name}_nis"] = Signal("1", f"{name}: normalised innovation squared, over its dimension; NaN: not used")
    return found


def observe_innovation(name: str, made: Any) -> Mapping[str, Any]:
    """Return the values of the innovation signals of one sensor."""
    m = made.y.shape[-1]
    nan = np.where(made.used, 0.0, np.nan)
    sigma = np.sqrt(np.stack([made.S[..., i, i] for i in range(m)], axis=-1))
    return {f"{name}_innovation": made.y / sigma + nan[..., None], f"{name}_nis": made.nis / m + nan}


@batched("(4),(4)->(3)")
def turn_deg(q_from, q_to):
    """Return the rotation vector from one attitude to another, in the axes of the second [deg]."""
    return quaternion.log(quaternion.mul(quaternion.conj(q_from), q_to)) * (180.0 / np.pi)


@batched("(3,3)->(3)")
def _sigma3(C):
    return array([np.sqrt(C[i, i]) for i in range(3)])


@batched("(4),(3),(4),(3),(3)->()")
def momentum_gap(q_IB, P_B, q_start, P_start, impulse_I):
    """Return |R P - R_0 P_0 - impulse| over |P| + |P_0| + |impulse|."""
    size = lambda v: np.sqrt(v @ v)  # noqa: E731
    gap = quaternion.rotate(q_IB, P_B) - quaternion.rotate(q_start, P_start) - impulse_I
    return size(gap) / (size(P_B) + size(P_start) + size(impulse_I))
