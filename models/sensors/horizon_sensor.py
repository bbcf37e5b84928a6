"""Horizon sensor: the direction of the Earth's centre."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

import numpy as np

from gnc.batch import batched
from gnc.config import Positive
from gnc.models.sensors.sun_sensor import FineSunSensor, SunSensorPart
from gnc.typing import Array

LIT = np.array(0.0)


class HorizonSensor(FineSunSensor):
    """Reads z = R_SB R_IB^T down_I + noise, down_I the unit vector to the centre of the Earth; day and night."""

    def aim(self, env: Any) -> tuple[Array, Array]:
        """Return the direction that is measured, and that nothing hides it."""
        return down(env.r_I), LIT


@batched("(3)->(3)")
def down(r_I):
    """Return the unit vector to the centre of the Earth."""
    return -r_I / np.sqrt(r_I @ r_I)


class HorizonSensorPart(SunSensorPart):
    """A horizon sensor, which measures the direction of the Earth's centre, day and night."""

    kind: Literal["horizon-sensor"] = "horizon-sensor"  # type: ignore[assignment]
    sensor: ClassVar[type[FineSunSensor]] = HorizonSensor
    sigma_deg: Positive = 0.1
    """Noise of each component; the unevenness of the horizon counts as misalignment."""
