"""Records of floats that are appended to a file as they come: a netCDF file that xarray opens, and a CSV beside it.

The netCDF is of the classic format with a record dimension `time`, whose coordinate is the time, and labels along the
others: a header, then one record after the other. The
header is written by scipy; records are NumPy's own bytes, so memory does not grow, and reading back is a memory map.
"""

from __future__ import annotations

import io
import os
import struct
from collections.abc import Callable, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal

import numpy as np

from gnc.errors import InputError
from gnc.files import replacing

Array = Any
TIME = "time"
MOST_CSV, ROWS = 20_000, 4096  # records of which there is a CSV by default, and at a time
LABELS = {
    "axis": tuple("xyz"),
    "quaternion": tuple("wxyz"),
    "dual_quaternion": tuple(f"{part}_{c}" for part in ("real", "dual") for c in "wxyz"),
}
Shapes = Mapping[str, tuple[int, ...]]  # of one record


class Records:
    """A file of records being written; it appears under its name when it is closed."""

    def __init__(self, path: Path, shapes: Shapes, attributes: Mapping[str, str], csv: bool | None) -> None:
        known = find_spec("pyarrow") is not None
        if csv and not known:
            raise InputError("output.csv needs pyarrow: pip install pyarrow, or set it to false")
        self.path, self.count, self._csv = path, 0, csv if known else False
        self.dtype = np.dtype([(name, ">f8", shape) for name, shape in shapes.items()])
        self._temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
        self._file = self._temporary.open("w+b")
        self._file.write(_header(shapes, attributes, self.dtype.itemsize))

    def append(self, columns: Mapping[str, Array]) -> None:
        """Add records, a column (n, *shape) for each name."""
        n = len(columns["t"])
        records = np.empty(n, self.dtype)
        for name in self.dtype.names or ():
            records[name] = columns.get(name, np.nan)
        self._file.write(records.view(np.uint8).data)
        self.count += n

    def close(self, keep: bool = True, beside: Callable[[Array], Mapping[str, Array]] | None = None) -> None:
        """State the number of records in the header, put the file in its place, and a CSV of few records beside it.

        `beside` returns columns at times, which are filled in.
        """
        self._file.seek(4)
        self._file.write(struct.pack(">i", self.count))
        self._file.close()
        if not keep:
            self._temporary.unlink(missing_ok=True)
            return
        os.replace(self._temporary, self.path)
        records = self.mapped("r+")
        for start in range(0, self.count if beside else 0, ROWS):
            part = records[start : start + ROWS]
            for name, column in beside(part["t"].astype(float)).items():  # type: ignore[misc]
                part[name] = column
        if self.count <= MOST_CSV if self._csv is None else self._csv:
            write_csv(self.path.with_suffix(".csv"), records)
        else:
            self.path.with_suffix(".csv").unlink(missing_ok=True)  # of an earlier replay

    def mapped(self, mode: Literal["r", "r+"] = "r") -> Array:
        """Map the records of the closed file into memory."""
        return _mapped(self.path, self.dtype, self.count, mode)


def _mapped(path: Path, dtype: np.dtype[Any], count: int, mode: Literal["r", "r+"] = "r") -> Array:
    start = path.stat().st_size - count * dtype.itemsize
    return np.memmap(path, dtype, mode, start, count) if count else np.empty(0, dtype)


def opened(path: Path) -> tuple[Array, dict[str, str]]:
    """Map the records of a file that was written before, and return its attributes too."""
    from scipy.io import netcdf_file

    try:
        with netcdf_file(path, "r", mmap=False) as file:
            records = {name: v for name, v in file.variables.items() if v.dimensions[0] == TIME}
            shapes = [("t" if name == TIME else name, ">f8", v.shape[1:]) for name, v in records.items()]
            count = len(file.variables[TIME].data)
            attributes = {key: getattr(file, key).decode() for key in file._attributes}
    except (OSError, KeyError, TypeError, ValueError) as error:
        raise InputError(f"{path}: cannot be read ({error}); give a directory of gnc replay") from None
    return _mapped(path, np.dtype(shapes), count), attributes


def _header(shapes: Shapes, attributes: Mapping[str, str], record_bytes: int) -> bytes:
    """Return the header, by writing a file with one record and cutting the record off; labels are part of it."""
    from scipy.io import netcdf_file

    buffer = io.BytesIO()
    file = netcdf_file(buffer, "w", version=2)
    file.createDimension(TIME, None)
    for name, shape in shapes.items():
        dimensions = _dimensions(name, shape)
        for dimension, n in zip(dimensions, shape, strict=True):
            if dimension not in file.dimensions:
                file.createDimension(dimension, n)
                _label(file, dimension, attributes.get("errors", "").split())
        variable = file.createVariable(TIME if name == "t" else name, "d", (TIME, *dimensions))
        variable[0] = np.zeros(shape)
        if name == "t":
            variable.axis = "T"  # seconds of the log: `units` would make xarray take them for durations
    for key, value in attributes.items():
        setattr(file, key, value)
    file.flush()
    whole = buffer.getvalue()
    return whole[: len(whole) - record_bytes]


def _dimensions(name: str, shape: tuple[int, ...]) -> tuple[str, ...]:
    """Return the names of a record's dimensions; those with labels are shared."""
    if name in ("C", "S"):
        row = "error" if name == "C" else "component"
        return row, f"{row}_column"
    if name in ("sigma", "y"):
        return ("error" if name == "sigma" else "component",)
    known = {dimension: len(labels) for dimension, labels in LABELS.items()}
    return tuple(next((d for d, size in known.items() if size == n), f"{name}_component") for n in shape)


def _label(file: Any, dimension: str, errors: Sequence[str]) -> None:
    """Write the names along a dimension, as text that xarray takes for its coordinate."""
    labels = errors if dimension.startswith("error") else LABELS.get(dimension)
    if not labels:
        return
    width = f"{dimension}_text"
    file.createDimension(width, max(map(len, labels)))
    text = np.array([list(label.ljust(max(map(len, labels)), "\0")) for label in labels], "S1")
    variable = file.createVariable(dimension, "c", (dimension, width))
    variable[:], variable._Encoding = text, "utf-8"  # so that labels are text, and not bytes


def write_csv(path: Path, records: Array) -> None:
    """Write records as text; of a matrix only the standard deviations, sqrt of its diagonal."""
    import pyarrow as pa
    import pyarrow.csv

    shapes = {name: records.dtype[name].shape for name in records.dtype.names or ()}
    schema = pa.schema([(c, pa.float64()) for name, shape in shapes.items() for c in _names(name, shape)])
    options = pyarrow.csv.WriteOptions(quoting_style="none")
    with replacing(path) as temporary, pyarrow.csv.CSVWriter(str(temporary), schema, write_options=options) as writer:
        for start in range(0, len(records), ROWS):
            flat: list[Array] = []
            for name, shape in shapes.items():
                values = records[start : start + ROWS][name].astype(float)
                if len(shape) == 2:
                    values = np.sqrt(np.maximum(np.diagonal(values, axis1=1, axis2=2), 0.0))
                flat += list(values.reshape(len(values), -1).T)
            arrays = [pa.array(np.ascontiguousarray(column), from_pandas=True) for column in flat]
            writer.write_batch(pa.record_batch(arrays, schema=schema))


def _names(name: str, shape: tuple[int, ...]) -> list[str]:
    if not shape:
        return [name]
    return [f"{'sigma' if len(shape) == 2 else name}[{i}]" for i in range(shape[0])]
