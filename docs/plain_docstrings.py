"""Docstrings as they are written here, plain text with equations, for Sphinx, which reads reStructuredText."""

from __future__ import annotations

import re
from typing import Any

MARKS = re.compile(r"([\\*|_])")


def process(_app: Any, _what: str, _name: str, _obj: Any, _options: Any, lines: list[str]) -> None:
    """Replace the lines of a docstring by what Sphinx shows as they stand."""
    lines[:] = as_rst(lines)


def as_rst(lines: list[str]) -> list[str]:
    """Return prose with its marks escaped and backticks as code; indented equations and tables as blocks of code."""
    text: list[str] = []
    inside = False
    for before, line in zip(["", *lines], lines, strict=False):
        indented = line.startswith("  ") and (inside or not before.strip())
        if indented and not inside:
            text += ["::", ""]
        if line.strip():
            if inside and not indented:
                text.append("")
            inside = indented
        text.append(line if inside else _prose(line))
    return text


def _prose(line: str) -> str:
    parts = line.split("`")
    return "".join(f"``{part}``" if i % 2 else MARKS.sub(r"\\\1", part) for i, part in enumerate(parts))


def skip_fields(_app: Any, _what: str, _name: str, obj: Any, _skip: bool, _options: Any) -> bool | None:
    """Leave out the fields of named tuples: Python's own docstring of them says nothing."""
    return True if (getattr(obj, "__doc__", None) or "").startswith("Alias for field number") else None
