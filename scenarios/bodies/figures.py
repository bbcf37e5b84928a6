"""Figures that bodies under pose control share: errors, the filter's bands, innovations, control, paths."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from gnc.scenarios.bodies import score
from gnc.scenarios.plots import COLOURS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from xarray import Dataset

AXES = ("x", "y", "z")
LEVELS = (50.0, 84.0, 99.7)
MOST = 50  # trials that are drawn one by one
Marks = Mapping[str, float]  # what happens when [s]


def mark(axes: Axes, marks: Marks) -> None:
    """Draw a line at every moment that has a name."""
    for name, at in marks.items():
        axes.axvline(at, color="k", lw=0.9, ls="--", label=name)
    axes.grid(alpha=0.3)


def _percentile(values: Any, level: float) -> Any:
    """Return a percentile over the trials (time,), NaN where none has a number."""
    with warnings.catch_warnings(action="ignore", category=RuntimeWarning):
        return np.nanpercentile(values, level, axis=0)


def sizes(figure: Figure, flight: Dataset, bounds: Mapping[str, float], title: str, marks: Marks) -> None:
    """Draw percentiles over the trials of the length of some vector signals, with the bounds they have to keep."""
    panels, t = np.atleast_1d(figure.subplots(len(bounds), 1, sharex=True)), flight["time"].values
    for axes, (name, bound) in zip(panels, bounds.items(), strict=True):
        values, unit = score.size(flight, name), flight[name].attrs["units"]
        for level, colour in zip(LEVELS, COLOURS, strict=False):
            label = "median of trials" if level == 50.0 else f"{level:g}th percentile"
            axes.semilogy(t, _percentile(values, level), color=colour, lw=1.2, label=label)
        axes.axhline(bound, color="k", lw=0.9, ls=":", label="bound")
        axes.set_ylabel(f"{name.removesuffix(f'_{unit}').replace('_', ' ')} [{unit}]")
        mark(axes, marks)
    panels[0].set_title(f"{title}, {flight.sizes['trial']} trials")
    panels[0].legend(fontsize=8, loc="upper right")
    panels[-1].set_xlabel("time [s]")


def knowledge(figure: Figure, flight: Dataset, marks: Marks, units: Sequence[str] = ("deg", "m")) -> None:
    """Draw the filter's error in attitude and position about each axis, with its 3-sigma band."""
    t, panels = flight["time"].values, figure.subplots(3, len(units), sharex=True, squeeze=False)
    for column, unit in enumerate(units):
        error, sigma = flight[f"knowledge_error_{unit}"].values, flight[f"sigma_{unit}"].values
        settled = 3.0 * sigma[:, len(t) // 10 :]
        limit = 1.3 * np.percentile(settled[np.isfinite(settled)], 99) if np.isfinite(settled).any() else 1.0
        for i, axes in enumerate(panels[:, column]):
            axes.plot(t, error[:MOST, :, i].T, color=COLOURS[0], lw=0.4, alpha=0.5)
            for sign in (-3.0, 3.0):
                axes.plot(t, sign * _percentile(sigma[..., i], 50.0), color=COLOURS[1], lw=1.2)
            axes.set(ylabel=f"{'about' if unit == 'deg' else 'along'} {AXES[i]} [{unit}]", ylim=(-limit, limit))
            mark(axes, marks)
        panels[-1, column].set_xlabel("time [s]")
    figure.suptitle(f"Error of the filter (blue, up to {MOST} trials) and its 3-sigma band (red, median)", fontsize=11)


def innovations(figure: Figure, flight: Dataset, sensors: Sequence[str], marks: Marks) -> None:
    """Draw the mean NIS over the trials of each sensor, which is 1 for an honest filter."""
    panels = np.atleast_1d(figure.subplots(len(sensors), 1, sharex=True, sharey=True))
    for axes, name in zip(panels, sensors, strict=True):
        nis = flight[f"{name}_nis"]
        t, values = nis[nis.dims[1]].values, nis.values
        seen = np.isfinite(values).any(axis=0)
        axes.plot(t[seen], np.nanmean(values[:, seen], axis=0), ".", ms=3, color=COLOURS[0])
        axes.axhline(1.0, color="k", lw=0.8, ls=":")
        axes.set(ylabel=f"{name.replace('_', ' ')}\nmean NIS / dimension", ylim=(0.0, 3.0))
        mark(axes, marks)
    panels[0].set_title("Normalised innovations, mean over the trials")
    panels[-1].set_xlabel("time [s]")


def control(figure: Figure, flight: Dataset, marks: Marks) -> None:
    """Draw the commanded force and torque: the first trial as lines, all trials as a band."""
    t, found = flight["time"].values, [name for name in ("force_N", "torque_Nm") if name in flight]
    panels = np.atleast_1d(figure.subplots(len(found), 1, sharex=True))
    for axes, name in zip(panels, found, strict=True):
        values = flight[name].values
        edges = [_percentile(np.moveaxis(values, 2, 1).reshape(-1, len(t)), level) for level in (0.3, 99.7)]
        axes.fill_between(t, *edges, color="0.5", alpha=0.25, lw=0, label="0.3 to 99.7 %, all trials and axes")
        for i, colour in zip(range(3), COLOURS, strict=False):
            label = f"{AXES[i]}, trial {int(flight['trial'].values[0])}"
            axes.plot(t, values[0, :, i], lw=0.9, color=colour, label=label)
        axes.set_ylabel(f"{name.split('_')[0]} [{flight[name].attrs['units']}]")
        mark(axes, marks)
    panels[0].set_title("Commanded by the controller, body axes")
    panels[0].legend(fontsize=8, loc="upper right")
    panels[-1].set_xlabel("time [s]")


def paths(figure: Figure, flight: Dataset, signals: Mapping[str, str], title: str) -> None:
    """Draw some positions in space, of up to 20 trials."""
    axes: Any = figure.add_subplot(projection="3d")
    for (label, name), colour in zip(signals.items(), COLOURS, strict=False):
        for i, path in enumerate(flight[name].values[:20]):
            axes.plot(*path.T, color=colour, lw=0.7, alpha=0.7, label=label if i == 0 else None)
    axes.set(xlabel="x [m]", ylabel="y [m]", zlabel="z [m]", title=title)
    axes.legend(fontsize=8)
