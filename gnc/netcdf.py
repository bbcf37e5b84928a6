"""Writing NetCDF-3 with 64-bit offsets, which xarray and everything else reads: the same bytes for the same numbers.

    header   | CDF 2 | records: 0 | dimensions | attributes | variables with their attributes, type, size and place |
    data     each variable by itself, big-endian, filled up to four bytes

Text is an array of characters with an axis more, and says that it is UTF-8; tests are bytes that say they are tests.
Source: NetCDF classic format specification, Unidata.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from gnc.labelled import Labelled, Table

DIMENSION, VARIABLE, ATTRIBUTE = 10, 11, 12
CODES = {"i1": 1, "S1": 2, ">i2": 3, ">i4": 4, ">f4": 5, ">f8": 6}


def encoded(table: Table) -> bytes:
    """Return the file of a table."""
    variables = {name: _plain(one) for name, one in (table.coords | table.data_vars).items()}
    sizes = {axis: n for one in variables.values() for axis, n in one.sizes.items()}
    numbers = {axis: i for i, axis in enumerate(sizes)}
    dimensions = _list(DIMENSION, [_text(axis) + _number(n) for axis, n in sizes.items()])
    start = b"CDF\x02" + _number(0) + dimensions + _attributes(table.attrs)
    data = [_filled(one.values.tobytes()) for one in variables.values()]

    def header(places: Iterable[int]) -> bytes:
        return start + _list(
            VARIABLE,
            [
                _text(name)
                + b"".join(map(_number, (one.ndim, *(numbers[axis] for axis in one.dims))))
                + _attributes(one.attrs)
                + b"".join(map(_number, (_code(one.values), min(len(block), 2**32 - 4))))
                + place.to_bytes(8, "big")
                for (name, one), block, place in zip(variables.items(), data, places, strict=True)
            ],
        )

    first = len(header([0] * len(data)))
    ends = np.cumsum([first, *map(len, data)]).tolist()
    return b"".join([header(ends[:-1]), *data])


def _plain(one: Labelled) -> Labelled:
    """Return an array as the file has it."""
    values, kind = one.values, one.values.dtype.kind
    if kind == "O":
        values, kind = values.astype(str), "U"
    if kind == "U":
        width = max([1, *(len(text.encode()) for text in values.ravel().tolist())])
        raw = np.array([text.encode() for text in values.ravel().tolist()], f"S{width}")
        letters = raw.view("S1").reshape(*values.shape, width)
        return Labelled((*one.dims, f"string{width}"), letters, {**one.attrs, "_Encoding": "utf-8"})
    if kind == "b":
        return Labelled(one.dims, values.astype("i1"), {**one.attrs, "dtype": "bool"})
    if kind in "iu":
        whole = values.astype(">i4")
        if not np.array_equal(whole, values):
            raise ValueError("a whole number is too large for a NetCDF-3 file")
        return Labelled(one.dims, whole, one.attrs)
    return Labelled(one.dims, values.astype(">f4" if values.dtype == np.float32 else ">f8"), one.attrs)


def _code(values: np.ndarray) -> int:
    return CODES[values.dtype.str.removeprefix("|")]


def _number(n: int) -> bytes:
    return int(n).to_bytes(4, "big")


def _filled(raw: bytes) -> bytes:
    return raw + b"\0" * (-len(raw) % 4)


def _text(text: str) -> bytes:
    raw = text.encode()
    return _number(len(raw)) + _filled(raw)


def _list(tag: int, items: list[bytes]) -> bytes:
    return b"".join([_number(tag), _number(len(items)), *items]) if items else bytes(8)


def _attributes(attributes: Mapping[str, Any]) -> bytes:
    entries = []
    for name, value in attributes.items():
        if isinstance(value, str):
            content = _number(CODES["S1"]) + _text(value)
        else:
            array = _plain(Labelled(("",), np.atleast_1d(value))).values
            content = _number(_code(array)) + _number(array.size) + _filled(array.tobytes())
        entries.append(_text(name) + content)
    return _list(ATTRIBUTE, entries)
