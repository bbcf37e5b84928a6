"""The results of a flight: configuration, signals, metrics and figures on disk, and its tables on the screen."""

from __future__ import annotations

import tempfile
from dataclasses import asdict, replace
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np

from gnc import __version__, history
from gnc.checks import bound_text
from gnc.config import digest, dump
from gnc.config.component import own_files
from gnc.errors import InputError, PartError
from gnc.files import replacing
from gnc.scenarios.display import as_json, number, table
from gnc.scenarios.missions import figures
from gnc.scenarios.missions.dispersal import MANY
from gnc.scenarios.missions.flight import Flight, beginning
from gnc.scenarios.plots import save_figure

if TYPE_CHECKING:
    from gnc.labelled import Signals

CONFIG, HISTORY, METRICS, TABLE = "config.toml", "history.nc", "metrics.json", "trials.nc"
SHOWN = 5  # lost trials that are told
AGAIN = 3  # records until which a trial is flown again


def report(flight: Flight) -> dict[str, Any]:
    """The outcome for machines."""
    verdict, mission = flight.verdict, flight.mission
    return {
        "scenario": mission.name,
        "title": mission.title,
        "seed": flight.seed,
        "trials": int(flight.recorded.sizes["trial"]),
        "metrics": dict(verdict.metrics),
        "checks": [asdict(check) for check in verdict.checks],
        "ok": verdict.ok,
        "lost": [{"trial": trial, "reason": reason} for trial, reason in verdict.lost.items()],
        "measurements": {
            name: dict(zip(("used", "refused", "missing"), counts, strict=True))
            for name, counts in verdict.measurements.items()
        },
        "hints": verdict.hints,
        "comparison": _comparison(flight),
        "interrupted": flight.interrupted,
        "uncompiled": flight.recorded.attrs["uncompiled"],
        "loops": int(flight.recorded.attrs["loops"]),
        "flight_code": flight.recorded.attrs.get("flight_code", ""),
        "version": __version__,
        "mission_sha256": digest(mission),
        "out": None if flight.out is None else str(flight.out),
    }


def _comparison(flight: Flight) -> dict[str, Any] | None:
    """The contestants side by side."""
    comparison = flight.verdict.comparison
    if comparison is None:
        return None
    rows = [[who, *[flight.verdict.metrics[key] for key in keys]] for who, keys in comparison.rows.items()]
    return {"title": comparison.title, "columns": list(comparison.columns), "rows": rows}


def _numbers(signals: Signals) -> dict[str, np.ndarray]:
    """Return the numbers of the first trial in the first records."""
    kept = {str(k): x.values[:1, :AGAIN] for k, x in signals.data_vars.items() if x.dims[:2] == ("trial", "time")}
    return {name: values for name, values in kept.items() if values.dtype.kind in "fiub"}


def chance(flight: Flight) -> list[str]:
    """Say which parts of a user's make other numbers when the first trial begins again by itself, if any do."""
    from gnc.montecarlo.engines import check_repeatable
    from gnc.montecarlo.flight import LOST

    sources, first = own_files(flight.mission), int(flight.recorded["trial"].values[0])
    if not sources:
        return []
    again: Any = SimpleNamespace(sources=sources)
    again.fly = lambda trials: _numbers(beginning(flight.mission, flight.seed, trials, AGAIN))
    try:
        check_repeatable(again, first, {LOST: np.array([""]), **_numbers(flight.recorded)})
    except PartError as error:
        return [f"{', '.join(Path(source).name for source in sources)}: {error.message}"]
    return []


def try_directory(out: Path) -> None:
    """See that a directory can be written, before a flight, which may be long; leave nothing of it."""
    new = [folder for folder in (out, *out.parents) if not folder.exists()]
    make_directory(out)
    for folder in new:
        folder.rmdir()


def make_directory(out: Path) -> None:
    """Make a directory and see that it can be written."""
    try:
        out.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=out):
            pass
    except OSError as error:
        raise InputError(f"--out {out}: {(error.strerror or str(error)).lower()}; give a directory to write") from None


def write(flight: Flight, out: Path, with_figures: bool = True) -> Flight:
    """Write everything that a flight leaves, each file whole or not at all; the figures last, or none."""
    make_directory(out)
    flight = replace(flight, out=out)
    with replacing(out / CONFIG) as path:
        path.write_text(dump(flight.mission), encoding="utf-8")
    history.save(flight.recorded, out / HISTORY)
    history.save(flight.rows, out / TABLE)
    with replacing(out / METRICS) as path:
        path.write_text(as_json(report(flight)) + "\n", encoding="utf-8")
    for name, draw in figures.draw(flight.mission, flight.recorded, flight.verdict).items():
        if with_figures:
            save_figure(draw, out / f"{name}.png")
        else:
            (out / f"{name}.png").unlink(missing_ok=True)  # of an earlier flight
    return flight


def show(flight: Flight) -> None:
    """The outcome for people."""
    verdict, mission = flight.verdict, flight.mission
    side_by_side = verdict.comparison
    compared = set() if side_by_side is None else {key for keys in side_by_side.rows.values() for key in keys}
    metrics = {key: value for key, value in verdict.metrics.items() if key not in compared}
    rows = [(key, "no data" if np.isnan(value) else number(value)) for key, value in metrics.items()]
    table(f"{mission.name}: {mission.title}".removesuffix(": "), ("metric", "value"), rows)
    print()
    if side_by_side is not None:
        cells = [(who, *[number(verdict.metrics[key]) for key in keys]) for who, keys in side_by_side.rows.items()]
        table(side_by_side.title, side_by_side.columns, cells)
        print()
    _show_measurements(flight)
    checks = [(c.name, number(c.value), bound_text(c), c.note, "ok" if c.ok else "FAILED") for c in verdict.checks]
    heading = f"requirements, {flight.recorded.sizes['trial']} trials, seed {flight.seed}"
    table(heading, ("requirement", "value", "bound", "note", "ok"), checks)
    for trial, reason in list(verdict.lost.items())[:SHOWN]:
        print(f"trial {trial} lost: {reason}")
    if len(verdict.lost) > SHOWN:
        print(f"... and {len(verdict.lost) - SHOWN} more")
    for hint in verdict.hints:
        print(f"hint: {hint}")
    _show_how(flight)


def _show_measurements(flight: Flight) -> None:
    counts = flight.verdict.measurements
    if counts:
        rows = [(name, *map(str, numbers)) for name, numbers in counts.items()]
        table("measurements of all trials", ("sensor", "used", "refused", "missing"), rows)
        print()


def _show_how(flight: Flight) -> None:
    attributes = flight.recorded.attrs
    if attributes["loops"] > MANY:
        print(f"dispersions of fields that shape the loop made {attributes['loops']} loops, flown one after another")
    if "flight_code" in attributes:
        print(f"flown by flight code: {attributes['flight_code']}")
    if attributes["uncompiled"]:
        print(f"called from Python at every tick, not compiled: {attributes['uncompiled']}")
    if flight.out is not None:
        print(f"results in {flight.out}")
