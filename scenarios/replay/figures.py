"""The figures of a replay: errors and biases within three sigma, NIS within its band."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gnc.scenarios.plots import COLOURS
from gnc.scenarios.replay.curves import AXES, Curve, NisCurve

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def draw_states(figure: Figure, found: list[Curve]) -> None:
    """Draw each quantity in three axes."""
    for axes, curve in zip(np.atleast_1d(figure.subplots(len(found), 1, sharex=True)), found, strict=True):
        for i, colour in zip(range(3), COLOURS, strict=False):
            centre = np.zeros(len(curve.t)) if curve.about_zero or curve.y is None else curve.y[:, i]
            axes.fill_between(
                curve.t, centre - curve.bound[:, i], centre + curve.bound[:, i], color=colour, alpha=0.15, lw=0
            )
            if curve.y is not None:
                axes.plot(curve.t, curve.y[:, i], color=colour, lw=0.7, label=AXES[i])
        _limit(axes, curve)
        axes.set_ylabel(f"{curve.title} [{curve.unit}]", fontsize=9)
        axes.grid(alpha=0.3)
    axes.set_xlabel("time [s]")
    handles, labels = axes.get_legend_handles_labels()
    title = "lines: x, y, z; shaded: 3 sigma" if handles else "shaded: 3 sigma of x, y, z"
    figure.suptitle(title, fontsize=10)
    if handles:
        figure.legend(handles, labels, loc="outside lower center", ncols=3, fontsize=9)


def _limit(axes: Axes, curve: Curve) -> None:
    """Keep the axis to what happens after the start, when bounds are often huge."""
    settled = curve.bound[len(curve.t) // 10 :]
    sizes = (
        [settled]
        if curve.y is None
        else [settled + (0.0 if curve.about_zero else np.abs(curve.y[len(curve.t) // 10 :]))]
    )
    if curve.y is not None:
        sizes.append(np.abs(curve.y[len(curve.t) // 10 :]))
    finite = [v[np.isfinite(v)].max(initial=0.0) for v in sizes]
    if max(finite) > 0.0:
        axes.set_ylim(-1.2 * max(finite), 1.2 * max(finite))


def draw_nis(figure: Figure, found: list[NisCurve]) -> None:
    """Draw each sensor's mean NIS, and where measurements were rejected."""
    if not found:
        figure.suptitle("no innovations", fontsize=10)
        return
    for axes, curve in zip(np.atleast_1d(figure.subplots(len(found), 1, sharex=True)), found, strict=True):
        axes.fill_between(curve.t, curve.lo, curve.hi, color="k", alpha=0.15, lw=0, label="95 % band")
        axes.plot(curve.t, curve.mean, ".-", color=COLOURS[0], lw=0.8, ms=3, label="mean NIS")
        if len(curve.rejected):
            level = np.full(len(curve.rejected), max(curve.mean.max(), curve.hi.max()))
            axes.plot(curve.rejected, level, "|", color=COLOURS[1], ms=8, label="rejected")
        axes.set_ylim(bottom=0.0)
        axes.set_ylabel(f"{curve.sensor}, {curve.size} numbers", fontsize=9)
        axes.grid(alpha=0.3)
        axes.legend(fontsize=8, loc="lower right")
    axes.set_xlabel("time [s]")
