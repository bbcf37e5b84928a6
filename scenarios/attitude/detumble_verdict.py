"""How a flight of `detumble` is judged and drawn."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from gnc.checks import at_most
from gnc.scenarios.attitude import figures, score
from gnc.scenarios.plots import COLOURS
from gnc.scenarios.scenario import Verdict

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from xarray import Dataset

Array = Any


def judge(config: Any, flight: Dataset) -> Verdict:
    """Score how long the tumble lasts, and the pointing error from some time after the handover on."""
    c, t = config.criteria, flight["time"].values
    since, slow = flight["pointing_since_s"].values[:, -1], flight["t_slow"].values
    settled, dark = t >= since[:, None] + c.settle_s, flight["shadow"].values > 0.5
    pointing, knowledge = score.size(flight, "pointing_error_deg"), score.size(flight, "knowledge_error_deg")
    lost = _lost(flight, pointing, settled, since, c)
    kept = ~np.isin(flight["trial"].values, list(lost))
    metrics: dict[str, float] = {"lost": len(lost)}
    metrics |= {"slow_median_s": float(np.median(slow)), "slow_max_s": float(np.max(slow))}
    metrics |= {"handover_median_s": float(np.median(since)), "handover_max_s": float(np.max(since))}
    checks = [at_most("lost trials", len(lost), 0), at_most("slow by [s]", metrics["slow_max_s"], c.slow_by_s)]
    met = kept & (slow <= c.slow_by_s)
    for name, when, bound in (("sun", ~dark, c.sun_p997_deg), ("eclipse", dark, c.eclipse_p997_deg)):
        counted = settled & kept[:, None] & when
        metrics |= score.summary(name, pointing[counted])
        metrics |= score.summary(f"{name}_knowledge", knowledge[counted])
        if counted.any():
            checks.append(at_most(f"pointing p99.7 in {name} [deg]", metrics[f"{name}_p997_deg"], bound))
        met &= ~(_each(score.percentile, pointing, settled & when) > bound)
    excess = np.linalg.norm(flight["wheels_B_Nms"].values - np.array(config.torquers.bias_Nms), axis=-1)
    metrics |= {"excess_start_Nms": score.rms(excess[:, 0]), "excess_end_Nms": score.rms(excess[:, -1])}
    metrics["wheel_max_Nms"] = float(np.nanmax(np.abs(flight["wheel_Nms"].values)))
    metrics["momentum_gap"] = float(np.nanmax(flight["momentum_gap"].values))
    checks.append(at_most("momentum bookkeeping", metrics["momentum_gap"], 1e-9))
    if "nees" in flight:
        metrics["nees"] = score.mean(flight["nees"].values[settled & kept[:, None]])
        checks.append(at_most("NEES over 6", metrics["nees"], c.nees))
    per_trial = {
        "slow_s": slow,
        "handover_s": since,
        "pointing_rms_deg": _each(score.rms, pointing, settled),
        "pointing_p997_deg": _each(score.percentile, pointing, settled),
        "excess_end_Nms": excess[:, -1],
    }
    return Verdict(per_trial, metrics, checks, lost, met, {"pointing_error_deg": pointing, "excess_Nms": excess})


def _each(number: Callable[[Array], float], x: Array, counted: Array) -> Array:
    """Return a number of each trial, of its values that count."""
    return np.array([number(values[when]) for values, when in zip(x, counted, strict=True)])


def _lost(flight: Dataset, pointing: Array, settled: Array, since: Array, c: Any) -> dict[int, str]:
    """Return the trials without numbers, that never began to point, or that point nowhere, with the reason."""
    lost = {}
    for i, trial in enumerate(flight["trial"].values.tolist()):
        worst = pointing[i][settled[i]].max(initial=0.0)
        if not np.isfinite(pointing[i]).all():
            lost[trial] = f"NaN from {flight['time'].values[int(np.argmin(np.isfinite(pointing[i])))]:g} s on"
        elif np.isnan(since[i]):
            lost[trial] = "never slow enough to point"
        elif worst > c.lost_deg:
            lost[trial] = f"pointing error of {worst:.3g} deg, beyond {c.lost_deg:g} deg"
    return lost


def draw(config: Any, flight: Dataset) -> Mapping[str, Any]:
    """Return the figures by name; those of pointing begin with the first trial that does."""
    begun = np.isfinite(flight["pointing_since_s"].values).any(axis=0)
    found = dict(figures.draw(config, flight.isel(time=begun))) if begun.any() else {}
    return found | {"tumble": partial(_tumble, config=config, flight=flight)}


def _tumble(figure: Figure, config: Any, flight: Dataset) -> None:
    """Draw rate, share of trials that point, and dipole."""
    t, panels = flight["time"].values, figure.subplots(3, 1, sharex=True)
    rate, dipole = score.size(flight, "w_B_deg_s"), score.size(flight, "dipole_Am2")
    for axes, values, unit in ((panels[0], rate, "rate [deg/s]"), (panels[2], dipole, "dipole [A m²]")):
        for level, colour in zip((50.0, 99.7), COLOURS, strict=False):
            label = "median of trials" if level == 50.0 else f"{level:g}th percentile"
            axes.plot(t, np.nanpercentile(values, level, axis=0), color=colour, lw=1.2, label=label)
        axes.set_ylabel(unit)
    panels[0].set_yscale("log")
    panels[0].axhline(config.criteria.slow_deg_s, color="k", lw=0.8, ls=":", label="counts as stopped")
    panels[0].legend(fontsize=8, loc="upper right")
    pointing = np.isfinite(flight["pointing_since_s"].values).mean(axis=0)
    panels[1].plot(t, 100.0 * pointing, color=COLOURS[2], lw=1.2)
    panels[1].set_ylabel("point with wheels [%]")
    for axes in panels:
        figures.shade_eclipse(axes, flight)
        axes.grid(alpha=0.3)
    panels[0].set_title(f"From the tumble to pointing, {len(rate)} trials")
    panels[-1].set_xlabel("time [s]")
