"""From a directory of results to its report page."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from gnc import config as configuration
from gnc import history
from gnc.config.base import loads
from gnc.errors import InputError
from gnc.files import read_json, read_text
from gnc.montecarlo.sampling import INPUT
from gnc.montecarlo.statistics import percentiles
from gnc.scenarios.missions.flight import Flight
from gnc.scenarios.missions.mission import Mission
from gnc.scenarios.missions.scene import scene as scene_of
from gnc.scenarios.replay.kept import ESTIMATES
from gnc.scenarios.report import replay_page
from gnc.scenarios.report.page import Page, Plot, Scene, Series, Table, write_page
from gnc.scenarios.run import CONFIG, HISTORY, METRICS, report

if TYPE_CHECKING:
    from xarray import DataArray, Dataset

BANDS = "bands.nc"
TIME = "time [s]"
COLUMNS = ("mean", "std", "p50", "p95", "p99.7", "max")
MOST_ROWS = 20
LARGEST_FILE = 2**28  # bytes
FEW = 7  # parts that one plot can show apart
HIDDEN = (".q_IB", ".q_IT", ".used", ".refused")  # what quaternions do is better seen in the scene


def write(folder: Path, path: Path, trial: int | None = None) -> None:
    """Write the page of a flight, a campaign or a replay."""
    try:
        made = page(folder, trial)
    except (KeyError, TypeError, IndexError, AttributeError, ValueError) as error:  # what damaged results lack
        if isinstance(error, InputError):
            raise
        raise InputError(f"{folder}: results are damaged ({type(error).__name__}: {error}); fly again") from error
    try:
        write_page(path, made)
    except OSError as error:
        raise InputError(f"--out {path}: {(error.strerror or str(error)).lower()}; give a file to write") from None


def write_flight(flight: Flight, path: Path, trial: int | None = None) -> Path:
    """Write the page of a flight that is still in memory."""
    write_page(path, _flight(report(flight), configuration.dump(flight.mission), flight.signals, trial))
    return path


def page(folder: Path, trial: int | None = None) -> Page:
    """Return the page of the results in a directory."""
    if not (folder / METRICS).is_file() or not (folder / CONFIG).is_file():
        raise InputError(f"{folder}: holds no results; give a directory of gnc run, monte-carlo or replay")
    if (folder / ESTIMATES).is_file():
        return _replay(folder, trial)
    told = read_json(folder / METRICS, LARGEST_FILE, "results of gnc")
    text = read_text(folder / CONFIG, LARGEST_FILE, "results of gnc")
    if not (folder / BANDS).is_file():
        return _flight(told, text, history.load(folder / HISTORY), trial)
    if trial is not None:
        raise InputError(
            f"--trial {trial}: a campaign keeps no trial; fly it: gnc run {folder / CONFIG} --trial {trial}"
        )
    return _campaign(told, text, history.load(folder / BANDS))


def _replay(folder: Path, trial: int | None) -> Page:
    if trial is not None:
        raise InputError(f"--trial {trial}: a replay has no trials; leave it out")
    return replay_page.page(folder)


# A flight


def _flight(told: dict[str, Any], text: str, flight: Dataset, trial: int | None) -> Page:
    numbers = flight["trial"].values.tolist()
    if trial is not None and trial not in numbers:
        raise InputError(f"--trial {trial}: not among the trials flown, {numbers[0]} to {numbers[-1]}")
    place = 0 if trial is None else numbers.index(trial)
    mission = configuration.parse(text, Mission, CONFIG)
    tables = [_requirements(told["checks"]), Table("Metrics", ("metric", "value"), list(told["metrics"].items()))]
    if counts := told.get("measurements"):
        rows = [(name, *[x[key] for key in ("used", "refused", "missing")]) for name, x in counts.items()]
        tables.append(Table("Measurements of all trials", ("sensor", "used", "refused", "missing"), rows))
    if beside := told.get("comparison"):
        tables.insert(1, Table(beside["title"], beside["columns"], beside["rows"]))
    if told["lost"]:
        rows = [(entry["trial"], entry["reason"]) for entry in told["lost"]]
        tables.append(Table("Lost trials", ("trial", "reason"), rows))
    scene: Scene | None = scene_of(mission, flight, place)
    shown = f"{len(numbers)} trials, seed {told['seed']}; plots and scene show trial {numbers[place]}."
    notes = ["The flight was interrupted before its end."] if told["interrupted"] else []
    notes += told.get("hints", [])
    return Page(told["scenario"], f"{told['title']} {shown}", tables, text, plots(flight, place), scene, notes)


def _requirements(checks: Sequence[dict[str, Any]]) -> Table:
    rows = [(c["name"], c["value"], _bound(c), c.get("note", ""), bool(c["ok"])) for c in checks]
    return Table("Requirements", ("requirement", "value", "bound", "note", "result"), rows)


def _bound(check: dict[str, Any]) -> str:
    if isinstance(check["bound"], list):
        return f"{check['bound'][0]:.6g} .. {check['bound'][1]:.6g}"
    return f"{check['relation']} {check['bound']:.6g}"


def plots(flight: Dataset, place: int) -> list[Plot]:
    """Return a plot of every signal that one trial, or all together, can show; what all trials share comes last."""
    found: list[Plot] = []
    sigmas = {x.attrs["sigma"] for x in flight.data_vars.values() if "sigma" in x.attrs}
    for name, signal in sorted(flight.data_vars.items(), key=lambda item: "trial" not in item[1].dims):
        clock = next((str(dim) for dim in signal.dims if str(dim).startswith(history.CLOCK)), None)
        if clock is None or name in sigmas or str(name).endswith(HIDDEN) or signal.sizes[clock] < 2:
            continue
        signal = signal.astype(float) if signal.dtype == bool else signal  # astype keeps labels and units
        one = signal if "trial" not in signal.dims else signal.isel(trial=place)
        if one.ndim == 2 and one.shape[1] <= FEW:
            found += _with_sigma(str(name), signal, one, flight, place) or [_parts(str(name), one)]
        elif one.ndim == 1:
            found.append(_spread(str(name), signal, one))
    return found


def _plot(name: str, signal: DataArray, series: Sequence[Series], part: str = "") -> Plot:
    title = f"{signal.attrs.get('long_name', name)}{part}"
    return Plot(title, TIME, f"{name} [{signal.attrs.get('units', '')}]", _times(signal), series)


def _times(signal: DataArray) -> np.ndarray:
    clock = next(str(dim) for dim in signal.dims if str(dim).startswith(history.CLOCK))
    return signal[clock].values


def _parts(name: str, one: DataArray) -> Plot:
    labels = [str(label) for label in one[one.dims[1]].values]
    return _plot(name, one, [Series(label, one.values[:, i]) for i, label in enumerate(labels)])


def _with_sigma(name: str, signal: DataArray, one: DataArray, flight: Dataset, place: int) -> list[Plot]:
    """Return one plot for each part, with the 3-sigma band, if the signal has one."""
    beside = signal.attrs.get("sigma")
    if beside not in flight:
        return []
    sigma, found = flight[beside].isel(trial=place).values, []
    for i, label in enumerate(one[one.dims[1]].values):
        band = Series("3 sigma", None, "band", lower=-3.0 * sigma[:, i], upper=3.0 * sigma[:, i])
        found.append(_plot(name, one, [band, Series(str(label), one.values[:, i])], f", {label}"))
    return found


def _spread(name: str, signal: DataArray, one: DataArray) -> Plot:
    """Return the trial among all trials."""
    if "trial" not in signal.dims or signal.sizes["trial"] < 3:
        return _plot(name, one, [Series(name, one.values)])
    low, middle, high = percentiles(np.moveaxis(signal.values, 0, -1), (5.0, 50.0, 95.0))
    band = Series("5 to 95 % of trials", middle, "band", lower=low, upper=high)
    return _plot(name, one, [band, Series("this trial", one.values)])


# A campaign


def _campaign(told: dict[str, Any], text: str, bands: Dataset) -> Page:
    name = loads(text, CONFIG)["name"]
    metrics = [(key, *[x[column] for column in COLUMNS]) for key, x in told["metrics"].items()]
    tables = [Table("Metrics", ("metric", *COLUMNS), metrics)]
    if p := told["success"]:
        tables.insert(0, Table("Success", ("share", "95 % interval from", "to"), [(p["p"], p["lo"], p["hi"])]))
    worst = [(key, ", ".join(map(str, trials))) for key, trials in told["worst"].items() if trials]
    tables.append(Table("Worst trials; fly one with gnc run config.toml --trial N", ("metric", "trials"), worst))
    related = [
        (row["metric"], row["input"].removeprefix(INPUT), row["rho"], row["p_adjusted"])
        for row in told["sensitivity"][:MOST_ROWS]
    ]
    if related:
        tables.append(Table("What goes with what", ("metric", "dispersed field", "rank corr.", "p adj."), related))
    if told["lost"]:
        lost = [(entry["trial"], entry["reason"]) for entry in told["lost"][:MOST_ROWS]]
        tables.append(Table("Lost trials", ("trial", "reason"), lost))
    subtitle = f"Monte Carlo campaign, {told['trials']} trials, seed {told['seed']}, {len(told['lost'])} lost."
    return Page(f"{name}, Monte Carlo", subtitle, tables, text, _band_plots(bands))


def _band_plots(bands: Dataset) -> list[Plot]:
    """Return percentiles over the trials, on a logarithmic axis where they are positive."""
    found, percents = [], bands["percent"].values.tolist()
    for name, values in bands.data_vars.items():
        if values.dims[:1] != ("percent",) or values.ndim != 2:
            continue
        t, rows = bands[values.dims[1]].values, values.values
        band = Series(f"{percents[0]:g} to {percents[-1]:g} %", rows[percents.index(50.0)], "band", rows[0], rows[-1])
        lines = [Series(f"{p:g} %", row, "dashed") for p, row in zip(percents, rows, strict=True) if p != 50.0]
        title = f"{name}, percentiles over the trials"
        found.append(
            Plot(
                title,
                TIME,
                str(name),
                t,
                [band, *lines],
                log_y=bool(np.min(rows, initial=np.inf, where=np.isfinite(rows)) > 0.0),
            )
        )
    return found
