"""The environment of a flight at every half tick of its clock, looked up once."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple

import numpy as np

from gnc.errors import InputError
from gnc.instant import Instant
from gnc.models.environment import Atmosphere, EnvironmentTable
from gnc.models.environment.drag import velocity_in_air
from gnc.models.environment.sun import moon_direction
from gnc.typing import Array


class Surroundings(NamedTuple):
    """An `Environment` with the air that goes by."""

    r_I: Array  # (3) position from the centre of the Earth [m]
    v_I: Array  # (3) velocity [m/s]
    B_I: Array  # (3) magnetic field [T]
    sun_I: Array  # (3) unit vector from the spacecraft to the Sun
    shadow: Array  # () hidden fraction of the Sun: 0 in sunlight, 1 in the umbra
    air_I: Array  # (3) velocity against the air [m/s]
    density: Array  # () of the air [kg/m^3]
    moon_I: Array  # (3) unit vector to the Moon


@dataclass(frozen=True)
class Sky:
    """Surroundings that all trials share; `at(t)` is a look at a row."""

    h: float
    rows: Surroundings  # arrays (half ticks, ...)
    epoch: Any = None  # of the time 0
    tide: Any = None  # how craft fall that move beside the origin; None: there are none
    _last: dict[int, Surroundings] = field(default_factory=dict, repr=False, compare=False)

    @classmethod
    def along(cls, table: EnvironmentTable, h: float, duration_s: float, epoch: Any = None, tide: Any = None) -> Sky:
        """Look up a whole flight."""
        t = 0.5 * h * np.arange(2 * round(duration_s / h) + 1)
        env = table.at(t)
        air = velocity_in_air(env.r_I, env.v_I), Atmosphere().at(env.r_I)
        return cls(0.5 * h, Surroundings(*env, *air, moon_direction(epoch, t, env.r_I)), epoch, tide)

    def tabulated(self, rows: Any, t: float | Instant) -> Any:
        """Return the row of a NamedTuple of arrays (half ticks, ...) for a time."""
        if isinstance(t, Instant):
            return t.look_up(rows, self.h)
        return type(rows)(*[part[round(t / self.h)] for part in rows])

    def at(self, t: float | Instant) -> Any:
        """Return the `Surroundings` at the nearest half tick; the last few are kept, since all parts of a loop ask."""
        if isinstance(t, Instant):
            return t.look_up(self.rows, self.h)
        k = round(t / self.h)
        surroundings = self._last.get(k)
        if surroundings is None:
            if not 0 <= k < len(self.rows.density):
                raise InputError(f"t: {t:g} s is outside of the flight")
            if len(self._last) > 2:
                self._last.clear()
            surroundings = self._last[k] = Surroundings(*[row[k] for row in self.rows])
        return surroundings


NOTHING = np.zeros(3)
DARK = Surroundings(
    NOTHING, NOTHING, NOTHING, np.array([0.0, 0.0, -1.0]), np.array(1.0), NOTHING, np.array(0.0), NOTHING
)


class FreeSpace:
    """An environment without anything, in place of a `Sky`: no Earth, no field, no Sun in sight."""

    tide: ClassVar[None] = None

    def at(self, t: float) -> Surroundings:
        """Return what there is, at any time."""
        return DARK
