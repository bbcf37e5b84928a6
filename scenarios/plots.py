"""Small things that figures share."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from gnc.files import replacing

if TYPE_CHECKING:  # whoever draws brings matplotlib
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Array = NDArray[Any]

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


def save_figure(draw: Callable[[Figure], None], path: Path) -> None:
    """Draw on a figure of its own, outside pyplot's global state and without a display, and write it whole."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 5.5), dpi=120, layout="constrained")
    FigureCanvasAgg(figure)
    draw(figure)
    if layout := figure.get_layout_engine():  # once, and not in a drawing of its own
        layout.execute(figure)
        figure.set_layout_engine("none")
    with replacing(path) as temporary:
        figure.savefig(temporary)
