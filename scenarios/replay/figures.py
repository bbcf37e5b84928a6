"""The figures of a replay: errors and biases within three sigma, NIS within its band."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from gnc.scenarios.plots import COLOURS, legend_below
from gnc.scenarios.replay.curves import AXES, Curve, NisCurve, limits

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

WIDTH, PANEL, LEAST_HEIGHT = 9.0, 2.2, 5.5  # [in]


def draw_states(figure: Figure, found: list[Curve]) -> None:
    """Draw each quantity in three axes."""
    figure.set_size_inches(WIDTH, max(LEAST_HEIGHT, PANEL * len(found)))
    for axes, curve in zip(np.atleast_1d(figure.subplots(len(found), 1, sharex=True)), found, strict=True):
        for i, colour in zip(range(3), COLOURS, strict=False):
            _draw_axis(axes, curve, i, colour)
        axes.set_ylim(limits(curve))
        axes.set_ylabel(f"{curve.title} [{curve.unit}]", fontsize=9)
        axes.grid(alpha=0.3)
    axes.set_xlabel("time [s]")
    figure.suptitle("lines: x, y, z; shaded: 3 sigma", fontsize=10)
    legend_below(figure, axes, 3)  # the last panel, rates or a bias, always has lines


def _draw_axis(axes: Axes, curve: Curve, i: int, colour: str) -> None:
    if curve.bound is not None:
        centre = np.zeros(len(curve.t)) if curve.about_zero or curve.y is None else curve.y[:, i]
        edges = centre - curve.bound[:, i], centre + curve.bound[:, i]
        axes.fill_between(curve.t, *edges, color=colour, alpha=0.15, lw=0)
    if curve.y is not None:
        axes.plot(curve.t, curve.y[:, i], color=colour, lw=0.7, label=AXES[i])


def draw_nis(figure: Figure, found: list[NisCurve]) -> None:
    """Draw each sensor's mean NIS, and where measurements were rejected."""
    if not found:
        figure.suptitle("no innovations", fontsize=10)
        return
    figure.set_size_inches(WIDTH, max(LEAST_HEIGHT, PANEL * len(found)))
    for axes, curve in zip(np.atleast_1d(figure.subplots(len(found), 1, sharex=True)), found, strict=True):
        band: dict[str, Any] = {"color": "k", "alpha": 0.15, "lw": 0, "label": "95 % band"}
        if len(curve.t) > 1:
            axes.fill_between(curve.t, curve.lo, curve.hi, **band)
        else:
            axes.axhspan(curve.lo[0], curve.hi[0], **band)
        axes.plot(curve.t, curve.mean, ".-", color=COLOURS[0], lw=0.8, ms=3, label="mean NIS")
        if len(curve.rejected):
            level = np.full(len(curve.rejected), max(curve.mean.max(), curve.hi.max()))
            axes.plot(curve.rejected, level, "|", color=COLOURS[1], ms=8, label="rejected")
        axes.set_ylim(bottom=0.0)
        axes.set_ylabel(f"{curve.sensor}, {curve.size} numbers", fontsize=9)
        axes.grid(alpha=0.3)
        axes.legend(fontsize=8, loc="lower right")
    axes.set_xlabel("time [s]")
