"""Numeric fields of a nested configuration by dotted key: `vehicle.mass_kg`, `sensors[1].sigma_deg`, `vehicle.J[0,1]`.

Indices at the end pick one element of an array; the rest of the key is the field.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from gnc.errors import InputError
from gnc.typing import Array

SEGMENT = re.compile(r"([^.\[\]]+)(?:\[(\d+(?:,\d+)*)\])?")


class FieldElement(NamedTuple):
    """A field, and the element of it that is meant; an empty one is the whole field."""

    field: str
    element: tuple[int, ...]


def place(key: str) -> FieldElement:
    """Split a key into its field and the index at its end."""
    *_, (_, index) = _segments(key)
    return FieldElement(key[: key.rindex("[")] if index else key, index)


def look_up(configuration: Mapping[str, Any], key: str) -> Array:
    """The number or array of numbers that a key names."""
    value: Any = configuration
    for name, index in _segments(key):
        value = _member(value, name, key)
        for i in index:
            value = _element(value, i, key)
    return _numbers(value, key)


def _segments(key: str) -> list[tuple[str, tuple[int, ...]]]:
    """Names with the indices after them."""
    matches = [SEGMENT.fullmatch(segment) for segment in key.split(".")]
    if not all(matches):
        raise InputError(f"key: {key!r} is not a dotted key such as vehicle.mass_kg or vehicle.J[0,1]")
    return [(match[1], tuple(map(int, match[2].split(","))) if match[2] else ()) for match in matches if match]


def _member(table: Any, name: str, key: str) -> Any:
    if not isinstance(table, Mapping):
        raise InputError(f"{key}: nothing named {name!r} inside a value")
    if name not in table:
        raise InputError(f"{key}: no {name!r} here; there is {', '.join(map(repr, table)) or 'nothing'}")
    return table[name]


def _element(values: Any, i: int, key: str) -> Any:
    if not isinstance(values, Sequence | np.ndarray) or isinstance(values, str):
        raise InputError(f"{key}: index {i} into something that is not a list")
    if i >= len(values):
        raise InputError(f"{key}: index {i} is too large; there are {len(values)} elements, counted from 0")
    return values[i]


def _numbers(value: Any, key: str) -> Array:
    try:
        values = np.asarray(value)
    except ValueError:
        raise InputError(f"{key}: rows of unequal length; only numbers and arrays of them can be dispersed") from None
    if values.dtype.kind not in "iuf":
        raise InputError(
            f"{key}: {str(value)[:40]!r} is not a number; only numbers and arrays of them can be dispersed"
        )
    return values.astype(np.float64)
