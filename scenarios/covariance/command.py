"""The command `gnc covariance`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from gnc.errors import InputError

Name = Annotated[str, typer.Argument(metavar="NAME|FILE", help="A built-in mission, or a file of your own.")]
Settings = Annotated[list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Change a field; repeatable.")]
Json = Annotated[bool, typer.Option("--json", help="Machine-readable result on standard output.")]


def covariance(
    name: Name,
    settings: Settings = None,
    seed: Annotated[int | None, typer.Option(min=0, help="In place of the file's.")] = None,
    flights: Annotated[int, typer.Option(min=1, help="Typical flights at most; 4 are needed.")] = 40,
    at: Annotated[str | None, typer.Option(help="Times of the table [s], commas between; by default the end.")] = None,
    verify: Annotated[int, typer.Option(min=0, help="Trials of Monte Carlo to compare with.")] = 0,
    rare: Annotated[str | None, typer.Option(help="A requirement: its probability of failure, however small.")] = None,
    sobol: Annotated[
        str | None, typer.Option(help="A requirement: which draws it depends on, by Sobol indices.")
    ] = None,
    trials: Annotated[int, typer.Option(min=100, help="Of --rare.")] = 20_000,
    workers: Annotated[int, typer.Option(min=0, help="Processes; 0: this one.")] = 2,
    out: Annotated[Path | None, typer.Option(help="Directory of the results [out/covariance/NAME].")] = None,
    as_json: Json = False,
) -> None:
    """Carry covariances along typical flights: sigmas, error budget, requirements, what to improve first."""
    from gnc.scenarios import display, progress
    from gnc.scenarios.covariance import analysis, observability, predict, show
    from gnc.scenarios.covariance import rare as tail
    from gnc.scenarios.covariance import verify as verification
    from gnc.scenarios.missions.load import read
    from gnc.scenarios.run import make_directory

    mission = read(name, [*(settings or ()), *([] if seed is None else [f"run.seed={seed}"])])
    if verify == 1:
        raise InputError("--verify 1: a sigma takes at least two trials")
    for option, asked in (("--rare", rare), ("--sobol", sobol)):
        if asked is not None and asked not in mission.requirements:
            raise InputError(f"{option} {asked}: no such requirement; there are {', '.join(mission.requirements)}")
    if rare is not None:
        tail.bound_of(mission, rare)
    if sobol is not None:
        tail.refuse_without_numbers(mission, sobol)
    folder = out or Path("out", "covariance", mission.name)
    times = _times(at, mission.run.duration_s)
    with progress.bar(f"covariance of {mission.name}") as moved:
        lincov = analysis.covariance(mission, most=flights, workers=workers, progress=moved)
    told, left = predict.predictions(lincov)
    ratios: list[verification.Ratio] = []
    if verify:
        with progress.bar(f"{verify} trials") as moved:
            ratios, lost = verification.verify(lincov, verify, moved)
        left = [*left, *([f"lost: {lost} of {verify} trials of Monte Carlo, left out of its sigmas"] if lost else [])]
    sight = observability.observe(lincov)
    chance = tail.rare(lincov, rare, trials) if rare is not None else None
    indices = tail.sobol(lincov, sobol, 2**6) if sobol is not None else {}
    make_directory(folder)
    outcome = show.outcome(lincov, told, left, ratios, times, sight)
    files = show.write(lincov, folder, sight, outcome)
    if as_json:
        result = show.report(lincov, told, left, ratios, times) | {"files": list(map(str, files)), "out": str(folder)}
        seen = {"states": [one._asdict() for one in sight.states], "words": sight.words}
        result |= {"sobol": indices, "rare": None if chance is None else chance._asdict()}
        display.tell({**result, "observability": seen})
        return
    show.show(outcome)
    show.more(rare, chance, indices)
    for path in files:
        print(f"wrote {path}")


def _times(text: str | None, end_s: float) -> list[float]:
    from gnc.scenarios.study.options import numbers

    times = [end_s] if text is None else numbers("--at", text)
    for t in times:
        if not 0.0 <= t <= end_s:
            raise InputError(f"--at: {t:g} s is not within the flight, 0 to {end_s:g} s")
    return times
