"""The filters that replay drives, behind one small face.

It moves with the last sample of its driver (gyro, or known inputs), held over h, or coasts without it; `end` is the
driver's sample at the end of h, if there is one. What is recorded is found for many beliefs at once, stacked along the
first axis.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

import numpy as np

from gnc import dual_quaternion
from gnc.estimators.dqekf import DqEkf
from gnc.estimators.extra_states import SensorBias
from gnc.estimators.gyro_mekf import GyroMekf
from gnc.estimators.mekf import Mekf
from gnc.estimators.twist_ekf import TwistEkf
from gnc.models.pose_body import PoseState
from gnc.models.sensors import Gyro, Measurement
from gnc.models.states import AttitudeState
from gnc.scenarios.replay import config, filter_config

Array = Any
Sample = Measurement | None  # of what drives the filter

SILENT = Measurement(np.zeros(3), False)
NOTHING, AT_REST = np.zeros(3), np.zeros(6)


class First(NamedTuple):
    """The first attitude and position, with the covariance of both (6, 6); the attitude's first."""

    q_IB: Array
    r_IB: Array
    C: Array


class Driven(Protocol):
    """What the runner asks of a filter."""

    filter: Any
    errors: tuple[str, ...]  # names of the rows of C

    def begin(self, first: First, start: config.Start, held: Sample) -> Any:
        """Return the first belief."""

    def move(self, belief: Any, held: Sample, h: float, end: Sample) -> Any:
        """Predict with what drives the filter."""

    def coast(self, belief: Any, h: float, end: Sample) -> Any:
        """Predict without."""

    def columns(self, belief: Any) -> dict[str, Array]:
        """Return what is recorded."""


def driven(chosen: Any, gyros: list[Gyro], start: config.Start) -> Driven:
    """Build the filter of a configuration."""
    common = {"gate_probability": chosen.gate_probability}
    common |= {key: getattr(chosen, key) for key in ("patience", "inflation") if getattr(chosen, key) is not None}
    if chosen.kind == "gyro-mekf":
        return GyroDriven(chosen, gyros[0], common)
    if chosen.kind == "dqekf-kinematic":
        return Kinematic(chosen, common)
    biases = gyros if start.sigma_bias_deg_s > 0.0 else []
    extras = tuple(SensorBias(name=f"bias {i}", of=g, walk=g.bias_walk**2) for i, g in enumerate(biases))
    return (ByTorque if chosen.kind == "mekf" else ByWrench)(chosen, extras, common)


def _blocks(*sigmas_or_blocks: Array) -> Array:
    """Return the covariance with these blocks on its diagonal."""
    n = sum(len(b) for b in sigmas_or_blocks)
    C, at = np.zeros((n, n)), 0
    for b in sigmas_or_blocks:
        C[at : at + len(b), at : at + len(b)], at = b, at + len(b)
    return C


def _variance(sigma: float, n: int = 3) -> Array:
    return sigma**2 * np.eye(n)


def _given(start: config.Start) -> Array | None:
    return None if start.C is None else np.array(start.C)


def _named(*groups: str) -> tuple[str, ...]:
    return tuple(f"{group}_{axis}" for group in groups for axis in "xyz")


class GyroDriven:
    """Gyro MEKF: a gyro sample moves it."""

    def __init__(self, chosen: filter_config.GyroMekfFilter, gyro: Gyro, common: dict[str, Any]) -> None:
        self._biased = chosen.magnetometer_walk is not None
        special: dict[str, Any] = {"coast_sigma": chosen.coast_sigma, "magnetometer_walk": chosen.magnetometer_walk}
        self.filter = GyroMekf(gyro=gyro, **special, **common)
        self.errors = _named("a", "bias", *(["magnetometer_bias"] if self._biased else []))

    def begin(self, first: First, start: config.Start, held: Sample) -> Any:
        """Return the belief before the first sample."""
        bias = _variance(np.radians(start.sigma_bias_deg_s))
        magnetometer = [_variance(start.sigma_magnetometer_T)] if self._biased else []
        C = _given(start)
        return self.filter.start(
            first.q_IB, _blocks(first.C[:3, :3], bias, *magnetometer) if C is None else C, start.bias
        )

    def move(self, belief: Any, held: Sample, h: float, end: Sample) -> Any:
        """Move at the rate of the sample."""
        return self.filter.predict(belief, SILENT if held is None else held, h)

    def coast(self, belief: Any, h: float, end: Sample) -> Any:
        """Move at the last rate, which is trusted less."""
        return self.filter.predict(belief, SILENT, h)

    def columns(self, belief: Any) -> dict[str, Array]:
        """Return attitude, rate, biases and C."""
        found = {"q_IB": belief.q_IB, "w_B": belief.w_B, "bias": belief.bias, "C": belief.C}
        return found | ({"magnetometer_bias": belief.magnetometer_bias} if self._biased else {})


class ByTorque:
    """Dynamics-driven MEKF: known torques and wheels move it."""

    def __init__(
        self, chosen: filter_config.MekfFilter, extras: tuple[SensorBias, ...], common: dict[str, Any]
    ) -> None:
        psd = np.diag(np.asarray(chosen.torque_psd)) if np.ndim(chosen.torque_psd) else chosen.torque_psd
        self.filter = Mekf(np.array(chosen.J), chosen.method, psd, extras, **common)
        self.errors = _named("a", "w", *(extra.name for extra in extras))

    def begin(self, first: First, start: config.Start, held: Sample) -> Any:
        """Return the belief at the first attitude."""
        k = self.filter.size - 6
        C = (
            _blocks(first.C[:3, :3], _variance(np.radians(start.sigma_rate_deg_s)))
            if start.C is None
            else _given(start)
        )
        x = AttitudeState(np.asarray(first.q_IB), np.array(start.w_B))
        biases = np.tile(start.bias, k // 3), _variance(np.radians(start.sigma_bias_deg_s), k)
        return self.filter.start(x, C, NOTHING if held is None else held.z[6:], *biases)

    def move(self, belief: Any, held: Sample, h: float, end: Sample) -> Any:
        """Move under the known torque, the wheels at their momentum."""
        tau_B = NOTHING if held is None else held.z[:3]
        return self.filter.predict(belief, tau_B, h, None if end is None else end.z[6:])

    def coast(self, belief: Any, h: float, end: Sample) -> Any:
        """Move freely, but for the wheels."""
        return self.move(belief, None, h, end)

    def columns(self, belief: Any) -> dict[str, Array]:
        """Return attitude, rate, biases and C."""
        found = {"q_IB": belief.q_IB, "w_B": self.filter.state(belief).w_B, "C": self.filter.covariance(belief)}
        return found | ({"bias": belief.extras} if self.filter.extras else {})


class ByWrench:
    """Dynamics-driven pose filter: known wrenches move it."""

    def __init__(
        self, chosen: filter_config.DqekfFilter, extras: tuple[SensorBias, ...], common: dict[str, Any]
    ) -> None:
        options: dict[str, Any] = {
            "method": chosen.method,
            "wrench_psd": np.asarray(chosen.wrench_psd),
            "extras": extras,
        }
        self.filter = DqEkf.of(chosen.mass, np.array(chosen.r_g), np.array(chosen.J_com), **options, **common)
        self.errors = _named("a", "r", "w", "v", *(extra.name for extra in extras))

    def begin(self, first: First, start: config.Start, held: Sample) -> Any:
        """Return the belief at the first pose."""
        k = self.filter.size - 12
        x = PoseState(dual_quaternion.from_pose(first.q_IB, first.r_IB), np.concatenate([start.w_B, start.v_B]))
        C = _pose_covariance(first, start)
        biases = np.tile(start.bias, k // 3), _variance(np.radians(start.sigma_bias_deg_s), k)
        return self.filter.start(x, C, *biases)

    def move(self, belief: Any, held: Sample, h: float, end: Sample) -> Any:
        """Move under the known wrench."""
        return self.filter.predict(belief, None if held is None else held.z[:6], h)

    def coast(self, belief: Any, h: float, end: Sample) -> Any:
        """Move freely."""
        return self.filter.predict(belief, None, h)

    def columns(self, belief: Any) -> dict[str, Array]:
        """Return pose, twist, biases and C."""
        return _pose_columns(belief) | ({"bias": belief.extras} if self.filter.extras else {})


class Kinematic:
    """Pose filter with white acceleration: nothing moves it but its own twist."""

    def __init__(self, chosen: filter_config.KinematicFilter, common: dict[str, Any]) -> None:
        self.filter = TwistEkf(walk_psd=np.asarray(chosen.acceleration_psd), **common)
        self.errors = _named("a", "r", "w", "v")

    def begin(self, first: First, start: config.Start, held: Sample) -> Any:
        """Return the belief at the first pose; the filter's bias is the twist, less its sign."""
        twist = np.concatenate([start.w_B, start.v_B])
        return self.filter.start(
            dual_quaternion.from_pose(first.q_IB, first.r_IB), _pose_covariance(first, start), -twist
        )

    def move(self, belief: Any, held: Sample, h: float, end: Sample) -> Any:
        """Move at the estimated twist."""
        return self.filter.predict(belief, AT_REST, h)

    def coast(self, belief: Any, h: float, end: Sample) -> Any:
        """Move at the estimated twist."""
        return self.filter.predict(belief, AT_REST, h)

    def columns(self, belief: Any) -> dict[str, Array]:
        """Return pose, twist and C, the twist's error being less that of the bias."""
        sign = np.repeat([1.0, -1.0], 6)
        return _pose_columns(belief) | {"C": belief.C * np.outer(sign, sign)}


def _pose_covariance(first: First, start: config.Start) -> Array:
    rates = _variance(np.radians(start.sigma_rate_deg_s)), _variance(start.sigma_velocity_m_s)
    C = _given(start)
    return _blocks(first.C, *rates) if C is None else C


def _pose_columns(belief: Any) -> dict[str, Array]:
    q_IB, r_IB = dual_quaternion.to_pose(belief.dq_IB)
    twist = {"w_B": belief.chi_B[..., :3], "v_B": belief.chi_B[..., 3:]}
    return {"q_IB": q_IB, "r_IB": r_IB, "dq_IB": belief.dq_IB, **twist, "C": belief.C}
