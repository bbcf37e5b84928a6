"""Figures of a satellite in closed loop: errors with their bands, innovations, wheels, and the scene in space."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from gnc.scenarios.attitude import score
from gnc.scenarios.plots import COLOURS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from xarray import Dataset

    from gnc.scenarios.report.page import Scene

AXES = ("x", "y", "z")
BANDS = ((0.3, 99.7, 0.15), (16.0, 84.0, 0.3))  # percentiles over the trials and how strongly they are drawn
LEVELS = (50.0, 84.0, 99.7)


def draw(config: Any, flight: Dataset) -> Mapping[str, Any]:
    """Return the figures by name, of the signals there are."""
    known = (
        ("pointing", "pointing_error_deg", _pointing),
        ("wheels", "wheel_Nms", _wheels),
        ("knowledge", "sigma_deg", _knowledge),
    )
    found: dict[str, Any] = {name: partial(draw, flight=flight) for name, signal, draw in known if signal in flight}
    sensors = [str(name).removesuffix("_nis") for name in flight.data_vars if str(name).endswith("_nis")]
    if sensors:
        found["innovations"] = lambda figure: _innovations(figure, flight, sensors)
    return found


def _pointing(figure: Figure, flight: Dataset) -> None:
    axes, t = figure.subplots(), flight["time"].values
    error = score.size(flight, "pointing_error_deg")
    shade_eclipse(axes, flight)
    for level, colour in zip(LEVELS, COLOURS, strict=False):
        label = "median" if level == 50.0 else f"{level:g}th percentile"
        axes.semilogy(t, np.nanpercentile(error, level, axis=0), color=colour, lw=1.2, label=f"{label} of trials")
    axes.set(xlabel="time [s]", ylabel="pointing error [deg]", title=f"Pointing error, {len(error)} trials")
    axes.grid(alpha=0.3)
    axes.legend(loc="upper right")


def _knowledge(figure: Figure, flight: Dataset) -> None:
    """Draw the error of every trial about each axis, with the 3-sigma band of the filter."""
    t, error, sigma = flight["time"].values, flight["knowledge_error_deg"].values, flight["sigma_deg"].values
    panels = figure.subplots(3, 1, sharex=True)
    limit = 1.3 * np.nanpercentile(3.0 * sigma[:, len(t) // 10 :], 99)
    for i, axes in enumerate(panels):
        shade_eclipse(axes, flight)
        axes.plot(t, error[:50, :, i].T, color=COLOURS[0], lw=0.4, alpha=0.5)
        for sign in (-3.0, 3.0):
            axes.plot(t, sign * np.nanmedian(sigma[..., i], axis=0), color=COLOURS[1], lw=1.2)
        axes.set(ylabel=f"about {AXES[i]} [deg]", ylim=(-limit, limit))
        axes.grid(alpha=0.3)
    panels[0].set_title("Attitude error of the filter (blue, up to 50 trials) and its 3-sigma band (red, median)")
    panels[-1].set_xlabel("time [s]")


def _innovations(figure: Figure, flight: Dataset, sensors: list[str]) -> None:
    """Draw the mean NIS over the trials of each sensor, which is 1 for an honest filter."""
    panels = np.atleast_1d(figure.subplots(len(sensors), 1, sharex=True, sharey=True))
    for axes, name in zip(panels, sensors, strict=True):
        nis = flight[f"{name}_nis"]
        t, values = nis[nis.dims[1]].values, nis.values
        seen = np.isfinite(values).any(axis=0)
        axes.plot(t[seen], np.nanmean(values[:, seen], axis=0), ".", ms=3, color=COLOURS[0])
        axes.axhline(1.0, color="k", lw=0.8, ls=":")
        shade_eclipse(axes, flight)
        axes.set(ylabel=f"{name}\nmean NIS / dimension", ylim=(0.0, 3.0))
        axes.grid(alpha=0.3)
    panels[0].set_title("Normalised innovations, mean over the trials")
    panels[-1].set_xlabel("time [s]")


def _wheels(figure: Figure, flight: Dataset) -> None:
    """Draw momentum and torque of the wheels: the first trial as lines, all trials as bands."""
    t, panels, first = flight["time"].values, figure.subplots(2, 1, sharex=True), int(flight["trial"].values[0])
    for axes, name, label in zip(panels, ("wheel_Nms", "wheel_torque_Nm"), ("momentum", "torque"), strict=True):
        values = 1e3 * flight[name].values
        for low, high, alpha in BANDS:
            edges = np.nanpercentile(values, [low, high], axis=(0, 2))
            axes.fill_between(t, *edges, color="0.5", alpha=alpha, lw=0, label=f"{low:g} to {high:g} %, all trials")
        for i, colour in zip(range(values.shape[-1]), COLOURS, strict=False):
            axes.plot(t, values[0, :, i], lw=0.9, color=colour, label=f"wheel {i + 1}, trial {first}")
        axes.set_ylabel(f"{label} [mN m{' s' if label == 'momentum' else ''}]")
        axes.grid(alpha=0.3)
    panels[0].set_title("Reaction wheels")
    panels[-1].set_xlabel("time [s]")
    panels[0].legend(fontsize=8, ncols=3, loc="upper right")


def shade_eclipse(axes: Axes, flight: Dataset) -> None:
    """Mark when the satellite is in the shadow, if there is one."""
    if "shadow" not in flight:
        return
    t, dark = flight["time"].values, flight["shadow"].values > 0.5
    edges = np.flatnonzero(np.diff(np.concatenate([[0], dark.astype(int), [0]])))
    for i, (start, end) in enumerate(edges.reshape(-1, 2)):
        label = "eclipse" if i == 0 else None
        axes.axvspan(t[start], t[min(end, len(t) - 1)], color="0.85", lw=0, zorder=0, label=label)


def scene(config: Any, flight: Dataset, trial: int) -> Scene:
    """Return the body as it turns, with the directions of Sun and field."""
    from gnc.scenarios.report.page import Arrow, Body, Scene

    one = flight.isel(trial=trial)
    q, t = one["q_IB"].values, one["time"].values
    body = Body("satellite", np.zeros((len(t), 3)), q, tuple(config.vehicle.size_m))
    B_I = one["B_I_T"].values
    field = B_I / np.linalg.norm(B_I, axis=-1, keepdims=True)
    arrows = (Arrow("Sun", "satellite", one["sun_I"].values), Arrow("magnetic field", "satellite", field, "#2a9d8f"))
    return Scene(t, (body,), arrows, caption="Attitude against inertial space; arrows to the Sun and along the field")
