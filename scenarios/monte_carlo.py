"""A scenario as a Monte Carlo campaign: `gnc monte-carlo`."""

from __future__ import annotations

import sys
import tomllib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from gnc import config as configuration
from gnc.config import dump, flat
from gnc.errors import InputError
from gnc.files import replacing
from gnc.montecarlo import campaign
from gnc.montecarlo.campaign import Campaign, Progress
from gnc.montecarlo.dask_engine import Dask
from gnc.montecarlo.engines import Engine, InProcess, LocalProcesses
from gnc.montecarlo.export import check_format, export
from gnc.montecarlo.flight import Results
from gnc.montecarlo.store import read_manifest
from gnc.scenarios import dispersed, monte_carlo_figures
from gnc.scenarios import run as run_scenario
from gnc.scenarios.catalogue import scenario
from gnc.scenarios.display import table
from gnc.scenarios.plots import save_figure
from gnc.scenarios.run import CONFIG
from gnc.scenarios.scenario import Scenario, ScenarioConfig, record_times
from gnc.scenarios.trials import NEES, ScenarioFlight

TEXT = "~toml"  # whole configuration among its keys, after all others, so that a difference is told by its key
ENGINES = ("local", "dask")
COLUMNS = ("mean", "std", "p50", "p95", "p99.7", "max")
SHOWN = 8  # rows of what could be a long list
FALSE_DISCOVERY = 0.05  # share of the sensitivities told that may be chance


def resolve(
    name: str | None,
    settings: Sequence[str],
    seed: int | None,
    trials: int | None,
    out: Path | None,
    resume: Path | None,
) -> tuple[Scenario, ScenarioConfig, Path]:
    """Return scenario, configuration and directory; a campaign that is resumed knows its own configuration."""
    changes = {key: value for key, value in (("seed", seed), ("trials", trials)) if value is not None}
    if resume is None:
        if name is None:
            raise InputError("give a scenario or a TOML file, or --resume DIR to go on with a campaign")
        found, config = run_scenario.resolve(name, settings)
        return found, config.model_copy(update=changes), out or Path("out", "monte-carlo", found.name)
    if out is not None:
        raise InputError("give --out for a new campaign or --resume for an old one, not both")
    found, stored = _stored(resume)
    config = stored
    if name is not None:
        found, config = run_scenario.resolve(name)
        config = config.model_copy(update={"seed": stored.seed, "trials": stored.trials})
    config = configuration.override(config, list(settings)).model_copy(update=changes)
    return found, stored if flat(config) == flat(stored) else config, resume


def _stored(folder: Path) -> tuple[Scenario, ScenarioConfig]:
    """Return the scenario of the campaign in a directory."""
    text = read_manifest(folder).configuration.get(TEXT, "")
    found = scenario(str(tomllib.loads(text).get("scenario")))
    return found, configuration.parse(text, found.Config, str(folder / "manifest.json"))


def engine(kind: str, workers: int, address: str | None) -> Engine:
    """Return where trials fly."""
    if address is not None and kind != "dask":
        raise InputError(f"--address {address}: is that of a Dask scheduler; give --engine dask too")
    if kind not in ENGINES:
        raise InputError(f"--engine {kind}: is unknown; give {' or '.join(ENGINES)}")
    if kind == "dask":
        return Dask(workers, address)
    return InProcess() if workers == 1 else LocalProcesses(workers)


def run(
    name: str,
    config: ScenarioConfig,
    out: Path,
    *,
    resume: bool = False,
    on: Engine | None = None,
    chunk_size: int | None = None,
    until_ci: float | None = None,
    exports: Sequence[Path] = (),
    progress: Callable[[Progress], None] = lambda _: None,
) -> Campaign:
    """Fly the campaign of a scenario, with the trials and the seed of its configuration."""
    for path in exports:
        check_format(path)
    probe = _probe(name, config)
    flight = ScenarioFlight(name, config, config.seed)
    histories = [key for key, values in probe.items() if values.ndim > 1]
    found = campaign.run(
        flight,
        flat(config) | {TEXT: dump(config)},
        config.seed,
        config.trials,
        out,
        resume=resume,
        engine=on,
        chunk_size=chunk_size,
        until_ci=until_ci,
        consistency={key: n for key, n in NEES.items() if key in probe},
        times_s=dict.fromkeys(histories, record_times(config)),
        progress=progress,
    )
    with replacing(out / CONFIG) as path:
        path.write_text(dump(config), encoding="utf-8")
    steps = found.timing["flown_trials"] * round(config.duration_s / config.truth_step_s)
    found.timing["trial_steps_per_s"] = steps / found.timing["fly_s"]
    for path in exports:
        export(found.table, path)
    for figure, draw in monte_carlo_figures.draw(found).items():
        save_figure(draw, out / f"{figure}.png")
    return found


def _probe(name: str, config: ScenarioConfig) -> Results:
    """Fly one nominal trial: bad input shows itself here, before anything is written."""
    dispersed.groups(config, (), config.seed, np.arange(0))
    return ScenarioFlight(name, config.model_copy(update={"dispersions": {}}), config.seed).fly(np.arange(1))


def report(name: str, found: Campaign, out: Path) -> dict[str, Any]:
    """The outcome for machines; only `timing` depends on time and machine."""
    worst = {
        metric: [{"trial": trial, "replay": replay(out, trial)} for trial in trials]
        for metric, trials in found.summary["worst"].items()
    }
    return {"scenario": name, **found.summary, "worst": worst, "timing": found.timing, "out": str(out)}


def replay(out: Path, trial: int) -> str:
    """The command that flies one trial of a campaign again."""
    return f"gnc run {out / CONFIG} --trial {trial}"


def show(name: str, found: Campaign, out: Path) -> None:
    """The outcome for people."""
    told, lost = found.summary, found.summary["lost"]
    rows = [(key, *[_cell(x[c]) for c in COLUMNS]) for key, x in told["metrics"].items()]
    table(f"{name}: {told['trials']} trials, seed {told['seed']}, {len(lost)} lost", ("metric", *COLUMNS), rows)
    print()
    if p := told["success"]:
        print(f"success {p['p']:.4f}, 95 % interval {p['lo']:.4f} to {p['hi']:.4f} (Wilson)")
    for key, x in told["consistency"].items():
        if x["mean"] is None:  # all trials are lost
            continue
        inside = f"{100.0 * x['inside']:.0f} % of the time in its {100.0 * x['confidence']:g} % band"
        print(f"{key}: mean {x['mean']:.3f}, {inside} for a perfect model")
    _show_sensitivities(told["sensitivity"])
    for entry in lost[:SHOWN]:
        print(f"trial {entry['trial']} lost: {entry['reason']}   {replay(out, entry['trial'])}")
    for metric, trials in told["worst"].items():
        if trials:
            print(f"worst {metric}: trial {trials[0]}   {replay(out, trials[0])}")
    t = found.timing
    rate = f"{t['trial_steps_per_s']:.3g} trial-steps/s"
    print(f"{t['flown_trials']:g} trials flown in {t['fly_s']:.1f} s, {rate}; results in {out}")


def _cell(value: float | None) -> str:
    return "" if value is None else f"{value:.4g}"


def _show_sensitivities(rows: list[dict[str, Any]]) -> None:
    """Say what goes with what, as far as chance does not explain it."""
    told = [r for r in rows if r["p_adjusted"] < FALSE_DISCOVERY][:SHOWN]
    cells = [
        (r["metric"], r["input"].removeprefix("input."), f"{r['rho']:+.3f}", f"{r['p_adjusted']:.1e}") for r in told
    ]
    if cells:
        table("what goes with what", ("metric", "dispersed field", "rank correlation", "p adjusted"), cells)


@contextmanager
def bar(what: str) -> Iterator[Callable[[Progress], None]]:
    """Give a function that shows how far a campaign is; silent where nobody looks."""
    if not sys.stderr.isatty():
        yield lambda _: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bar

    columns = TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[rate]}"), TimeRemainingColumn()
    with Bar(*columns, console=Console(stderr=True), transient=True) as shown:
        task = shown.add_task(what, rate="")

        def move(now: Progress) -> None:
            rate = f"{now.done}/{now.trials} trials, {now.trials_per_s:.3g}/s" + (f", {now.lost} lost" * (now.lost > 0))
            shown.update(task, total=now.trials, completed=now.done, rate=rate)

        yield move
