"""Camera or lidar that measures the pose of a target."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

import numpy as np

from gnc import check, dual_quaternion, quaternion
from gnc.batch import batched, maximum, minimum, where
from gnc.config import NonNegative, Positive
from gnc.errors import InputError
from gnc.linalg import array, block, identity, zeros
from gnc.models.parameters import store
from gnc.models.sensors.interface import Measurement, Prediction
from gnc.models.sensors.relative import (
    ALIGNED,
    RelativeSensor,
    RelativeSensorPart,
    in_view,
    luck,
    position_sigma,
    stacked,
)
from gnc.models.sensors.validity import reading

Array = Any


@dataclass(frozen=True, eq=False, kw_only=True)
class RelativePose(RelativeSensor):
    """Reads z = dq_ST exp(noise/2), a dual quaternion, with dq_ST = dq_IS* dq_IT.

    The noise is a twist in target axes; to first order its parts are independent errors of attitude and position. The
    attitude's standard deviation about each axis rises with the range from near to far, and is constant outside. All
    noise is larger by 1 + aspect (1 - c)/2, c the cosine between the target's x axis and the way to the sensor.
    """

    near_m: Array = 5.0  # (...)
    far_m: Array = 50.0  # (...)
    sigma_near_deg: Array = 0.5  # (...)
    sigma_far_deg: Array = 3.0  # (...)
    aspect: Array = 0.0  # (...) by which share noise is larger where the target's x axis looks away
    _sigmas: Array = field(init=False, repr=False)  # (..., 7) floor, fraction, near, far, sigmas there, aspect [m, rad]

    noise_size: ClassVar[int] = 8  # attitude, position, outlier, drop-out
    bias_size: ClassVar[int] = 0
    H_bias: ClassVar[Array] = np.zeros((6, 0))

    def __post_init__(self) -> None:
        """Validate once; the kernels do not."""
        super().__post_init__()
        for name in ("near_m", "far_m", "sigma_near_deg", "sigma_far_deg", "aspect"):
            store(self, **{name: check.non_negative(name, getattr(self, name))})
        if np.any(self.far_m <= self.near_m):
            raise InputError(f"far_m: {np.min(self.far_m):g} is not beyond near_m")
        sigmas = np.radians(self.sigma_near_deg), np.radians(self.sigma_far_deg)
        store(self, _sigmas=stacked(self.sigma_m, self.sigma_fraction, self.near_m, self.far_m, *sigmas, self.aspect))

    def measure(self, truth: Any, env: Any, noise: Array) -> Measurement:
        """Measure the pose of the target `truth` from the observer `env`."""
        parameters, dq_IS = (self._sigmas, self._view, self._chances), self._sensor_pose(env)
        z, valid = _measure(dq_IS, truth.dq_IB, *parameters, noise)
        return Measurement(z, self._lit(dq_IS, env, valid) != 0.0)

    def predict(self, x: Any, env: Any) -> Prediction:
        """Predict the measurement; H = [1, 0], and R belongs to the predicted range."""
        z, R = _predict(self._sensor_pose(env), x.dq_IB, self._sigmas)
        return Prediction(z, np.eye(6, 12), R)

    def placed(self, z: Array, env: Any) -> Array:
        """Return dq_IT as a measurement says."""
        return dual_quaternion.mul(self._sensor_pose(env), z)

    def residual(self, z: Array, z_predicted: Array) -> Array:
        """Return the twist of z_predicted* z, target axes; zero where z is not valid."""
        return _residual(z, z_predicted)


def _attitude_sigma(r_S, noise):
    """Return the standard deviation of the attitude, linear in the range between near and far."""
    near, far, sigma_near, sigma_far, _ = noise
    t = minimum(maximum((np.sqrt(r_S @ r_S) - near) / (far - near), 0.0), 1.0)
    return sigma_near + t * (sigma_far - sigma_near)


def _seen(dq_IS, dq_IT, sigmas):
    """Return the target's pose and position in the sensor, and the standard deviations of attitude and position."""
    dq_ST = dual_quaternion.mul(dual_quaternion.conj(dq_IS), dq_IT)
    r_S = dual_quaternion.to_pose(dq_ST)[1]
    facing = -(quaternion.rotate(dq_ST[:4], array([1.0, 0.0, 0.0])) @ r_S) / maximum(np.sqrt(r_S @ r_S), 1e-9)
    growth = 1.0 + 0.5 * sigmas[6] * (1.0 - facing)
    return dq_ST, r_S, growth * _attitude_sigma(r_S, sigmas[2:]), growth * position_sigma(r_S, sigmas[:2])


@batched("(8),(8),(7),(2),(3),(8)->(8),()")
def _measure(dq_IS, dq_IT, sigmas, view, chances, noise):
    """Return the reading, or zeros, and whether it is valid."""
    dq_ST, r_S, rotation, translation = _seen(dq_IS, dq_IT, sigmas)
    factor, kept = luck(noise[6:], chances)
    twist = np.concatenate([(factor * rotation) * noise[:3], (factor * translation) * noise[3:6]])
    return reading(dual_quaternion.mul(dq_ST, dual_quaternion.exp(twist)), in_view(r_S, view) & kept)


@batched("(8),(8),(7)->(8),(6,6)")
def _predict(dq_IS, dq_IT, sigmas):
    """Return z and R."""
    dq_ST, _, rotation, translation = _seen(dq_IS, dq_IT, sigmas)
    one, nil = identity(3), zeros(3, 3)
    return dq_ST, block([[rotation * rotation * one, nil], [nil, translation * translation * one]])


@batched("(8),(8)->(6)")
def _residual(z, z_predicted):
    none = z @ z == 0.0
    difference = dual_quaternion.mul(dual_quaternion.conj(z_predicted), z)
    return dual_quaternion.log(where(none, array(list(ALIGNED)), difference))


class RelativePosePart(RelativeSensorPart):
    """A camera or lidar that measures the pose of another craft."""

    kind: Literal["relative-pose"] = "relative-pose"
    near_m: NonNegative = 5.0
    """Up to there the attitude is measured best."""
    far_m: Positive = 50.0
    """From there on it is measured worst."""
    sigma_near_deg: Positive = 0.5
    """Noise of the attitude about each axis, near."""
    sigma_far_deg: Positive = 3.0
    """The same, far."""
    aspect: NonNegative = 0.0
    """By which share all noise is larger where the target's x axis, that of its port say, looks away."""

    def belief(self) -> RelativePose:
        """Return the sensor without misalignment."""
        own = {key: getattr(self, key) for key in ("near_m", "far_m", "sigma_near_deg", "sigma_far_deg", "aspect")}
        return RelativePose(**self._options(), **own)
