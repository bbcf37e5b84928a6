"""Tables for notebooks: what `_repr_html_` of missions, flights, beliefs and parts gives."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

import numpy as np

LONGEST = 110  # characters of a cell
EDGE = ' style="text-align:left;vertical-align:top"'


def table(title: str, header: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """Return a table as HTML; all of its text is escaped, and short."""
    head = "".join(f"<th{EDGE}>{escape(name)}</th>" for name in header)
    cells = ("".join(f"<td{EDGE}>{escape(short(cell))}</td>" for cell in row) for row in rows)
    body = "".join(f"<tr>{row}</tr>" for row in cells)
    return f"<table><caption{EDGE}>{escape(title)}</caption><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def short(value: Any) -> str:
    """Return a value in few characters: an array by its shape, and its numbers where they are few."""
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, np.ndarray):
        few = np.array2string(value, precision=4, separator=", ") if 0 < value.size <= 4 else ""
        return few or f"array {value.shape}"
    text = str(value)
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 3]}..."


def of_belief(belief: Any) -> str:
    """Return a belief as HTML: each field with its numbers or its shape, and one sigma of the first trial."""
    rows: list[tuple[str, Any]] = [(name, np.asarray(values)) for name, values in belief._asdict().items()]
    C = np.asarray(getattr(belief, "C", np.zeros((0, 0))), float)
    if C.size:
        sigma = np.sqrt(np.diagonal(C, axis1=-2, axis2=-1).reshape(-1, C.shape[-1])[0])
        rows.append(("1 sigma of the first trial", np.array2string(sigma, precision=3)))
    return table(f"{type(belief).__name__}: {trials(belief)}", ("field", "value"), rows)


def trials(belief: Any) -> str:
    """Return how many trials a belief is of, in words."""
    lead = np.shape(getattr(belief, "C", np.zeros((1, 1))))[:-2]
    return "one trial" if not lead else f"{int(np.prod(lead))} trials"
