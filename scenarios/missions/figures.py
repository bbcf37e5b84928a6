"""Figures of a flight, made of the signals there are: what is asked, what is known, innovations, actuators."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from gnc.expression import parse
from gnc.scenarios.missions.mission import Mission
from gnc.scenarios.missions.requirements.base import Judged
from gnc.scenarios.missions.verdict import Verdict
from gnc.scenarios.plots import COLOURS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from xarray import Dataset

Draw = Callable[["Figure"], None]
AXES = ("x", "y", "z")
LEVELS = (50.0, 84.0, 99.7)
MOST = 5  # panels of a figure
BOOKS = "_gap"  # ends the name of a signal that is zero but for rounding: nothing to look at
FEW = 3  # trials that are drawn one by one
UNITS = {"_deg_s": "deg/s", "_deg": "deg", "_m_s": "m/s", "_mm": "mm", "_m": "m", "_Nms": "N m s", "_s": "s"}


def draw(mission: Mission, flight: Dataset, verdict: Verdict) -> dict[str, Draw]:
    """Return the figures by name, of the signals there are."""
    found: dict[str, Draw] = {}
    asked = _asked(mission, flight)
    if asked:
        found["requirements"] = partial(_requirements, mission=mission, flight=flight, asked=asked)
    several = len(mission.craft) > 1
    for craft in mission.craft:
        name = f"_{craft}" if several else ""
        if f"{craft}.sigma_deg" in flight and f"{craft}.knowledge_error_deg" in flight:
            found[f"knowledge{name}"] = partial(_knowledge, flight=flight, craft=craft)
        sensors = [key for key in mission.craft[craft].sensors if f"{craft}.{key}.nis" in flight]
        if sensors:
            found[f"innovations{name}"] = partial(_innovations, flight=flight, craft=craft, sensors=sensors)
        if actuators := _actuators(mission, flight, craft):
            found[f"actuators{name}"] = partial(_draw_actuators, flight=flight, signals=actuators)
    return found


def _asked(mission: Mission, flight: Dataset) -> dict[str, list[tuple[str, float]]]:
    """Return the signals over time that have bounds, each with its bounds and their names."""
    found: dict[str, list[tuple[str, float]]] = {}
    for name, part in mission.requirements.items():
        signal = getattr(part, "signal", None)
        if signal is None or not parse(signal).names or signal.endswith(BOOKS):
            continue
        bounds = [b for b in (getattr(part, "at_most", None), getattr(part, "at_least", None)) if b is not None]
        if bounds:
            found.setdefault(signal, []).extend((getattr(part, "title", "") or name, bound) for bound in bounds)
    return dict(list(found.items())[:MOST])


def _panels(figure: Figure, n: int, **shared: bool) -> Any:
    """Return panels below each other in fixed margins: to lay them out by what they hold takes as long as to draw."""
    figure.set_layout_engine("none")
    margins = {"left": 0.13, "right": 0.98, "top": 0.94, "bottom": 0.09, "hspace": 0.12}
    return np.atleast_1d(figure.subplots(n, 1, sharex=True, gridspec_kw=margins, **shared))


def _requirements(figure: Figure, mission: Mission, flight: Dataset, asked: Mapping[str, Any]) -> None:
    """Draw what is asked of signals: percentiles over the trials, with the bounds."""
    judged = Judged(mission, flight, {}, {})
    panels = _panels(figure, len(asked))
    t, n = flight["time"].values, flight.sizes["trial"]
    for axes, (signal, bounds) in zip(panels, asked.items(), strict=True):
        values = np.asarray(judged.value(parse(signal)), float)
        shade_eclipse(axes, flight)
        if values.ndim == 2 and np.isfinite(values).any():
            _spread(axes, t, values)
        for (name, bound), style in zip(bounds, ("--", ":", "-."), strict=False):
            axes.axhline(bound, color="k", lw=0.9, ls=style, label=name)
        axes.set_ylabel(_words(signal, bounds[0][0]), fontsize=8)
        axes.grid(alpha=0.3)
        axes.legend(fontsize=7, loc="upper right", ncols=2)
    panels[0].set_title(f"{mission.name}: what is asked, {n} trial{'s' * (n > 1)}")
    panels[-1].set_xlabel("time [s]")


def _spread(axes: Axes, t: Any, values: Any) -> None:
    """Draw trials one by one if they are few, else percentiles over them; on a logarithmic axis if they can be."""
    if len(values) <= FEW:
        for k, row in enumerate(values):
            axes.plot(t, row, color=COLOURS[k], lw=1.0, label=f"trial {k + 1} of {len(values)}")
    else:
        for level, colour in zip(LEVELS, COLOURS, strict=False):
            row = np.nanpercentile(values[:, np.isfinite(values).any(axis=0)], level, axis=0)
            label = "median of trials" if level == 50.0 else f"{level:g}th percentile"
            axes.plot(t[np.isfinite(values).any(axis=0)], row, color=colour, lw=1.1, label=label)
    known = values[np.isfinite(values)]
    if len(known) and known.min() > 0.0 and known.max() > 30.0 * np.median(known):
        axes.set_yscale("log")


def _words(signal: str, title: str) -> str:
    """Return a signal with its unit in brackets; arithmetic of signals goes by the title of its requirement."""
    name, bracket = signal.rsplit(".", 1)[-1], ""
    if not name.replace("_", "").isalnum():
        return title
    for suffix, unit in UNITS.items():
        if name.endswith(suffix):
            name, bracket = name.removesuffix(suffix), f" [{unit}]"
            break
    return f"{name.replace('_', ' ')}{bracket}"


def _knowledge(figure: Figure, flight: Dataset, craft: str) -> None:
    """Draw the error of every trial about each axis, with the 3-sigma band of the filter."""
    t, error = flight["time"].values, flight[f"{craft}.knowledge_error_deg"].values
    sigma, panels = flight[f"{craft}.sigma_deg"].values, _panels(figure, 3)
    settled = 3.0 * sigma[:, len(t) // 10 :]
    limit = 1.3 * np.nanpercentile(settled, 99) if np.isfinite(settled).any() else 1.0
    known = np.isfinite(sigma[..., 0]).any(axis=0)
    for i, axes in enumerate(panels):
        shade_eclipse(axes, flight)
        axes.plot(t, error[:50, :, i].T, color=COLOURS[0], lw=0.4, alpha=0.5)
        for sign in (-3.0, 3.0):
            axes.plot(t[known], sign * np.nanmedian(sigma[:, known, i], axis=0), color=COLOURS[1], lw=1.2)
        axes.set(ylabel=f"about {AXES[i]} [deg]", ylim=(-limit, limit) if limit > 0.0 else None)
        axes.grid(alpha=0.3)
    panels[0].set_title(
        f"{craft}: attitude error of the filter (blue, up to 50 trials), its 3-sigma band (red, median)"
    )
    panels[-1].set_xlabel("time [s]")


def _innovations(figure: Figure, flight: Dataset, craft: str, sensors: list[str]) -> None:
    """Draw the mean NIS over the trials of each sensor, which is 1 for an honest filter."""
    panels = _panels(figure, len(sensors), sharey=True)
    for axes, name in zip(panels, sensors, strict=True):
        nis = flight[f"{craft}.{name}.nis"]
        t, values = nis[nis.dims[1]].values, nis.values
        seen = np.isfinite(values).any(axis=0)
        axes.plot(t[seen], np.nanmean(values[:, seen], axis=0), ".", ms=3, color=COLOURS[0])
        axes.axhline(1.0, color="k", lw=0.8, ls=":")
        shade_eclipse(axes, flight)
        axes.set(ylim=(0.0, 3.0))
        axes.set_ylabel(name.replace("_", " "), fontsize=8)
        axes.grid(alpha=0.3)
    panels[0].set_title("Normalised innovations squared over their dimension, mean over the trials; 1 is honest")
    panels[-1].set_xlabel("time [s]")


def _actuators(mission: Mission, flight: Dataset, craft: str) -> list[str]:
    """Return the signals of a craft's actuators."""
    prefixes = tuple(f"{craft}.{name}." for name in mission.craft[craft].actuators)
    return [str(name) for name in flight.data_vars if prefixes and str(name).startswith(prefixes)][:MOST]


def _draw_actuators(figure: Figure, flight: Dataset, signals: list[str]) -> None:
    """Draw what actuators did: the first trial as lines, all trials as bands."""
    panels = _panels(figure, len(signals))
    t, first = flight["time"].values, int(flight["trial"].values[0])
    for axes, name in zip(panels, signals, strict=True):
        signal = flight[name]
        values = signal.values if signal.ndim == 3 else signal.values[..., None]
        if len(values) > FEW:
            edges = np.nanpercentile(values, [0.3, 99.7], axis=(0, 2))
            axes.fill_between(t, *edges, color="0.5", alpha=0.25, lw=0, label="0.3 to 99.7 % of all trials")
        for i in range(min(values.shape[-1], len(COLOURS))):
            axes.plot(t, values[0, :, i], lw=0.8, color=COLOURS[i])
        axes.set_ylabel(f"{name.split('.', 1)[1]}\n[{signal.attrs['units']}]", fontsize=8)
        axes.grid(alpha=0.3)
        if axes.get_legend_handles_labels()[0]:
            axes.legend(fontsize=7, loc="upper right")
    panels[0].set_title(f"Actuators: lines are those of trial {first}")
    panels[-1].set_xlabel("time [s]")


def shade_eclipse(axes: Axes, flight: Dataset) -> None:
    """Mark when the craft are in the shadow, if it is bright at times."""
    if "shadow" not in flight or (flight["shadow"].values > 0.5).all():
        return
    t, dark = flight["time"].values, flight["shadow"].values > 0.5
    edges = np.flatnonzero(np.diff(np.concatenate([[0], dark.astype(int), [0]])))
    for i, (start, end) in enumerate(edges.reshape(-1, 2)):
        label = "eclipse" if i == 0 else None
        axes.axvspan(t[start], t[min(end, len(t) - 1)], color="0.85", lw=0, zorder=0, label=label)
