"""Records inputs and measurements of a mission's filter as columns of a log; the flight keeps its bits."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from gnc.errors import InputError
from gnc.loop import Instrument
from gnc.models.sensors import Measurement
from gnc.scenarios.logs.log_writer import measured

Array = Any
Columns = dict[str, Array]


def names(name: str, n: int) -> list[str]:
    """Return the names of the columns of a vector."""
    return [f"{name}_{i}" for i in range(n)]


def one(value: Any, core: int) -> Any:
    """Return the parameter of the only trial, whether or not it has a leading axis."""
    value = np.asarray(value, float)
    return value.reshape(value.shape[value.ndim - core :]).tolist()


class Tap:
    """A filter that keeps what it was given last."""

    def __init__(self, inner: Any) -> None:
        self._inner = inner
        self.predicted: tuple[Any, ...] = ()  # by `predict`, after the belief
        self.env: Any = None  # of `update`

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def predict(self, belief: Any, *given: Any) -> Any:
        """Predict."""
        self.predicted = given
        return self._inner.predict(belief, *given)

    def update(self, belief: Any, sensor: Any, measurement: Any, env: Any = None, gated: bool = True) -> Any:
        """Update."""
        self.env = env
        return self._inner.update(belief, sensor, measurement, env, gated)


class LogRows:
    """Rows by tick, of which each holds some of the columns."""

    def __init__(self, h: float) -> None:
        self.h = h
        self._rows: dict[int, Columns] = {}
        self._readings: dict[str, dict[int, Measurement]] = {}

    def tick(self, t: float) -> int:
        """Return a time as a number of ticks."""
        return round(t / self.h)

    def add(self, tick: int, values: Mapping[str, Array]) -> None:
        """Put vectors (n,) into a row."""
        self._rows.setdefault(tick, {}).update({name: np.ravel(value) for name, value in values.items()})

    def read(self, tick: int, name: str, measurement: Any) -> None:
        """Put a measurement into a row."""
        self._rows.setdefault(tick, {})
        reading = Measurement(np.ravel(measurement[0]), bool(np.ravel(measurement[1])[0]))
        self._readings.setdefault(name, {})[tick] = reading

    def columns(self, held: tuple[str, ...]) -> Columns:
        """Return all columns, empty fields NaN; of what is held the last row has what the one before had."""
        ticks = sorted(self._rows)
        sizes = {name: len(value) for row in self._rows.values() for name, value in row.items()}
        found = {"t_s": np.array([tick * self.h for tick in ticks])}
        for name, n in sizes.items():
            values = np.array([self._rows[tick].get(name, np.full(n, np.nan)) for tick in ticks])
            if name in held and len(values) > 1:
                values[-1] = values[-2]  # it acts on nothing any more
            found |= dict(zip(names(name, n), values.T, strict=True))
        for name, readings in self._readings.items():
            told = measured(name, [readings.get(tick) for tick in ticks])
            if told.keys() & found.keys():
                raise InputError(f"sensors.{name}: the log has other columns of this name; rename the sensor")
            found |= told
        return found

    def __contains__(self, tick: int) -> bool:
        return tick in self._rows


class LogRecorder:
    """The loop's navigation with a pencil: subclasses know what a filter is given, and what surrounds its sensors."""

    held: tuple[str, ...] = ()  # columns of known inputs

    def __init__(self, navigation: Any, h: float) -> None:
        self.__dict__["navigation"] = navigation
        self.rows = LogRows(h)
        self._truth: dict[int, Columns] = {}
        self.left_out: list[str] = []

    def sections(self, sensors: Mapping[str, Any], section: Callable[[str, Any], Any]) -> list[dict[str, Any]]:
        """Return the sections of the sensors that replay has; others are not written down."""
        found = {name: section(name, sensor) for name, sensor in sensors.items()}
        self.left_out = [name for name, one in found.items() if one is None]
        if len(self.left_out) == len(found):
            raise InputError(f"sensors: replay has none of {', '.join(found)}; give one that it has, such as a tracker")
        return [one for one in found.values() if one is not None]

    def __getattr__(self, name: str) -> Any:
        return getattr(self.__dict__["navigation"], name)

    def noting(self, instrument: Instrument, place: int) -> Instrument:
        """Return an instrument that notes the truth of the craft at a place where it measures."""

        def measure(x: Any, t: float, noise: Any) -> Any:
            self._truth[self.rows.tick(t)] = self.truth(x[place])
            return instrument.measure(x, t, noise)

        return dataclasses.replace(instrument, measure=measure)

    def predict(self, belief: Any, command: Any, report: Any, t: float, h: float) -> Any:
        """Move over h."""
        return self.navigation.predict(belief, command, report, t, h)

    def update(self, belief: Any, name: str, measurement: Any, t: float) -> tuple[Any, Any]:
        """Correct with a measurement."""
        after, innovation = self.navigation.update(belief, name, measurement, t)
        if name in self.left_out:
            return after, innovation
        tick = self.rows.tick(t)
        self.rows.read(tick, name, measurement)
        self.rows.add(tick, self.surroundings(name))
        return after, innovation

    def columns(self) -> Columns:
        """Return the log, with the truth wherever a measurement was used."""
        for tick, truth in self._truth.items():
            if tick in self.rows:
                self.rows.add(tick, truth)
        found = self.rows.columns(self.held)
        if len(found["t_s"]) < 2:
            raise InputError("duration_s: too short for two measurements; fly longer")
        return found

    # What subclasses know

    def truth(self, x: Any) -> Columns:
        """Return the true state as columns."""
        raise NotImplementedError

    def surroundings(self, name: str) -> Columns:
        """Return what the sensor of this name refers to."""
        raise NotImplementedError

    def config(self) -> dict[str, Any]:
        """Return the configuration by which replay reads the log."""
        raise NotImplementedError
