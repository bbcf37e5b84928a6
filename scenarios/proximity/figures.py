"""Figures of a rendezvous: errors with their bands, innovations, thrusters, the way in the target's frame."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from gnc.controllers.approach import PHASES
from gnc.scenarios.attitude.score import size
from gnc.scenarios.plots import COLOURS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from xarray import Dataset

    from gnc.scenarios.report.page import Scene

AXES = ("x", "y", "z")
LEVELS = (50.0, 84.0, 99.7)
NAMES = (*PHASES, "docked")
MOST = 50  # trials that are drawn as lines


def draw(config: Any, flight: Dataset) -> Mapping[str, Any]:
    """Return the figures of a rendezvous by name."""
    return {
        "approach": lambda figure: _approach(figure, flight),
        "knowledge": lambda figure: _knowledge(figure, flight),
        "innovations": lambda figure: _innovations(figure, flight),
        "thrusters": lambda figure: _thrusters(figure, flight),
        "trajectory": lambda figure: _trajectory(figure, config, flight),
    }


def draw_docking(config: Any, flight: Dataset) -> Mapping[str, Any]:
    """Return the figures of a docking by name."""
    return {**draw(config, flight), "stack": lambda figure: _stack(figure, flight)}


def _percentiles(axes: Axes, t: Any, values: Any) -> None:
    """Draw percentiles over the trials, where there are any, on a logarithmic axis."""
    seen = np.isfinite(values).any(axis=0)
    for level, colour in zip(LEVELS, COLOURS, strict=False):
        label = "median" if level == 50.0 else f"{level:g}th percentile"
        axes.semilogy(t[seen], np.nanpercentile(values[:, seen], level, axis=0), color=colour, lw=1.1, label=label)
    axes.grid(alpha=0.3)


def _shade_phases(axes: Axes, flight: Dataset, named: bool = False) -> None:
    """Mark the phase that most trials are in."""
    t, phase = flight["time"].values, np.nanmedian(flight["phase"].values, axis=0)
    edges = [0, *(np.flatnonzero(np.diff(phase)) + 1).tolist(), len(t)]
    for k, (start, end) in enumerate(zip(edges[:-1], edges[1:], strict=True)):
        until = t[min(end, len(t) - 1)]
        axes.axvspan(t[start], until, color="0.93" if k % 2 else "0.98", lw=0, zorder=0)
        if named and until - t[start] > 0.05 * t[-1]:
            where: dict[str, Any] = {"ha": "center", "va": "top", "transform": axes.get_xaxis_transform()}
            axes.text(0.5 * (t[start] + until), 0.98, NAMES[int(phase[start])], fontsize=8, color="0.35", **where)


def _approach(figure: Figure, flight: Dataset) -> None:
    """Draw range and errors against what is wanted."""
    t, panels = flight["time"].values, figure.subplots(3, 1, sharex=True)
    panels[0].semilogy(t, size(flight, "r_TB_m")[:MOST].T, color=COLOURS[0], lw=0.4, alpha=0.5)
    panels[0].set(
        ylabel="range from\nthe port [m]", title=f"Pose of the chaser against the target, {len(flight['trial'])} trials"
    )
    panels[0].grid(alpha=0.3)
    panels[0].set_ylim(top=2.0 * panels[0].get_ylim()[1])  # for the names of the phases
    _percentiles(panels[1], t, 1e3 * size(flight, "position_error_m"))
    panels[1].set_ylabel("position error\nof the port [mm]")
    _percentiles(panels[2], t, size(flight, "attitude_error_deg"))
    panels[2].set(ylabel="attitude error [deg]", xlabel="time [s]")
    panels[1].legend(loc="upper right", fontsize=8)
    for k, axes in enumerate(panels):
        _shade_phases(axes, flight, named=k == 0)


def _knowledge(figure: Figure, flight: Dataset) -> None:
    """Draw the error of every trial along and about each axis, with the 3-sigma band of the filter."""
    t, panels = flight["time"].values, figure.subplots(3, 2, sharex=True, sharey="col")
    columns = (("knowledge_error_m", "sigma_m", 1e3, "mm"), ("knowledge_error_deg", "sigma_deg", 1.0, "deg"))
    for j, (name, width, factor, unit) in enumerate(columns):
        error, sigma = factor * flight[name].values, factor * flight[width].values
        seen = np.isfinite(sigma).any(axis=(0, 2))
        limit = 1.5 * np.nanpercentile(3.0 * sigma[:, len(t) // 10 :], 98)
        for i, axes in enumerate(panels[:, j]):
            axes.plot(t, error[:MOST, :, i].T, color=COLOURS[0], lw=0.4, alpha=0.5)
            for sign in (-3.0, 3.0):
                axes.plot(t[seen], sign * np.nanmedian(sigma[:, seen, i], axis=0), color=COLOURS[1], lw=1.2)
            axes.set(ylabel=f"{AXES[i]} [{unit}]", ylim=(-limit, limit))
            axes.grid(alpha=0.3)
            _shade_phases(axes, flight)
        panels[-1, j].set_xlabel("time [s]")
    panels[0, 0].set_title("Position of the target's port")
    panels[0, 1].set_title("Attitude of the target")
    figure.suptitle("Error of the filter (blue, up to 50 trials) and its 3-sigma band (red, median)")


def _innovations(figure: Figure, flight: Dataset) -> None:
    """Draw the mean NIS over the trials, which is 1 for an honest filter, and how many measurements were used."""
    panels, nis = figure.subplots(2, 1, sharex=True), flight["camera_nis"]
    t, used = nis[nis.dims[1]].values, np.isfinite(nis.values)
    seen = used.any(axis=0)
    panels[0].plot(t[seen], np.nanmean(nis.values[:, seen], axis=0), ".", ms=4, color=COLOURS[0])
    panels[0].axhline(1.0, color="k", lw=0.8, ls=":")
    panels[0].set(ylabel="mean NIS / dimension", ylim=(0.0, 3.0), title="Innovations of the camera, over the trials")
    panels[1].plot(t, 100.0 * used.mean(axis=0), ".", ms=4, color=COLOURS[0])
    panels[1].set(ylabel="used [% of trials]", xlabel="time [s]", ylim=(0.0, 105.0))
    for axes in panels:
        axes.grid(alpha=0.3)
        _shade_phases(axes, flight)


def _thrusters(figure: Figure, flight: Dataset) -> None:
    """Draw force and torque of the first trial, and the impulse spent by all."""
    t, wrench = flight["time"].values, flight["wrench"].values
    panels = figure.subplots(3, 1, sharex=True)
    for axes, part, label in ((panels[0], slice(3, 6), "force [N]"), (panels[1], slice(3), "torque [N m]")):
        for name, colour, values in zip(AXES, COLOURS, wrench[0, :, part].T, strict=False):
            axes.plot(t, values, lw=0.8, color=colour, label=f"{name}, trial {int(flight['trial'][0])}")
        axes.set_ylabel(label)
    panels[2].plot(t, flight["delta_v_m_s"].values[:MOST].T, color=COLOURS[0], lw=0.5, alpha=0.6)
    panels[2].set(ylabel="impulse over mass\n[m/s], all trials", xlabel="time [s]")
    panels[0].set_title("Thrusters: loads on the chaser, body axes, and what they have spent")
    panels[0].legend(fontsize=8, ncols=3, loc="upper right")
    for axes in panels:
        axes.grid(alpha=0.3)
        _shade_phases(axes, flight)


def _trajectory(figure: Figure, config: Any, flight: Dataset) -> None:
    """Draw the way of the chaser in the target's frame, far and near."""
    r, reach = flight["r_TB_m"].values[:MOST], config.guidance.synchronise_m
    whole, near = (figure.add_subplot(1, 2, k, projection="3d") for k in (1, 2))
    close = np.where((np.nan_to_num(flight["phase"].values[:MOST]) >= 3.0)[..., None], r, np.nan)
    for axes, paths, title in ((whole, r, "all of the way"), (near, close, "approach, with the corridor")):
        for path, colour in zip(paths, [COLOURS[k % len(COLOURS)] for k in range(len(paths))], strict=True):
            axes.plot(*path.T, lw=0.5, color=colour)
        axes.plot([0.0], [0.0], [0.0], "ks", ms=4)
        axes.set(xlabel="x [m]", ylabel="y [m]", title=title)
        axes.set_zlabel("z [m]")
        axes.locator_params(nbins=5)
        axes.set_box_aspect(None, zoom=0.85)
    _cone(near, config, reach)
    figure.suptitle("Chaser in the frame of the target's port (black), which tumbles")


def _cone(axes: Any, config: Any, reach: float) -> None:
    """Draw the corridor."""
    x, angle = np.meshgrid(np.linspace(0.0, reach, 2), np.linspace(0.0, 2.0 * np.pi, 25))
    radius = config.guidance.corridor_m + np.tan(np.radians(config.guidance.corridor_deg)) * x
    axes.plot_wireframe(x, radius * np.cos(angle), radius * np.sin(angle), color="0.7", lw=0.4)


def _stack(figure: Figure, flight: Dataset) -> None:
    """Draw how chaser and stack turn and move, and by how much the stack is off where it is held."""
    t, panels = flight["time"].values, figure.subplots(3, 1, sharex=True)
    for axes, name, factor, label in (
        (panels[0], "chaser_rate_deg_s", 1.0, "rate [deg/s]"),
        (panels[1], "chaser_velocity_m_s", 1e3, "velocity [mm/s]"),
    ):
        axes.semilogy(t, factor * size(flight, name)[:MOST].T, color=COLOURS[0], lw=0.4, alpha=0.6)
        axes.set_ylabel(label)
    panels[2].semilogy(t, flight["hold_error_deg"].values[:MOST].T, color=COLOURS[0], lw=0.4, alpha=0.6)
    panels[2].set(ylabel="attitude from the\nheld one [deg]", xlabel="time [s]", ylim=(1e-4, 10.0))
    panels[0].set_title("Chaser, and after capture (red) the stack: every trial")
    for axes in panels:
        for when in flight["t_capture"].values[:MOST]:
            axes.axvline(when, color=COLOURS[1], lw=0.3, alpha=0.6)
        axes.grid(alpha=0.3)


def scene(config: Any, flight: Dataset, trial: int) -> Scene:
    """Return both bodies as they move, in inertial axes about the target's port."""
    from gnc import quaternion
    from gnc.scenarios.report.page import Arrow, Body, Scene

    one = flight.isel(trial=trial)
    q_IB, q_IT, origin = one["q_IB"].values, one["q_IT"].values, one["r_IT_m"].values
    centre = quaternion.rotate(q_IT, np.array([-0.5 * config.target.size_m[0], 0.0, 0.0]))
    bodies = (
        Body("target", centre, q_IT, config.target.size_m, "#9aa0a6"),
        Body("chaser", one["r_IB_m"].values - origin, q_IB, config.chaser.size_m),
    )
    thrust = quaternion.rotate(q_IB, one["wrench"].values[:, 3:])
    port = quaternion.rotate(q_IT, np.array([1.0, 0.0, 0.0]))
    arrows = (Arrow("force of the thrusters [N]", "chaser", thrust), Arrow("docking axis", "target", port, "#2ca02c"))
    return Scene(one["time"].values, bodies, arrows, caption="Inertial axes, about the port of the target")
