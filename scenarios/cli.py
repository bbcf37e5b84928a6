"""The command `gnc`.

Exit codes and errors: see `gnc.scenarios.exits`.
Whatever is slow to import is imported inside the command that needs it.
"""

from collections.abc import Sequence
from contextlib import nullcontext
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gnc import __version__
from gnc.errors import InputError
from gnc.scenarios import exits
from gnc.scenarios.covariance.command import covariance
from gnc.scenarios.design import app as design
from gnc.scenarios.exits import CHECK_FAILED, Stopped
from gnc.scenarios.export import export
from gnc.scenarios.replay.calibrate_command import calibrate
from gnc.scenarios.replay.command import replay
from gnc.scenarios.replay.tune_command import tune
from gnc.scenarios.study.command import app as study
from gnc.scenarios.sweep.command import sweep

if TYPE_CHECKING:
    from gnc.scenarios.papers.case import Case

app = typer.Typer(add_completion=True, pretty_exceptions_enable=False, rich_markup_mode=None)

Json = Annotated[bool, typer.Option("--json", help="Machine-readable result on standard output.")]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    return exits.ended(_obey, arguments)


def _obey(words: list[str]) -> int | None:
    from gnc.scenarios import display

    if "--out=" in words or ("--out", "") in pairwise(words):
        raise InputError("--out: is empty; give a directory or a file")
    with display.json_alone() if "--json" in words else nullcontext():
        return app(words, prog_name="gnc", standalone_mode=False)


def _print_version(wanted: bool) -> None:
    if wanted:
        print(f"gnc {__version__}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def _gnc(
    context: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
    traceback: Annotated[bool, typer.Option(exits.TRACEBACK, help="Show where an error comes from.")] = False,
) -> None:
    """Structure-preserving integrators, filters and controllers, flown in closed loop."""
    if context.invoked_subcommand is None:
        print(context.get_help())


@app.command("list")
def _list(as_json: Json = False) -> None:
    """List the built-in missions and the cases of the papers."""
    from gnc.scenarios import display, papers
    from gnc.scenarios.missions.load import titles

    cases, missions = {case.name: case.title for case in papers.cases()}, titles()
    if as_json:
        groups = {"missions": missions, "cases": cases}
        display.tell({k: [{"name": n, "title": t} for n, t in v.items()] for k, v in groups.items()})
        return
    display.table("missions", ("name", "title"), list(missions.items()))
    print()
    display.table("cases (gnc reproduce NAME)", ("name", "title"), list(cases.items()))


def _named(incomplete: str) -> list[str]:
    """Return the missions whose names begin so, for the shell."""
    from gnc.scenarios.missions.load import builtin

    return [name for name in (*builtin(), *map(str, Path().glob("*.toml"))) if name.startswith(incomplete)]


ABOUT = "A built-in mission, a TOML file, or a Python file with a mission in it."
MISSION = typer.Argument(metavar="NAME|FILE", help=ABOUT, autocompletion=_named)
Name = Annotated[str, MISSION]
Settings = Annotated[list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Change a field; repeatable.")]
Seed = Annotated[int | None, typer.Option(min=0, help="Seed [that of the file].")]
Code = Annotated[
    str | None,
    typer.Option("--flight-code", metavar="DIR[@WIRE]", help="Fly the C of gnc export; WIRE: docs/flight_code.md."),
]


@app.command("show")
def _show(
    name: Name,
    settings: Settings = None,
    signals: Annotated[bool, typer.Option("--signals", help="List its signals instead, for requirements.")] = False,
    as_json: Json = False,
) -> None:
    """Print the complete file of a mission, to copy and edit, with what is perfect in it."""
    import tomllib

    from gnc.config import dump
    from gnc.scenarios import display
    from gnc.scenarios.missions.hints import doubts, perfect
    from gnc.scenarios.missions.load import read

    mission = read(name, settings or ())
    if signals:
        return _signals(mission, as_json)
    if as_json:
        return display.tell(tomllib.loads(dump(mission)))
    print(dump(mission), end="")
    print("\n# What the truth shares with flight software here, or leaves out:")
    for line in perfect(mission):
        print(f"# - {line}")
    for line in doubts(mission):
        print(f"# doubtful: {line}")


def _signals(mission: Any, as_json: bool) -> None:
    """List what can be asked for in requirements."""
    import numpy as np

    from gnc.scenarios import display
    from gnc.scenarios.missions import dispersal
    from gnc.scenarios.missions.build import prepare

    prepared = prepare(dispersal.groups(mission, mission.run.seed, np.zeros(1, int))[0], mission.run.seed)
    header = "signal", "unit", "what it is"
    rows = []
    for name, signal in {**prepared.signals, **prepared.innovations}.items():
        words = f": {', '.join(signal.labels)}" if signal.labels else ""
        rows.append((name, signal.unit, f"{signal.about}{words}"))
    rows += [(f"t_{name}", "s", f"when {name} happened") for name in mission.events]
    display.listing(f"signals of {mission.name}; conditions also know t, end and eclipse", header, rows, as_json)


@app.command("parts")
def _parts(
    slot: Annotated[str | None, typer.Argument(help="A slot, such as sensor; by default all.")] = None,
    kind: Annotated[str | None, typer.Argument(help="A kind, such as star-tracker, to list its fields.")] = None,
    as_json: Json = False,
) -> None:
    """List the parts that missions are put together from, or the fields of one."""
    from gnc.scenarios import display
    from gnc.scenarios.missions import catalogue

    rows: list[tuple[str, ...]]
    header: tuple[str, ...]
    if slot is not None and kind is not None:
        rows = list(catalogue.fields(catalogue.part(slot, kind)))
        header = ("field", "default", "value", "what it is")
        title = f"{slot} {kind}: {catalogue.about(catalogue.part(slot, kind))}"
    else:
        slots = [slot] if slot is not None else list(catalogue.PACKAGES)
        parts = [(one, name, part) for one in slots for name, part in catalogue.of_slot(one).items()]
        rows = [(one, name, catalogue.about(part)) for one, name, part in parts]
        header, title = ("slot", "kind", "what it is"), "parts"
    display.listing(title, header, rows, as_json)


@app.command("explain")
def _explain(
    key: Annotated[str, typer.Argument(help="A key, such as sigma_nT or craft.sat.sensors.magnetometer.sigma_nT.")],
    name: Annotated[str, typer.Option("--mission", help="The mission whose values are shown.")] = "pointing",
    as_json: Json = False,
) -> None:
    """Explain a key of a mission's file: its meaning, the values it takes, its value in a mission."""
    from gnc.scenarios import display
    from gnc.scenarios.missions import catalogue
    from gnc.scenarios.missions.load import read

    header = ("where", f"in {name}", "default", "value", "what it is")
    rows = catalogue.explain(key, read(name))
    display.listing(key, ("where", "here", *header[2:]) if as_json else header, rows, as_json)


@app.command("schema")
def _schema() -> None:
    """Print the JSON Schema of a mission's file, for editors."""
    import json

    from gnc.scenarios.missions import catalogue

    print(json.dumps(catalogue.schema(), indent=1))


@app.command("new")
def _new(
    name: Annotated[str, typer.Argument(help="Name of the mission; the file is NAME.toml.")],
    base: Annotated[str, typer.Option(help="The mission it begins with.")] = "pointing",
) -> None:
    """Write a commented file to begin a mission of your own with, and the schema for your editor beside it."""
    import json

    from gnc.files import replacing
    from gnc.scenarios.missions import catalogue

    path, beside = Path(f"{name.removesuffix('.toml')}.toml"), Path("mission.schema.json")
    if path.exists():
        raise InputError(f"{path}: is there already; give another name")
    if not path.parent.is_dir() or not path.stem.replace("_", "").replace("-", "").isalnum():
        raise InputError(f"{name!r}: is no name of a mission; use letters, digits, _ and -, in a folder that is there")
    text = catalogue.new(path.stem, base)
    for file, content in ((beside, json.dumps(catalogue.schema())), (path, text)):
        with replacing(file) as temporary:
            temporary.write_text(content, encoding="utf-8")
    print(f"wrote {path}; fly it: gnc run {path}")


@app.command("run")
def _fly(
    name: Name,
    settings: Settings = None,
    seed: Seed = None,
    trials: Annotated[int | None, typer.Option(min=1, help="Number of trials [that of the file].")] = None,
    trial: Annotated[
        int | None, typer.Option(min=0, help="Fly this trial alone, with the bits that it has among others.")
    ] = None,
    out: Annotated[Path | None, typer.Option(help="Directory of the results [out/run/NAME].")] = None,
    code: Code = None,
    figures: Annotated[bool, typer.Option("--figures/--no-figures", help="Draw the flight.")] = True,
    as_json: Json = False,
) -> None:
    """Fly a mission in closed loop; leave a table, figures and labelled results."""
    from gnc.scenarios import display, progress, run
    from gnc.scenarios.missions.flight import fly
    from gnc.scenarios.missions.load import read

    if trial is not None and trials is not None:
        raise InputError("give --trials or --trial, not both")
    changes = [f"run.{key}={value}" for key, value in (("seed", seed), ("trials", trials)) if value is not None]
    mission = read(name, [*(settings or ()), *changes])
    folder = out if out is not None else Path("out", "run", mission.name)
    with progress.bar(mission.name) as moved:
        options: Any = {"progress": moved, "ready": lambda: run.try_directory(folder), "flight_code": _code(code)}
        flight = fly(mission, None if trial is None else [trial], **options)
        flight.verdict.hints += run.chance(flight) if code is None else []
        flight = run.write(flight, folder, figures)
    if as_json:
        display.tell(run.report(flight))
    else:
        run.show(flight)
    if flight.interrupted:
        t = float(flight.recorded["time"].values[-1])
        raise Stopped(f"stopped at {t:g} s of {mission.run.duration_s:g} s; {folder} has what was flown")
    if not flight.verdict.ok:
        raise typer.Exit(CHECK_FAILED)


def _code(place: str | None) -> Any:
    """Return where flight code is, if there is any."""
    if place is None:
        return None
    from gnc.scenarios.missions.flight_code import FlightCode

    folder, at, wire = place.partition("@")
    alone = place.startswith(("pipe:", "tcp:"))
    return FlightCode(place if alone else f"{Path(folder).resolve()}{at}{wire}")


@app.command("report")
def _report(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Results of run, monte-carlo, covariance or replay.")],
    trial: Annotated[
        int | None,
        typer.Option(min=0, help="Trial to show [the first, of a campaign the worst]."),
    ] = None,
    out: Annotated[Path | None, typer.Option(help="The file [DIR/report.html].")] = None,
    pdf: Annotated[bool, typer.Option("--pdf", help="Print a PDF by a browser, if one is installed.")] = False,
) -> None:
    """Write one HTML page with tables, plots and 3-D playback; it needs no network."""
    from gnc.scenarios.report import results

    path = out if out is not None else folder / ("report.pdf" if pdf else "report.html")
    if pdf and path.suffix.lower() != ".pdf":
        raise InputError(f"--out {path}: a PDF is called .pdf; give such a name, or leave --pdf out")
    results.write(folder, path, trial)
    print(f"wrote {path}")


@app.command("monte-carlo")
def _monte_carlo(
    name: Annotated[str | None, MISSION] = None,
    settings: Settings = None,
    seed: Seed = None,
    trials: Annotated[int | None, typer.Option(min=1, help="Number of trials [that of the file].")] = None,
    workers: Annotated[int, typer.Option(min=1, help="Number of processes; 1: this process alone.")] = 2,
    engine: Annotated[str, typer.Option(help="Where trials fly: local, or dask for a cluster.")] = "local",
    address: Annotated[str | None, typer.Option(help="Dask scheduler [a cluster of this machine].")] = None,
    out: Annotated[Path | None, typer.Option(help="Directory of the results [out/monte-carlo/NAME].")] = None,
    resume: Annotated[Path | None, typer.Option(help="Go on with the campaign of this directory.")] = None,
    code: Code = None,
    chunk: Annotated[int | None, typer.Option(min=1, help="Number of trials flown together [what fits].")] = None,
    until_ci: Annotated[
        float | None, typer.Option(min=1e-6, max=1.0, help="Stop when the 95 % interval of success is this narrow.")
    ] = None,
    export: Annotated[list[Path] | None, typer.Option(help="Table of all trials: .csv, .parquet or .mat.")] = None,
    as_json: Json = False,
) -> None:
    """Fly many dispersed trials; statistics, worst trials, bands; survives a kill."""
    from gnc.scenarios import display, monte_carlo, progress

    mission, folder = monte_carlo.resolve(name, settings or (), seed, trials, out, resume)
    with progress.bar(mission.name) as moved:
        outcome = monte_carlo.run(
            mission,
            folder,
            resume=resume is not None,
            on=monte_carlo.engine(engine, workers, address),
            chunk_size=chunk,
            until_ci=until_ci,
            exports=export or (),
            flight_code=_code(code),
            progress=monte_carlo.told(moved),
        )
    if as_json:
        display.tell(monte_carlo.report(outcome))
    else:
        monte_carlo.show(outcome)
    if not outcome.ok:
        raise typer.Exit(CHECK_FAILED)


app.command("covariance")(covariance)
app.command("sweep")(sweep)
app.add_typer(study, name="study")
app.add_typer(design, name="design")
app.command("export")(export)


@app.command("simulate")
def _simulate(
    name: Name,
    log: Annotated[Path, typer.Option(help="File of the log: .csv, .parquet, .h5, .npz or .mat.")],
    settings: Settings = None,
    seed: Seed = None,
    trial: Annotated[int, typer.Option(min=0, help="Which trial is flown.")] = 0,
    as_json: Json = False,
) -> None:
    """Fly one trial and write its measurements as a log for gnc replay, with the configuration beside it."""
    from gnc.scenarios import display, progress, simulate
    from gnc.scenarios.missions.load import read

    simulate.check_log(name, log)
    mission = read(name, [*(settings or ()), *([] if seed is None else [f"run.seed={seed}"])])
    with progress.bar(mission.name) as moved:
        outcome = simulate.simulate(mission, trial, log, moved)
    if as_json:
        display.tell(outcome.report())
    else:
        simulate.show(outcome)
    if outcome.interrupted:
        raise Stopped(f"stopped at {outcome.until_s:g} s of {mission.run.duration_s:g} s; {log} has what was flown")


app.command("replay")(replay)
app.command("tune")(tune)
app.command("calibrate")(calibrate)


@app.command("reproduce")
def _reproduce(
    case: Annotated[str | None, typer.Argument(help="paper/figure, or a paper; none: list them.")] = None,
    run_all: Annotated[bool, typer.Option("--all", help="Run every case.")] = False,
    as_json: Json = False,
    out: Annotated[Path | None, typer.Option(help="Directory of the figures [out/reproduce/CASE].")] = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of cases that draw random numbers.")] = 0,
) -> None:
    """Run an experiment of a source paper and compare its numbers."""
    from gnc.scenarios import papers

    if case is not None and run_all:
        raise InputError(f"give the case {case!r} or --all, not both")
    if case is None and not run_all:
        _list(as_json)
        return
    chosen = papers.cases() if case is None else papers.find(case)
    if not _run(chosen, seed, out, as_json, single=case is not None and "/" in case):
        raise typer.Exit(CHECK_FAILED)


def _run(chosen: "list[Case]", seed: int, out: Path | None, as_json: bool, single: bool) -> bool:
    """Run the cases and tell the outcome; whether all checks hold."""
    from gnc.scenarios import display, reproduce

    outcomes = []
    for case in chosen:
        outcomes.append((case, *reproduce.reproduce(case, seed, out)))
        if not as_json:
            reproduce.show(*outcomes[-1])
    if as_json:
        reports = [reproduce.report(*outcome) for outcome in outcomes]
        display.tell(reports[0] if single else {"cases": reports})
    return all(result.ok for _, result, _ in outcomes)
