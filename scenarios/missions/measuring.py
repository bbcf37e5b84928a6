"""How the sensors of a mission measure its truth, and its faults on their way into the loop."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from gnc.batch import as_numbers, batched
from gnc.models.faults.base import FaultPart, SensorFault
from gnc.models.pose_body import PoseState
from gnc.models.sensors.interface import Sighting, Vantage
from gnc.scenarios.missions.mission import Mission
from gnc.scenarios.missions.navigating import Trouble, read
from gnc.typing import Array

Measure = Callable[[tuple[Any, ...], Any, Array], Any]  # (truth of all craft, time, noise) -> measurement


def measured(sensor: Any, part: Any, sky: Any, own: int, other: int | None, torquers: int | None) -> Measure:
    """Return how a sensor on the craft at place `own` measures, of the craft at place `other` if it sees another.

    `torquers` is the place of torquers among the own actuators, which a magnetometer may feel.
    """
    walk, first = walk_of(sensor), sensor.noise_size
    felt = 1e-9 * np.asarray(getattr(part, "interference_nT_Am2", 0.0))
    feels = torquers is not None and np.any(felt)

    def of_own(x: tuple[Any, ...], t: Any, noise: Array) -> Any:
        changes = {"bias": _interfered(sensor.bias, felt, x[own].effectors[torquers][..., :3])} if feels else {}
        if walk:
            so_far, noise = noise[..., first:], noise[..., :first]
            changes = {"bias": sensor.advance_bias(sensor.bias, so_far, part.interval_s)}
        return sensor.measure(x[own], sky.at(t), noise, **changes)

    def of_other(x: tuple[Any, ...], t: Any, noise: Array) -> Any:
        around, observer, target = sky.at(t), x[own], x[other]  # type: ignore[index]
        if hasattr(part, "needs_light"):
            observer = Vantage(observer.dq_IB, observer.chi_B, around.sun_I, around.shadow)
        z, valid = sensor.measure(target, observer, noise)
        aboard = getattr(target, "rides", None)  # what is aboard is too near to be seen
        return Sighting(z, valid if aboard is None else valid & (aboard == 0.0), _pose_of(x[own]))

    how = of_own if other is None else of_other
    return _silent(how, part.outages_s) if part.outages_s else how


@batched("(3),(),(3)->(3)")
def _interfered(bias, felt, dipole_Am2):
    """Return the bias of a magnetometer that feels torquers."""
    return bias + felt * dipole_Am2


def _silent(how: Measure, outages_s: tuple[tuple[float, float], ...]) -> Measure:
    """Return a sensor that says nothing during its outages; its noise is drawn all the same."""

    def measure(x: tuple[Any, ...], t: Any, noise: Array) -> Any:
        reading = how(x, t, noise)
        if any(t >= begin and t < end for begin, end in outages_s):
            return reading._replace(z=0.0 * reading.z, valid=reading.valid & (reading.z[..., 0] != reading.z[..., 0]))
        return reading

    return measure


def walk_of(sensor: Any) -> int:
    """Return the size of the random walk by which the bias of a sensor wanders, 0 where it does not."""
    return sensor.bias_size if hasattr(sensor, "advance_bias") and np.any(sensor.bias_walk) else 0


def torquer(section: Any) -> int | None:
    """Return the place of the first magnetorquers among the actuators of a craft."""
    kinds = [one.kind_name() for one in section.actuators.values()]
    return kinds.index("magnetorquers") if "magnetorquers" in kinds else None


def _pose_of(x: Any) -> Any:
    """Return pose and twist of a craft, or of one that only turns its state."""
    return PoseState(x.dq_IB, x.chi_B) if hasattr(x, "dq_IB") else x


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
