"""Lines of names, titles and units before the data of a text file."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np

from gnc.errors import InputError

DATE = re.compile(r"\d{4}-\d\d-\d\d")
UNIT = re.compile(r"[\[(].*[\])]|-|1|%|°.*|[uµmnk]?(s|m|T|g|g0|rad|deg|Hz|V|A|K|N|G|gauss)([ */.^]?-?[\w^()-]+)*")


def check_names(columns: list[str], fields: int, path: Path) -> None:
    """Refuse a file without a line of names."""
    if not columns:
        fit = f"write {fields} names without blanks, or separate fields by commas"
        raise InputError(f"{path}: fields are separated by blanks, and no line of as many names is above them; {fit}")
    if all(map(_is_number, filter(None, columns))) and not _are_places(columns):
        raise InputError(f"{path}: the first line has numbers and no names; write a line of column names above it")


def header(lines: list[list[str]]) -> tuple[list[str], dict[str, str], int]:
    """Return the names of the columns, their units, and how many lines come before the data.

    Names are in the line before the data; titles and comments of other lengths are left out, and
    names in two lines, of a sensor and of its axes, are joined.
    """
    clean = [[field.strip().strip('"') for field in fields] for fields in lines]
    first = next((i for i, fields in enumerate(clean) if i and _is_data(fields, max(map(len, clean)))), 1)
    named = [f for f in clean[:first] if len(f) == len(clean[min(first, len(clean) - 1)]) and any(f)] or clean[:1]
    units = list[str]()
    if len(named) > 1 and 2 * sum(bool(UNIT.fullmatch(f)) for f in named[-1] if f) >= sum(map(bool, named[-1])):
        units, named = [field.strip("[]()") for field in named[-1]], named[:-1]
    named = named[-1:] if len(set(named[-1])) == len(named[-1]) else named[-2:]
    names = ["_".join(filter(None, parts)) for parts in zip(*named, strict=True)]
    return names, dict(zip(names, units, strict=False)), first


def _is_data(fields: list[str], most: int) -> bool:
    """Tell whether a line has as many fields as any, at least half of what is filled being numbers or dates."""
    filled = [f for f in fields if f]
    return len(fields) == most and bool(filled) and 2 * sum(map(_is_number, filled)) >= len(filled)


def _is_number(field: str) -> bool:
    """Tell whether a field is a number or a date."""
    return bool(np.isfinite(number(field))) or field.lower() == "nan" or bool(DATE.match(field))


def _are_places(names: list[str]) -> bool:
    """Tell whether columns are named 0, 1, 2 and so on."""
    named = list(filter(None, names))  # those of an index have none
    return named == [str(i) for i in range(len(named))]


def separated_by_blanks(lines: list[str]) -> bool:
    """Tell whether nothing but blanks can separate the fields of the data."""
    last = [line for line in lines if line.strip()][-1]
    return not re.search(r"[,;\t]", last) and len(last.split()) > 1


def fields_of(lines: list[str]) -> list[list[str]]:
    """Return fields that blanks separate, none of lines that have another number than the data."""
    rows = [line.removeprefix("#").split() for line in lines]
    many = len([row for row in rows if row][-1])
    return [row if len(row) == many else [] for row in rows]


def number(text: Any) -> float:
    """Return the number of a field: NaN where there is none, infinite where the text is no number."""
    try:
        return np.nan if text is None else float(text)
    except (TypeError, ValueError):
        return np.inf
