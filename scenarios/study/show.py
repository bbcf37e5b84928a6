"""The outcome of a sample-rate study: a table, a CSV file, a figure like QVI's Fig. 7 with the bound drawn in."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from dataclasses import asdict, fields
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from gnc.files import replacing
from gnc.scenarios import display
from gnc.scenarios.plots import COLOURS, save_figure
from gnc.scenarios.study.sample_rate import Point

if TYPE_CHECKING:
    from matplotlib.figure import Figure

HEADER = ("filter", "rate [Hz]", "turn [deg]", "RMS [deg]", "bound [deg]", "ratio", "NEES", "95 % band", "lost")


def row(p: Point) -> tuple[str, ...]:
    """Write a point as a line of the table."""
    low, high = p.nees_band
    mark = "" if p.consistent else " !"
    return (
        p.filter, f"{p.rate_hz:g}", f"{p.turn_deg:.3g}", f"{p.rms_deg:.3g}", f"{p.bound_deg:.3g}", f"{p.ratio:.3f}",
        f"{p.nees:.3g}{mark}", f"{low:.2f} .. {high:.2f}", f"{p.lost}/{p.trials}",
    )  # fmt: skip


def table(points: Sequence[Point]) -> None:
    """Print the table; `!` marks a NEES outside its band."""
    header: tuple[str, ...] = HEADER
    rows = [row(p) for p in points]
    if points[0].rms_m is not None:
        header = (*HEADER, "RMS [mm]", "bound [mm]", "ratio")
        rows = [(*cells, *_metres(p)) for cells, p in zip(rows, points, strict=True)]
    display.table("accuracy and consistency against the sample rate", header, rows)


def _metres(p: Point) -> tuple[str, str, str]:
    rms, bound, ratio = (x if x is not None else np.nan for x in (p.rms_m, p.bound_m, p.ratio_m))
    return f"{1e3 * rms:.3g}", f"{1e3 * bound:.3g}", f"{ratio:.3f}"


def write(points: Sequence[Point], folder: Path) -> list[Path]:
    """Write sample_rate.csv and sample_rate.png."""
    folder.mkdir(parents=True, exist_ok=True)
    table_path, figure_path = folder / "sample_rate.csv", folder / "sample_rate.png"
    with replacing(table_path) as temporary, temporary.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow([f.name for f in fields(Point) if f.name != "nees_band"] + ["nees_lo", "nees_hi"])
        for p in points:
            values = {k: v for k, v in asdict(p).items() if k != "nees_band"}
            writer.writerow([*values.values(), *p.nees_band])
    save_figure(lambda figure: draw(figure, points), figure_path)
    return [table_path, figure_path]


def draw(figure: Figure, points: Sequence[Point]) -> None:
    """Draw RMS error over the rate on logarithmic axes, and NEES below it."""
    top, bottom = figure.subplots(2, 1, sharex=True, height_ratios=[2, 1])
    names = list(dict.fromkeys(p.filter for p in points))
    for name, colour in zip(names, COLOURS, strict=False):
        own = [p for p in points if p.filter == name and np.isfinite(p.rms_deg)]
        rates = [p.rate_hz for p in own]
        top.loglog(rates, [p.rms_deg for p in own], "o-", color=colour, label=name, ms=4)
        bottom.loglog(rates, [p.nees for p in own], "o-", color=colour, ms=4)
    bounds = {p.rate_hz: p.bound_deg for p in points}
    top.loglog(list(bounds), list(bounds.values()), "k--", label="Cramer-Rao bound")
    lows, highs = np.array([p.nees_band for p in points if np.isfinite(p.nees_band[0])]).T
    bottom.axhspan(lows.max(), highs.min(), color="k", alpha=0.15, label="95 % band of an honest filter")
    top.set_ylabel("RMS attitude error [deg]")
    bottom.set(xlabel="sample rate [Hz]", ylabel="mean NEES")
    for axes in (top, bottom):
        axes.grid(which="both", alpha=0.25)
        axes.legend(fontsize=8)
