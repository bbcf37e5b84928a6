"""What is possible in a mission but hardly meant: a box of 100 m with the inertia of a shoe box, noise of 1e-7 nT."""

from __future__ import annotations

from typing import Any

import numpy as np

from gnc.scenarios.missions.mission import Mission

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
