"""Figures of a carrier that lets its cargo go."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from gnc import quaternion
from gnc.scenarios.bodies import figures, score
from gnc.scenarios.plots import COLOURS

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from xarray import Dataset

    from gnc.scenarios.report.page import Scene


def draw(config: Any, flight: Dataset) -> Mapping[str, Any]:
    """Return the figures by name."""
    marks, c = {"release": config.release.time_s}, config.criteria
    bounds = {"position_error_m": c.position_m, "attitude_error_deg": c.attitude_deg}
    return {
        "pose": lambda figure: figures.sizes(figure, flight, bounds, "Carrier against the pose to hold", marks),
        "knowledge": lambda figure: figures.knowledge(figure, flight, marks),
        "innovations": lambda figure: figures.innovations(figure, flight, ["camera"], marks),
        "control": lambda figure: figures.control(figure, flight, marks),
        "cargo": lambda figure: _draw_cargo(figure, flight.sel(time=slice(config.release.time_s, None))),
        "trajectory": lambda figure: figures.paths(
            figure, flight, {"carrier": "r_IB_m", "cargo": "cargo_r_m"}, "Paths of carrier and cargo, inertial axes"
        ),
    }


def _draw_cargo(figure: Figure, flight: Dataset) -> None:
    """Draw clearance and tip-off rate of all trials, after the release."""
    t, panels = flight["time"].values, figure.subplots(2, 1, sharex=True)
    panels[0].plot(t, flight["clearance_m"].values.T, color=COLOURS[0], lw=0.4, alpha=0.6)
    panels[0].set(ylabel="clearance [m]", title="Cargo after the release, all trials")
    panels[1].plot(t, score.size(flight, "cargo_rate_deg_s").T, color=COLOURS[1], lw=0.4, alpha=0.6)
    panels[1].set(ylabel="rate [deg/s]", xlabel="time [s]")
    for axes in panels:
        axes.grid(alpha=0.3)


def scene(config: Any, flight: Dataset, trial: int) -> Scene:
    """Return carrier and cargo about the pose to hold."""
    from gnc.scenarios.report.page import Arrow, Body, Scene

    one, hold = flight.isel(trial=trial), np.array(config.hold_m)
    q, force = one["q_IB"].values, one["force_N"].values
    bodies = (
        Body("carrier", one["r_IB_m"].values - hold, q, tuple(config.carrier.size_m)),
        Body("cargo", one["cargo_r_m"].values - hold, one["cargo_q"].values, tuple(config.cargo.size_m), "#d98c3f"),
    )
    arrows = (Arrow("force [N]", "carrier", quaternion.rotate(q, force)),)
    return Scene(one["time"].values, bodies, arrows, caption="Carrier and cargo, from the pose to hold")
