"""Results for the eye on a terminal, and plain for a pipe."""

import json
import math
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stdout
from typing import Any, TextIO

_alone: list[TextIO] = []  # standard output, while only `tell` may write there


def printable(text: str) -> str:
    """Return a text that may be a user's in one line, without what steers a terminal."""
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)


def table(title: str, header: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print a table: framed on a terminal, aligned columns without decoration elsewhere."""
    title, rows = printable(title), [tuple(map(printable, row)) for row in rows]
    if not rows:
        print(f"{title}: none")
        return
    if sys.stdout.isatty():
        _framed(title, header, rows)
        return
    widths = [max(len(row[i]) for row in (header, *rows)) for i in range(len(header))]
    print(title)
    for row in (header, *rows):
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())


def listing(title: str, header: Sequence[str], rows: Sequence[Sequence[str]], json: bool) -> None:
    """Print rows as a table, or as JSON by the names of their columns."""
    tell([dict(zip(header, row, strict=True)) for row in rows]) if json else table(title, header, rows)


def as_json(value: Any) -> str:
    """JSON that every parser reads: numbers without a finite value become null."""
    return json.dumps(_plain(value), indent=2, allow_nan=False)


def tell(value: Any) -> None:
    """Print a result as JSON."""
    print(as_json(value), file=_alone[-1] if _alone else sys.stdout)


@contextmanager
def json_alone() -> Iterator[None]:
    """Leave standard output to `tell`: what a user's parts print goes to standard error."""
    _alone.append(sys.stdout)
    try:
        with redirect_stdout(sys.stderr):
            yield
    finally:
        _alone.pop()


def number(value: float) -> str:
    """A number in few characters."""
    return f"{value:.6g}"


def _framed(title: str, header: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    framed = Table(*header, title=escape(title), title_justify="left")
    for row in rows:
        framed.add_row(*map(escape, row), style="bold red" if "FAILED" in row else None)
    Console().print(framed)


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if hasattr(value, "tolist"):  # NumPy scalars and arrays
        return _plain(value.tolist())
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
