"""The flight of one trial in three dimensions, from the signals of its craft."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gnc import quaternion
from gnc.scenarios.missions.mission import Mission
from gnc.scenarios.report.scene import Arrow, Body, Scene

if TYPE_CHECKING:
    from xarray import Dataset

COLOURS = ("#5b8def", "#e0a458", "#6ab187", "#b07aa1", "#9c9c9c", "#d37295")


def scene(mission: Mission, flight: Dataset, place: int) -> Scene | None:
    """Return bodies as they move, with the directions of Sun and field; None if nothing of them was recorded."""
    one = flight.isel(trial=place)
    t = one["time"].values
    bodies: list[Body] = []
    for craft, section in mission.craft.items():
        for shape in section.shapes(craft):
            if shape.attitude not in one:
                continue
            r = one[shape.position].values if shape.position in one else np.zeros((len(t), 3))
            colour, q_IB = COLOURS[len(bodies) % len(COLOURS)], one[shape.attitude].values
            r = r + quaternion.rotate(q_IB, np.array(shape.centre_m)) if np.any(shape.centre_m) else r
            bodies.append(Body(shape.name, r, q_IB, np.array(shape.size_m), colour))
    if not bodies or len(t) < 2:
        return None
    arrows = []
    if "sun_I" in one and np.any(one["r_I_m"].values):
        B_I = one["B_I_T"].values
        field = B_I / np.linalg.norm(B_I, axis=-1, keepdims=True)
        first = bodies[0].name
        arrows = [Arrow("Sun", first, one["sun_I"].values), Arrow("magnetic field", first, field, "#2a9d8f")]
    about = "Attitude against inertial space" + ("; arrows to the Sun and along the field" if arrows else "")
    return Scene(t, tuple(bodies), tuple(arrows), caption=about)
