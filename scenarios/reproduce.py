"""Run paper cases: numbers judged, the figure drawn, the outcome as a table or as JSON."""

from dataclasses import asdict
from pathlib import Path
from typing import Any

from gnc.checks import bound_text
from gnc.errors import InputError
from gnc.scenarios.display import number, table
from gnc.scenarios.papers.case import Case, Result
from gnc.scenarios.plots import save_figure


def reproduce(case: Case, seed: int, out: Path | None) -> tuple[Result, list[Path]]:
    """Carry out a case and write its figure to `<out>/<paper>_<figure>.png`; `out/reproduce/<case>` by default."""
    folder = out if out is not None else Path("out", "reproduce", *case.name.split("/"))
    try:  # before the run, which may be long
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"--out {folder}: {error.strerror}; give a directory that can be written") from None
    result = case.run(seed)
    if result.draw is None:
        return result, []
    path = folder / f"{case.name.replace('/', '_')}.png"
    save_figure(result.draw, path)
    return result, [path]


def report(case: Case, result: Result, files: list[Path]) -> dict[str, Any]:
    """The outcome for machines."""
    return {
        "case": case.name,
        "title": case.title,
        "metrics": dict(result.metrics),
        "checks": [{**asdict(check), "source": check.note or case.source} for check in result.checks],
        "files": [str(path) for path in files],
    }


def show(case: Case, result: Result, files: list[Path]) -> None:
    """The outcome for people."""
    rows = [
        (c.name, number(c.value), bound_text(c), "ok" if c.ok else "FAILED", c.note or case.source)
        for c in result.checks
    ]
    table(f"{case.name}: {case.title}", ("check", "value", "bound", "ok", "source"), rows)
    for path in files:
        print(f"wrote {path}")
