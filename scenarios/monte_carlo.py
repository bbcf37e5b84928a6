"""A mission as a Monte Carlo campaign: `gnc monte-carlo`.

Figures of a campaign: bands over time, how metrics are distributed, what they go with.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from gnc import config as configuration
from gnc.checks import Check, bound_text
from gnc.config import dump, flat
from gnc.errors import InputError
from gnc.files import replacing
from gnc.montecarlo import campaign
from gnc.montecarlo.campaign import Campaign, Progress
from gnc.montecarlo.engines import Dask, Engine, InProcess, LocalProcesses
from gnc.montecarlo.store import read_manifest
from gnc.montecarlo.summary import check_format, export
from gnc.scenarios.display import number, table
from gnc.scenarios.missions import dispersal
from gnc.scenarios.missions.flight import Flight, fly
from gnc.scenarios.missions.load import read
from gnc.scenarios.missions.mission import Mission
from gnc.scenarios.missions.verdict import judge_campaign, lowest
from gnc.scenarios.plots import COLOURS, Draw, Figure, panels, save_figure
from gnc.scenarios.report.campaign_page import fans
from gnc.scenarios.report.panels import of_books, title_of
from gnc.scenarios.run import CONFIG
from gnc.scenarios.trials import MissionFlight

if TYPE_CHECKING:
    from gnc.scenarios.missions.flight_code import FlightCode

TEXT = "~toml"  # whole configuration among its keys, after all others, so that a difference is told by its key
ENGINES = ("local", "dask")
COLUMNS = ("mean", "std", "p50", "p95", "p99.7", "max")
SHOWN = 8  # rows of what could be a long list
FALSE_DISCOVERY = 0.05  # share of the sensitivities told that may be chance


@dataclass(frozen=True)
class Outcome:
    """A campaign and whether its mission's requirements are met."""

    mission: Mission
    campaign: Campaign
    checks: Sequence[Check]
    out: Path

    @property
    def ok(self) -> bool:
        """Whether everything that is asked is met."""
        return all(check.ok for check in self.checks)


def resolve(
    name: str | None,
    settings: Sequence[str],
    seed: int | None,
    trials: int | None,
    out: Path | None,
    resume: Path | None,
) -> tuple[Mission, Path]:
    """Return mission and directory; a campaign that is resumed knows its own mission."""
    changes = [f"run.{key}={value}" for key, value in (("seed", seed), ("trials", trials)) if value is not None]
    if resume is None:
        if name is None:
            raise InputError("give a mission or a file, or --resume DIR to go on with a campaign")
        mission = read(name, [*settings, *changes])
        return mission, out or Path("out", "monte-carlo", mission.name)
    if out is not None:
        raise InputError("give --out for a new campaign or --resume for an old one, not both")
    stored = _stored(resume)
    mission = stored
    if name is not None:
        mission = configuration.override(read(name), [f"run.seed={stored.run.seed}", f"run.trials={stored.run.trials}"])
    overrides = [*settings, *changes]
    mission = configuration.override(mission, overrides) if overrides else mission
    return (stored if flat(mission) == flat(stored) else mission), resume


def _stored(folder: Path) -> Mission:
    """Return the mission of the campaign in a directory."""
    text = str(read_manifest(folder).configuration.get(TEXT, ""))
    return configuration.parse(text, Mission, str(folder / "manifest.json"))


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
    mission: Mission,
    out: Path,
    *,
    resume: bool = False,
    on: Engine | None = None,
    chunk_size: int | None = None,
    until_ci: float | None = None,
    exports: Sequence[Path] = (),
    progress: Callable[[Progress], None] = lambda _: None,
    flight_code: FlightCode | None = None,
) -> Outcome:
    """Fly the campaign of a mission, with the trials and the seed of its file."""
    for path in exports:
        check_format(path)
    probe = _probe(mission, flight_code)
    results = campaign.run(
        MissionFlight(mission, mission.run.seed, flight_code),
        flat(mission) | {TEXT: dump(mission)},
        mission.run.seed,
        mission.run.trials,
        out,
        resume=resume,
        engine=on,
        chunk_size=chunk_size,
        until_ci=until_ci,
        consistency=_consistency(probe),
        times_s=dict.fromkeys(probe.verdict.over_time, probe.recorded["time"].values),
        lowest=lowest(mission),
        progress=progress,
    )
    for line in results.damaged:
        print("gnc:", line, file=sys.stderr)
    with replacing(out / CONFIG) as path:
        path.write_text(dump(mission), encoding="utf-8")
    steps = results.timing["flown_trials"] * round(mission.run.duration_s / mission.run.truth_step_s)
    results.timing["trial_steps_per_s"] = steps / results.timing["fly_s"]
    for path in exports:
        export(results.table, path)
    for figure, draw in figures(results, mission).items():
        save_figure(draw, out / f"{figure}.png")
    return Outcome(mission, results, judge_campaign(mission, results.table), out)


def _probe(mission: Mission, code: FlightCode | None) -> Flight:
    """Fly one nominal trial: bad input shows itself here, before anything is written."""
    dispersal.groups(mission, mission.run.seed, np.arange(0))
    nominal = mission.model_copy(update={"dispersions": {}})
    return fly(nominal, [0], mission.run.seed, judged_only=True, flight_code=code)


def _consistency(probe: Flight) -> dict[str, int]:
    """Return the histories that are normalised squares, with their nominal means."""
    there = probe.recorded.data_vars
    nominal = {name: there[name].attrs.get("nominal") for name in probe.verdict.over_time if name in there}
    return {name: int(value) for name, value in nominal.items() if value is not None}


def report(outcome: Outcome) -> dict[str, Any]:
    """The outcome for machines; only `timing` depends on time and machine."""
    results, out = outcome.campaign, outcome.out
    worst = {
        metric: [{"trial": trial, "replay": replay(out, trial)} for trial in trials]
        for metric, trials in results.summary["worst"].items()
    }
    checks = [asdict(check) for check in outcome.checks]
    summary = {"scenario": outcome.mission.name, **results.summary, "worst": worst, "checks": checks, "ok": outcome.ok}
    return {**summary, "timing": results.timing, "out": str(out)}


def replay(out: Path, trial: int) -> str:
    """The command that flies one trial of a campaign again."""
    return f"gnc run {out / CONFIG} --trial {trial}"


def show(outcome: Outcome) -> None:
    """The outcome for people."""
    results, out, name = outcome.campaign, outcome.out, outcome.mission.name
    summary, lost = results.summary, results.summary["lost"]
    rows = [(key, *[_cell(x[c]) for c in COLUMNS]) for key, x in summary["metrics"].items()]
    table(f"{name}: {summary['trials']} trials, seed {summary['seed']}, {len(lost)} lost", ("metric", *COLUMNS), rows)
    print()
    checks = [(c.name, number(c.value), bound_text(c), c.note, "ok" if c.ok else "FAILED") for c in outcome.checks]
    table("requirements, all trials together", ("requirement", "value", "bound", "note", "ok"), checks)
    if p := summary["success"]:
        print(f"success {p['p']:.4f}, 95 % interval {p['lo']:.4f} to {p['hi']:.4f} (Wilson), each trial by itself")
    for key, x in summary["consistency"].items():
        if x["mean"] is None:  # all trials are lost
            continue
        inside = f"{100.0 * x['inside']:.0f} % of the time in its {100.0 * x['confidence']:g} % band"
        print(f"{key}: mean {x['mean']:.3f}, {inside} for a perfect model")
    _show_sensitivities(summary["sensitivity"])
    for entry in lost[:SHOWN]:
        print(f"trial {entry['trial']} lost: {entry['reason']}   {replay(out, entry['trial'])}")
    for metric, trials in summary["worst"].items():
        if trials:
            print(f"worst {metric}: trial {trials[0]}   {replay(out, trials[0])}")
    t = results.timing
    rate = f"{t['trial_steps_per_s']:.3g} trial-steps/s"
    print(f"{t['flown_trials']:g} trials flown in {t['fly_s']:.1f} s, {rate}; results in {out}")


def _cell(value: float | None) -> str:
    return "" if value is None else f"{value:.4g}"


def _show_sensitivities(rows: list[dict[str, Any]]) -> None:
    """Say what goes with what, as far as chance does not explain it."""
    links = [r for r in rows if r["p_adjusted"] < FALSE_DISCOVERY][:SHOWN]
    cells = [
        (r["metric"], r["input"].removeprefix("input."), f"{r['rho']:+.3f}", f"{r['p_adjusted']:.1e}") for r in links
    ]
    if cells:
        table("what goes with what", ("metric", "drawn or dispersed", "rank correlation", "p adjusted"), cells)


def told(moved: Callable[..., None] | None) -> Callable[[Progress], None]:
    """Return what moves a bar, if there is one, by how far a campaign is."""

    def move(now: Progress) -> None:
        if moved is not None:
            lost = f", {now.lost} lost" * (now.lost > 0)
            moved(now.done, now.trials, f"{now.done}/{now.trials} trials, {now.trials_per_s:.3g}/s{lost}")

    return move


MOST = 6  # panels of a figure
STRONGEST = 15  # bars


def figures(campaign: Campaign, mission: Mission) -> Mapping[str, Draw]:
    """Return the figures by name."""
    drawn: dict[str, Draw] = {}
    title = f"{mission.name}: percentiles over {campaign.summary['trials']} trials"
    if bands := fans(campaign.bands, mission):
        drawn["bands"] = partial(panels, title=title, plots=bands[:MOST])
    every = campaign.summary["metrics"].items()
    there = [key for key, x in every if x["count"] > 1 and x["std"] > 0.0 and not of_books(mission, key)]
    asked = {key: getattr(part, "at_most", None) for key, part in mission.requirements.items()}
    metrics = sorted(there, key=lambda key: asked.get(key) is None)[:MOST]  # what is asked comes first
    if metrics:
        drawn["metrics"] = lambda figure: _distributions(figure, campaign, mission, metrics)
    rows = [row for row in campaign.summary["sensitivity"] if not of_books(mission, row["metric"])]
    if rows:
        drawn["sensitivity"] = lambda figure: _sensitivities(figure, rows)
    return drawn


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
