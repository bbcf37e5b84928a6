"""The outcome of a sample-rate study: a table, a CSV file, a figure like QVI's Fig. 7 with the bound drawn in."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from dataclasses import asdict, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from gnc.files import replacing
from gnc.scenarios import display
from gnc.scenarios.plots import COLOURS, save_figure
from gnc.scenarios.study.sample_rate import Point

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MARKERS, LINES = "os^DvPX<>", ("-", "--", "-.", ":")
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
    """Draw RMS errors of attitude and position over the rate on logarithmic axes, and NEES below them."""
    drawn = [("attitude [deg]", "deg", 1.0), ("position [mm]", "m", 1e3)][: 1 if points[0].rms_m is None else 2]
    *above, bottom = figure.subplots(len(drawn) + 1, 1, sharex=True, height_ratios=[2] * len(drawn) + [1.2])
    names = list(dict.fromkeys(p.filter for p in points))
    for k, name in enumerate(names):
        own = [p for p in points if p.filter == name and np.isfinite(p.rms_deg)]
        rates = [p.rate_hz for p in own]
        style: dict[str, Any] = {"color": COLOURS[k % len(COLOURS)], "marker": MARKERS[k % len(MARKERS)], "mfc": "none"}
        style |= {
            "ms": 10.0 - 7.0 * k / len(names),
            "ls": LINES[k % len(LINES)],
        }  # those that tie show inside each other
        for axes, (_, unit, scale) in zip(above, drawn, strict=True):
            axes.loglog(rates, [scale * getattr(p, f"rms_{unit}") for p in own], label=name, **style)
        bottom.loglog(rates, [p.nees for p in own], **style)
    for axes, (what, unit, scale) in zip(above, drawn, strict=True):
        bounds = {p.rate_hz: scale * getattr(p, f"bound_{unit}") for p in points}
        axes.loglog(list(bounds), list(bounds.values()), "k-", lw=0.8, label="Cramer-Rao bound")
        axes.set_ylabel(f"RMS of {what}")
    bands = [p.nees_band for p in points if np.isfinite(p.nees_band[0])]
    if bands:  # none if all trials are lost
        lows, highs = np.transpose(bands)
        bottom.axhspan(lows.max(), highs.min(), color="k", alpha=0.15, label="95 % band of an honest filter")
    bottom.set(xlabel="sample rate [Hz]", ylabel="mean NEES")
    for axes in (*above, bottom):
        axes.grid(which="both", alpha=0.25)
        axes.yaxis.set_major_formatter("{x:g}")
        low, high = axes.get_ylim()
        axes.yaxis.set_minor_formatter("{x:g}" if high < 10.0 * low else "")
    rates = sorted({p.rate_hz for p in points})
    bottom.set_xticks(rates, [f"{rate:.3g}" for rate in rates])
    bottom.set_xticks([], minor=True)
    for axes in (above[0], bottom):
        axes.legend(fontsize=8)
