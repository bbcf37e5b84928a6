"""Horizon sensor: the direction of the Earth's centre."""

from __future__ import annotations

import dataclasses
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from gnc.batch import batched
from gnc.config import NonNegative, Positive
from gnc.draws import Draws
from gnc.models.sensors.part import MountedSensorPart
from gnc.models.sensors.sun_sensor import FineSunSensor

Array = Any
LIT = np.array(0.0)


class HorizonSensor(FineSunSensor):
    """Reads z = R_SB R_IB^T down_I + noise, down_I the unit vector to the centre of the Earth; day and night."""

    def _seen(self, env: Any) -> tuple[Array, Array]:
        return down(env.r_I), LIT


@batched("(3)->(3)")
def down(r_I):
    """Return the unit vector to the centre of the Earth."""
    return -r_I / np.sqrt(r_I @ r_I)


class HorizonSensorPart(MountedSensorPart):
    """A horizon sensor, which measures the direction of the Earth's centre."""

    kind: Literal["horizon-sensor"] = "horizon-sensor"
    needs_orbit: ClassVar[bool] = True
    sigma_deg: Positive = 0.1
    """Noise of each component."""
    misalignment_deg: NonNegative = 0.0
    """True misalignment about each axis, one sigma over the trials; the unevenness of the horizon counts as that."""
    half_cone_deg: Annotated[float, Field(gt=0, le=180)] = 180.0
    """Half the field about its z axis in which the Earth's centre must be; 180 sees all around."""

    def truth(self, name: str, draws: Draws) -> HorizonSensor:
        """Return the sensor of each trial."""
        misalignment = draws.vector(f"{name} misalignment", np.radians(self.misalignment_deg))
        return dataclasses.replace(self.belief(), misalignment=misalignment)

    def belief(self) -> HorizonSensor:
        """Return the sensor without misalignment."""
        cone = {"sigma_deg": self.sigma_deg, "half_cone_deg": self.half_cone_deg}
        return HorizonSensor(rate_hz=self.rate, q_BS=self.q_BS, **cone)
