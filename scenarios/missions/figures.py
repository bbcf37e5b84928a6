"""Figures of a flight, of the same descriptions as its page: on target, the filter, innovations, actuators, ways."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from gnc.errors import InputError
from gnc.scenarios.missions.mission import Mission
from gnc.scenarios.missions.requirements.base import resolve
from gnc.scenarios.missions.verdict import Verdict
from gnc.scenarios.plots import COLOURS, Draw, Figure, figure, panels
from gnc.scenarios.report.panels import Panels, words
from gnc.scenarios.report.plot import Path, Plot

if TYPE_CHECKING:
    from gnc.labelled import Signals
    from gnc.scenarios.missions.flight import Flight

MOST = 6  # panels of a figure


def draw(mission: Mission, flight: Signals, verdict: Verdict) -> dict[str, Draw]:
    """Return the figures by name, of the signals there are."""
    figures: dict[str, Draw] = {
        key: partial(panels, title=f"{mission.name}: {title}", plots=shown[:MOST])
        for key, (title, shown) in _plots(Panels(mission, flight)).items()
        if shown
    }
    if verdict.comparison is not None and verdict.comparison.histories:
        figures["comparison"] = partial(_comparison, flight=flight, verdict=verdict)
    return figures


def plot(flight: Flight, what: str, trial: int | None) -> Figure:
    """Return one figure of a flight, by its name or that of a signal."""
    numbers = flight.recorded["trial"].values.tolist()
    if trial is not None and trial not in numbers:
        raise InputError(f"trial {trial}: not among the trials flown, {numbers[0]} to {numbers[-1]}")
    plots = Panels(flight.mission, flight.recorded, 0 if trial is None else numbers.index(trial))
    groups = _plots(plots)
    if what in groups and groups[what][1]:
        title, shown = groups[what]
    else:
        full = resolve(what, flight.recorded.data_vars, flight.mission.craft)
        title, shown = full, plots.of(full)
    return figure(partial(panels, title=f"{flight.mission.name}: {title}", plots=shown[:MOST]))


def _plots(plots: Panels) -> dict[str, tuple[str, Sequence[Plot | Path]]]:
    """Return the plots of each figure with its title."""
    return {
        "requirements": ("what is asked", plots.target()),
        "knowledge": ("errors of the filter, and what it believes of them", plots.errors()),
        "consistency": ("normalised errors squared", plots.nees()),
        "innovations": ("innovations; 1 is honest", plots.nis()),
        "actuators": ("actuators", plots.actuators()),
        "approach": ("approach", plots.ways()),
    }


def _comparison(figure: Figure, flight: Signals, verdict: Verdict) -> None:
    """Draw the contestants of a comparison: the median over the trials of each signal that is compared."""
    side = verdict.comparison
    assert side is not None
    first = next(iter(side.histories.values()))
    name_of: dict[bytes, str] = {}  # columns of the same signal look the same
    for name, values in first.items():
        name_of.setdefault(np.asarray(values).tobytes(), name)
    names = list(name_of.values())
    figure.set_figheight(1.6 + 2.1 * len(names))
    axes = np.atleast_1d(figure.subplots(len(names), 1, sharex=True))
    for one, signal in zip(axes, names, strict=True):
        for k, (who, histories) in enumerate(side.histories.items()):
            if signal not in histories:
                continue
            values = np.asarray(histories[signal], float)
            style = ("-", "--", ":", "-.")[k // len(COLOURS) % 4]
            middle = np.ma.median(np.ma.masked_invalid(values), axis=0).filled(np.nan)
            one.semilogy(flight["time"].values, middle, style, color=COLOURS[k % len(COLOURS)], lw=1.1, label=who)
        one.set_title(words(signal, signal), fontsize=9, loc="left")
        one.grid(alpha=0.3)
    axes[-1].set_xlabel("time [s]")
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=4, fontsize=8)
    figure.suptitle(f"{side.title}, median of {flight.sizes['trial']} trials", fontsize=11)
