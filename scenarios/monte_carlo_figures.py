"""Figures of a campaign: bands over time, how metrics are distributed, what they go with."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from gnc.scenarios.missions.mission import Mission
from gnc.scenarios.plots import COLOURS, Draw, panels
from gnc.scenarios.report.campaign_page import fans
from gnc.scenarios.report.panels import of_books, title_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from gnc.montecarlo.campaign import Campaign

MOST = 6  # panels of a figure
STRONGEST = 15  # bars


def draw(campaign: Campaign, mission: Mission) -> Mapping[str, Draw]:
    """Return the figures by name."""
    figures: dict[str, Draw] = {}
    title = f"{mission.name}: percentiles over {campaign.summary['trials']} trials"
    if bands := fans(campaign.bands, mission):
        figures["bands"] = partial(panels, title=title, plots=bands[:MOST])
    every = campaign.summary["metrics"].items()
    there = [key for key, x in every if x["count"] > 1 and x["std"] > 0.0 and not of_books(mission, key)]
    asked = {key: getattr(part, "at_most", None) for key, part in mission.requirements.items()}
    metrics = sorted(there, key=lambda key: asked.get(key) is None)[:MOST]  # what is asked comes first
    if metrics:
        figures["metrics"] = lambda figure: _distributions(figure, campaign, mission, metrics)
    rows = [row for row in campaign.summary["sensitivity"] if not of_books(mission, row["metric"])]
    if rows:
        figures["sensitivity"] = lambda figure: _sensitivities(figure, rows)
    return figures


def _distributions(figure: Figure, campaign: Campaign, mission: Mission, names: list[str]) -> None:
    """Draw how many trials have less, metric by metric, with the bound that each trial is asked to keep."""
    panels = np.atleast_1d(figure.subplots(-(-len(names) // 2), min(len(names), 2), squeeze=False)).ravel()
    for axes, name in zip(panels, names, strict=False):
        values = np.sort(campaign.table[name][np.isfinite(campaign.table[name])])
        axes.plot(values, (np.arange(len(values)) + 0.5) / len(values), color=COLOURS[0], lw=1.2)
        part = mission.requirements.get(name)
        for bound in (getattr(part, "at_most", None), getattr(part, "at_least", None)):
            if bound is not None and getattr(part, "per_trial", True):
                axes.axvline(bound, color=COLOURS[1], lw=1.0, ls="--")
        axes.set_xlabel(title_of(mission, name), fontsize=8)
        axes.set(ylabel="share of trials", ylim=(0.0, 1.0))
        axes.grid(alpha=0.3)
    for axes in panels[len(names) :]:
        axes.set_visible(False)
    figure.suptitle(f"Metrics over {campaign.summary['trials']} trials; dashed: what each is asked", fontsize=11)


def _sensitivities(figure: Figure, every: list[dict[str, Any]]) -> None:
    """Draw the strongest rank correlations; pale ones may be chance."""
    rows, axes = every[:STRONGEST][::-1], figure.subplots()
    labels = [f"{row['metric']} / {row['input'].removeprefix('input.')}" for row in rows]
    colours = [COLOURS[0] if row["p_adjusted"] < 0.05 else "0.8" for row in rows]
    axes.barh(labels, [row["rho"] for row in rows], color=colours)
    axes.axvline(0.0, color="k", lw=0.8)
    axes.set(xlabel="rank correlation (grey: may be chance, false-discovery rate above 0.05)", xlim=(-1.0, 1.0))
    axes.set_title("What goes with what: metric / dispersed field")
    axes.tick_params(axis="y", labelsize=8)
    axes.grid(alpha=0.3, axis="x")
