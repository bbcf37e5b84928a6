"""The command `gnc sweep`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from gnc.errors import InputError
from gnc.scenarios.covariance.command import Json, Name, Settings


def sweep(
    name: Name,
    over: Annotated[list[str], typer.Option(help="FIELD=VALUES: sensors.*.rate_hz=10,1,1/30 or low:high:count[:log].")],
    by: Annotated[str, typer.Option(help="Method: covariance, or monte-carlo.")] = "covariance",
    settings: Settings = None,
    trials: Annotated[int, typer.Option(min=1, help="Trials of Monte Carlo at every point.")] = 100,
    flights: Annotated[int, typer.Option(min=1, help="Typical flights at most, at every point.")] = 4,
    latin: Annotated[int, typer.Option(min=0, help="Points of a Latin hypercube in place of the grid.")] = 0,
    workers: Annotated[int, typer.Option(min=1)] = 2,
    out: Annotated[Path | None, typer.Option(help="Directory; a sweep in it goes on [out/sweep/NAME].")] = None,
    as_json: Json = False,
) -> None:
    """Measure every requirement of a mission over values of its fields."""
    from gnc.scenarios import display, progress
    from gnc.scenarios.missions.load import read
    from gnc.scenarios.sweep import show
    from gnc.scenarios.sweep import sweep as sweeping

    if by not in sweeping.WAYS:
        raise InputError(f"--by {by}: is unknown; give {' or '.join(sweeping.WAYS)}")
    mission = read(name, settings or ())
    axes = [sweeping.Axis.of(text, mission) for text in over]
    chosen = sweeping.points(axes, latin, mission.run.seed)
    folder = out or Path("out", "sweep", mission.name)
    way = sweeping.Way(by, trials, flights)
    with progress.bar(f"{len(chosen)} points") as moved:
        missions = sweeping.built(mission, axes, chosen)
        outcomes = list(sweeping.outcomes(missions, way.measure, way.tag, folder, workers, moved))
    data, names = show.dataset(axes, chosen, outcomes, grid=not latin), show.asked(mission, outcomes)
    files = show.write(folder, mission, data, axes, names)
    if as_json:
        at = [dict(zip((axis.pattern for axis in axes), point, strict=True)) for point in chosen]
        rows = [{"point": one, "metrics": metrics} for one, metrics in zip(at, outcomes, strict=True)]
        display.tell({"mission": mission.name, "by": by, "points": rows, "files": [str(f) for f in files]})
        return
    show.show(axes, chosen, outcomes, names)
    for path in files:
        print(f"wrote {path}")
