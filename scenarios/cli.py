"""The command `gnc`.

Exit code 0: done; 1: ran, and a stated check failed; 2: bad input, with one line on standard error; 130: interrupted.
Whatever is slow to import is imported inside the command that needs it.
"""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gnc import __version__
from gnc.errors import InputError
from gnc.scenarios.design import app as design
from gnc.scenarios.replay.calibrate_command import calibrate
from gnc.scenarios.replay.command import replay
from gnc.scenarios.replay.tune_command import tune
from gnc.scenarios.study.command import app as study

if TYPE_CHECKING:
    from gnc.scenarios.papers.case import Case

CHECK_FAILED, BAD_INPUT, INTERRUPTED = 1, 2, 130

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None)

app.add_typer(study, name="study")
app.add_typer(design, name="design")


class Stopped(Exception):
    """An interrupt that left something, which the message names."""


Json = Annotated[bool, typer.Option("--json", help="Machine-readable result on standard output.")]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    try:
        code = app(arguments, prog_name="gnc", standalone_mode=False) or 0
    except InputError as error:
        return _complain(str(error), BAD_INPUT)
    except typer.TyperException as error:
        return _complain(error.format_message(), BAD_INPUT)
    except Stopped as early:
        return _complain(str(early), INTERRUPTED)
    except (KeyboardInterrupt, typer.Abort):
        code = INTERRUPTED
    return _complain("interrupted", code) if code == INTERRUPTED else code


def _complain(message: str, code: int) -> int:
    print("gnc:", " ".join(message.split()), file=sys.stderr)
    return code


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
) -> None:
    """Structure-preserving integrators, filters and controllers, flown in closed loop."""
    if context.invoked_subcommand is None:
        print(context.get_help())


@app.command("list")
def _list(as_json: Json = False) -> None:
    """List the built-in scenarios and the cases of the papers."""
    from gnc.scenarios import display, papers
    from gnc.scenarios.catalogue import SCENARIOS

    cases = {case.name: case.title for case in papers.cases()}
    if as_json:
        named = {"scenarios": SCENARIOS, "cases": cases}
        print(display.as_json({k: [{"name": n, "title": t} for n, t in v.items()] for k, v in named.items()}))
        return
    display.table("scenarios", ("name", "title"), list(SCENARIOS.items()))
    print()
    display.table("cases (gnc reproduce NAME)", ("name", "title"), list(cases.items()))


Name = Annotated[str, typer.Argument(metavar="NAME|FILE", help="A built-in scenario, or a TOML file.")]
Settings = Annotated[list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Change a field; repeatable.")]
Seed = Annotated[int | None, typer.Option(min=0, help="In place of the configuration's.")]


@app.command("show")
def _show(name: Name, settings: Settings = None) -> None:
    """Print the complete file of a scenario, to copy and edit."""
    from gnc.config import dump
    from gnc.scenarios.run import resolve

    print(dump(resolve(name, settings or ())[1]), end="")


@app.command("run")
def _fly(
    name: Name,
    settings: Settings = None,
    seed: Seed = None,
    trials: Annotated[int | None, typer.Option(min=1, help="How many, in place of the configuration's.")] = None,
    trial: Annotated[int | None, typer.Option(min=0, help="Fly this one alone: the same bits as among others.")] = None,
    out: Annotated[Path | None, typer.Option(help="Directory of the results [out/run/NAME].")] = None,
    as_json: Json = False,
) -> None:
    """Fly a scenario in closed loop; leave a table, figures and labelled results."""
    from gnc.scenarios import display, progress, run

    if trial is not None and trials is not None:
        raise InputError("give --trials or --trial, not both")
    found, config = run.resolve(name, settings or ())
    chosen = [trial] if trial is not None else range(trials or config.trials)
    folder = out if out is not None else Path("out", "run", found.name)
    with progress.bar(found.name) as moved:
        outcome = run.run(found, config, config.seed if seed is None else seed, chosen, folder, moved)
    if as_json:
        print(display.as_json(outcome.report()))
    else:
        run.show(outcome)
    if outcome.interrupted:
        t = float(outcome.flight["time"].values[-1])
        raise Stopped(f"stopped at {t:g} s of {config.duration_s:g} s; {folder} has what was flown")
    if not outcome.ok:
        raise typer.Exit(CHECK_FAILED)


app.command("replay")(replay)
app.command("tune")(tune)
app.command("calibrate")(calibrate)


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
    from gnc.scenarios import display, progress, run, simulate

    simulate.check_log(name, log)
    found, config = run.resolve(name, settings or ())
    chosen = config.seed if seed is None else seed
    with progress.bar(found.name) as moved:
        outcome = simulate.simulate(found, config, chosen, trial, log, moved)
    if as_json:
        print(display.as_json(outcome.report()))
    else:
        simulate.show(outcome)
    if outcome.interrupted:
        print(f"gnc: stopped at {outcome.until_s:g} s of {config.duration_s:g} s", file=sys.stderr)
        raise typer.Exit(INTERRUPTED)


@app.command("report")
def _report(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Results of gnc run, monte-carlo or replay.")],
    trial: Annotated[int | None, typer.Option(min=0, help="Which trial is played back; by default the first.")] = None,
    out: Annotated[Path | None, typer.Option(help="The file [DIR/report.html].")] = None,
) -> None:
    """Write one HTML page with tables, plots and 3-D playback; it needs no network."""
    from gnc.scenarios.report import results

    path = out if out is not None else folder / "report.html"
    results.write(folder, path, trial)
    print(f"wrote {path}")


@app.command("monte-carlo")
def _monte_carlo(
    name: Annotated[str | None, typer.Argument(metavar="NAME|FILE", help="A scenario or TOML file.")] = None,
    settings: Settings = None,
    seed: Seed = None,
    trials: Annotated[int | None, typer.Option(min=1, help="How many, in place of the configuration's.")] = None,
    workers: Annotated[int, typer.Option(min=1, help="Processes; 1: this one.")] = 2,
    engine: Annotated[str, typer.Option(help="local, or dask for a cluster.")] = "local",
    address: Annotated[str | None, typer.Option(help="Of a Dask scheduler; none: a cluster of this machine.")] = None,
    out: Annotated[Path | None, typer.Option(help="Directory of the results [out/monte-carlo/NAME].")] = None,
    resume: Annotated[Path | None, typer.Option(help="Go on with the campaign of this directory.")] = None,
    chunk: Annotated[int | None, typer.Option(min=1, help="Trials flown together; by default as fits.")] = None,
    until_ci: Annotated[
        float | None, typer.Option(min=1e-6, max=1.0, help="Stop when the interval of success is this narrow.")
    ] = None,
    export: Annotated[list[Path] | None, typer.Option(help="Table of all trials: .csv, .parquet or .mat.")] = None,
    as_json: Json = False,
) -> None:
    """Fly many dispersed trials; statistics, worst trials, bands; survives a kill."""
    from gnc.scenarios import display, monte_carlo

    found, config, folder = monte_carlo.resolve(name, settings or (), seed, trials, out, resume)
    with monte_carlo.bar(found.name) as moved:
        campaign = monte_carlo.run(
            found.name,
            config,
            folder,
            resume=resume is not None,
            on=monte_carlo.engine(engine, workers, address),
            chunk_size=chunk,
            until_ci=until_ci,
            exports=export or (),
            progress=moved,
        )
    if as_json:
        print(display.as_json(monte_carlo.report(found.name, campaign, folder)))
    else:
        monte_carlo.show(found.name, campaign, folder)


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
        print(display.as_json(reports[0] if single else {"cases": reports}))
    return all(result.ok for _, result, _ in outcomes)
