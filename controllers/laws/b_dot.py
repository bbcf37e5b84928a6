"""B-dot as a part of a mission."""

from __future__ import annotations

import math
from typing import Any, ClassVar, Literal

import numpy as np

from gnc.config import Positive
from gnc.controllers.bdot import Bdot, BdotMemory
from gnc.controllers.laws.base import Demand, LawPart
from gnc.errors import InputError
from gnc.models.environment.constants import EARTH_MU
from gnc.models.known import Known
from gnc.models.sensors import Magnetometer
from gnc.typing import Array


class FieldLaw:
    """B-dot on the field as last measured."""

    def __init__(self, bdot: Bdot, period_s: float) -> None:
        self._bdot, self._period_s = bdot, period_s

    def start(self, leading_shape: tuple[int, ...]) -> BdotMemory:
        """Return the memory before the first measurement."""
        return self._bdot.start(leading_shape)

    def command(self, estimate: Any, reference: Any, memory: BdotMemory) -> tuple[Array, BdotMemory]:
        """Return the dipole."""
        return self._bdot.command(estimate.B_B, memory, self._period_s)


class BdotPart(LawPart):
    """B-dot, which stops a tumble with torquers and a magnetometer alone."""

    kind: Literal["b-dot"] = "b-dot"
    demand: ClassVar[Demand] = "dipole"
    guided: ClassVar[bool] = False
    gain_Nms: Positive | None = None
    """By default 2 n (1 + sin i) J_min, n of a circular orbit at the start: Avanzini, Giulietti 2012."""

    def build(self, known: Known) -> FieldLaw:
        """Return the law."""
        rates = [sensor.rate_hz for sensor in known.sensors.values() if isinstance(sensor, Magnetometer)]
        if not rates or not math.isclose(rates[0] * known.control_s, 1.0):
            there = f"a magnetometer at {rates[0]:g} Hz" if rates else "none"
            needed = f"software.{known.craft}.rate_hz, {1.0 / known.control_s:g} Hz"
            raise InputError(f"law = 'b-dot': needs a magnetometer at the rate of commands, {needed}; there is {there}")
        if self.gain_Nms is not None:
            return FieldLaw(Bdot(gain=self.gain_Nms), known.control_s)
        r, v = known.sky.at(0.0).r_I, known.sky.at(0.0).v_I
        if not np.any(r):
            raise InputError("b-dot: there is no field in free space; give an orbit")
        normal = np.cross(r, v)
        rate, inclination = np.sqrt(EARTH_MU / np.linalg.norm(r) ** 3), np.arccos(normal[2] / np.linalg.norm(normal))
        return FieldLaw(Bdot.tuned(known.J, rate, inclination), known.control_s)
