"""The page of a campaign: verdict of all trials, fans over time with single trials on top, causes, worst trials."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from gnc.errors import InputError
from gnc.montecarlo.sampling import INPUT
from gnc.scenarios.missions.mission import Mission
from gnc.scenarios.missions.verdict import judge_campaign
from gnc.scenarios.report.flight_page import TAKES, badge, causes_chapter, flown_chapter, verdict_chapter
from gnc.scenarios.report.page import Chapter, Page, Plot, Series, Table
from gnc.scenarios.report.panels import BOOKS, TIME, steep, words

if TYPE_CHECKING:
    from xarray import Dataset

COLUMNS = ("mean", "std", "p50", "p95", "p99.7", "max")
CHUNKS = "trials-*.nc"


def page(
    folder: Path, result: dict[str, Any], text: str, mission: Mission, bands: Dataset, trial: int | None, beside: Any
) -> Page:
    """Return the page of a campaign's directory."""
    table, paths = _table(folder)
    if trial is not None and not 0 <= trial < result["trials"]:
        raise InputError(f"--trial {trial}: not among the trials flown, 0 to {result['trials'] - 1}")
    result = result | {"checks": [asdict(check) for check in judge_campaign(mission, table)]}
    verdict, shown = verdict_chapter(mission, result, table), _shown(result, mission, trial)
    rows = [{**row, "input": row["input"].removeprefix(INPUT)} for row in result["sensitivity"]]
    rest = [causes_chapter(rows, beside), _worst(result), flown_chapter(mission, text, result)]
    lead = "Bands are percentiles over all trials; the line on top is the trial chosen above."
    takes = {}
    for k, name in shown.items():
        plots = fans(bands, mission, k, _histories(paths, k))
        takes[name] = [verdict, Chapter("Is it on target, is the filter honest?", lead, plots=plots), *rest]
    takes = {name: [c for c in take if c.tables or c.plots or c.lead] for name, take in takes.items()}
    subtitle = f"{mission.title.rstrip('.')}. Monte Carlo, {result['trials']} trials, seed {result['seed']}, "
    subtitle += f"{len(result['lost'])} lost."
    return Page(
        f"{mission.name}, Monte Carlo", subtitle, (), text, (), badge(result["checks"], result["trials"]), takes
    )


def _table(folder: Path) -> tuple[dict[str, Any], list[Path]]:
    """Return the columns of all trials, from the chunks of the campaign, and the files of those."""
    import xarray as xr

    paths, parts = sorted(folder.glob(CHUNKS)), []
    for path in paths:
        with xr.open_dataset(path, engine="scipy") as chunk:
            parts.append({str(n): x.values for n, x in chunk.data_vars.items() if x.ndim == 1})
    names = [name for name in parts[0] if all(name in part for part in parts)] if parts else []
    return {name: np.concatenate([part[name] for part in parts]) for name in names}, paths


def _histories(paths: list[Path], trial: int) -> dict[str, Any]:
    """Return what one trial did over time."""
    import xarray as xr

    for path in paths:
        start, stop = (int(number) for number in path.name.split("-")[1:3])
        if start <= trial <= stop:
            with xr.open_dataset(path, engine="scipy") as chunk:
                return {str(n): x.values[trial - start] for n, x in chunk.data_vars.items() if x.ndim == 2}
    return {}


def _shown(result: dict[str, Any], mission: Mission, trial: int | None) -> dict[int, str]:
    """Return the trials that the page can show over the fans, each with why: what is asked comes first."""
    shown = {} if trial is None else {trial: f"trial {trial}"}
    signals = {key: getattr(part, "signal", "") for key, part in mission.requirements.items()}
    requirements = [k for k, s in signals.items() if s and not s.rstrip(")").endswith(BOOKS)]
    for metric in dict.fromkeys([*requirements, *result["worst"]]):
        if (trials := result["worst"].get(metric)) and len(shown) < TAKES:
            shown.setdefault(trials[0], f"trial {trials[0]}, largest {metric}")
    return shown or {0: "trial 0"}


def fans(bands: Dataset, mission: Mission, trial: int = 0, own: Mapping[str, Any] = {}) -> list[Plot]:
    """Return percentiles over the trials with one trial on top, and means of NEES in their bands."""
    plots, percents = [], bands["percent"].values.tolist()
    for name, values in bands.data_vars.items():
        if values.dims[:1] != ("percent",) or values.ndim != 2 or str(name).rstrip(")").endswith(BOOKS):
            continue
        t, rows = bands[values.dims[1]].values, values.values
        middle = percents.index(50.0)
        series = [Series(f"{percents[0]:g} to {percents[-1]:g} %, median", rows[middle], "band", rows[0], rows[-1])]
        series += [Series(f"{p:g} %", row, "dashed") for p, row in zip(percents, rows, strict=True) if p == 95.0]
        line = own.get(str(name))
        series += [Series(f"trial {trial}", line)] if line is not None and line.shape == t.shape else []
        label = words(str(name), str(name))
        plots.append(Plot(label, TIME, label, t, series, _bounds(mission, str(name)), steep(rows)))
        if f"{name}_mean" in bands:
            mean, low, high = (bands[f"{name}_{key}"].values for key in ("mean", "lo", "hi"))
            band = Series("95 % band of an honest filter", None, "band", low, high)
            plots.append(Plot(f"mean {label} of all trials", TIME, label, t, [band, Series("mean of trials", mean)]))
    return plots


def _bounds(mission: Mission, name: str) -> dict[str, float]:
    """Return what is asked of a signal, unless that is judged by the mean over many trials."""
    bounds = {}
    for key, part in mission.requirements.items():
        signal, bound = getattr(part, "signal", ""), getattr(part, "at_most", None)
        if bound is not None and signal in (name, name.split(".", 1)[-1]) and getattr(part, "per_trial", True):
            bounds[getattr(part, "title", "") or key] = bound
    return bounds


def _worst(result: dict[str, Any]) -> Chapter:
    rows = [(key, *[x[column] for column in COLUMNS]) for key, x in result["metrics"].items()]
    worst = [(key, ", ".join(map(str, trials))) for key, trials in result["worst"].items() if trials]
    tables = [Table("Metrics, trial by trial", ("metric", *COLUMNS), rows)]
    tables.append(Table("Worst trials: gnc run config.toml --trial N", ("metric", "trials"), worst))
    return Chapter("How are the trials distributed?", "", tables)
