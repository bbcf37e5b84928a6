"""Pose filters: driven by the dynamics of the body, or by nothing but its twist."""

from __future__ import annotations

from typing import Any

import numpy as np

from gnc import dual_quaternion
from gnc.estimators.dqekf import DqEkf
from gnc.estimators.extra_states import SensorBias
from gnc.estimators.twist_ekf import TwistEkf
from gnc.models.pose_body import PoseState
from gnc.scenarios.replay import config, filter_config
from gnc.scenarios.replay.driven import Array, First, Sample, blocks, given, named, variance

AT_REST = np.zeros(6)


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
        self.errors = named("a", "r", "w", "v", *(extra.name for extra in extras))

    def start_size(self, start: config.Start) -> int:
        """Return the size of pose and twist."""
        return 12

    def begin(self, first: First, start: config.Start, held: Sample) -> Any:
        """Return the belief at the first pose."""
        k = self.filter.size - 12
        x = PoseState(dual_quaternion.from_pose(first.q_IB, first.r_IB), np.concatenate([start.w_B, start.v_B]))
        C = _pose_covariance(first, start)
        biases = np.tile(start.bias, k // 3), variance(np.radians(start.sigma_bias_deg_s), k)
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
        self.errors = named("a", "r", "w", "v")

    def start_size(self, start: config.Start) -> int:
        """Return the size of pose and twist."""
        return 12

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
    rates = variance(np.radians(start.sigma_rate_deg_s)), variance(start.sigma_velocity_m_s)
    C = given(start)
    return blocks(first.C, *rates) if C is None else C


def _pose_columns(belief: Any) -> dict[str, Array]:
    q_IB, r_IB = dual_quaternion.to_pose(belief.dq_IB)
    twist = {"w_B": belief.chi_B[..., :3], "v_B": belief.chi_B[..., 3:]}
    return {"q_IB": q_IB, "r_IB": r_IB, "dq_IB": belief.dq_IB, **twist, "C": belief.C}
