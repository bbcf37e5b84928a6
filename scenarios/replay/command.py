"""The command `gnc replay`."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from gnc.files import new_folder
from gnc.scenarios.exits import CHECK_FAILED


def replay(
    log: Annotated[Path, typer.Argument(help="CSV, Parquet, HDF5, NPZ or MAT file, or a folder of CSV or Parquet.")],
    config: Annotated[Path, typer.Option(help="TOML file that maps columns and states the filter; docs/replay.md.")],
    out: Annotated[Path, typer.Option(help="Directory of the results.")] = Path("out/replay"),
    settings: Annotated[
        list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Change a field; repeatable.")
    ] = None,
    smooth: Annotated[bool, typer.Option("--smooth", help="Estimate every time from the whole log.")] = False,
    lag_s: Annotated[float | None, typer.Option(min=0.0, help="Smooth with at least so much of what follows.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Machine-readable result on standard output.")] = False,
) -> None:
    """Run a filter on recorded data: estimates, consistency, and an account of the data."""
    from gnc.config import override, read
    from gnc.scenarios import display
    from gnc.scenarios.replay import account, show
    from gnc.scenarios.replay.config import Replay
    from gnc.scenarios.replay.session import connect

    smoothing = [*(["output.smooth=true"] if smooth or lag_s else []), *([f"output.lag_s={lag_s}"] if lag_s else [])]
    chosen = override(read(config, Replay), [*(settings or ()), *smoothing])
    with new_folder(out):
        session = connect(log, chosen, out)
        with _progress() as step:
            session.run(step)
    outcome = account.outcome(session, log)
    outcome["files"] = [str(path) for path in show.write(session, outcome, out)]
    if as_json:
        print(display.as_json(outcome))
    else:
        show.tables(outcome)
    if outcome["lost_s"] is not None or outcome["failures"]:
        raise typer.Exit(CHECK_FAILED)


@contextmanager
def _progress() -> Iterator[Callable[[float], None]]:
    """Show the time reached on a terminal, nothing in a pipe."""
    if not sys.stderr.isatty():
        yield lambda t: None
        return
    from rich.console import Console

    with Console(stderr=True).status("reading") as status:
        yield lambda t: status.update(f"reached {t:.6g} s")
