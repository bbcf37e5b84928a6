"""HDF5, NPZ and MAT files: arrays by name, the columns of a table being those with the same prefix."""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from gnc.errors import InputError
from gnc.scenarios.logs.clock import iso_stamps
from gnc.scenarios.logs.tables import Chunk, Table, missing
from gnc.typing import Array

LARGEST_ARRAY = 2**31  # bytes
MATLAB_OWN = "__"  # MATLAB's header entries begin so


class ArrayTable:
    """Arrays (n,) or (n, k), in memory or on disk, of which slices are read."""

    malformed = 0

    def __init__(self, arrays: Mapping[str, Any], scalars: Mapping[str, float] | None = None) -> None:
        self._arrays, self.scalars = dict(arrays), scalars or {}  # numbers beside the arrays, a rate for instance
        self.columns = [
            column
            for name, a in self._arrays.items()
            for column in ([name] if a.ndim == 1 else [f"{name}[{j}]" for j in range(a.shape[1])])
        ]

    def chunks(self, numbers: Sequence[str], stamps: Sequence[str], rows: int) -> Iterator[Chunk]:
        """Read slices of rows; all columns that are asked for must have the same length."""
        parts = {column: _split(column, self._arrays) for column in [*numbers, *stamps]}
        lengths = {column: self._arrays[name].shape[0] for column, (name, _) in parts.items()}
        if len(set(lengths.values())) > 1:
            short, long = min(lengths, key=lengths.__getitem__), max(lengths, key=lengths.__getitem__)
            raise InputError(
                f"columns of one table differ in length: {short!r} has {lengths[short]} rows, {long!r} "
                f"{lengths[long]}; put them into tables of their own"
            )
        total = max(lengths.values(), default=0)
        for start in range(0, total, rows):
            read = {name: np.asarray(self._arrays[name][start : start + rows]) for name, _ in set(parts.values())}
            pick = {column: read[name] if j is None else read[name][:, j] for column, (name, j) in parts.items()}
            yield {c: _numbers(pick[c], c) for c in numbers} | {c: _stamps(pick[c], c) for c in stamps}


def array_tables(path: Path) -> dict[str, Table]:
    """Open a file of arrays and return its tables."""
    suffix = path.suffix.lower()
    arrays = _npz(path) if suffix == ".npz" else _mat(path) if suffix == ".mat" else _hdf5(path)
    tables: dict[str, dict[str, Any]] = {}
    for name, a in arrays.items():
        table, _, column = name.rpartition("/")
        tables.setdefault(table, {})[column] = a
    if not tables:
        raise InputError(f"{path}: there are no arrays in it; expected columns of equal length")
    scalars = _scalars(path, suffix)
    return {name: ArrayTable(columns, scalars) for name, columns in tables.items()}


def _scalars(path: Path, suffix: str) -> dict[str, float]:
    """Return single numbers by name, of NPZ and HDF5 with its attributes; those of MAT are arrays of one row."""
    found: dict[str, Any] = {}
    if suffix == ".npz":
        with np.load(path, allow_pickle=False) as file:
            found = {name: file[name] for name in file.files if not _npy_header(file.zip, name)[0]}
    elif suffix != ".mat":
        import h5py

        with h5py.File(path, "r") as file:
            found = dict(file.attrs) | {n: x[()] for n, x in file.items() if getattr(x, "shape", None) == ()}
    return {n: float(np.ravel(x)[0]) for n, x in found.items() if np.size(x) == 1 and np.asarray(x).dtype.kind in "iuf"}


def _npz(path: Path) -> dict[str, Any]:
    with np.load(path, allow_pickle=False) as file:
        arrays = {name: _NpzArray(path, name, *_npy_header(file.zip, name)) for name in file.files}
    return {name: a for name, a in arrays.items() if a.ndim in (1, 2) and a.shape[0]}


def _npy_header(archive: Any, name: str) -> tuple[tuple[int, ...], Any]:
    """Shape and type of an array, without its numbers."""
    members = archive.namelist()
    with archive.open(name if name in members else f"{name}.npy") as file:
        version = np.lib.format.read_magic(file)
        old = np.lib.format.read_array_header_1_0
        shape, _, dtype = (old if version == (1, 0) else np.lib.format.read_array_header_2_0)(file)
    return shape, dtype


class _NpzArray:
    """An array of an NPZ file, read when it is first asked for: a column that is not used costs nothing."""

    def __init__(self, path: Path, name: str, shape: tuple[int, ...], dtype: Any) -> None:
        self._path, self._name, self.shape, self._dtype = path, name, shape, dtype
        self.ndim = len(shape)

    def __getitem__(self, rows: slice) -> Array:
        return self._whole[rows]

    @functools.cached_property
    def _whole(self) -> Array:
        _check_size(self._path, self._name, self.shape, self._dtype.itemsize)
        with np.load(self._path, allow_pickle=False) as file:
            return file[self._name]


def _check_size(path: Path, name: str, shape: Sequence[int], item_bytes: int) -> None:
    if (size := math.prod(shape) * item_bytes) > LARGEST_ARRAY:
        limit = f"{LARGEST_ARRAY >> 20} MiB of memory at most"
        raise InputError(f"{path}: {name} takes {size >> 20} MiB, {limit}; write the log as HDF5, Parquet or CSV")


def _hdf5(path: Path, turned: bool = False) -> dict[str, Any]:
    try:
        import h5py
    except ImportError:
        raise missing("h5py") from None
    found: dict[str, Any] = {}

    def visit(name: str, item: Any) -> None:
        if not isinstance(item, h5py.Dataset) or item.ndim not in (1, 2) or not item.size:
            return
        if item.external or item.is_virtual:
            raise InputError(f"{path}: {name} lies in another file; write its numbers into the log itself")
        if item.dtype.names:  # a table as PyTables and h5py write it: one dataset with named fields
            found.update({f"{name}/{field}": _Field(item, field) for field in item.dtype.names})
        else:
            found[name] = np.asarray(item).T.squeeze() if turned else item

    file = h5py.File(path, "r")
    file.visititems(visit)
    return {name: a for name, a in found.items() if not name.startswith("#")}  # MATLAB keeps its own there


class _Field:
    """A field of a dataset of records, read by slices."""

    ndim = 1

    def __init__(self, dataset: Any, name: str) -> None:
        self._dataset, self._name, self.shape = dataset, name, dataset.shape

    def __getitem__(self, rows: slice) -> Array:
        return self._dataset[rows][self._name]


def _mat(path: Path) -> dict[str, Any]:
    from scipy.io import loadmat, whosmat

    try:
        for name, shape, _ in whosmat(path):
            _check_size(path, name, shape, 8)
        content = loadmat(path, squeeze_me=True, struct_as_record=True)
    except NotImplementedError:  # version 7.3 is HDF5, with the axes in the other order
        return _hdf5(path, turned=True)
    found: dict[str, Any] = {}
    for name, value in content.items():
        value = np.asarray(value)  # of text and numbers alone loadmat makes Python's
        if name.startswith(MATLAB_OWN) or value.dtype.kind == "U":
            continue
        if value.dtype.names:
            found.update({f"{name}/{field}": np.atleast_1d(value[field].item()) for field in value.dtype.names})
        else:
            found[name] = np.atleast_1d(value)
    return {name: a for name, a in found.items() if a.ndim in (1, 2)}


def _split(column: str, arrays: Mapping[str, Any]) -> tuple[str, int | None]:
    if column in arrays:
        return column, None
    matched = re.fullmatch(r"(.*)\[(\d+)\]", column)
    assert matched is not None  # check_columns has seen the name
    return matched[1], int(matched[2])


def _numbers(values: Array, column: str) -> Array:
    if values.dtype.kind not in "iufb":
        raise InputError(f"column {column!r} of type {values.dtype} holds no numbers; map another column")
    return values.astype(np.float64)


def _stamps(values: Array, column: str) -> Array:
    if values.dtype.kind in "iu":
        return values.astype(np.int64)
    if values.dtype.kind in "SUO":
        return iso_stamps(values)
    return values.astype("datetime64[ns]") if values.dtype.kind == "M" else _numbers(values, column)
