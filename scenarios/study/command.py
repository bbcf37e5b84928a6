"""The command `gnc study`."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from fractions import Fraction
from pathlib import Path
from typing import Annotated

import typer

from gnc.errors import InputError

app = typer.Typer(add_completion=False, rich_markup_mode=None, help="Studies over many trials.")


@app.callback()
def _study() -> None:
    """Study how filters behave over many trials."""


@app.command("sample-rate")
def sample_rate(
    problem: Annotated[
        str, typer.Option(help="attitude: two directions; pose: a camera on a tumbling target.")
    ] = "attitude",
    filters: Annotated[str | None, typer.Option(help="Names with commas between; see docs/studies.md.")] = None,
    rates: Annotated[
        str, typer.Option(help="Sample rates [Hz] with commas between, 1/3 too.")
    ] = "10,5,2,1,0.5,0.2,0.1",
    trials: Annotated[int, typer.Option(help="Trials at every point.")] = 100,
    accuracy_deg: Annotated[float, typer.Option(help="The RMS error that the advice is for.")] = 0.5,
    prior_deg_s: Annotated[float, typer.Option(min=0, help="Error of the first rate, each axis.")] = 0.5,
    duration_s: Annotated[
        float, typer.Option(min=1, help="Length of a trial; errors count in its second half.")
    ] = 300.0,
    outliers: Annotated[float, typer.Option(min=0, max=0.9, help="Fraction of wild measurements.")] = 0.0,
    drop_outs: Annotated[float, typer.Option(min=0, max=0.9, help="Fraction of missing measurements.")] = 0.0,
    inertia_error: Annotated[
        float, typer.Option(min=0, max=0.1, help="Relative error of the inertia that filters believe in.")
    ] = 0.0,
    psd: Annotated[float | None, typer.Option(min=0, help="Process noise of all filters [N^2 m^2 s].")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Machine-readable result on standard output.")] = False,
    seed: Annotated[int, typer.Option(min=0)] = 0,
    out: Annotated[Path, typer.Option(help="Directory of table and figure.")] = Path("out/study/sample-rate"),
) -> None:
    """Measure RMS error, bound and NEES of filters against the sample rate, on a body that tumbles freely."""
    from gnc.scenarios import display
    from gnc.scenarios.study import attitude, pose, show
    from gnc.scenarios.study.filters import ATTITUDE, POSE, chosen
    from gnc.scenarios.study.sample_rate import Problem, advice, check, study

    if problem not in ("attitude", "pose"):
        raise InputError(f"--problem: {problem!r} is neither attitude nor pose")
    if problem == "pose" and (outliers or drop_outs or inertia_error):
        raise InputError("--outliers, --drop-outs and --inertia-error are for the attitude problem")
    studied: Problem = pose.Target(prior_deg_s=prior_deg_s, duration_s=duration_s)
    if problem == "attitude":
        studied = attitude.Tumble(
            prior_deg_s=prior_deg_s,
            duration_s=duration_s,
            outliers=outliers,
            drop_outs=drop_outs,
            inertia_error=inertia_error,
        )
    known = ATTITUDE if problem == "attitude" else POSE
    wanted, rates_hz = chosen(filters.split(",") if filters else None, known), _numbers("--rates", rates)
    if not inertia_error and any(f.finds_inertia for f in wanted):
        raise InputError("--filters: mekf-inertia looks for an unknown inertia; say how wrong, --inertia-error 0.02")
    check(studied, rates_hz, trials)
    with _progress(len(wanted) * len(rates_hz)) as step:
        points = list(study(studied, wanted, rates_hz, trials, seed, psd, step))
    files, said = show.write(points, out), advice(points, accuracy_deg)
    if as_json:
        found = {
            "study": "sample-rate",
            "problem": problem,
            "seed": seed,
            "points": [asdict(p) for p in points],
            "advice": said,
        }
        print(display.as_json({**found, "files": [str(path) for path in files]}))
        return
    show.table(points)
    print(said)
    for path in files:
        print(f"wrote {path}")


def _numbers(option: str, text: str) -> list[float]:
    try:
        return [float(Fraction(part.strip())) for part in text.split(",")]
    except (ValueError, ZeroDivisionError):
        raise InputError(f"{option}: expected numbers with commas between, got {text!r}") from None


@contextmanager
def _progress(total: int) -> Iterator[Callable[[str], None]]:
    """Show a bar on a terminal, nothing in a pipe."""
    if not sys.stderr.isatty():
        yield lambda what: None
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=total + 1)
        yield lambda what: bar.update(task, advance=1, description=what)
