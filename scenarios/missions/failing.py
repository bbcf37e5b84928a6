"""The faults of a mission on their way into its loop: at the sensors, at the actuators, in flight software."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from gnc.batch import as_numbers
from gnc.models.faults.base import FaultPart, SensorFault
from gnc.scenarios.missions.measuring import Measure
from gnc.scenarios.missions.mission import Mission
from gnc.scenarios.missions.navigating import Trouble, read
from gnc.typing import Array


class Measuring(NamedTuple):
    """How a true sensor measures, and what is wrong with it."""

    noise_size: int
    walk_size: int  # of the random walk behind the noise, by which its bias wanders
    measure: Measure  # of truth, time, noise
    names: Sequence[str]  # of the faults
    faults: Sequence[SensorFault]


def faults_of(mission: Mission, craft: str) -> dict[str, dict[str, FaultPart]]:
    """Return the faults of a craft: part -> name of the fault -> fault; that of its computer has no name."""
    faults: dict[str, dict[str, FaultPart]] = {}
    for name, fault in mission.faults.items():
        owner, _, part = fault.part.partition(".")
        if owner == craft:
            faults.setdefault(part, {})[name] = fault
    return faults


def failing(sensor: Measuring, faults: Sequence[SensorFault]) -> Measure:
    """Return how a sensor measures with faults that do not depend on earlier readings."""
    own, first = sensor.noise_size, sensor.noise_size + sensor.walk_size

    def measured(x: Any, t: Any, noise: Array) -> Any:
        loud, at = noise[..., :own], first
        for fault in faults:
            loud = fault.louder(loud, t)
        measurement = sensor.measure(x, t, np.concatenate([loud, noise[..., own:first]], -1) if first > own else loud)
        z, valid = measurement[0], as_numbers(measurement[1])
        for fault in faults:
            z, valid = fault.change(z, valid, t, noise[..., at : at + fault.normals])
            at += fault.normals
        return read(measurement, z, valid)

    return measured


def trouble(
    mission: Mission,
    craft: str,
    readings: Mapping[str, Sequence[SensorFault]],
    sizes: Mapping[str, int],
    **others: Any,
) -> Trouble:
    """Return what goes wrong between a craft and its filter; `sizes` are those of commands by actuator."""
    remembered = [(key, fault) for key, faults in readings.items() for fault in faults if fault.remembers]
    windows = []
    for part, faults in faults_of(mission, craft).items():
        for fault in faults.values():
            if fault.told is not None and part:
                windows.append((part, fault.members(sizes[part]) if part in sizes else None, fault.told))
    resets = [fault.window[0] for fault in faults_of(mission, craft).get("", {}).values()]
    return Trouble(remembered, windows, resets, actuators=list(sizes), **others)
