"""Writing NetCDF-3 with 64-bit offsets, which xarray and everything else reads: the same bytes for the same numbers.

    header   | CDF 2 | records: 0 | dimensions | attributes | variables with their attributes, type, size and place |
    data     each variable by itself, big-endian, filled up to four bytes

Text is an array of characters with an axis more, and says that it is UTF-8; tests are bytes that say they are tests.
Source: NetCDF classic format specification, Unidata.
"""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, BinaryIO

import numpy as np

from gnc.labelled import Labelled, Table

DIMENSION, VARIABLE, ATTRIBUTE = 10, 11, 12
CODES = {"i1": 1, "S1": 2, ">i2": 3, ">i4": 4, ">f4": 5, ">f8": 6}
PIECE = 1 << 16  # numbers that are turned round together


def write(table: Table, file: BinaryIO) -> None:
    """Write the file of a table, piece by piece: a copy of all numbers would take longer than the disk."""
    variables = {name: _plain(one) for name, one in (table.coords | table.data_vars).items()}
    sizes = {axis: n for one in variables.values() for axis, n in one.sizes.items()}
    numbers = {axis: i for i, axis in enumerate(sizes)}
    dimensions = _list(DIMENSION, [_text(axis) + _number(n) for axis, n in sizes.items()])
    start = b"CDF\x02" + _number(0) + dimensions + _attributes(table.attrs)
    lengths = [one.values.size * int(_kind(one.values)[-1]) for one in variables.values()]

    def header(places: Iterable[int]) -> bytes:
        return start + _list(
            VARIABLE,
            [
                _text(name)
                + b"".join(map(_number, (one.ndim, *(numbers[axis] for axis in one.dims))))
                + _attributes(one.attrs)
                + b"".join(map(_number, (CODES[_kind(one.values)], min(length + -length % 4, 2**32 - 4))))
                + place.to_bytes(8, "big")
                for (name, one), length, place in zip(variables.items(), lengths, places, strict=True)
            ],
        )

    first = len(header([0] * len(lengths)))
    ends = np.cumsum([first, *(length + -length % 4 for length in lengths)]).tolist()
    file.write(header(ends[:-1]))
    for one, length in zip(variables.values(), lengths, strict=True):
        for piece in _pieces(one.values):
            file.write(piece.astype(_kind(piece)).tobytes())
        file.write(bytes(-length % 4))


def encoded(table: Table) -> bytes:
    """Return the file of a table."""
    file = io.BytesIO()
    write(table, file)
    return file.getvalue()


def _pieces(values: np.ndarray) -> Iterator[np.ndarray]:
    """Give an array in pieces along its first axis."""
    if not values.ndim:
        yield values
        return
    rows = max(1, PIECE * len(values) // max(values.size, 1))
    yield from (values[first : first + rows] for first in range(0, len(values), rows))


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
        whole = values.astype("i4")
        if not np.array_equal(whole, values):
            raise ValueError("a whole number is too large for a NetCDF-3 file")
        return Labelled(one.dims, whole, one.attrs)
    return one


def _kind(values: np.ndarray) -> str:
    """Return the type of numbers as the file has them."""
    kind = values.dtype.str[1:]
    return kind if kind in ("i1", "S1") else f">{kind}" if kind in ("i2", "i4", "f4") else ">f8"


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
            kind = _kind(array)
            content = _number(CODES[kind]) + _number(array.size) + _filled(array.astype(kind).tobytes())
        entries.append(_text(name) + content)
    return _list(ATTRIBUTE, entries)
