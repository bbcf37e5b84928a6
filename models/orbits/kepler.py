"""An elliptic orbit, by its elements."""

from __future__ import annotations

from typing import Annotated, Literal

import numpy as np
from pydantic import Field

from gnc.models.environment import KeplerOrbit
from gnc.models.environment.constants import EARTH_J2
from gnc.models.orbits.base import OrbitPart


class Kepler(OrbitPart):
    """An ellipse about the Earth; node, perigee and anomaly drift with J2."""

    kind: Literal["kepler"] = "kepler"
    semi_major_axis_km: Annotated[float, Field(gt=6378)] = 7000.0
    """From the centre of the Earth."""
    eccentricity: Annotated[float, Field(ge=0, le=0.99)] = 0.0
    inclination_deg: Annotated[float, Field(ge=0, le=180)] = 97.4
    raan_deg: float = 22.5
    """Right ascension of the ascending node."""
    argument_of_perigee_deg: float = 0.0
    mean_anomaly_deg: float = 0.0
    """At the start; 0 is the perigee."""
    J2: bool = True
    """False: the problem of two bodies."""
    epoch: str = "2025-03-20T09:01:00"
    """UTC of the start, ISO 8601."""

    def path(self) -> KeplerOrbit:
        """Return the orbit."""
        return KeplerOrbit(
            a=1e3 * self.semi_major_axis_km,
            e=self.eccentricity,
            inclination=np.radians(self.inclination_deg),
            raan=np.radians(self.raan_deg),
            argument=np.radians(self.argument_of_perigee_deg),
            mean_anomaly=np.radians(self.mean_anomaly_deg),
            epoch=self.epoch,
            J2=EARTH_J2 if self.J2 else 0.0,
        )
