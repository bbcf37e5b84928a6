"""The command `gnc study`."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gnc.errors import InputError

if TYPE_CHECKING:
    from gnc.scenarios.study.attitude import Tumble

app = typer.Typer(add_completion=False, rich_markup_mode=None, help="Studies over many trials.")


@app.callback()
def _study() -> None:
    """Study how filters behave over many trials."""


Filters = Annotated[str | None, typer.Option(help="Names with commas between; see docs/studies.md.")]
Rates = Annotated[str, typer.Option(help="Sample rates [Hz] with commas between, 1/3 too.")]
Trials = Annotated[int, typer.Option(help="Trials at every point.")]
Prior = Annotated[float, typer.Option(min=0, help="Error of the first rate, each axis [deg/s].")]
Duration = Annotated[float, typer.Option(min=1, help="Length of a trial [s]; errors count in its second half.")]
SigmaDeg = Annotated[float | None, typer.Option(help="Noise of each component of a direction, or of a pose's turn.")]
SigmaArcsec = Annotated[float | None, typer.Option(help="The same in seconds of arc.")]
Moments = Annotated[str, typer.Option(help="Three moments, or xx,yy,zz,xy,xz,yz [kg m^2].")]
Tumbling = Annotated[str, typer.Option(help="First rate, body axes [deg/s].")]
Vectors = Annotated[str, typer.Option(help="Measured directions, inertial: '1,0,0;0,1,0'.")]
Json = Annotated[bool, typer.Option("--json", help="Machine-readable result on standard output.")]
Seed = Annotated[int, typer.Option(min=0)]
Out = Annotated[Path, typer.Option(help="Directory of table and figure.")]

J, W0, TWO = "1,2,3", "4,-5,6", "1,0,0;0,1,0"
RATES, DURATION_S = "10,5,2,1,0.5,0.2,0.1", 300.0


@app.command("sample-rate")
def sample_rate(
    mission: Annotated[str | None, typer.Argument(help="A mission in closed loop; none: a free tumble.")] = None,
    problem: Annotated[
        str,
        typer.Option(help="attitude: two directions; pose: a camera on a tumbling target; damper, potential, tree."),
    ] = "attitude",
    filters: Filters = None,
    rates: Rates = RATES,
    trials: Trials = 100,
    accuracy_deg: Annotated[float, typer.Option(help="The RMS error that the advice is for.")] = 0.5,
    prior_deg_s: Prior = 0.5,
    duration_s: Duration = DURATION_S,
    sigma_deg: SigmaDeg = None,
    sigma_arcsec: SigmaArcsec = None,
    sigma_mm: Annotated[float, typer.Option(min=1e-6, help="Noise of each component of a position, pose.")] = 10.0,
    inertia: Moments = J,
    w0_deg_s: Tumbling = W0,
    vectors: Vectors = TWO,
    target_deg_s: Annotated[float, typer.Option(min=0, help="Tumble of the target, pose [deg/s].")] = 3.0,
    outliers: Annotated[float, typer.Option(min=0, max=0.9, help="Fraction of wild measurements.")] = 0.0,
    drop_outs: Annotated[float, typer.Option(min=0, max=0.9, help="Fraction of missing measurements.")] = 0.0,
    inertia_error: Annotated[
        float, typer.Option(min=0, max=0.1, help="Relative error of the inertia that filters believe in.")
    ] = 0.0,
    psd: Annotated[float | None, typer.Option(min=0, help="Process noise of all filters [N^2 m^2 s].")] = None,
    requirement: Annotated[str | None, typer.Option(help="Requirement of the mission that must be met.")] = None,
    sensors: Annotated[str, typer.Option(help="Sensors of the mission whose rates change, commas between [all].")] = "",
    controller: Annotated[bool, typer.Option(help="Change the rate of commands too.")] = False,
    flights: Annotated[int, typer.Option(min=1, help="Typical flights of covariance at most, at every point.")] = 4,
    settings: Annotated[
        list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Change a field of the mission.")
    ] = None,
    as_json: Json = False,
    seed: Seed = 0,
    out: Out = Path("out/study/sample-rate"),
) -> None:
    """Measure error, bound and NEES of filters against the sample rate, of a mission or on a body that tumbles."""
    if mission is not None:
        words = (requirement, sensors, controller, flights, settings or [])
        return _of_mission(mission, filters, rates, trials, words, seed, out, as_json)
    if requirement or sensors or controller or settings:
        raise InputError("--requirement, --sensors, --controller, --set: are those of a mission; give its name")
    from gnc.scenarios.study import options, pose, show, system_problems
    from gnc.scenarios.study.filters import ATTITUDE, POSE, chosen
    from gnc.scenarios.study.sample_rate import Problem, advice, check, study

    systems = system_problems.PROBLEMS
    if problem not in ("attitude", "pose", *systems):
        raise InputError(f"--problem: {problem!r} is none of attitude, pose, {', '.join(systems)}")
    if problem != "attitude" and (
        outliers or drop_outs or inertia_error or (inertia, w0_deg_s, vectors) != (J, W0, TWO)
    ):
        raise InputError(
            "--outliers, --drop-outs, --inertia-error, --inertia, --w0-deg-s, --vectors: for the attitude problem"
        )
    studied: Problem = pose.Target(
        prior_deg_s=prior_deg_s,
        duration_s=duration_s,
        w_deg_s=target_deg_s,
        sigma_deg=options.sigma_deg(sigma_deg, sigma_arcsec, 0.5),
        sigma_m=1e-3 * sigma_mm,
    )
    if problem == "attitude":
        noise = options.sigma_deg(sigma_deg, sigma_arcsec, 1.0)
        studied = replace(
            _tumble(noise, prior_deg_s, duration_s, inertia, w0_deg_s, vectors),
            outliers=outliers,
            drop_outs=drop_outs,
            inertia_error=inertia_error,
        )
    known = system_problems.FILTERS.get(problem, ATTITUDE if problem == "attitude" else POSE)
    if problem in systems:
        studied = systems[problem](**({} if duration_s == DURATION_S else {"duration_s": duration_s}))
        rates = system_problems.RATES[problem] if rates == RATES else rates
    wanted, rates_hz = chosen(filters.split(",") if filters else None, known), options.numbers("--rates", rates)
    if not inertia_error and any(f.finds_inertia for f in wanted):
        raise InputError("--filters: mekf-inertia looks for an unknown inertia; say how wrong, --inertia-error 0.02")
    check(studied, rates_hz, trials)
    with _progress(len(wanted) * len(rates_hz)) as step:
        points = list(study(studied, wanted, rates_hz, trials, seed, psd, step))
    files, said = show.write(points, out), advice(points, accuracy_deg)
    if not as_json:
        show.table(points)
    result = {"study": "sample-rate", "problem": problem, "seed": seed, "points": [asdict(p) for p in points]}
    _tell(result, said, files, as_json)


def _of_mission(
    name: str, filters: str | None, rates: str, trials: int, words: Any, seed: int, out: Path, as_json: bool
) -> None:
    """Study a mission in closed loop."""
    from gnc.scenarios.missions.load import read
    from gnc.scenarios.progress import bar
    from gnc.scenarios.study import missions, options

    wanted, sensors, controller, flights, settings = words
    flown = read(name, [*settings, f"run.seed={seed}"])
    asked, rates_hz = missions.requirement(flown, wanted), options.numbers("--rates", rates)
    kinds = filters.split(",") if filters else []
    how = {"sensors": tuple(filter(None, sensors.split(","))), "controller": controller, "flights": flights}
    with bar(f"{len(rates_hz) * max(len(kinds), 1)} points") as step:
        points = missions.study(flown, rates_hz, kinds, asked, out, trials=trials, progress=step, **how)
    files = missions.write(points, flown, asked, out)
    if not as_json:
        missions.show(points)
    told = {"study": "sample-rate", "mission": flown.name, "requirement": asked, "seed": seed}
    _tell({**told, "points": [asdict(p) for p in points]}, missions.advice(points), files, as_json)


@app.command("noise")
def noise(
    filters: Filters = None,
    rates: Rates = "1,0.2,0.1,0.05",
    sigmas_arcsec: Annotated[
        str, typer.Option(help="Noise of the directions [arc seconds], commas between.")
    ] = "3600,360,36,3.6,1.1",
    trials: Trials = 200,
    prior_deg_s: Prior = 0.5,
    duration_s: Duration = 300.0,
    inertia: Moments = J,
    w0_deg_s: Tumbling = W0,
    vectors: Vectors = TWO,
    as_json: Json = False,
    seed: Seed = 0,
    out: Out = Path("out/study/noise"),
) -> None:
    """Map NEES and RMS error of filters over sensor noise and sample rate."""
    from gnc.scenarios.study import grid, options

    cases = [
        grid.Case(f'{s:g}"', s, _tumble(s / 3600.0, prior_deg_s, duration_s, inertia, w0_deg_s, vectors))
        for s in options.numbers("--sigmas-arcsec", sigmas_arcsec)
    ]
    _studied("noise", "noise", cases, filters, rates, trials, seed, out, as_json, grid.draw_map)


@app.command("duration")
def duration(
    filters: Filters = None,
    rates: Rates = "0.1",
    durations_s: Annotated[str, typer.Option(help="Lengths of a trial [s], commas between.")] = "300,600,1200,1800",
    trials: Trials = 500,
    sigma_deg: SigmaDeg = None,
    sigma_arcsec: SigmaArcsec = None,
    prior_deg_s: Prior = 0.5,
    inertia: Moments = J,
    w0_deg_s: Tumbling = W0,
    vectors: Vectors = TWO,
    as_json: Json = False,
    seed: Seed = 0,
    out: Out = Path("out/study/duration"),
) -> None:
    """Measure NEES and RMS error of filters against the duration: false information adds up as sigma^2 t."""
    from gnc.scenarios.study import grid, options

    sigma = options.sigma_deg(sigma_deg, sigma_arcsec, 1.0)
    cases = [
        grid.Case(f"{t:g} s", t, _tumble(sigma, prior_deg_s, t, inertia, w0_deg_s, vectors))
        for t in options.numbers("--durations-s", durations_s)
    ]
    draw = partial(grid.draw_lines, what="duration [s]", log=False)
    _studied("duration", "duration", cases, filters, rates, trials, seed, out, as_json, draw)


@app.command("bodies")
def bodies(
    filters: Filters = None,
    rates: Rates = "1,0.2,0.1",
    count: Annotated[int, typer.Option(min=1, help="Random inertias and axes of tumble.")] = 20,
    trials: Trials = 500,
    sigma_deg: SigmaDeg = None,
    sigma_arcsec: SigmaArcsec = None,
    prior_deg_s: Prior = 0.5,
    duration_s: Duration = 300.0,
    as_json: Json = False,
    seed: Seed = 0,
    out: Out = Path("out/study/bodies"),
) -> None:
    """Measure NEES and RMS error of filters over random bodies and axes of tumble."""
    from gnc.scenarios.study import grid, options

    tumble = _tumble(options.sigma_deg(sigma_deg, sigma_arcsec, 1.0), prior_deg_s, duration_s, J, W0, TWO)
    drawn = options.random_bodies(tumble, count, seed)
    cases = [grid.Case(f"body {i}", float(i), problem) for i, problem in enumerate(drawn)]
    draw = partial(grid.draw_lines, what="body", log=False)
    _studied("bodies", "body", cases, filters, rates, trials, seed, out, as_json, draw)


@app.command("chart")
def chart(
    filters: Filters = "mekf-exact,mekf-iterated,mekf-sigma,mekf-conserved-once,mekf-conserved",
    rates: Rates = "0.1",
    sigmas_deg: Annotated[str, typer.Option(help="Noise of the directions [deg], commas between.")] = "0.5,1,2",
    durations_s: Annotated[str, typer.Option(help="Lengths of a trial [s], commas between.")] = "300,900,1800",
    trials: Trials = 1000,
    as_json: Json = False,
    seed: Seed = 0,
    out: Out = Path("out/study/chart"),
) -> None:
    """Show why a chart matters: NEES of the usual filters is too large by about sigma^2 t, docs/conserved_chart.md."""
    from gnc.scenarios.study import grid, options

    cases = [
        grid.Case(f"{s:g} deg, {t:g} s", s * s * t, _tumble(s, 0.5, t, J, W0, TWO))
        for s in options.numbers("--sigmas-deg", sigmas_deg)
        for t in options.numbers("--durations-s", durations_s)
    ]
    _studied("chart", "noise, duration", cases, filters, rates, trials, seed, out, as_json, grid.draw_excess)


def _tumble(sigma: float, prior_deg_s: float, duration_s: float, inertia: str, w0_deg_s: str, vectors: str) -> Tumble:
    """Return the attitude problem that options ask for."""
    from gnc.scenarios.study import options
    from gnc.scenarios.study.attitude import Tumble

    x, y, z = options.numbers("--w0-deg-s", w0_deg_s, (3,))
    return Tumble(
        options.inertia(inertia),
        (x, y, z),
        duration_s,
        sigma,
        prior_deg_s,
        vectors=options.vectors(vectors),
    )


def _studied(
    name: str, what: str, cases: list[Any], filters: str | None, rates: str, trials: int, seed: int, out: Path,
    as_json: bool, draw: Callable[..., None],
) -> None:  # fmt: skip
    """Run a grid, and show it."""
    from gnc.scenarios.study import grid, options
    from gnc.scenarios.study.filters import ATTITUDE, chosen
    from gnc.scenarios.study.sample_rate import check

    rates_hz = options.numbers("--rates", rates)
    wanted = chosen(filters.split(",") if filters else ["mekf-exact", "mekf-conserved"], ATTITUDE)
    for case in cases:
        check(case.problem, rates_hz, trials)
    with _progress(len(cases) * len(wanted) * len(rates_hz)) as step:
        cells = list(grid.cells(cases, wanted, rates_hz, trials, seed, step))
    files = grid.write(out, name, cells, draw)
    if not as_json:
        grid.table(f"accuracy and consistency, {name}", what, cells)
    _tell({"study": name, "seed": seed, "points": grid.as_points(cells)}, grid.summary(cells), files, as_json)


def _tell(result: dict[str, Any], said: str, files: list[Path], as_json: bool) -> None:
    """Print what was found, for programs or for people."""
    from gnc.scenarios import display

    if as_json:
        display.tell({**result, "advice": said, "files": [str(path) for path in files]})
        return
    print(said)
    for path in files:
        print(f"wrote {path}")


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
