"""Studies over more than the sample rate: sensor noise, duration, bodies. Tables and figures."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from gnc.files import replacing
from gnc.scenarios import display
from gnc.scenarios.plots import COLOURS, save_figure
from gnc.scenarios.study import sample_rate, show
from gnc.scenarios.study.filters import Filter
from gnc.scenarios.study.sample_rate import Point, Problem

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SCALING = 2e-3  # excess of NEES per deg^2 s of the usual filter, for the line in the figure


@dataclass(frozen=True)
class Case:
    """One problem of a grid, by what it differs in."""

    name: str
    value: float
    problem: Problem


Cell = tuple[Case, Point]


def cells(
    cases: Sequence[Case], filters: Sequence[Filter], rates_hz: Sequence[float], trials: int, seed: int,
    progress: Callable[[str], None] = lambda what: None,
) -> Iterator[Cell]:  # fmt: skip
    """Measure every filter on every case and rate."""
    for case in cases:
        for point in sample_rate.study(case.problem, filters, rates_hz, trials, seed, progress=progress):
            yield case, point


def summary(grid: Sequence[Cell]) -> str:
    """Say how often each filter is in its band, and where it is worst."""
    lines = []
    for name in dict.fromkeys(point.filter for _, point in grid):
        own = [(case, point) for case, point in grid if point.filter == name]
        inside = sum(point.consistent for _, point in own)
        case, worst = max(own, key=lambda cell: cell[1].nees if np.isfinite(cell[1].nees) else np.inf)
        ratio = max(point.ratio for _, point in own)
        lines.append(
            f"{name}: NEES in its 95 % band in {inside} of {len(own)}, at most {worst.nees:.3g} "
            f"({case.name}, {worst.rate_hz:g} Hz); RMS at most {ratio:.3f} of the bound"
        )
    return "\n".join(lines)


def as_points(grid: Sequence[Cell]) -> list[dict[str, Any]]:
    """Return the points with the names of their cases, for JSON."""
    return [{"case": case.name, "value": case.value, **asdict(point)} for case, point in grid]


def table(title: str, what: str, grid: Sequence[Cell]) -> None:
    """Print the table; `!` marks a NEES outside its band."""
    display.table(title, (what, *show.HEADER), [(case.name, *show.row(point)) for case, point in grid])


def write(folder: Path, name: str, grid: Sequence[Cell], draw: Callable[[Figure, Sequence[Cell]], None]) -> list[Path]:
    """Write the table and the figure."""
    folder.mkdir(parents=True, exist_ok=True)
    points, paths = as_points(grid), [folder / f"{name}.csv", folder / f"{name}.png"]
    with replacing(paths[0]) as temporary, temporary.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(points[0]))
        writer.writeheader()
        writer.writerows(points)
    save_figure(lambda figure: draw(figure, grid), paths[1])
    return paths


def draw_map(figure: Figure, grid: Sequence[Cell]) -> None:
    """Draw, for every filter, NEES over its dimension and RMS over the bound against sensor noise and rate."""
    names = list(dict.fromkeys(point.filter for _, point in grid))
    cases = list(dict.fromkeys(case.name for case, _ in grid))
    rates = list(dict.fromkeys(point.rate_hz for _, point in grid))
    figure.set_size_inches(2.0 + 2.2 * len(names), 6.0)
    axes = figure.subplots(2, len(names), squeeze=False, sharex=True, sharey=True)
    for column, name in enumerate(names):
        found = {(case.name, p.rate_hz): p for case, p in grid if p.filter == name}
        for line, (what, value) in enumerate(
            (("NEES / band", lambda p: p.nees / p.nees_band[1]), ("RMS / bound", lambda p: p.ratio))
        ):
            values = np.array([[value(found[case, rate]) for rate in rates] for case in cases])
            panel = axes[line, column]
            image = panel.imshow(np.log10(values), vmin=-0.1, vmax=1.0, cmap="magma_r", aspect="auto")
            for i, j in np.ndindex(values.shape):
                shade = "white" if values[i, j] > 3.0 else "black"
                panel.text(j, i, f"{values[i, j]:.3g}", ha="center", va="center", fontsize=7, color=shade)
            panel.set_xticks(range(len(rates)), [f"{rate:g}" for rate in rates])
            panel.set_yticks(range(len(cases)), cases)
            panel.set_title(f"{name}\n{what}" if line == 0 else what, fontsize=8)
        axes[1, column].set_xlabel("rate [Hz]")
    figure.colorbar(image, ax=axes, label="log10, cut at 10", shrink=0.8)


def draw_lines(figure: Figure, grid: Sequence[Cell], what: str, log: bool) -> None:
    """Draw NEES and RMS over the bound against the value of the case, a line for every filter and rate."""
    top, bottom = figure.subplots(2, 1, sharex=True)
    keys = list(dict.fromkeys((point.filter, point.rate_hz) for _, point in grid))
    for (name, rate), colour in zip(keys, COLOURS * len(keys), strict=False):
        own = [(c.value, p) for c, p in grid if (p.filter, p.rate_hz) == (name, rate)]
        x = [value for value, _ in own]
        top.plot(x, [p.nees for _, p in own], "o-", color=colour, ms=4, label=f"{name}, {rate:g} Hz")
        bottom.plot(x, [p.ratio for _, p in own], "o-", color=colour, ms=4)
    lows, highs = np.array([p.nees_band for _, p in grid if np.isfinite(p.nees_band[0])]).T
    top.axhspan(lows.max(), highs.min(), color="k", alpha=0.15, label="95 % band of an honest filter")
    if log:
        top.set_xscale("log")
    top.set(ylabel="mean NEES")
    bottom.set(xlabel=what, ylabel="RMS over the bound")
    for panel in (top, bottom):
        panel.grid(which="both", alpha=0.25)
    top.legend(fontsize=8)


def draw_excess(figure: Figure, grid: Sequence[Cell], states: int = 6) -> None:
    """Draw how much NEES is too large against sigma^2 t, a colour for every filter; the line has slope 1."""
    panel = figure.subplots()
    for name, colour in zip(dict.fromkeys(p.filter for _, p in grid), COLOURS, strict=False):
        own = [(case.value, max(p.nees - states, 1e-3)) for case, p in grid if p.filter == name]
        panel.loglog(*zip(*own, strict=True), "o", color=colour, ms=5, label=name)
    x = np.array(sorted({case.value for case, _ in grid}))
    panel.loglog(x, SCALING * x, "k:", lw=1.0, label=f"{SCALING:g} sigma^2 t")
    scatter = max(p.nees_band[1] - states for _, p in grid)
    panel.axhspan(1e-3, scatter, color="k", alpha=0.12, label="within the band of an honest filter")
    panel.set(xlabel="sigma^2 t [deg^2 s]", ylabel="NEES - 6, at least 0.001")
    panel.grid(which="both", alpha=0.25)
    panel.legend(fontsize=8)
