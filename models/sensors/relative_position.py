"""Sensors of where another craft is, not how it stands; and sensors that stand still in inertial space."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from gnc import check, dual_quaternion, quaternion
from gnc.batch import batched
from gnc.config import NonNegative, Positive, Quaternion, Vector3
from gnc.linalg import array, block, identity, zeros
from gnc.models.parameters import store
from gnc.models.sensors.interface import Measurement, Prediction, padded, reading
from gnc.models.sensors.part import ALIGNED, SensorPart
from gnc.models.sensors.relative import (
    Probability,
    RelativePose,
    RelativeSensor,
    RelativeSensorPart,
    in_view,
    luck,
    position_sigma,
    stacked,
)

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


def _seen(dq_IS, dq_IT):
    return dual_quaternion.to_pose(dual_quaternion.mul(dual_quaternion.conj(dq_IS), dq_IT))


@batched("(8),(8),(3),(2),(2),(3),(5)->(3),()")
def _measure(dq_IS, dq_IT, bias, sigmas, view, chances, noise):
    r_S = _seen(dq_IS, dq_IT)[1]
    factor, kept = luck(noise[3:], chances)
    z = r_S + bias + (factor * position_sigma(r_S, sigmas)) * noise[:3]
    return reading(z, in_view(r_S, view) & kept)


@batched("(8),(8),(3),(2)->(3),(3,12),(3,3)")
def _predict(dq_IS, dq_IT, bias, sigmas):
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


@dataclass(frozen=True, eq=False, kw_only=True)
class RangeBearing(RelativeSensor):
    """Reads z = [|r|, x/|r|, y/|r|] + noise of r = r_ST, sensor axes: the range, and the sines across the boresight."""

    sigma_deg: Array = 0.1  # (...) of the bearing
    _sigmas: Array = field(init=False, repr=False)  # (..., 3) floor and fraction of the range, of the bearing [rad]

    noise_size: ClassVar[int] = 5  # range, bearing, outlier, drop-out

    def __post_init__(self) -> None:
        super().__post_init__()
        store(self, sigma_deg=check.non_negative("sigma_deg", self.sigma_deg))
        store(self, _sigmas=stacked(self.sigma_m, self.sigma_fraction, np.radians(self.sigma_deg)))

    def measure(self, truth: Any, env: Any, noise: Array) -> Measurement:
        """Measure the target `truth` from the observer `env`."""
        dq_IS = self._sensor_pose(env)
        z, valid = _measure_bearing(dq_IS, truth.dq_IB, self._sigmas, self._view, self._chances, noise)
        return Measurement(z, self._lit(dq_IS, env, valid) != 0.0)

    def predict(self, x: Any, env: Any) -> Prediction:
        """Predict the measurement; R belongs to the predicted range."""
        return Prediction(*_predict_bearing(self._sensor_pose(env), x.dq_IB, self._sigmas))


def _bearing(dq_IS, dq_IT, sigmas):
    """Return attitude and place of the target in sensor axes, what is read, and the standard deviations of that."""
    q_ST, r_S = dual_quaternion.to_pose(dual_quaternion.mul(dual_quaternion.conj(dq_IS), dq_IT))
    far = np.sqrt(r_S @ r_S)
    along = position_sigma(r_S, sigmas[:2])
    return q_ST, r_S, array([far, r_S[0] / far, r_S[1] / far]), array([along, sigmas[2], sigmas[2]])


@batched("(8),(8),(3),(2),(3),(5)->(3),()")
def _measure_bearing(dq_IS, dq_IT, sigmas, view, chances, noise):
    _, r_S, z, sigma = _bearing(dq_IS, dq_IT, sigmas)
    factor, kept = luck(noise[3:], chances)
    return reading(z + factor * sigma * noise[:3], in_view(r_S, view) & kept)


@batched("(8),(8),(3)->(3),(3,12),(3,3)")
def _predict_bearing(dq_IS, dq_IT, sigmas):
    """Return z, H and R: with u = r/|r|, d|r| = u.dr and d(u_x) = (e_x - u_x u).dr/|r|."""
    q_ST, r_S, z, sigma = _bearing(dq_IS, dq_IT, sigmas)
    u, one = r_S / z[0], identity(3)
    slope = array([u, (one[0] - u[0] * u) / z[0], (one[1] - u[1] * u) / z[0]])
    H = block([[zeros(3, 3), slope @ quaternion.to_matrix(q_ST)]])
    return z, padded(H, 12), array([(sigma[i] * sigma[i]) * one[i] for i in range(3)])


class RangeBearingPart(RelativeSensorPart):
    """A radar, or a camera with a rangefinder: range and bearing of another craft, and nothing of its attitude."""

    kind: Literal["range-bearing"] = "range-bearing"
    reads: ClassVar[str] = "m and sines"
    half_cone_deg: Annotated[float, Field(gt=0, lt=90)] = 60.0
    """Half the field of view about the z axis."""
    sigma_deg: Positive = 0.1
    """Noise of the bearing; `sigma_m` and `sigma_fraction` are those of the range."""

    def belief(self) -> RangeBearing:
        """Return the sensor without misalignment."""
        return RangeBearing(**self._options(), sigma_deg=self.sigma_deg)


class _Still:
    """A sensor that measures the craft whatever surrounds it."""

    def measure(self, truth: Any, env: Any, noise: Array, **bias: Array) -> Measurement:
        """Measure the craft."""
        return super().measure(truth, None, noise, **bias)  # type: ignore[misc]

    def predict(self, x: Any, env: Any, **bias: Array) -> Prediction:
        """Predict the measurement."""
        return super().predict(x, None, **bias)  # type: ignore[misc]


class Beacon(_Still, RelativePosition):  # type: ignore[misc]
    """The position of the craft, from a place in inertial space."""


class StationCamera(_Still, RelativePose):
    """The pose of the craft, from a place in inertial space."""


class StationPart(SensorPart):
    """What sensors that stand still have in common."""

    at_m: Vector3 = (0.0, 0.0, 0.0)
    """Where it stands, inertial axes."""
    q_IS: Quaternion = ALIGNED
    """Its axes: takes sensor components to inertial ones."""
    sigma_m: Positive = 0.01
    """Noise of each component of the position, or `sigma_fraction` of the range if that is more."""
    sigma_fraction: NonNegative = 0.0
    """Of the range."""
    dropout: Probability = 0.0
    """Probability that there is no measurement."""

    def _shared(self) -> dict[str, Any]:
        place = dual_quaternion.from_pose(np.array(self.q_IS), np.array(self.at_m))
        noise = {"sigma_m": self.sigma_m, "sigma_fraction": self.sigma_fraction, "dropout": self.dropout}
        return {"rate_hz": self.rate, "dq_BS": place, **noise}


class BeaconPart(StationPart):
    """A beacon in inertial space, by which the position of the craft is measured."""

    kind: Literal["beacon"] = "beacon"
    reads: ClassVar[str] = "m"

    def belief(self) -> Beacon:
        """Return the sensor."""
        return Beacon(**self._shared())


class StationCameraPart(StationPart):
    """A camera in inertial space, on a station say, that measures the pose of the craft."""

    kind: Literal["station-camera"] = "station-camera"
    sigma_deg: Positive = 0.5
    """Noise of the attitude about each axis."""

    def belief(self) -> StationCamera:
        """Return the sensor."""
        return StationCamera(**self._shared(), sigma_near_deg=self.sigma_deg, sigma_far_deg=self.sigma_deg)
