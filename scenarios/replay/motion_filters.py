"""Filters of a body of which no dynamics are known: driven by a gyro, or by a model of the motion alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from gnc import quaternion
from gnc.estimators.chart import POSE, ROTATION, vector
from gnc.estimators.gyro_mekf import GyroMekf
from gnc.estimators.motion_fit import Poses, fitted
from gnc.estimators.motion_models import Kind, MotionFilter
from gnc.estimators.twist_ekf import TwistEkf
from gnc.models.sensors import Gyro, Measurement
from gnc.scenarios.replay import config, filter_config
from gnc.scenarios.replay.filter_protocol import (
    Array,
    First,
    ReplayFilter,
    Sample,
    blocks,
    first_pose,
    given,
    named,
    pose_columns,
    pose_covariance,
    variance,
)  # fmt: skip
from gnc.scenarios.replay.sensor_states import SensorStates

LARGEST = 1.0, 1e-3, 10.0  # sigma to which a recovery lets attitude and bias grow [rad, rad/s], and how often others
SILENT = Measurement(np.zeros(3), False)
AT_REST, NO_VELOCITY = np.zeros(6), np.zeros(3)


class GyroDriven(ReplayFilter):
    """Gyro MEKF: a gyro sample moves it."""

    def __init__(
        self, chosen: filter_config.GyroMekfFilter, gyro: Gyro, others: Mapping[str, Any], common: dict[str, Any]
    ) -> None:
        self._states = states = SensorStates(others)
        self._sigmas = states.first(config.Start())[1]
        common |= {"largest_sigma": np.append(LARGEST[:2], LARGEST[2] * self._sigmas)}
        self.filter = GyroMekf(gyro=gyro, coast_sigma=chosen.coast_sigma, extras=states.extras, **common)
        self.errors = (*named("a", "bias"), *states.errors)
        more = len(states.errors)
        self.fields = ("q_IB", "bias", "extras")[: 3 if more else 2]
        self.chart = (ROTATION, vector(3), vector(more))[: len(self.fields)]

    def begin(self, first: First, start: config.Start, held: Sample) -> Any:
        """Return the belief before the first sample."""
        bias = variance(np.radians(start.sigma_bias_deg_s))
        C = blocks(first.C[:3, :3], bias, np.diag(self._sigmas**2)) if start.C is None else given(start)
        return self.filter.start(first.q_IB, C, start.bias)

    def step(self, belief: Any, sample: Sample, h: Array, end: Measurement) -> Any:
        """Move at the rate of the sample, or at the last rate, which is trusted less."""
        return self.filter.predict(belief, SILENT if sample is None else sample, h)

    def moved(self, belief: Any, parts: tuple[Array, ...], C: Array) -> Any:
        """Return the belief with another attitude and other biases."""
        w_B = belief.w_B - (parts[1] - belief.bias) @ np.linalg.inv(self.filter.gyro.D_SB).T
        return super().moved(belief, parts, C)._replace(w_B=w_B)

    def columns(self, belief: Any) -> dict[str, Array]:
        """Return attitude, rate, biases and C."""
        found = {"q_IB": belief.q_IB, "w_B": belief.w_B, "bias": belief.bias, "C": belief.C}
        return found | self._states.columns(belief.extras)


class Kinematic(ReplayFilter):
    """Pose filter with white acceleration: nothing moves it but its own twist, and a gyro if there is one.

    The bias of `TwistEkf` is that of the measured twist: of a gyro its own, of what nothing measures the twist itself,
    less its sign.
    """

    def __init__(self, chosen: filter_config.KinematicFilter, common: dict[str, Any], gyro: Gyro | None) -> None:
        walk, white = np.ones(6) * np.asarray(chosen.acceleration_psd), np.zeros(6)
        self._gyro = gyro
        if gyro is not None:
            walk[:3], white[:3] = gyro.bias_walk**2, gyro.arw**2
        self.filter = TwistEkf(twist_psd=white, walk_psd=walk, **common)
        self.fields, self.chart = ("dq_IB", "bias"), (POSE, vector(6))
        self.errors = named("a", "r", "w" if gyro is None else "bias", "v")
        self._sign = np.repeat([1.0, -1.0 if gyro is None else 1.0, -1.0], [6, 3, 3])

    def begin(self, first: First, start: config.Start, held: Sample) -> Any:
        """Return the belief at the first pose."""
        dq_IB, twist = first_pose(first, start)
        C, bias = pose_covariance(first, start), -twist
        if self._gyro is not None:
            bias[:3] = start.bias
            if start.C is None:
                C[6:9, 6:9] = variance(np.radians(start.sigma_bias_deg_s))
        return self.filter.start(dq_IB, C, bias)

    def step(self, belief: Any, sample: Sample, h: Array, end: Measurement) -> Any:
        """Move at the rate of the gyro's sample and the estimated velocity, or at the last twist."""
        if self._gyro is None or sample is None:
            return self.filter.predict(belief, AT_REST, h, np.array(self._gyro is None))
        z = np.concatenate([quaternion.rotate(self._gyro.q_BS, sample.z), NO_VELOCITY])
        return self.filter.predict(belief, z, h, sample.valid)

    def moved(self, belief: Any, parts: tuple[Array, ...], C: Array) -> Any:
        """Return the belief with another pose and bias."""
        return super().moved(belief, parts, C)._replace(chi_B=belief.chi_B + belief.bias - parts[1])

    def columns(self, belief: Any) -> dict[str, Array]:
        """Return pose, twist, bias and C, an unmeasured twist's error being less that of the bias."""
        more = {} if self._gyro is None else {"bias": belief.bias[..., :3]}
        return pose_columns(belief) | more | {"C": belief.C * np.outer(self._sign, self._sign)}


class Moving(ReplayFilter):
    """Pose filter by a model of the motion, of which kind and density are those that suit the log best."""

    recordable, fields = False, ("dq_IB",)  # the rest of the chart is made of the others

    def __init__(self, chosen: filter_config.KinematicFilter, poses: Sequence[Poses]) -> None:
        kinds: tuple[Kind, ...] = ("white", "damped", "singer") if chosen.motion == "auto" else (chosen.motion,)
        self.turning, self.moving = fitted(poses, kinds)
        self.filter = MotionFilter((self.turning,), (self.moving,), chosen.gate_probability)
        self.errors, self.chart = named("a", "r", "w", "v_I"), (POSE, vector(12))

    def begin(self, first: First, start: config.Start, held: Sample) -> Any:
        """Return the belief at the first pose."""
        dq_IB, twist = first_pose(first, start)
        return self.filter.start(dq_IB, pose_covariance(first, start), twist)

    def step(self, belief: Any, sample: Sample, h: Array, end: Measurement) -> Any:
        """Move by the model."""
        return self.filter.predict(belief, float(h))

    def slope(self, before: Any, after: Any, sample: Sample, h: Array, end: Measurement) -> Array:
        """Return F."""
        return self.filter.transition(before, after, float(h))

    def parts(self, belief: Any) -> tuple[Array, ...]:
        """Return pose, rate, inertial velocity and accelerations."""
        v_I = quaternion.rotate(belief.dq_IB[..., :4], belief.chi_B[..., 3:])
        return belief.dq_IB, np.concatenate([belief.chi_B[..., :3], v_I, belief.alpha], axis=-1)

    def moved(self, belief: Any, parts: tuple[Array, ...], C: Array) -> Any:
        """Return the belief with another pose and motion."""
        v_B = quaternion.inverse_rotate(parts[0][..., :4], parts[1][..., 3:6])
        chi_B = np.concatenate([parts[1][..., :3], v_B], axis=-1)
        return belief._replace(dq_IB=parts[0], chi_B=chi_B, alpha=parts[1][..., 6:], C=C)

    def columns(self, belief: Any) -> dict[str, Array]:
        """Return pose, twist and C."""
        return pose_columns(belief) | {"C": belief.C[..., :12, :12]}
