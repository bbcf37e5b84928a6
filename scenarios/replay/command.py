"""The command `gnc replay`."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from gnc.errors import InputError
from gnc.files import new_folder
from gnc.scenarios.exits import CHECK_FAILED


def replay(
    log: Annotated[Path, typer.Argument(help="CSV, Parquet, HDF5, NPZ or MAT file, or a folder of CSV or Parquet.")],
    config: Annotated[
        Path | None, typer.Option(help="TOML file that maps columns and states the filter; docs/replay.md.")
    ] = None,
    out: Annotated[Path, typer.Option(help="Directory of the results.")] = Path("out/replay"),
    settings: Annotated[
        list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Change a field; repeatable.")
    ] = None,
    smooth: Annotated[bool, typer.Option("--smooth", help="Estimate every time from the whole log.")] = False,
    lag_s: Annotated[float | None, typer.Option(min=0.0, help="Smooth with at least so much of what follows.")] = None,
    inspect: Annotated[
        bool, typer.Option("--inspect", help="List what is in the log, and guess a configuration.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Machine-readable result on standard output.")] = False,
) -> None:
    """Run a filter on recorded data: estimates, consistency, and an account of the data."""
    from gnc.config import override, read
    from gnc.scenarios import display
    from gnc.scenarios.replay import account, folder, wording
    from gnc.scenarios.replay.config import Replay
    from gnc.scenarios.replay.session import connect

    smoothing = [*(["output.smooth=true"] if smooth or lag_s else []), *([f"output.lag_s={lag_s}"] if lag_s else [])]
    if inspect:
        _inspect(log, out, as_json)
        return
    if config is None:
        raise InputError("give --config FILE, or --inspect for a first one")
    chosen = override(read(config, Replay), [*(settings or ()), *smoothing])
    with new_folder(out):
        session = connect(log, chosen, out)
        with _progress() as step:
            session.run(step)
    outcome = account.outcome(session, log)
    outcome["files"] = [str(path) for path in folder.write(session, outcome, out)]
    if as_json:
        display.tell(outcome)
    else:
        wording.tables(outcome)
    if outcome["lost_s"] is not None or outcome["failures"]:
        raise typer.Exit(CHECK_FAILED)


def _inspect(log: Path, out: Path, as_json: bool) -> None:
    """Tell what is in a log, and write a configuration to begin with."""
    from gnc.files import replacing
    from gnc.scenarios import display
    from gnc.scenarios.replay.first_config import starting_config
    from gnc.scenarios.replay.inspect import inspected

    told = inspected(log)
    out.mkdir(parents=True, exist_ok=True)
    with replacing(out / "inspect.toml") as temporary:
        temporary.write_text(starting_config(told), encoding="utf-8")
    if as_json:
        display.tell({"inspect": str(log), "tables": told, "config": str(out / "inspect.toml")})
        return
    for name, table in told.items():
        rate = f", {table['rate_hz']:.4g} Hz in {table['time_unit']!r}, {table['gaps']} gaps" if table["time"] else ""
        rows = [
            (", ".join(g["columns"]), g["kind"] or "?", g.get("unit") or "", f"{g['norm']:.4g}")
            for g in table["guesses"]
        ]
        title = f"table {name!r}: {len(table['columns'])} columns, {table['rows_seen']} rows seen{rate}"
        display.table(title, ("columns", "kind", "unit", "usual length"), rows)
        print("all columns: " + ", ".join(table["columns"]))
        if not table["time"] and "rate_hz" not in table:
            print("it has neither stamps nor a rate: state log.rate_hz")
        for g in table["guesses"]:
            if "range" in g:
                print(f"{', '.join(g['columns'])}: at the end of a range of {g['range']:.5g} {g['unit']}")
            if g.get("like"):
                length = f"usually of length {g['norm']:.3g}, in no unit that a {g['like']} has"
                print(f"{', '.join(g['columns'])}: a {g['like']} by name, {length}: left out; convert the columns")
    print(f"wrote {out / 'inspect.toml'}")


@contextmanager
def _progress() -> Iterator[Callable[[float], None]]:
    """Show the time reached on a terminal, nothing in a pipe."""
    if not sys.stderr.isatty():
        yield lambda t: None
        return
    from rich.console import Console

    with Console(stderr=True).status("reading") as status:
        yield lambda t: status.update(f"reached {t:.6g} s")
