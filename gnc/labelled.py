"""Arrays with named axes, as far as flying needs them; an xarray Dataset is made of them where one is asked for.

xarray and pandas take as long to load as a flight of an hour; the names here are theirs.

Writing NetCDF-3 with 64-bit offsets, which xarray and everything else reads: the same bytes for the same numbers.

    header   | CDF 2 | records: 0 | dimensions | attributes | variables with their attributes, type, size and place |
    data     each variable by itself, big-endian, filled up to four bytes

Text is an array of characters with an axis more, and says that it is UTF-8; tests are bytes that say they are tests.
Source: NetCDF classic format specification, Unidata.
"""

from __future__ import annotations

import io
from collections.abc import Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, BinaryIO, Union

import numpy as np

if TYPE_CHECKING:
    from xarray import DataArray, Dataset

    Signals = Union["Table", Dataset]  # noqa: UP007
    SignalArray = Union["Labelled", DataArray]  # noqa: UP007


@dataclass(frozen=True)
class Labelled:
    """An array whose axes have names, and labels along some of them."""

    dims: tuple[str, ...]
    values: np.ndarray
    attrs: Mapping[str, Any] = field(default_factory=dict)
    coords: Mapping[str, Labelled] = field(default_factory=dict, repr=False)  # of its table, by axis

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return self.values.ndim

    @property
    def shape(self) -> tuple[int, ...]:
        """The lengths of the axes."""
        return self.values.shape

    @property
    def sizes(self) -> dict[str, int]:
        """The lengths of the axes by name."""
        return dict(zip(self.dims, self.values.shape, strict=True))

    def __getitem__(self, axis: Hashable) -> Labelled:
        """Return the labels along an axis."""
        return self.coords[str(axis)]

    def isel(self, places: Mapping[Any, int | slice] | None = None, **named: int | slice) -> Labelled:
        """Return what is at a place of an axis, or in a slice of it."""
        chosen = {**(places or {}), **named}
        index = tuple(chosen.get(axis, slice(None)) for axis in self.dims)
        left = tuple(axis for axis in self.dims if isinstance(chosen.get(axis, slice(None)), slice))
        coords = {k: x.isel({k: chosen[k]}) if k in chosen and x.dims == (k,) else x for k, x in self.coords.items()}
        return replace(self, dims=left, values=self.values[index], coords=coords)

    def assign_attrs(self, **attributes: Any) -> Labelled:
        """Return the array with other notes."""
        return replace(self, attrs={**self.attrs, **attributes})


class Table:
    """Labelled arrays that share axes."""

    def __init__(self, data: Mapping[str, Any], coords: Mapping[str, Any], attrs: Mapping[str, Any] | None = None):
        """Take arrays as xarray does: (axes, values, notes), or for the labels of an axis just these."""
        self.coords = {name: _labelled(name, content) for name, content in coords.items()}
        self.data_vars = {name: _labelled(name, content, self.coords) for name, content in data.items()}
        self.attrs = dict(attrs or {})

    @classmethod
    def of(cls, dataset: Dataset) -> Table:
        """Return what an xarray Dataset holds."""

        def plain(variables: Any) -> dict[str, Any]:
            return {str(k): (v.dims, v.values, dict(v.attrs)) for k, v in variables.items()}

        return cls(plain(dataset.data_vars), plain(dataset.coords), dataset.attrs)

    def dataset(self) -> Dataset:
        """Return the xarray Dataset."""
        from xarray import Dataset

        def plain(variables: Mapping[str, Labelled]) -> dict[str, Any]:
            return {name: (one.dims, one.values, dict(one.attrs)) for name, one in variables.items()}

        return Dataset(plain(self.data_vars), plain(self.coords), self.attrs)

    @property
    def sizes(self) -> dict[str, int]:
        """The lengths of all axes."""
        return {axis: n for one in (self.coords | self.data_vars).values() for axis, n in one.sizes.items()}

    def __getitem__(self, name: Hashable) -> Labelled:
        return (self.data_vars if name in self.data_vars else self.coords)[str(name)]

    def __setitem__(self, name: str, content: Any) -> None:
        self.data_vars[name] = _labelled(name, content, self.coords)

    def __contains__(self, name: object) -> bool:
        return name in self.data_vars or name in self.coords

    def __iter__(self) -> Iterator[str]:
        return iter(self.data_vars)

    def isel(self, **places: int | slice) -> Table:
        """Return what is at a place of some axes, or in a slice of them."""

        def there(group: Mapping[str, Labelled]) -> dict[str, Labelled]:
            return {k: x.isel({a: p for a, p in places.items() if a in x.dims}) for k, x in group.items()}

        return Table(there(self.data_vars), there(self.coords), self.attrs)

    def items(self) -> Any:
        """Return names and arrays."""
        return self.data_vars.items()


def _labelled(name: str, content: Any, coords: Mapping[str, Labelled] | None = None) -> Labelled:
    if isinstance(content, Labelled):
        return replace(content, coords=coords or {})
    if not isinstance(content, tuple):
        content = (name, content)
    dims, values, *note = content
    axes = (dims,) if isinstance(dims, str) else tuple(map(str, dims))
    return Labelled(axes, np.asarray(values), note[0] if note else {}, coords or {})


DIMENSION, VARIABLE, ATTRIBUTE = 10, 11, 12
CODES = {"i1": 1, "S1": 2, ">i2": 3, ">i4": 4, ">f4": 5, ">f8": 6}
PIECE = 1 << 16  # numbers that are turned round together


def write_netcdf(table: Table, file: BinaryIO) -> None:
    """Write the file of a table, piece by piece: a copy of all numbers would take longer than the disk."""
    variables = {name: _plain(one) for name, one in (table.coords | table.data_vars).items()}
    sizes = {axis: n for one in variables.values() for axis, n in one.sizes.items()}
    numbers = {axis: i for i, axis in enumerate(sizes)}
    dimensions = _list(DIMENSION, [_named(axis) + _word(n) for axis, n in sizes.items()])
    start = b"CDF\x02" + _word(0) + dimensions + _attributes(table.attrs)
    lengths = [one.values.size * int(_kind(one.values)[-1]) for one in variables.values()]

    def header(places: Iterable[int]) -> bytes:
        return start + _list(
            VARIABLE,
            [
                _named(name)
                + b"".join(map(_word, (one.ndim, *(numbers[axis] for axis in one.dims))))
                + _attributes(one.attrs)
                + b"".join(map(_word, (CODES[_kind(one.values)], min(length + -length % 4, 2**32 - 4))))
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
    write_netcdf(table, file)
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


def _word(n: int) -> bytes:
    return int(n).to_bytes(4, "big")


def _filled(raw: bytes) -> bytes:
    return raw + b"\0" * (-len(raw) % 4)


def _named(text: str) -> bytes:
    raw = text.encode()
    return _word(len(raw)) + _filled(raw)


def _list(tag: int, items: list[bytes]) -> bytes:
    return b"".join([_word(tag), _word(len(items)), *items]) if items else bytes(8)


def _attributes(attributes: Mapping[str, Any]) -> bytes:
    entries = []
    for name, value in attributes.items():
        if isinstance(value, str):
            content = _word(CODES["S1"]) + _named(value)
        else:
            array = _plain(Labelled(("",), np.atleast_1d(value))).values
            kind = _kind(array)
            content = _word(CODES[kind]) + _word(array.size) + _filled(array.astype(kind).tobytes())
        entries.append(_named(name) + content)
    return _list(ATTRIBUTE, entries)
