"""What is perfect in a mission: what the truth shares with flight software, because a reader must know the exam."""

from __future__ import annotations

from typing import Any

import numpy as np

from gnc.models.sensors.part import SensorPart
from gnc.scenarios.missions.mission import Mission

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
