"""Measure gnc beside its peers: `make bench`, or `make bench BENCH=kernels` for a part."""

from __future__ import annotations

import importlib
import sys
from datetime import date
from pathlib import Path

from rich.console import Console
from rich.table import Table

from benchmarks.machine import description
from benchmarks.timing import Row

PARTS = [
    "kernels",
    "algebra",
    "filters",
    "control",
    "multibody",
    "replay",
    "closed_loop",
    "compiler",
    "scaling",
    "accuracy",
    "startup",
]
RESULTS = Path(__file__).with_name("results.md")
COLUMNS = ["case", "figure", "beside", "ratio", "target"]


def cells(row: Row) -> list[str]:
    """Write a figure as a row of the table."""
    ratio = "" if row.ratio is None else f"{row.ratio:.3g}x"
    return [row.case, f"{row.value:.3g} {row.unit}", row.peer, ratio, row.target]


def measure(part: str) -> list[Row]:
    """Run one part; a peer that is not installed is named and left out."""
    try:
        return list(importlib.import_module(f"benchmarks.{part}").rows())
    except ModuleNotFoundError as missing:
        print(f"{part}: skipped, {missing.name} is not installed", file=sys.stderr)
        return []


def write(tables: dict[str, list[Row]]) -> None:
    """Write the tables with the machine they were measured on."""
    lines = ["# Measured", "", f"{date.today()}, {description()}. Each figure is the best of an interleaved run;", ""]
    lines += ["ratio is how many times as long the peer beside it takes. `make bench` regenerates this page.", ""]
    for part, rows in tables.items():
        lines += [f"## {part}", "", f"| {' | '.join(COLUMNS)} |", "|---" * len(COLUMNS) + "|"]
        lines += [f"| {' | '.join(cells(row))} |" for row in rows] + [""]
    RESULTS.write_text("\n".join(lines))


def main(parts: list[str]) -> int:
    """Measure the parts asked for, print them, and write the page when all were measured."""
    unknown = [part for part in parts if part not in PARTS]
    if unknown:
        print(f"benchmarks: no part {unknown[0]!r}; there are {', '.join(PARTS)}", file=sys.stderr)
        return 2
    tables = {}
    for part in parts or PARTS:
        tables[part] = measure(part)
        table = Table(*COLUMNS, title=part)
        for row in tables[part]:
            table.add_row(*cells(row))
        Console().print(table)
    if not parts:
        write(tables)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
