"""Sensors that stand still in inertial space and look at the craft: a client's beacon, a station's camera."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from gnc import dual_quaternion
from gnc.config import NonNegative, Positive, Quaternion, Vector3
from gnc.models.sensors.interface import Measurement, Prediction
from gnc.models.sensors.part import ALIGNED, SensorPart
from gnc.models.sensors.relative_pose import RelativePose
from gnc.models.sensors.relative_position import RelativePosition

Array = Any
Probability = Annotated[float, Field(ge=0, lt=1)]


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
