"""Pose filters: driven by the dynamics of the body, or by nothing but its twist."""

from __future__ import annotations

from typing import Any

import numpy as np

from gnc import dual_quaternion, quaternion
from gnc.estimators.chart import POSE, vector
from gnc.estimators.dqekf import DqEkf
from gnc.estimators.extra_states import ExtraState, SensorBias
from gnc.estimators.inertia_states import Inertia
from gnc.estimators.motion_fit import Poses, fitted
from gnc.estimators.motion_models import Kind, MotionFilter
from gnc.estimators.navigation.free_body import Prior, TargetNavigation
from gnc.estimators.pose_motion import TURN
from gnc.estimators.twist_ekf import TwistEkf
from gnc.models.craft.body import about_centre
from gnc.models.pose_body import PoseState
from gnc.models.sensors import Gyro, Measurement
from gnc.models.sensors.interface import Sighting
from gnc.scenarios.replay import config, filter_config
from gnc.scenarios.replay.driven import INERTIA, Array, Driven, First, Sample, blocks, given, named, variance

AT_REST, NO_VELOCITY = np.zeros(6), np.zeros(3)


class ByWrench(Driven):
    """Dynamics-driven pose filter: known wrenches move it."""

    sample_size = 12

    def __init__(
        self, chosen: filter_config.DqekfFilter, biases: tuple[SensorBias, ...], common: dict[str, Any]
    ) -> None:
        self._chosen, self._biases, extras = chosen, 3 * len(biases), list[ExtraState](biases)
        self._prior: Prior | None = None
        self.errors = named("a", "r", "w", "v", *(bias.name for bias in biases))
        if chosen.inertia_sigma_kgm2 > 0.0:
            extras.append(Inertia(form="ratios", walk=chosen.inertia_walk))
            self.errors += INERTIA
        options: dict[str, Any] = {"method": chosen.method, "wrench_psd": np.asarray(chosen.wrench_psd)}
        options |= {"extras": tuple(extras), "turn": TURN if chosen.substeps else None}
        self.filter = DqEkf.of(chosen.mass, np.array(chosen.r_g), np.array(chosen.J_com), **options, **common)
        self.fields = ("dq_IB", "chi_B", *(["extras"] if extras else []))
        self.chart = (POSE, vector(6), *([vector(self.filter.size - 12)] if extras else []))

    def start_size(self, start: config.Start) -> int:
        """Return the size of pose and twist."""
        return 12

    def begin(self, first: First, start: config.Start, held: Sample) -> Any:
        """Return the belief at the first pose."""
        k, x, C = self.filter.size - 12, _first_state(first, start), _pose_covariance(first, start)
        values = np.concatenate([np.tile(start.bias, self._biases // 3), np.zeros(k - self._biases)])
        spread = variance(np.radians(start.sigma_bias_deg_s), self._biases)
        others = variance(self._chosen.inertia_sigma_kgm2, k - self._biases)
        if self._chosen.restart_beyond is not None:
            q_IB, P_B, _, p_I = about_centre(*x, self.filter.M)
            self._prior = Prior(quaternion.rotate(q_IB, P_B), p_I, C, np.array(self._chosen.restart_beyond))
        return self.filter.start(x, C, values, blocks(spread, others))

    def step(self, belief: Any, sample: Sample, h: Array, end: Measurement) -> Any:
        """Move under the known wrench, or freely."""
        return self.filter.predict(belief, None if sample is None else sample.z[:6], h)

    def slope(self, before: Any, after: Any, sample: Sample, h: Array, end: Measurement) -> Array:
        """Return F."""
        return self.filter.transition(before, before.C, None if sample is None else sample.z[:6], h)[1]

    def update(self, belief: Any, sensor: Any, measurement: Measurement, env: Any, gated: bool) -> tuple[Any, Any]:
        """Correct with a measurement; `restart_beyond` makes it do as a chaser's filter does."""
        if self._prior is None:
            return super().update(belief, sensor, measurement, env, gated)
        chaser = TargetNavigation(self.filter, {}, lambda x, M, h: x, 0.0, self._prior)
        return chaser.corrected(belief, sensor, Sighting(*measurement, env), gated)

    def columns(self, belief: Any) -> dict[str, Array]:
        """Return pose, twist, extra states and C."""
        more = {"bias": belief.extras[..., : self._biases]} if self._biases else {}
        if self._chosen.inertia_sigma_kgm2 > 0.0:
            more["inertia"] = belief.extras[..., self._biases :]
        return _pose_columns(belief) | more


class Kinematic(Driven):
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
        dq_IB, twist = _first_state(first, start)
        C, bias = _pose_covariance(first, start), -twist
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

    def slope(self, before: Any, after: Any, sample: Sample, h: Array, end: Measurement) -> Array:
        """Return F."""
        return self.filter.transition(after, h)

    def moved(self, belief: Any, parts: tuple[Array, ...], C: Array) -> Any:
        """Return the belief with another pose and bias."""
        return super().moved(belief, parts, C)._replace(chi_B=belief.chi_B + belief.bias - parts[1])

    def columns(self, belief: Any) -> dict[str, Array]:
        """Return pose, twist, bias and C, an unmeasured twist's error being less that of the bias."""
        more = {} if self._gyro is None else {"bias": belief.bias[..., :3]}
        return _pose_columns(belief) | more | {"C": belief.C * np.outer(self._sign, self._sign)}


class Moving(Driven):
    """Pose filter by a model of the motion, of which kind and density are those that suit the first poses best."""

    recordable, fields = False, ("dq_IB",)  # the rest of the chart is made of the others

    def __init__(self, chosen: filter_config.KinematicFilter, poses: Poses) -> None:
        kinds: tuple[Kind, ...] = ("white", "damped", "singer") if chosen.motion == "auto" else (chosen.motion,)
        self.turning, self.moving = fitted(poses, kinds, chosen.gate_probability)
        self.filter = MotionFilter((self.turning,), (self.moving,), chosen.gate_probability)
        self.errors, self.chart = named("a", "r", "w", "v_I"), (POSE, vector(12))

    def begin(self, first: First, start: config.Start, held: Sample) -> Any:
        """Return the belief at the first pose."""
        dq_IB, twist = _first_state(first, start)
        return self.filter.start(dq_IB, _pose_covariance(first, start), twist)

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
        return _pose_columns(belief) | {"C": belief.C[..., :12, :12]}


def _first_state(first: First, start: config.Start) -> PoseState:
    pose = dual_quaternion.from_pose(first.q_IB, first.r_IB) if start.dq_IB is None else np.array(start.dq_IB)
    return PoseState(pose, np.concatenate([start.w_B, start.v_B]))


def _pose_covariance(first: First, start: config.Start) -> Array:
    rates = variance(np.radians(start.sigma_rate_deg_s)), variance(start.sigma_velocity_m_s)
    C = given(start)
    return blocks(first.C, *rates) if C is None else C


def _pose_columns(belief: Any) -> dict[str, Array]:
    q_IB, r_IB = dual_quaternion.to_pose(belief.dq_IB)
    twist = {"w_B": belief.chi_B[..., :3], "v_B": belief.chi_B[..., 3:]}
    return {"q_IB": q_IB, "r_IB": r_IB, "dq_IB": belief.dq_IB, **twist, "C": belief.C}
