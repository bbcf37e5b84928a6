"""The page of a campaign: verdict of all trials, fans over time with single trials on top, causes, worst trials."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from gnc.errors import InputError
from gnc.montecarlo.sampling import INPUT
from gnc.scenarios.missions.flight import fly
from gnc.scenarios.missions.mission import Mission
from gnc.scenarios.missions.verdict import judge_campaign
from gnc.scenarios.report.flight_page import (
    MOST_LOST,
    TAKES,
    actuators_chapter,
    badge,
    causes_chapter,
    filter_chapter,
    flight_chapter,
    flown_chapter,
    verdict_chapter,
)
from gnc.scenarios.report.page import Chapter, Page, Plot, Series, Table
from gnc.scenarios.report.panels import BOOKS, TIME, Panels, label_of, of_books, steep, title_of, varies

if TYPE_CHECKING:
    from xarray import Dataset

    from gnc.labelled import Signals

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
    rows = [row for row in rows if not of_books(mission, row["metric"])]
    causes, rest = causes_chapter(rows, beside), [_worst(mission, result), flown_chapter(mission, text, result)]
    own = {k: _histories(paths, k) for k in shown}
    again, note = _again(mission, own, result["seed"])
    takes = {}
    for place, (k, name) in enumerate(shown.items()):
        panels = Panels(mission, again.isel(trial=slice(place, place + 1))) if again is not None else None
        takes[name] = [verdict, *_of_trial(fans(bands, mission, k, own[k], panels), panels, causes), *rest]
    subtitle = f"{mission.title.rstrip('.')}. Monte Carlo, {result['trials']} trials, seed {result['seed']}, "
    subtitle += f"{len(result['lost'])} lost."
    title, mark = f"{mission.name}, Monte Carlo", badge(result["checks"], result["trials"])
    return Page(title, subtitle, (), text, [note] if note else [], mark, takes)


def _of_trial(plots: list[Plot], panels: Panels | None, causes: Chapter) -> list[Chapter]:
    """Return the chapters that show one trial among all; those of its own flight where it could be flown again."""
    lead = "The band holds 5 to 99.7 % of all trials at each time, the line on top is the trial chosen; dotted: what "
    target = Chapter("Is it on target?", f"{lead}is asked.", plots=[p for p in plots if "NEES" not in p.title])
    honest = [plot for plot in plots if "NEES" in plot.title]
    filters = filter_chapter([*honest, *(panels.errors() if panels else ()), *(panels.nis() if panels else ())])
    seen = [actuators_chapter(panels), causes, flight_chapter(panels)] if panels is not None else [causes]
    return [c for c in (target, filters, *seen) if c.tables or c.plots or c.scene or c is causes]


def _again(mission: Mission, own: Mapping[int, Mapping[str, Any]], seed: int) -> tuple[Signals | None, str]:
    """Fly the trials of the page again, for what a campaign does not keep; or return why they are not shown."""
    try:
        flight = fly(mission, list(own), seed)
    except InputError as error:
        return None, f"The trials could not be flown again, so that actuators and scene are missing: {error}"
    for place, kept in enumerate(own.values()):
        for name, values in flight.verdict.over_time.items():
            if name in kept and not np.array_equal(kept[name], values[place], equal_nan=True):
                return None, f"Flown again, {name} differs from the campaign, so that actuators and scene are missing."
    return flight.recorded, ""


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
    shown |= {x["trial"]: f"trial {x['trial']}, lost: {x['reason']}" for x in result["lost"][:MOST_LOST]}
    asked = [key for key, part in mission.requirements.items() if getattr(part, "signal", "")]
    for metric in dict.fromkeys([*asked, *result["worst"]]):
        if of_books(mission, metric):
            continue
        if (trials := result["worst"].get(metric)) and len(shown) < TAKES:
            shown.setdefault(trials[0], f"trial {trials[0]}, worst {title_of(mission, metric)}")
    return shown or {0: "trial 0"}


def fans(
    bands: Dataset, mission: Mission, trial: int = 0, own: Mapping[str, Any] = {}, panels: Panels | None = None
) -> list[Plot]:
    """Return percentiles over the trials with one trial on top, and means of NEES in their bands."""
    plots, percents = [], bands["percent"].values.tolist()
    for name, values in bands.data_vars.items():
        if values.dims[:1] != ("percent",) or values.ndim != 2 or str(name).rstrip(")").endswith(BOOKS):
            continue
        t, rows = bands[values.dims[1]].values, values.values
        if not varies(rows):
            continue
        middle = percents.index(50.0)
        series = [Series(f"{percents[0]:g} to {percents[-1]:g} %, median", rows[middle], "band", rows[0], rows[-1])]
        series += [Series(f"{p:g} %", row, "dashed") for p, row in zip(percents, rows, strict=True) if p == 95.0]
        line = own.get(str(name))
        series += [Series(f"trial {trial}", line)] if line is not None and line.shape == t.shape else []
        label = label_of(mission, str(name))
        craft = panels.craft_of(str(name)) if panels else str(name).split(".")[0]
        title = label.split(" [")[0] + f" of {craft}" * (craft in mission.craft)
        shades = panels.shades(craft) if panels else ()
        plots.append(Plot(title, TIME, label, t, series, _bounds(mission, str(name)), steep(rows), shades))
        if f"{name}_mean" in bands:
            mean, low, high = (bands[f"{name}_{key}"].values for key in ("mean", "lo", "hi"))
            band = Series("95 % band of an honest filter", None, "band", low, high)
            lines = [band, Series("mean of trials", mean)]
            plots.append(Plot(f"mean {title}", TIME, label, t, lines, {}, False, shades))
    return plots


def _bounds(mission: Mission, name: str) -> dict[str, float]:
    """Return what is asked of a signal, unless that is judged by the mean over many trials."""
    bounds = {}
    for key, part in mission.requirements.items():
        for bound in (getattr(part, "at_least", None), getattr(part, "at_most", None)):
            asked = getattr(part, "signal", "") in (name, name.split(".", 1)[-1]) and getattr(part, "per_trial", True)
            if bound is not None and asked:
                bounds[title_of(mission, key)] = bound
    return bounds


def _worst(mission: Mission, result: dict[str, Any]) -> Chapter:
    rows = [(key, *[x[column] for column in COLUMNS]) for key, x in result["metrics"].items()]
    told = {key: trials for key, trials in result["worst"].items() if trials and not of_books(mission, key)}
    worst = [(key, ", ".join(map(str, trials))) for key, trials in told.items()]
    tables = [Table("Metrics, trial by trial", ("metric", *COLUMNS), rows)]
    tables.append(Table("Worst trials: gnc run config.toml --trial N", ("metric", "trials"), worst))
    return Chapter("How are the trials distributed?", "", tables)
