"""The environment along an orbit, tabulated once, so that a trial pays for an interpolation only.

Position and field are cubic splines of time, velocity is the derivative of the position, the Sun moves straight between
knots. Shadow has edges and is computed from the interpolated vectors instead.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, NamedTuple

import numpy as np

from gnc import check
from gnc.batch import batched
from gnc.errors import InputError
from gnc.instant import Instant
from gnc.models.environment.disturbances import Atmosphere, velocity_in_air
from gnc.models.environment.magnetic_field import Igrf, MagneticField
from gnc.models.environment.orbit import Orbit
from gnc.models.environment.spline import cubic, evaluated
from gnc.models.environment.sun import moon_direction, shadow_cone, sun_position
from gnc.typing import Array

SUN_KNOT_S = 7200.0  # its path is so smooth that a spline through these is exact to centimetres
PROBED_INTERVALS = 400  # in which the interpolation is compared with the model
PROBES = (0.21, 0.5, 0.79)  # where in an interval: about the extremes of a cubic's error
SAFETY = 2.0  # stated error over the largest one measured
SLACK = 1e-6  # of a knot: how far round-off may carry a time over the end


class Environment(NamedTuple):
    """What surrounds a spacecraft, in inertial axes (GCRS)."""

    r_I: Array  # (..., 3) position from the centre of the Earth [m]
    v_I: Array  # (..., 3) velocity [m/s]
    B_I: Array  # (..., 3) magnetic field [T]
    sun_I: Array  # (..., 3) unit vector from the spacecraft to the Sun
    shadow: Array  # (...) hidden fraction of the Sun: 0 in sunlight, 1 in the umbra


class TableError(NamedTuple):
    """Bounds on the lengths of the interpolation errors: twice the largest seen between knots all along the table."""

    r_I: float  # [m]
    v_I: float  # [m/s]
    B_I: float  # [T]
    sun_I: float  # [rad]


NOT_MEASURED = TableError(np.nan, np.nan, np.nan, np.nan)


@dataclass(frozen=True)
class EnvironmentTable:
    """Cubics of the environment between equidistant knots; make one with `EnvironmentTable.along`."""

    coefficients: Array  # (intervals, 30) as `_between_knots` reads them
    t_start: float  # of the first knot, after the orbit's epoch [s]
    knot_s: float  # between knots [s]
    error: TableError

    @classmethod
    def along(
        cls,
        orbit: Orbit,
        duration_s: float,
        field: MagneticField | None = None,
        knot_s: float = 15.0,
        t_start: float = 0.0,
    ) -> EnvironmentTable:
        """Tabulate the environment of one orbit from t_start on, with the field of IGRF-14 unless another is given."""
        knot_s, t_start = float(check.positive("knot_s", knot_s)), float(check.finite("t_start", t_start))
        if orbit.at(t_start).r_I.ndim != 1:
            raise InputError("orbit: a table is made along one orbit; give elements without leading axes")
        intervals = max(3, int(np.ceil(float(check.positive("duration_s", duration_s)) / knot_s - SLACK)))
        knots: Array = t_start + knot_s * np.arange(intervals + 1.0)
        probed = np.unique(np.linspace(0, intervals - 1, PROBED_INTERVALS).round())
        probes = t_start + knot_s * np.add.outer(probed, PROBES).ravel()
        models = _models(orbit, field or Igrf(), np.concatenate([knots, probes]))
        coefficients = _coefficients(knots, models[: len(knots)], _sun_at_knots(orbit, knots))
        table = cls(coefficients, t_start, knot_s, NOT_MEASURED)
        sun_at_probes = sun_position(orbit.epoch, probes)
        return replace(table, error=_stated_error(table.at(probes), models[len(knots) :], sun_at_probes))

    @property
    def t_end(self) -> float:
        """The time of the last knot [s]."""
        return self.t_start + len(self.coefficients) * self.knot_s

    def at(self, t: Any) -> Environment:
        """Return the environment at t seconds after the orbit's epoch: a number, or an array with one time per trial.

        A time that is NaN, of a lost trial, gives NaN.
        """
        x = (np.asarray(t, float) - self.t_start) / self.knot_s
        self._check_range(x)
        k = np.fmax(np.fmin(np.floor(x), len(self.coefficients) - 1.0), 0.0)  # NaN counts as no bound
        c = self.coefficients.take(k.astype(np.intp), axis=0)
        return Environment(*_look_up(c, x - k, 1.0 / self.knot_s))

    def _check_range(self, x: Array) -> None:
        first, last = np.fmin.reduce(x, axis=None, initial=np.inf), np.fmax.reduce(x, axis=None, initial=-np.inf)
        if first < -SLACK or last > len(self.coefficients) + SLACK:
            t = self.t_start + (first if first < -SLACK else last) * self.knot_s
            span = f"{self.t_start:g} to {self.t_end:g} s"
            raise InputError(f"t: {t:g} s is outside of the table, {span}; tabulate a longer duration_s")


# Making the table


def _models(orbit: Orbit, field: MagneticField, t: Array) -> Array:
    """Return r, v and B (times, 9) from the models themselves."""
    r_I, v_I = orbit.at(t)
    return np.concatenate([r_I, v_I, field.at(orbit.epoch, t, r_I)], axis=-1)


def _sun_at_knots(orbit: Orbit, knots: Array) -> Array:
    """Return the Sun's position at many times from a few."""
    few = np.linspace(knots[0], knots[-1], 4 + int((knots[-1] - knots[0]) / SUN_KNOT_S))
    return evaluated(few, cubic(few, sun_position(orbit.epoch, few)), knots)


def _coefficients(knots: Array, models: Array, sun_position_I: Array) -> Array:
    """Return the coefficients (intervals, 30) of the interpolation through values at the knots."""
    r_I, v_I, B_I = np.split(models, 3, axis=-1)
    splines = cubic(knots, r_I, (v_I[0], v_I[-1])), cubic(knots, B_I)
    powers = (knots[1] - knots[0]) ** np.arange(3.0, -1.0, -1.0)[:, None, None]  # time counts in knots
    straight = np.stack([np.diff(sun_position_I, axis=0), sun_position_I[:-1]])
    rows = np.concatenate([powers * splines[0], powers * splines[1], straight])
    return np.moveaxis(rows, 1, 0).reshape(len(knots) - 1, -1)


def _stated_error(looked_up: Environment, models: Array, sun_position_I: Array) -> TableError:
    """Compare a table with the models, at times between the knots."""
    r_I, v_I, B_I = np.split(models, 3, axis=-1)
    to_sun = sun_position_I - r_I
    sun_I = to_sun / np.linalg.norm(to_sun, axis=-1, keepdims=True)
    pairs = zip(looked_up[:4], (r_I, v_I, B_I, sun_I), strict=True)
    return TableError(*(SAFETY * float(np.linalg.norm(a - b, axis=-1).max()) for a, b in pairs))


# Looking up


def _between_knots(coefficients, u, rate):
    """Return r, v, B and the Sun's position at the fraction u of an interval; rate is that of u."""
    r, B, sun = coefficients[:12].reshape(4, 3), coefficients[12:24].reshape(4, 3), coefficients[24:].reshape(2, 3)
    r_I, B_I = (((c[0] * u + c[1]) * u + c[2]) * u + c[3] for c in (r, B))
    v_I = rate * ((3.0 * u * r[0] + 2.0 * r[1]) * u + r[2])
    return r_I, v_I, B_I, sun[0] * u + sun[1]


def _direction(v):
    return v / np.sqrt(v @ v)


@batched("(30),(),()->(3),(3),(3),(3),()")
def _look_up(coefficients, u, rate):
    """Return the environment within an interval."""
    r_I, v_I, B_I, sun_position_I = _between_knots(coefficients, u, rate)
    return r_I, v_I, B_I, _direction(sun_position_I - r_I), shadow_cone(r_I, sun_position_I)


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
