"""Orbits as parts of a mission: by elements, two-line elements or a table, Hill's, free space, or one's own."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from pydantic import Field, ValidationInfo, field_validator

from gnc.models.environment import EnvironmentTable, KeplerOrbit
from gnc.models.environment.constants import EARTH_J2, EARTH_RADIUS
from gnc.models.environment.epoch import Epoch
from gnc.models.environment.orbit import OrbitState, TableOrbit, TleOrbit
from gnc.models.environment.relative import FreeFall, Tide
from gnc.models.environment.table import FreeSpace, Sky
from gnc.parts import OwnPart, Part

KNOTS_S = 60.0  # a table may ask for so much beyond the flight


class OrbitPart(Part):
    """An orbit about the Earth; the field is that of IGRF-14, the shadow a cone."""

    slot: ClassVar[str] = "orbit"
    linear: ClassVar[bool] = False  # whether craft beside it move in Hill's linear field

    def path(self) -> Any:
        """Return what tells position and velocity at a time; None: there is no orbit."""
        raise NotImplementedError

    def sky(self, h: float, duration_s: float, falling: bool = False) -> Sky | FreeSpace:
        """Tabulate the environment of a flight; where craft are `falling`, along a free fall from its begin."""
        path = self.path()
        if path is None:
            return FreeSpace()
        J2 = EARTH_J2 if getattr(self, "J2", True) else 0.0
        if falling:
            path = FreeFall(path, duration_s + KNOTS_S, J2)
        table = EnvironmentTable.along(path, duration_s + h)
        return Sky.along(table, h, duration_s, path.epoch, Tide(J2, self.linear) if falling else None)


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


class Hill(Circular):
    """A circle without J2, beside which craft move in Hill's linear field: Clohessy and Wiltshire's equations."""

    kind: Literal["hill"] = "hill"  # type: ignore[assignment]
    linear: ClassVar[bool] = True
    J2: ClassVar[bool] = False


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


class Free(OrbitPart):
    """Free space: no Earth, no field, no Sun in sight."""

    kind: Literal["free"] = "free"

    def path(self) -> None:
        """Return nothing."""
        return


class Table(OrbitPart):
    """A table of positions and velocities, splined: a CCSDS OEM (key-value notation), or a CSV file."""

    kind: Literal["table"] = "table"
    file: str
    """The table, beside the mission's file; a CSV has the columns t, x, y, z and perhaps vx, vy, vz in s, m and m/s."""
    epoch: str | None = None
    """UTC of the start, ISO 8601; by default the first epoch of an OEM, or an equinox."""

    @field_validator("file")
    @classmethod
    def _beside_the_mission(cls, path: str, info: ValidationInfo) -> str:
        beside = Path(info.context["directory"] if info.context else ".") / path
        return str(beside) if beside.is_file() else path

    def path(self) -> TableOrbit:
        """Return the orbit."""
        return TableOrbit.read(Path(self.file), self.epoch)


class Tle(OrbitPart):
    """Two-line elements, propagated by SGP4."""

    kind: Literal["tle"] = "tle"
    lines: tuple[str, str]
    """The two lines, with their checksums."""
    epoch: str | None = None
    """UTC of the start, ISO 8601; by default that of the elements."""

    def path(self) -> TleOrbit:
        """Return the orbit."""
        return TleOrbit(self.lines[0].strip(), self.lines[1].strip(), self.epoch)


class _Path:
    """A user's orbit with its epoch as the program needs it."""

    def __init__(self, own: Any) -> None:
        self._own, self.epoch = own, Epoch.of(getattr(own, "epoch", "2025-03-20T09:01:00"))

    def at(self, t: Any) -> OrbitState:
        """Return position and velocity."""
        return OrbitState(*self._own.at(t))


class OwnOrbit(OwnPart, OrbitPart):
    """An orbit of your own: a class with at(t) -> (r_I, v_I) [m, m/s] for an array of times, and perhaps epoch."""

    kind: Literal["own"] = "own"

    def path(self) -> _Path:
        """Return the orbit."""
        return _Path(self.made())
