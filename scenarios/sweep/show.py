"""The outcome of a sweep: table, curves or heat maps, and an xarray dataset."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from gnc.history import save
from gnc.scenarios.display import table
from gnc.scenarios.missions.mission import Mission
from gnc.scenarios.plots import COLOURS, save_figure
from gnc.scenarios.report.panels import title_of
from gnc.scenarios.sweep.sweep import Axis

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Outcomes = Sequence[Mapping[str, float]]


def metrics(outcomes: Outcomes) -> list[str]:
    """Return the names of all that was measured, and is a number somewhere."""
    names = dict.fromkeys(name for one in outcomes for name in one)
    return [name for name in names if any(_number(one, name) for one in outcomes)]


def _number(one: Mapping[str, float], name: str) -> bool:
    return one.get(name) is not None and np.isfinite(one[name])


def dataset(axes: Sequence[Axis], points: Sequence[tuple[Any, ...]], outcomes: Outcomes, grid: bool) -> Any:
    """Return the metrics over the axes of a grid, or over points."""
    from xarray import Dataset

    names = [axis.pattern.replace("*", "all") for axis in axes]
    values = {m: np.array([one.get(m, np.nan) for one in outcomes], float) for m in metrics(outcomes)}
    if grid:
        shape = [len(axis.values) for axis in axes]
        coordinates = {n: list(axis.values) for n, axis in zip(names, axes, strict=True)}
        return Dataset({m: (names, v.reshape(shape)) for m, v in values.items()}, coordinates)
    columns = {n: ("point", [p[i] for p in points]) for i, n in enumerate(names)}
    return Dataset({m: ("point", v) for m, v in values.items()}, columns)


def show(axes: Sequence[Axis], points: Sequence[tuple[Any, ...]], outcomes: Outcomes, names: Sequence[str]) -> None:
    """Print a row for every point."""
    cell = lambda x: f"{x:.4g}" if isinstance(x, float) else "" if x is None else str(x)  # noqa: E731
    rows = [(*map(cell, p), *(cell(one.get(m)) for m in names)) for p, one in zip(points, outcomes, strict=True)]
    table("sweep", (*(axis.pattern for axis in axes), *names), rows)


def asked(mission: Mission, outcomes: Outcomes) -> list[str]:
    """Return the metrics that have a bound, or all if none has; probabilities go with them."""
    bounds = {n for n, p in mission.requirements.items() if getattr(p, "at_most", None) is not None}
    bounds |= {n for n, p in mission.requirements.items() if getattr(p, "at_least", None) is not None}
    found = [m for m in metrics(outcomes) if m in bounds or m.startswith("P(") or m == "success"]
    return found or metrics(outcomes)


def write(folder: Path, mission: Mission, data: Any, axes: Sequence[Axis], names: Sequence[str]) -> list[Path]:
    """Write dataset and figure."""
    paths = [folder / "sweep.nc"]
    save(data, paths[0])
    drawn = [m for m in names if not m.startswith("P(") and np.nanmin(data[m]) < np.nanmax(data[m])][:6]
    numeric = all(isinstance(v, float) for axis in axes for v in axis.values)
    if drawn and numeric and len(axes) <= 2 and "point" not in data.dims:
        paths.append(folder / "sweep.png")
        draw = _curves if len(axes) == 1 else _maps
        save_figure(lambda figure: draw(figure, mission, data, drawn), paths[1])
    return paths


def _curves(figure: Figure, mission: Mission, data: Any, names: Sequence[str]) -> None:
    panels = np.atleast_1d(figure.subplots(1, len(names)))
    figure.set_size_inches(1.0 + 3.2 * len(names), 3.8)
    figure.suptitle(f"{mission.name}; dotted: what is asked", fontsize=11)
    for panel, name, colour in zip(panels, names, COLOURS, strict=False):
        (axis,) = data[name].dims
        x = data[axis].values
        panel.plot(x, data[name].values, "o-", color=colour)
        for bound in ("at_most", "at_least"):
            if (limit := getattr(mission.requirements.get(name), bound, None)) is not None:
                panel.axhline(limit, color="k", ls=":", lw=1.0)
        if x.min() > 0.0 and x.max() > 10.0 * x.min():
            panel.set_xscale("log")
        panel.set(xlabel=axis, title=title_of(mission, name))
        panel.grid(alpha=0.3)


def _maps(figure: Figure, mission: Mission, data: Any, names: Sequence[str]) -> None:
    panels = np.atleast_1d(figure.subplots(1, len(names)))
    figure.set_size_inches(1.0 + 4.4 * len(names), 3.8)
    for panel, name in zip(panels, names, strict=True):
        (down, across), values = data[name].dims, data[name].values
        image = panel.imshow(values, origin="lower", aspect="auto", cmap="viridis")
        for i, j in np.ndindex(values.shape):
            colour = "black" if image.norm(values[i, j]) > 0.5 else "white"
            panel.text(j, i, f"{values[i, j]:.3g}", ha="center", va="center", fontsize=7, color=colour)
        panel.set_xticks(range(len(data[across])), [f"{x:.3g}" for x in data[across].values])
        panel.set_yticks(range(len(data[down])), [f"{x:.3g}" for x in data[down].values])
        panel.set(xlabel=across, ylabel=down, title=title_of(mission, name))
        figure.colorbar(image, ax=panel, shrink=0.8)
