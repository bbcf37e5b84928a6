"""The flight of one trial in three dimensions, from the signals of its craft."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from gnc import quaternion
from gnc.models.environment.constants import EARTH_RADIUS
from gnc.scenarios.missions.mission import Mission
from gnc.scenarios.report.scene import Arrow, Body, Cone, Orbit, Scene

if TYPE_CHECKING:
    from gnc.labelled import Signals

COLOURS = ("#5b8def", "#e0a458", "#6ab187", "#b07aa1", "#9c9c9c", "#d37295")
ORIGIN = (0.0, 0.0, 0.0)
WIDEST_DEG = 85.0  # a field of view that is wider is no cone to look at


def scene(mission: Mission, flight: Signals, place: int) -> Scene | None:
    """Return bodies as they move, directions, fields of view and corridors; None if nothing of them was recorded."""
    one = flight.isel(trial=place)
    t = one["time"].values
    bodies = _bodies(mission, one)
    if not bodies or len(t) < 2:
        return None
    first, arrows, orbit = bodies[0].name, [], None
    if "sun_I" in one and np.any(one["r_I_m"].values):
        B_I, r = one["B_I_T"].values, one["r_I_m"].values
        length = np.linalg.norm(B_I, axis=-1, keepdims=True)
        field = B_I / np.where(length > 0.0, length, 1.0)
        down = -r / np.linalg.norm(r, axis=-1, keepdims=True)
        arrows = [Arrow("Sun", first, one["sun_I"].values, "#e0b400"), Arrow("magnetic field", first, field, "#2a9d8f")]
        arrows.append(Arrow("Earth", first, down, "#8b5cf6"))
        orbit = Orbit(r / EARTH_RADIUS, one["sun_I"].values)
    arrows += [arrow for craft in mission.software for arrow in _boresights(mission, one, craft, bodies)]
    about = "Inertial axes" + ("; the globe shows the orbit in the same axes, lit by the Sun" if orbit else "")
    names = {body.name for body in bodies}
    cones = [cone for cone in [*_views(mission), *_keep_outs(mission), *_corridors(mission)] if cone.body in names]
    return Scene(t, tuple(bodies), tuple(arrows), caption=f"{about}.", cones=cones, orbit=orbit)


def _bodies(mission: Mission, one: Signals) -> list[Body]:
    bodies: list[Body] = []
    for craft, section in mission.craft.items():
        for shape in section.shapes(craft):
            if shape.attitude not in one:
                continue
            r = one[shape.position].values if shape.position in one else np.zeros((one.sizes["time"], 3))
            colour, q_IB = COLOURS[len(bodies) % len(COLOURS)], one[shape.attitude].values
            r = r + quaternion.rotate(q_IB, np.array(shape.centre_m)) if np.any(shape.centre_m) else r
            bodies.append(Body(shape.name, r, q_IB, shape.size_m, colour))
    return bodies


def _boresights(mission: Mission, one: Signals, craft: str, bodies: list[Body]) -> list[Arrow]:
    """Return where the axis that points does point, and where it should: the reference by the pointing error."""
    plans: list[Any] = [
        mode.guidance for mode in mission.software[craft].modes.values() if hasattr(mode.guidance, "axis_B")
    ]
    name = f"{craft}.pointing_error_deg"
    if not plans or name not in one or f"{craft}.q_IB" not in one or craft not in {body.name for body in bodies}:
        return []
    axis, q_IB = np.asarray(plans[0].axis_B, dtype=float), one[f"{craft}.q_IB"].values
    q_IR = quaternion.mul(q_IB, quaternion.exp(-np.radians(one[name].values)))  # q_RB = exp(error)
    reference, real = quaternion.rotate(q_IR, axis), quaternion.rotate(q_IB, axis)
    return [Arrow("boresight", craft, real, "#d6409f"), Arrow("boresight wanted", craft, reference, "#8892a4")]


def _views(mission: Mission) -> list[Cone]:
    """Return the fields of view of sensors, about their z axes."""
    cones = []
    for craft, section in mission.craft.items():
        for key, sensor in section.sensors.items():
            angle: Any = getattr(sensor, "half_cone_deg", 180.0)
            if angle < WIDEST_DEG:
                cones.append(Cone(f"view of {key}", craft, ORIGIN, _boresight(sensor), float(angle), colour="#c99a06"))
    return cones


def _keep_outs(mission: Mission) -> list[Cone]:
    """Return the cones about body axes in which the Sun may not come: of slews, and of sensors that it blinds."""
    cones = []
    for craft, software in mission.software.items():
        for name, mode in software.modes.items():
            if mode.slew is not None and mode.slew.keep_out is not None:
                axis, cosine = mode.slew.keep_out.numbers()
                cones.append(_no_sun(f"no Sun in {name}", craft, axis, float(np.degrees(np.arccos(cosine)))))
    for craft, section in mission.craft.items():
        for name, sensor in section.sensors.items():
            if (angle := getattr(sensor, "sun_exclusion_deg", 0.0)) > 0.0:
                cones.append(_no_sun(f"no Sun before {name}", craft, _boresight(sensor), angle))
    return [cone for cone in cones if cone.angle_deg < WIDEST_DEG]


def _no_sun(name: str, craft: str, axis_B: Any, angle_deg: float) -> Cone:
    return Cone(name, craft, ORIGIN, tuple(axis_B), angle_deg, colour="#e5484d")


def _boresight(sensor: Any) -> tuple[float, ...]:
    """Return the z axis of a sensor, in body axes."""
    q_BS = np.array(getattr(sensor, "q_BS", (1.0, 0, 0, 0)), float)
    return tuple(quaternion.rotate(q_BS, np.eye(3)[2]))


def _corridors(mission: Mission) -> list[Cone]:
    """Return the corridors before the ports of targets, along their x axes."""
    cones = []
    for software in mission.software.values():
        for mode in software.modes.values():
            plan: Any = mode.guidance
            if hasattr(plan, "corridor_deg") and getattr(plan, "target", None) in mission.craft:
                length = float(getattr(plan, "synchronise_m", 5.0))
                sizes = plan.corridor_deg, length, plan.corridor_m
                cones.append(Cone("corridor", plan.target, ORIGIN, (1.0, 0.0, 0.0), *sizes))
    return cones[:1]
