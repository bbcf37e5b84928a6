"""Ranging or bearing-and-range sensor that measures the position of a target, and nothing of its attitude."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

import numpy as np

from gnc import check, dual_quaternion, quaternion
from gnc.batch import batched
from gnc.linalg import block, identity, zeros
from gnc.models.parameters import store
from gnc.models.sensors.error_state import padded
from gnc.models.sensors.interface import Measurement, Prediction
from gnc.models.sensors.relative import (
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
class RelativePosition(RelativeSensor):
    """Reads z = r_ST + bias + noise: the target's origin in sensor axes, in metres."""

    bias: Array = (0.0, 0.0, 0.0)  # (..., 3) sensor axes [m]
    _sigmas: Array = field(init=False, repr=False)  # (..., 2) floor and fraction of the range

    noise_size: ClassVar[int] = 5  # position, outlier, drop-out
    bias_size: ClassVar[int] = 3
    H_bias: ClassVar[Array] = np.eye(3)

    def __post_init__(self) -> None:
        """Validate once; the kernels do not."""
        super().__post_init__()
        store(self, bias=check.vector("bias", self.bias, 3), _sigmas=stacked(self.sigma_m, self.sigma_fraction))

    def measure(self, truth: Any, env: Any, noise: Array, bias: Array | None = None) -> Measurement:
        """Measure the position of the target `truth` from the observer `env`; `bias` replaces the parameter."""
        b = self.bias if bias is None else bias
        parameters, dq_IS = (self._sigmas, self._view, self._chances), self._sensor_pose(env)
        z, valid = _measure(dq_IS, truth.dq_IB, b, *parameters, noise)
        return Measurement(z, self._lit(dq_IS, env, valid) != 0.0)

    def predict(self, x: Any, env: Any, bias: Array | None = None) -> Prediction:
        """Predict the measurement; H = [0, R_ST, 0, 0], and R belongs to the predicted range."""
        b = self.bias if bias is None else bias
        return Prediction(*_predict(self._sensor_pose(env), x.dq_IB, b, self._sigmas))

    def residual(self, z: Array, z_predicted: Array) -> Array:
        """Return the difference."""
        return z - z_predicted


def _seen(dq_IS, dq_IT):
    return dual_quaternion.to_pose(dual_quaternion.mul(dual_quaternion.conj(dq_IS), dq_IT))


@batched("(8),(8),(3),(2),(2),(3),(5)->(3),()")
def _measure(dq_IS, dq_IT, bias, sigmas, view, chances, noise):
    """Return the reading, or zeros, and whether it is valid."""
    r_S = _seen(dq_IS, dq_IT)[1]
    factor, kept = luck(noise[3:], chances)
    z = r_S + bias + (factor * position_sigma(r_S, sigmas)) * noise[:3]
    return reading(z, in_view(r_S, view) & kept)


@batched("(8),(8),(3),(2)->(3),(3,12),(3,3)")
def _predict(dq_IS, dq_IT, bias, sigmas):
    """Return z, H and R."""
    q_ST, r_S = _seen(dq_IS, dq_IT)
    sigma = position_sigma(r_S, sigmas)
    H = block([[zeros(3, 3), quaternion.to_matrix(q_ST)]])
    return r_S + bias, padded(H, 12), sigma * sigma * identity(3)


class RelativePositionPart(RelativeSensorPart):
    """A lidar or radar that measures the position of another craft, and nothing of its attitude."""

    kind: Literal["relative-position"] = "relative-position"
    reads: ClassVar[str] = "m"

    def belief(self) -> RelativePosition:
        """Return the sensor without misalignment."""
        return RelativePosition(**self._options())
