"""Write measurements as a log that replay reads back bit for bit.

    write_log(Path("flight.parquet"), {"": {"t_s": t, **measured("gyro", samples), **measured("tracker", readings)}})

The table "" alone makes one file; several tables make a folder of files in CSV and Parquet, groups in HDF5, prefixes in
NPZ, structures in MAT. NaN is an empty field: rows of a shared table in which a sensor did not measure. A measurement
that was due and not valid has the flag 0 in a column of its own, which the configuration names by `valid`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from gnc.errors import InputError
from gnc.files import replacing
from gnc.models.sensors import Measurement
from gnc.scenarios.logs.tables import missing

Array = Any
Tables = Mapping[str, Mapping[str, Array]]


def write_log(path: Path, tables: Tables) -> list[Path]:
    """Write tables of columns (n,) by the format that the suffix of `path` says, and return the files."""
    check_path(path)
    suffix = path.suffix.lower()
    for name, columns in tables.items():
        if len({np.shape(column) for column in columns.values()}) > 1:
            raise InputError(f"table {name!r}: columns differ in length; put them into tables of their own")
    if suffix in (".csv", ".parquet"):
        return _files(path, tables, suffix)
    with replacing(path) as temporary:
        _WRITERS[suffix](temporary, tables)
    return [path]


def check_path(path: Path) -> None:
    """Refuse a file that cannot be written, before anything is made for it."""
    suffix = path.suffix.lower()
    if suffix not in (".csv", ".parquet", *_WRITERS):
        raise InputError(
            f"{path}: {suffix or 'no suffix'} is no format that is known; give .csv, .parquet, .h5, .npz or .mat"
        )
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"{path}: {(error.strerror or str(error)).lower()}; give a file to write") from None


def measured(name: str, readings: Sequence[Measurement | None]) -> dict[str, Array]:
    """Return columns name_0, name_1, ... and name_valid of a sensor's readings; None is a row without one."""
    size = next((len(r.z) for r in readings if r is not None), 0)
    absent = Measurement(np.full(size, np.nan), np.nan)
    rows = [absent if r is None else r for r in readings]
    z = np.array([r.z for r in rows], float).reshape(len(rows), size)
    return {f"{name}_{i}": z[:, i] for i in range(size)} | {f"{name}_valid": np.array([float(r.valid) for r in rows])}


def _files(path: Path, tables: Tables, suffix: str) -> list[Path]:
    if list(tables) == [""]:
        _arrow(path, tables[""], suffix)
        return [path]
    folder = path.with_suffix("")
    folder.mkdir(exist_ok=True)
    files = [folder / f"{name}{suffix}" for name in tables]
    for file, columns in zip(files, tables.values(), strict=True):
        _arrow(file, columns, suffix)
    return files


def _arrow(path: Path, columns: Mapping[str, Array], suffix: str) -> None:
    try:
        import pyarrow as pa
        import pyarrow.csv
        import pyarrow.parquet
    except ImportError:
        raise missing("pyarrow") from None
    table = pa.table({name: pa.array(np.asarray(column), from_pandas=True) for name, column in columns.items()})
    with replacing(path) as temporary:
        if suffix == ".csv":
            pyarrow.csv.write_csv(table, temporary, pyarrow.csv.WriteOptions(quoting_style="none"))
        else:
            pyarrow.parquet.write_table(table, temporary)


def _hdf5(path: Path, tables: Tables) -> None:
    try:
        import h5py
    except ImportError:
        raise missing("h5py") from None
    with h5py.File(path, "w") as file:
        for table, columns in tables.items():
            for name, column in columns.items():
                file[f"{table}/{name}" if table else name] = np.asarray(column)


def _npz(path: Path, tables: Tables) -> None:
    named = {
        (f"{t}/{name}" if t else name): np.asarray(c) for t, columns in tables.items() for name, c in columns.items()
    }
    np.savez(path, **named)  # type: ignore[arg-type]


def _mat(path: Path, tables: Tables) -> None:
    from scipy.io import savemat

    content: dict[str, Any] = {}
    for table, columns in tables.items():
        arrays = {name: np.asarray(column)[:, None] for name, column in columns.items()}
        content |= {table: arrays} if table else arrays
    savemat(path, content, long_field_names=True)


_WRITERS: dict[str, Callable[[Path, Tables], None]] = {".h5": _hdf5, ".hdf5": _hdf5, ".npz": _npz, ".mat": _mat}
