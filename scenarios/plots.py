"""Drawing that all figures share: descriptions of plots, legends, errors over time, and the file."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from gnc.files import replacing
from gnc.scenarios.report import plot as described

if TYPE_CHECKING:  # whoever draws brings matplotlib
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
else:
    Axes = Figure = Any

Array = NDArray[Any]
Draw = Callable[["Figure"], None]

EPSILON = 1e-16  # errors below are drawn here: a logarithmic axis has no zero
COLOURS = ("#1f77b4", "#d62728", "#2ca02c", "#ff7f0e", "#7f7f7f", "#9467bd", "#8c564b", "#17becf")


def errors_over_time(axes: Axes, t: Array, errors: Mapping[str, Array], floor: float = EPSILON) -> None:
    """Draw sizes of errors on a logarithmic axis, without the start, where they are zero."""
    for (label, values), colour in zip(errors.items(), COLOURS, strict=False):
        axes.semilogy(t[1:], np.maximum(np.abs(values[1:]), floor), color=colour, lw=0.8, label=label)
    axes.set_xlabel("time [s]")
    axes.grid(alpha=0.3)


def attitude_errors_over_time(axes: Axes, t: Array, degrees: Mapping[str, Array], truth: str) -> None:
    """Draw attitude errors up to half a turn."""
    errors_over_time(axes, t, degrees, floor=1e-12)
    axes.axhline(180.0, color="k", lw=0.7, ls=":")
    axes.set_ylabel("attitude error [deg]")
    axes.set_title(f"Attitude, against {truth}", fontsize=10)


def legend_below(figure: Figure, axes: Axes, ncols: int) -> None:
    """Explain the lines of all panels once."""
    figure.legend(*axes.get_legend_handles_labels(), loc="outside lower center", ncols=ncols, fontsize=9)


def panels(figure: Figure, title: str, plots: Sequence[described.Plot | described.Path]) -> None:
    """Draw descriptions one below the other, each with its title above and its legend beside it."""
    figure.set_layout_engine("tight")  # measures once, constrained twice
    figure.set_figheight(max(3.2, 0.6 + 2.1 * len(plots)))
    legends: list[set[str]] = []  # what legends above say already
    for axes, plot in zip(np.atleast_1d(figure.subplots(len(plots), 1)), plots, strict=True):
        if isinstance(plot, described.Path):
            _path(axes, plot)
        else:
            _over_time(axes, plot)
        axes.set_xlabel(plot.x_label if plot is plots[-1] or isinstance(plot, described.Path) else "", fontsize=8)
        axes.set_ylabel(plot.y_label, fontsize=8)
        axes.set_title(plot.title, fontsize=9, loc="left")
        axes.tick_params(labelsize=8)
        axes.grid(alpha=0.3)
        shades = {shade.name for shade in getattr(plot, "shades", ())} & set().union(*legends)
        lines = [(h, label) for h, label in zip(*axes.get_legend_handles_labels(), strict=True) if label not in shades]
        if lines and {label for _, label in lines} not in legends:
            axes.legend(
                *zip(*lines, strict=True), fontsize=7, loc="upper left", bbox_to_anchor=(1.0, 1.02), frameon=False
            )
        legends.append({label for _, label in lines})
    figure.suptitle(title, fontsize=11)


def _over_time(axes: Axes, plot: described.Plot) -> None:
    for name, spans, colour in plot.shades:
        for i, (start, end) in enumerate(spans):
            once = None if i else name
            if start == end:
                axes.axvline(start, color=colour, lw=1.0, ls="-.", label=once)
            else:
                axes.axvspan(start, end, color=colour, alpha=0.13, lw=0, zorder=0, label=once)
    for k, series in enumerate(plot.series):
        hidden = series.name.startswith("_")  # belongs to the line before it
        colour, label = COLOURS[(k - hidden) % len(COLOURS)], None if hidden else series.name
        if series.style == "band":
            axes.fill_between(plot.t, series.lower, series.upper, color=colour, alpha=0.22, lw=0, label=label)  # type: ignore[arg-type]
        if series.y is not None:
            look: dict[str, Any] = {"ls": "", "marker": ".", "ms": 3} if series.style == "points" else {"lw": 0.9}
            look |= {"ls": "--"} if series.style == "dashed" else {}
            axes.plot(plot.t, series.y, color=colour, label=None if series.style == "band" else label, **look)
    for (name, bound), style in zip(plot.bounds.items(), ("--", ":", "-.", "--", ":"), strict=False):
        axes.axhline(bound, color="k", lw=0.9, ls=style, label=None if name.endswith(" ") else name)
    if plot.log_y:
        axes.set_yscale("log")
    if plot.settled is not None:
        axes.set_ylim(*plot.settled)


def _path(axes: Axes, plot: described.Path) -> None:
    for name, (x, y) in plot.lines.items():
        hidden = name.startswith("_")
        look: dict[str, Any] = (
            {"color": "0.7", "lw": 0.6} if hidden else {"color": COLOURS[0], "lw": 1.4, "label": name}
        )
        axes.plot(x, y, **look)
    for name, points in plot.outlines.items():
        axes.plot(*zip(*points, strict=True), color=COLOURS[1], lw=1.0, ls="--", label=name)


def save_figure(draw: Draw, path: Path) -> None:
    """Draw on a figure of its own, without a display, and write it whole."""
    canvas: Any = figure(draw).canvas
    with replacing(path) as temporary:
        canvas.print_png(temporary)  # savefig draws twice, the first time for a layout that is there already


def figure(draw: Draw) -> Figure:
    """Return a figure that is drawn outside of pyplot's global state; a notebook shows it."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    empty = Figure(figsize=(9, 5.5), dpi=120, layout="constrained")
    FigureCanvasAgg(empty)
    draw(empty)
    if layout := empty.get_layout_engine():  # once, and not in a drawing of its own
        layout.execute(empty)
        empty.set_layout_engine("none")
    return empty
