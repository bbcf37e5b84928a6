"""What a reader should know though no requirement asks for it: hints of a flight, what is doubtful, what is perfect."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from gnc.expression import parse
from gnc.models.sensors.part import SensorPart
from gnc.scenarios.missions.mission import Mission, Software
from gnc.typing import Mask

if TYPE_CHECKING:
    from gnc.labelled import Signals

OFF = 2.0  # factor by which the mean NIS of a sensor, or a NEES, may be off before it is told
BUSY = 0.2  # share of the time that actuators may be at a limit before it is told
BRIEF = 1 / 3  # share of its records at which a mode may have just begun: modes last three commands in the mean
MANY = 5  # records at least at which one has
REFUSED = 0.2  # share of its measurements that a sensor may be refused before it is told


def hints(
    mission: Mission,
    flight: Signals,
    measurements: Mapping[str, tuple[int, int, int]],
    modes: Mapping[str, Sequence[str]],
    kept: Mask,
) -> list[str]:
    """Return all that is told of a flight, in the order of the table."""
    told = (
        _diverged(mission, flight)
        + _of_sensors(mission, flight, measurements)
        + _dishonest(mission, flight, kept)
        + _recovered(flight)
    )
    return told + _run_dry(flight) + _never_entered(mission, flight, modes) + _at_limits(mission, flight)


def _diverged(mission: Mission, flight: Signals) -> list[str]:
    """Say what most often makes a truth lose its numbers."""
    run, hints = mission.run, []
    for craft in mission.craft:
        name = f"{craft}.q_IB"
        if name in flight and not np.isfinite(flight[name].values).all():
            steps = f"steps of truth_step_s = {run.truth_step_s:g}"
            if craft in mission.software:
                steps += f", or rate_hz = {mission.software[craft].rate_hz:g} of commands,"
            hints.append(f"{craft}: {steps} may be too slow for its gains, springs and stops: go faster, or softer")
    return hints


def _of_sensors(mission: Mission, flight: Signals, measurements: Mapping[str, tuple[int, int, int]]) -> list[str]:
    """Say which sensors the gate shuts out, which never measured, and whose noise is misjudged."""
    hints = []
    for name, (used, refused, _) in measurements.items():
        if shut := _shut_out(flight, name):
            hints.append(
                f"{name}: the gate refused more than {100.0 * REFUSED:.0f} % of its measurements in {shut} of "
                f"{flight.sizes['trial']} trials; {_remedy(mission, name, sure=True)}"
            )
        elif used + refused == 0:
            hints.append(f"{name}: never measured anything")
        elif (nis := _mean_nis(flight, name)) > OFF or nis < 1.0 / OFF:
            remedy = _remedy(mission, name, sure=nis > 1.0)
            if nis > OFF and _mean_nis(flight, name, late=True) <= OFF:
                start = f"software.{name.partition('.')[0]}.navigation.start"
                remedy = f"its first measurements contradict the start, later ones do not: see {start}"
            hints.append(f"{name}: NIS alarm, mean {nis:.2g} of 1: {remedy}")
    return hints


def _dishonest(mission: Mission, flight: Signals, kept: Mask) -> list[str]:
    """Say which filters err by far more, or far less, than they believe, in the second half of the flight."""
    hints = []
    for name in map(str, flight.data_vars):
        nominal = float(flight[name].attrs.get("nominal", np.nan))
        values = flight[name].values[kept, flight.sizes["time"] // 2 :] if nominal > 0.0 else np.empty(0)
        if not np.isfinite(values).any() or 1.0 / OFF <= (mean := float(np.nanmean(values)) / nominal) <= OFF:
            continue
        hints.append(f"{name}: {mean * nominal:.3g} of {nominal:g} in the mean: {_remedy(mission, name, mean > 1.0)}")
    return hints


def _remedy(mission: Mission, name: str, sure: bool) -> str:
    """Say what makes a filter honest again, by the fields that it has; `name` begins with the craft's."""
    craft, way = name.partition(".")[0], ("more", "larger") if sure else ("less", "smaller")
    fields = type(mission.software[craft].navigation).model_fields if craft in mission.software else {}
    noises = ", ".join(field for field in fields if field.endswith(("psd_Nm2s", "psd_N2s")))
    noise = f"{way[0]} process noise ({noises}), or " if noises else ""
    unknown = "; gnc show lists what it takes for perfect" if sure else ""
    temper = "sure of itself" if sure else "cautious"
    return f"the filter is too {temper}: {noise}{way[1]} sigmas under [software.*.sensors]{unknown}"


def _at_limits(mission: Mission, flight: Signals) -> list[str]:
    """Say which wheels and thrusters were asked for all they can make, or more, for much of the time."""
    hints = []
    for craft, section in mission.craft.items():
        for key, part in section.actuators.items():
            whole = part.kind_name() == "thrusters" and getattr(part, "modulation", "") == "pulse-width"
            limits = {"torque_Nm": getattr(part, "torque_limit_Nm", None), "on": 1.0 if whole else None}
            limits["momentum_Nms"] = getattr(part, "momentum_limit_Nms", None)
            for what, limit in limits.items():
                name = f"{craft}.{key}.{what}"
                if limit is None or name not in flight:
                    continue
                busy = np.mean(np.any(abs(flight[name].values) >= 0.999 * limit, axis=-1), axis=1) > BUSY
                if busy.any():
                    which = {"on": "thrust", "torque_Nm": "torque", "momentum_Nms": "momentum"}[what]
                    trials = f"in {int(busy.sum())} of {len(busy)} trials"
                    hints.append(f"{craft}.{key}: at the limit of {which} for over {BUSY:.0%} of the time {trials}")
    return hints


def _never_entered(mission: Mission, flight: Signals, modes: Mapping[str, Sequence[str]]) -> list[str]:
    """Name the modes of the file that no trial was in, nor in any of their legs, when signals were kept."""
    hints = []
    for craft, names in modes.items():
        if len(names) > 1 and f"{craft}.mode" in flight:
            visited = np.unique(flight[f"{craft}.mode"].values)
            software = mission.software[craft]
            never = (name for name in software.modes if not set(software.places[name]) & set(visited))
            hints += [f"{craft}: no trial was ever in mode {name}" for name in never]
            hints += _chattering(craft, software, flight)
    return hints


def _chattering(craft: str, software: Software, flight: Signals) -> list[str]:
    """Say in how many trials modes last hardly a command; changes by the clock may be in step with the records."""
    clocks = {"t", "mode_time_s"}
    quick = [way for way in software.transitions if way.for_s * software.rate_hz < 1.0 / BRIEF]
    if f"{craft}.mode_time_s" not in flight or all(parse(way.when).names & clocks for way in quick):
        return []
    age, t = flight[f"{craft}.mode_time_s"].values, flight["time"].values
    begun = (age < (1.0 - 1e-9) / software.rate_hz) & (t - age > 0.0)  # not the first mode
    brief = (begun.mean(axis=1) > BRIEF) & (begun.sum(axis=1) >= MANY)
    text = "of the records a mode had begun within the last command, in"
    remedy = "give its transitions a for_s, or a weaker condition to keep"
    return [f"{craft}: at over {BRIEF:.0%} {text} {brief.sum()} of {len(brief)} trials; {remedy}"] * bool(brief.any())


def _run_dry(flight: Signals) -> list[str]:
    """Say which tanks were empty, in how many trials, and since when."""
    hints = []
    for name in (str(key) for key in flight.data_vars if str(key).endswith(".propellant_kg")):
        empty = flight[name].values <= 1e-9  # rounding
        if empty.any():
            first = float(flight["time"].values[np.argmax(empty.any(axis=0))])
            trials = f"in {int(empty.any(axis=1).sum())} of {len(empty)} trials"
            hints.append(f"{name.removesuffix('.propellant_kg')}: out of propellant {trials}, first at {first:g} s")
    return hints


def _shut_out(flight: Signals, name: str) -> int:
    """Return in how many trials the gate shuts a sensor out."""
    used, refused = (flight[f"{name}.{what}"].values[:, -1] for what in ("used", "refused"))
    return int(np.sum(refused > REFUSED * (used + refused)))


def _mean_nis(flight: Signals, name: str, late: bool = False) -> float:
    """Return the mean NIS of a sensor over its dimension, or that of its later half; 1 where none was kept."""
    if f"{name}.nis" not in flight:
        return 1.0
    values = flight[f"{name}.nis"].values
    values = values[:, values.shape[1] // 2 :] if late else values
    return float(np.nanmean(values)) if np.isfinite(values).any() else 1.0


def _recovered(flight: Signals) -> list[str]:
    """Say how often filters had to recover: their models and the sensors contradict each other."""
    hints = []
    for name in flight.data_vars:
        if not str(name).endswith(".recoveries"):
            continue
        count = np.nan_to_num(flight[name].values[:, -1])
        if count.sum() > 0.0:
            craft = str(name).removesuffix(".recoveries")
            hints.append(
                f"{craft}: its filter recovered {int(count.sum())} times, in {int((count > 0.0).sum())} trials"
            )
    return hints


DENSITIES = 1.0, 2e4  # of a box filled evenly, from an empty tank to platinum [kg/m^3]
USUAL = {"nT": (1e-3, 1e5), "Am2": (1e-6, 1e4), "Nms": (1e-8, 1e5), "arcsec": (1e-3, 1e5)}  # last words of fields
SPREAD = 1e-3, 3.0  # moment of inertia over that of the box filled evenly: all in the centre; all in the corners


def doubts(mission: Mission) -> list[str]:
    """Return sentences on what contradicts itself."""
    lines = [f"{name}: {line}" for name, craft in mission.craft.items() for line in _of_box(craft) + _of_units(craft)]
    return lines + _too_late(mission)


def _too_late(mission: Mission) -> list[str]:
    """Name what a file says of times after the end of the flight."""
    times = {f"faults.{name}": fault.from_s for name, fault in mission.faults.items()}
    for craft, software in mission.software.items():
        times |= {f"software.{craft}.timeline to {way.mode}": way.at_s for way in software.timeline}
    end = mission.run.duration_s
    return [f"{name}: begins at {t:g} s, the flight ends at {end:g} s" for name, t in times.items() if np.min(t) >= end]


def _of_units(craft: Any) -> list[str]:
    """Name stated numbers of parts that no spacecraft has in the unit at the end of the field's name."""
    lines = []
    for group in ("loads", "actuators", "sensors"):
        for key, part in getattr(craft, group).items():
            for name in sorted(part.model_fields_set):
                low, high = USUAL.get(name.rpartition("_")[-1], (0.0, np.inf))
                values = np.abs(np.ravel(getattr(part, name))) if high < np.inf else np.zeros(0)
                odd = values[(values > 0.0) & ((values < low) | (values > high))]
                if odd.size:
                    usual = f"{low:g} to {high:g} are usual"
                    lines.append(f"{group}.{key}.{name}: {odd[0]:g} is hardly meant, {usual}; in other units?")
    return lines


def _of_box(craft: Any) -> list[str]:
    """Compare inertia with the box: J_xx = m (y^2 + z^2)/12 if filled evenly, three times that in the corners."""
    size, J = np.asarray(getattr(craft, "size_m", np.nan)), np.asarray(getattr(craft, "J_kgm2", np.nan))
    stated = {"size_m", "J_kgm2"} <= craft.model_fields_set
    if not stated or size.shape != (3,) or J.shape != (3, 3) or not np.all(size > 0.0):
        return []
    square = size**2
    per_mass = (square.sum() - square) / 12.0
    mass = getattr(craft, "mass_kg", None)
    if mass is not None:
        ratio = np.diag(J) / (mass * per_mass)
        if SPREAD[0] <= ratio.min() and ratio.max() <= SPREAD[1]:
            return []
        worst = ratio[np.argmax(np.abs(np.log(ratio)))]
        return [f"J_kgm2 is {worst:.2g} times that of a box of size_m filled evenly with mass_kg; up to 3 is possible"]
    density = float(np.median(np.diag(J) / per_mass)) / float(np.prod(size))
    if DENSITIES[0] <= density <= DENSITIES[1]:
        return []
    return [f"J_kgm2 is that of a box of size_m filled evenly with {density:.2g} kg/m^3; in other units?"]


ERRORS = {  # fields that are errors which flight software does not know, in words
    "bias_nT": "bias",
    "fixed_bias_nT": "bias",
    "bias_deg_s": "bias",
    "fixed_bias_deg_s": "bias",
    "scale_percent": "scale error",
    "misalignment_deg": "misalignment",
    "misalignment_arcsec": "misalignment",
}


def perfect(mission: Mission) -> list[str]:
    """Return sentences on what is known, left out or without error."""
    sentences = []
    if mission.environment.orbit.kind_name() == "free":
        sentences.append("free space: no orbit, no gravity, no field, no Sun")
    elif not _dispersed(mission, "environment"):
        sentences.append("flight software knows orbit, field and Sun as they are")
    for name, craft in mission.craft.items():
        sentences += _of_craft(mission, name, craft)
    for name, software in mission.software.items():
        sentences += [f"{name}: {line}" for line in software.navigation.perfect]
    return sentences


def _of_craft(mission: Mission, name: str, craft: Any) -> list[str]:
    sentences = []
    exact = not np.any(getattr(craft, "J_error_percent", 0.0)) and not _dispersed(mission, f"craft.{name}.J_kgm2")
    if hasattr(craft, "J_kgm2") and exact and "J_kgm2" not in _believed(mission, name):
        sentences.append(f"{name}: flight software knows the inertia exactly")
    if not craft.loads:
        sentences.append(f"{name}: nothing disturbs it")
    for key, sensor in craft.sensors.items():
        sentences += _of_sensor(mission, f"{name}.{key}", f"craft.{name}.sensors.{key}", sensor)
    for key, actuator in craft.actuators.items():
        errors = [f for f in type(actuator).model_fields if f.endswith("error_percent")]
        if all(not getattr(actuator, f) for f in errors):
            sentences.append(f"{name}.{key}: does what it is told, within its limits")
    return sentences


def _of_sensor(mission: Mission, name: str, path: str, sensor: SensorPart) -> list[str]:
    """Return which errors a sensor could have and has not."""
    fields: dict[str, list[str]] = {}
    for field, word in ERRORS.items():
        if field in type(sensor).model_fields:
            fields.setdefault(word, []).append(field)
    absent = [
        word
        for word, names in fields.items()
        if not any(np.any(getattr(sensor, field)) or _dispersed(mission, f"{path}.{field}") for field in names)
    ]
    return [f"{name}: no {', no '.join(absent)}"] if absent else []


def _dispersed(mission: Mission, path: str) -> bool:
    return any(key.startswith(path) for dispersion in mission.dispersions.values() for key in dispersion.keys)


def _believed(mission: Mission, name: str) -> dict[str, Any]:
    return mission.software[name].craft if name in mission.software else {}
