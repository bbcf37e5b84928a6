"""How a flight of `tumble-capture` is judged and drawn, with other filters beside it."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from gnc.checks import Check, at_most, within
from gnc.scenarios.attitude import figures, score
from gnc.scenarios.plots import COLOURS
from gnc.scenarios.scenario import Comparison, Verdict

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from xarray import Dataset

Array = Any
OURS, STRONG = "mekf-vi4", "mekf-rk4"
ERRORS = {
    "filter_pointing_deg": "pointing error of each filter's own loop",
    "filter_knowledge_deg": "attitude error of each filter",
}


def label(name: str, psd: float) -> str:
    """Return the name of a filter with its process noise."""
    return f"{name}_q{np.format_float_scientific(psd, trim='-', exp_digits=1)}"


def judge(config: Any, flight: Dataset) -> Verdict:
    """Count the trials that each filter loses, and score the final pointing error of the others."""
    c, t = config.criteria, flight["time"].values
    final = t >= c.settle_s
    pointing, knowledge = score.size(flight, "pointing_error_deg"), score.size(flight, "knowledge_error_deg")
    lost = score.lost_trials(flight, pointing, final, c.lost_deg, "pointing error")
    kept = ~np.isin(flight["trial"].values, list(lost))
    metrics: dict[str, float] = {"lost": len(lost), **scored(config, t, pointing, knowledge, kept, "")}
    metrics["wheel_max_Nms"] = float(np.nanmax(np.abs(flight["wheel_Nms"].values)))
    metrics["momentum_gap"] = float(np.nanmax(flight["momentum_gap"].values))
    checks = [at_most("lost trials", len(lost), 0), at_most("momentum bookkeeping", metrics["momentum_gap"], 1e-9)]
    if final.any():
        checks.append(at_most("final pointing RMS [deg]", metrics["final_rms_deg"], c.final_rms_deg))
    if "filter_pointing_deg" in flight:
        metrics |= compared(config, flight)
        checks += comparisons(config, metrics)
    tumbling = _tumbling(config, t)
    if "nees" in flight and tumbling.any():
        metrics["nees"] = score.mean(flight["nees"].values[kept][:, tumbling])
        checks.append(at_most("NEES over 6 in the tumble", metrics["nees"], c.nees))
    per_trial = {
        "final_rms_deg": score.rms_per_trial(pointing[:, final]),
        "tumble_rms_deg": score.rms_per_trial(knowledge[:, tumbling]),
        "wheel_max_Nms": np.abs(flight["wheel_Nms"].values).max(axis=(1, 2)),
    }
    over_time = {"pointing_error_deg": pointing, "knowledge_error_deg": knowledge}
    beside = side_by_side(flight) if "filter_pointing_deg" in flight else None
    return Verdict(per_trial, metrics, checks, lost, over_time=over_time, comparison=beside)


def _tumbling(config: Any, t: Array) -> Array:
    """Tell which times are in the second half of the tumble."""
    return (t >= 0.5 * config.capture.start_s) & (t <= config.capture.start_s)


def scored(config: Any, t: Array, pointing: Array, knowledge: Array, kept: Array, suffix: str) -> dict[str, float]:
    """Return RMS errors of the trials that are kept: of knowledge in the tumble, of both at the end."""
    final = t >= config.criteria.settle_s
    return {
        f"tumble_rms_deg{suffix}": score.rms(knowledge[kept][:, _tumbling(config, t)]),
        f"final_rms_deg{suffix}": score.rms(pointing[kept][:, final]),
        f"final_knowledge_rms_deg{suffix}": score.rms(knowledge[kept][:, final]),
    }


def compared(config: Any, flight: Dataset) -> dict[str, float]:
    """Return what each comparator lost, and the errors of the trials that it kept."""
    t = flight["time"].values
    found: dict[str, float] = {}
    for name in flight["filter"].values.tolist():
        pointing, knowledge = (flight[signal].sel(filter=name).values for signal in ERRORS)
        far = np.nanmax(pointing[:, t >= config.criteria.settle_s], axis=1, initial=0.0) > config.criteria.lost_deg
        kept = np.isfinite(pointing).all(axis=1) & np.isfinite(knowledge).all(axis=1) & ~far
        found |= {f"lost_{name}": int(np.sum(~kept))} | scored(config, t, pointing, knowledge, kept, f"_{name}")
    return found


def side_by_side(flight: Dataset) -> Comparison:
    """Return the metrics of all filters as a table."""
    keys = ("lost", "tumble_rms_deg", "final_rms_deg", "final_knowledge_rms_deg")
    rows = {name: [f"{key}_{name}" for key in keys] for name in flight["filter"].values.tolist()}
    columns = ("filter and process noise", "lost", "tumble RMS [deg]", "final pointing [deg]", "final knowledge [deg]")
    return Comparison(
        f"filters on the same {flight.sizes['trial']} trials; all that divide their steps tie", columns, rows
    )


def comparisons(config: Any, metrics: Mapping[str, float]) -> list[Check]:
    """Check that ours loses none at any process noise, and that RK4 ties once it divides its steps too."""
    c, checks = config.comparators, []
    for psd in c.torque_psd_Nm2s:
        ours, strong = label(OURS, psd), label(STRONG, psd)
        if OURS in c.filters:
            checks.append(at_most(f"lost by {ours}", metrics[f"lost_{ours}"], 0))
        if {OURS, STRONG} <= set(c.filters):
            ratio = metrics[f"final_rms_deg_{strong}"] / metrics[f"final_rms_deg_{ours}"]
            name = f"all that divide their steps tie: final RMS, {strong} over {ours}"
            checks.append(within(name, ratio, 1.0 - config.criteria.tie, 1.0 + config.criteria.tie))
    return checks


def draw(config: Any, flight: Dataset) -> Mapping[str, Any]:
    """Return the figures by name."""
    found = dict(figures.draw(config, flight))
    if "filter_knowledge_deg" in flight:
        found["comparators"] = partial(_comparators, config=config, flight=flight)
    return found


def _comparators(figure: Figure, config: Any, flight: Dataset) -> None:
    """Draw the attitude error of every filter that at most a fifth of the trials exceed, one panel per noise."""
    psds, t, metrics = config.comparators.torque_psd_Nm2s, flight["time"].values, compared(config, flight)
    panels = np.atleast_1d(figure.subplots(len(psds), 1, sharex=True, sharey=True))
    for axes, psd in zip(panels, psds, strict=True):
        for i, name in enumerate(config.comparators.filters):
            error = flight["filter_knowledge_deg"].sel(filter=label(name, psd)).values
            worst = np.percentile(np.where(np.isfinite(error), error, 180.0), 80.0, axis=0)
            lost = f"{name}: {metrics[f'lost_{label(name, psd)}']:g} of {len(error)} lost"
            axes.semilogy(t, worst, color=COLOURS[i % len(COLOURS)], lw=1.5, ls=("-", "--")[name == STRONG], label=lost)
        axes.axvline(config.capture.start_s, color="k", lw=0.8, ls=":")
        axes.set(ylabel=f"attitude error [deg]\nq = {psd:g} N² m² s")
        axes.grid(alpha=0.3)
        axes.legend(fontsize=8, loc="upper right")
    panels[0].set_title("80th percentile of trials (lost: 180 deg); capture at the dotted line; with substeps all tie")
    panels[-1].set_xlabel("time [s]")
