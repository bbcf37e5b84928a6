"""Figures of a base with an arm."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from gnc import quaternion
from gnc.scenarios.bodies import arm, figures
from gnc.scenarios.plots import COLOURS

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from xarray import Dataset

    from gnc.scenarios.report.page import Scene


def draw(config: Any, flight: Dataset) -> Mapping[str, Any]:
    """Return the figures by name."""
    start, c = config.move.start_s, config.criteria
    marks = {"move begins": start, "move ends": start + config.move.time_s}
    bounds = {
        "attitude_error_deg": c.pointing_p997_deg,
        "position_error_m": c.position_p997_m,
        "tip_error_m": c.tip_p997_m,
    }
    return {
        "errors": lambda figure: figures.sizes(figure, flight, bounds, "Base and tip against the plan", marks),
        "knowledge": lambda figure: figures.knowledge(figure, flight, marks),
        "innovations": lambda figure: figures.innovations(figure, flight, ["star_tracker", "beacon"], marks),
        "control": lambda figure: figures.control(figure, flight, marks),
        "arm": lambda figure: _draw_arm(figure, flight, marks),
        "trajectory": lambda figure: figures.paths(
            figure, flight, {"base": "r_IB_m", "tip": "tip_I_m"}, "Paths of base and tip, inertial axes"
        ),
    }


def _draw_arm(figure: Figure, flight: Dataset, marks: Mapping[str, float]) -> None:
    """Draw the joints of all trials: angles, errors, torques."""
    t, panels = flight["time"].values, figure.subplots(3, 1, sharex=True)
    for axes, name in zip(panels, ("joint_deg", "joint_error_deg", "joint_torque_Nm"), strict=True):
        values, unit = flight[name].values, flight[name].attrs["units"]
        for i, (joint, colour) in enumerate(zip(arm.JOINTS, COLOURS, strict=False)):
            axes.plot(t, values[: figures.MOST, :, i].T, color=colour, lw=0.4, alpha=0.6)
            axes.plot([], [], color=colour, label=joint)
        axes.set_ylabel(f"{name.split('_')[1] if name.count('_') > 1 else 'angle'} [{unit}]")
        figures.mark(axes, marks)
    panels[0].set_title(f"Joints of the arm, up to {figures.MOST} trials")
    panels[0].legend(fontsize=8, loc="center right")
    panels[-1].set_xlabel("time [s]")


def scene(config: Any, flight: Dataset, trial: int) -> Scene:
    """Return base and links about the pose to hold, with the thrusters' torque."""
    from gnc.scenarios.report.page import Arrow, Body, Scene

    one, hold = flight.isel(trial=trial), np.array(config.hold_m)
    q = one["q_IB"].values
    bodies = [Body("base", one["r_IB_m"].values - hold, q, tuple(config.base.size_m))]
    a, b, c = config.arm.lengths_m
    for name, edges in zip(arm.LINKS, ((0.2, 0.2, a), (b, 0.15, 0.15), (c, 0.15, 0.15)), strict=True):
        bodies.append(Body(name, one[f"{name}_r_m"].values - hold, one[f"{name}_q"].values, edges, "#d98c3f"))
    arrows = (Arrow("torque [N m]", "base", quaternion.rotate(q, one["torque_Nm"].values)),)
    return Scene(one["time"].values, bodies, arrows, caption="Base and arm, from the pose to hold")
