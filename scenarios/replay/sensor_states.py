"""What filters estimate of sensors: biases of gyros, and how others are askew or uneven."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from gnc.estimators.extra_states import SensorBias, sensor_biases
from gnc.estimators.navigation.attitude import SLIGHT
from gnc.models.sensors import Gyro, Magnetometer
from gnc.scenarios.replay.config import Start

Array = Any

SIX = ("xx", "yy", "zz", "xy", "xz", "yz")  # of a symmetric matrix


class SensorStates:
    """The extra states of a filter's sensors, in the order of the sections, as a mission's filter has them."""

    def __init__(self, sensors: Mapping[str, Any]) -> None:
        found = [(name, extra) for name, sensor in sensors.items() for extra in _extras(name, sensor)]
        self.extras = tuple(extra for _, extra in found)
        self.errors: tuple[str, ...] = ()
        self._columns: dict[str, list[int]] = {}  # of the records: the places of their numbers
        for name, extra in found:
            for kind, axes in _parts(extra):
                column = kind if kind == "bias" else f"{kind}_{name}"
                places = range(len(self.errors), len(self.errors) + len(axes))
                self._columns.setdefault(column, []).extend(places)
                self.errors += tuple(f"{kind}_{name}_{axis}" for axis in axes)

    def first(self, start: Start) -> tuple[Array, Array]:
        """Return first values and standard deviations."""
        gyros = [isinstance(extra.of, Gyro) for extra in self.extras]
        known = list(zip(self.extras, gyros, strict=True))
        values = [start.bias if gyro else np.zeros(extra.size) for extra, gyro in known]
        bias = np.radians(start.sigma_bias_deg_s)
        sigmas = [
            np.broadcast_to(bias if gyro else np.maximum(extra.sigma, SLIGHT), extra.size) for extra, gyro in known
        ]
        return np.concatenate([np.zeros(0), *values]), np.concatenate([np.zeros(0), *sigmas])

    def columns(self, values: Array) -> dict[str, Array]:
        """Return estimates (..., size) by the names of their columns."""
        return {name: values[..., places] for name, places in self._columns.items()}


def _extras(name: str, sensor: Any) -> list[SensorBias]:
    """Return the states of a sensor; the bias of a gyro is as large as [start] says."""
    if isinstance(sensor, Gyro):
        return [SensorBias(name=name, of=sensor, walk=sensor.bias_walk**2)]
    return sensor_biases({name: sensor})


def _parts(extra: SensorBias) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Give the quantities of a state, with the names of their components."""
    kinds = {Gyro: "bias", Magnetometer: "hard_iron"} if extra.is_bias_of(extra.of) else {}
    yield kinds.get(type(extra.of), "tilt"), tuple("xyz")
    if extra.size == 9:
        yield "soft_iron", SIX
