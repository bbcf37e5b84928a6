"""A circular orbit, by altitude."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

import numpy as np
from pydantic import Field

from gnc.models.environment import KeplerOrbit
from gnc.models.environment.constants import EARTH_J2, EARTH_RADIUS
from gnc.models.orbits.base import OrbitPart


class Circular(OrbitPart):
    """A circular orbit about the Earth, its node drifting with J2."""

    kind: Literal["circular"] = "circular"
    J2: ClassVar[bool] = True
    altitude_km: Annotated[float, Field(ge=200, le=100_000)] = 500.0
    """Above the equator."""
    inclination_deg: Annotated[float, Field(ge=0, le=180)] = 97.4
    raan_deg: float = 22.5
    """Right ascension of the ascending node."""
    argument_deg: float = 0.0
    """Where on the orbit it starts, from the ascending node."""
    epoch: str = "2025-03-20T09:01:00"
    """UTC of the start, ISO 8601; the default is an equinox."""

    def path(self) -> KeplerOrbit:
        """Return the orbit."""
        return KeplerOrbit(
            a=EARTH_RADIUS + 1e3 * self.altitude_km,
            inclination=np.radians(self.inclination_deg),
            raan=np.radians(self.raan_deg),
            mean_anomaly=np.radians(self.argument_deg),
            epoch=self.epoch,
            J2=EARTH_J2 if self.J2 else 0.0,
        )
