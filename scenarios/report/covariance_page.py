"""The page of linear covariance: what is met, sigmas beside those believed, who causes them, what is not seen."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import numpy as np

from gnc.scenarios.report.page import Bar, Cell, Chapter, Page, Table
from gnc.scenarios.report.panels import words
from gnc.scenarios.report.plot import SETTLED, Plot, Series

if TYPE_CHECKING:
    from xarray import Dataset

MOST_ROWS = 20  # of a budget
BANDS = 7  # sources that have a band of their own
BUDGETS = "Error budgets are those of the variance after the transient, by linear covariance of the whole loop."


def page(name: str, run: Dataset) -> Page:
    """Return the page of a run of gnc covariance; one of before 0.2 has no more than its budgets."""
    told_tables, lines = json.loads(run.attrs.get("told", "[[], []]"))
    tables = [
        Table(title, columns, [list(map(_cell, row)) for row in rows]) for title, columns, rows in told_tables if rows
    ]
    met = [one for one in tables if one.title.startswith(("requirements", "what to improve", "against"))]
    shares = [one for one in tables if one.title.startswith("share")]
    rest = [one for one in tables if one not in (*met, *shares)]
    budget, plots = budgets(run)
    blind = [(line.removeprefix("not seen: "),) for line in lines if line.startswith("not seen: ")]
    unseen = [Table("What linear covariance does not see here", ("what",), blind)] if blind else []
    chapters = [
        Chapter("What is met, and what to improve first?", "", met),
        Chapter("How large are the errors?", "Dashed: what the filter believes.", rest, _sigmas(run)),
        Chapter("Who causes the error?", BUDGETS, [*budget, *shares], plots),
        Chapter("What is not seen?", ". ".join(line for line in lines if not line.startswith("not seen: ")), unseen),
    ]
    return Page(f"{name}: linear covariance", chapters=[c for c in chapters if c.tables or c.plots])


def budgets(run: Dataset) -> tuple[list[Table], list[Plot]]:
    """Return for every error the shares of its sources in its variance, and these shares over time."""
    tables, plots = list[Table](), list[Plot]()
    for signal in _signals(run):
        start, t = f"{signal}.variance.", run["time"].values
        parts = {str(n).removeprefix(start): run[n].values.sum(axis=1) for n in run if str(n).startswith(start)}
        late = t >= t[0] + SETTLED * (t[-1] - t[0])
        sizes = {source: float(part[late].sum()) for source, part in parts.items()}
        ranked, whole = sorted(sizes, key=lambda source: -sizes[source]), sum(sizes.values()) or 1.0
        bars = [(source, Bar(sizes[source], whole)) for source in ranked[:MOST_ROWS]]
        tables.append(Table(f"Error budget of {signal}", ("source", "share of the variance"), bars))
        total = np.maximum(sum(parts.values()), 1e-300)
        edges = 100.0 * np.cumsum([np.zeros(len(t)), *(parts[source] / total for source in ranked[:BANDS])], axis=0)
        bands = [Series(ranked[i], None, "band", edges[i], edges[i + 1]) for i in range(len(edges) - 1)]
        plots.append(Plot(f"{signal}: who causes it, when", "time [s]", "share of the variance [%]", t, bands))
    return tables, plots


def _sigmas(run: Dataset) -> list[Plot]:
    """Return the sigma of every error over time, and what the filter believes of it."""
    plots = []
    for signal in _signals(run):
        sigma = run[f"{signal}.sigma"].values
        axes = "xyz" if sigma.shape[-1] == 3 else [str(k + 1) for k in range(sigma.shape[-1])]
        lines = [Series(axis, sigma[:, i]) for i, axis in enumerate(axes)]
        if f"{signal}.believed" in run:
            believed = run[f"{signal}.believed"].values
            lines += [Series(f"{axis}, believed", believed[:, i], "dashed") for i, axis in enumerate(axes)]
        label = f"sigma of {words(signal, signal)}"
        plots.append(Plot(f"{signal}: sigma by linear covariance", "time [s]", label, run["time"].values, lines))
    return plots


def _cell(text: str) -> Cell:
    """Return a number as one, so that it is set in one piece."""
    try:
        return float(text)
    except ValueError:
        return text


def _signals(run: Dataset) -> list[str]:
    return [str(name).removesuffix(".sigma") for name in run if str(name).endswith(".sigma")]
