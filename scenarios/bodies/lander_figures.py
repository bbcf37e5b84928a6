"""Figures of a lander that comes to rest."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from gnc.scenarios.bodies import figures, score
from gnc.scenarios.plots import COLOURS

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from xarray import Dataset

    from gnc.scenarios.report.page import Scene


def draw(config: Any, flight: Dataset) -> Mapping[str, Any]:
    """Return the figures by name."""
    falling = flight.where(~(flight["time"] >= flight["t_contact"]))  # not a number: it has not touched
    last = np.where(np.isnan(flight["t_contact"]), flight["time"].values[-1], flight["t_contact"]).max()
    falling = falling.sel(time=slice(0.0, float(last)))
    bounds = {"attitude_error_deg": config.criteria.attitude_deg}
    return {
        "descent": lambda figure: figures.sizes(figure, falling, bounds, "Attitude error until the contact", {}),
        "knowledge": lambda figure: figures.knowledge(figure, falling, {}, units=("deg",)),
        "innovations": lambda figure: figures.innovations(figure, flight, ["star_tracker"], {}),
        "control": lambda figure: figures.control(figure, falling, {}),
        "contact": lambda figure: _draw_contact(figure, flight, config),
        "trajectory": lambda figure: figures.paths(
            figure, flight, {"centre of mass": "r_IB_m"}, "Paths over the ground, z along its normal"
        ),
    }


def _draw_contact(figure: Figure, flight: Dataset, config: Any) -> None:
    """Draw height, energy, tilt and speed of up to 50 trials."""
    t, panels = flight["time"].values, figure.subplots(4, 1, sharex=True)
    height = flight["r_IB_m"].values[..., 2] - config.lander.foot_height_m
    shown = {
        "height [m]": height,
        "energy [J]": flight["energy_J"].values,
        "tilt [deg]": flight["tilt_deg"].values,
        "speed [m/s]": score.size(flight, "v_I_m_s"),
    }
    for axes, (label, values), colour in zip(panels, shown.items(), COLOURS, strict=False):
        axes.plot(t, values[: figures.MOST].T, color=colour, lw=0.4, alpha=0.6)
        axes.set_ylabel(label)
        axes.grid(alpha=0.3)
    panels[0].set_title(f"Fall, rebound and rest, up to {figures.MOST} trials; energy above that of standing")
    panels[-1].set_xlabel("time [s]")


def scene(config: Any, flight: Dataset, trial: int) -> Scene:
    """Return the lander over its ground."""
    from gnc.scenarios.report.page import Arrow, Body, Scene

    one = flight.isel(trial=trial)
    t, r, q = one["time"].values, one["r_IB_m"].values, one["q_IB"].values
    level, below = np.tile([1.0, 0.0, 0.0, 0.0], (len(t), 1)), np.tile([0.0, 0.0, -0.05], (len(t), 1))
    bodies = (
        Body("lander", r, q, tuple(config.lander.size_m)),
        Body("ground", below, level, (5.0, 5.0, 0.1), "#8a7f72"),
    )
    arrows = (Arrow("velocity [m/s]", "lander", one["v_I_m_s"].values),)
    return Scene(t, bodies, arrows, caption="The lander's box over the ground; its feet reach below the box")
