"""Figures of a campaign: bands over time, how metrics are distributed, what they go with."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from gnc.scenarios.missions.mission import Mission
from gnc.scenarios.plots import COLOURS, Draw, panels
from gnc.scenarios.report.campaign_page import fans
from gnc.scenarios.report.panels import words

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
    metrics = [name for name, x in campaign.summary["metrics"].items() if x["count"] > 1][:MOST]
    if metrics:
        figures["metrics"] = lambda figure: _distributions(figure, campaign, metrics)
    if campaign.summary["sensitivity"]:
        figures["sensitivity"] = lambda figure: _sensitivities(figure, campaign)
    return figures


def _distributions(figure: Figure, campaign: Campaign, names: list[str]) -> None:
    """Draw how many trials have less, metric by metric."""
    panels = np.atleast_1d(figure.subplots(-(-len(names) // 2), min(len(names), 2), squeeze=False)).ravel()
    for axes, name in zip(panels, names, strict=False):
        values = np.sort(campaign.table[name][np.isfinite(campaign.table[name])])
        axes.plot(values, (np.arange(len(values)) + 0.5) / len(values), color=COLOURS[0], lw=1.2)
        axes.set_xlabel(words(name, name), fontsize=8)
        axes.set(ylabel="share of trials", ylim=(0.0, 1.0))
        axes.grid(alpha=0.3)
    for axes in panels[len(names) :]:
        axes.set_visible(False)
    figure.suptitle(f"Distribution of the metrics over {campaign.summary['trials']} trials", fontsize=11)


def _sensitivities(figure: Figure, campaign: Campaign) -> None:
    """Draw the strongest rank correlations; pale ones may be chance."""
    rows, axes = campaign.summary["sensitivity"][:STRONGEST][::-1], figure.subplots()
    labels = [f"{row['metric']} / {row['input'].removeprefix('input.')}" for row in rows]
    colours = [COLOURS[0] if row["p_adjusted"] < 0.05 else "0.8" for row in rows]
    axes.barh(labels, [row["rho"] for row in rows], color=colours)
    axes.axvline(0.0, color="k", lw=0.8)
    axes.set(xlabel="rank correlation (grey: may be chance, false-discovery rate above 0.05)", xlim=(-1.0, 1.0))
    axes.set_title("What goes with what: metric / dispersed field")
    axes.tick_params(axis="y", labelsize=8)
    axes.grid(alpha=0.3, axis="x")
