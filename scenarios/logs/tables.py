"""A log as named tables of columns, read in chunks, whatever the format of the file.

One table per file in CSV and Parquet, per topic in MCAP, ROS 2 bags and ULog (`message_tables`); a folder of CSV or
Parquet files is a log with a table per file. HDF5 has a table per group, NPZ per prefix of `table/column`, MAT per
structure; columns at the top level form the table "". An array with several columns, w (n, 3), is the columns w[0],
w[1], w[2].
"""

from __future__ import annotations

import difflib
import importlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

from gnc.errors import InputError
from gnc.typing import Array

Chunk = dict[str, Array]  # columns of equal length: numbers as float64, stamps as int64, float64 or datetime64[ns]

CHUNK_ROWS = 16384
FORMATS = {  # the readers, by suffixes; each is imported when it is needed
    ("trajectories", "text_tables"): (".txt", ".tum", ".aem", ".oem", ".kvn"),
    ("arrow_tables", "csv_tables"): (".csv",),
    ("arrow_tables", "parquet_tables"): (".parquet", ".pq"),
    ("array_tables", "array_tables"): (".h5", ".hdf5", ".hdf", ".npz", ".mat"),
    ("message_tables", "message_tables"): (".mcap", ".ulg", ".db3", ".bag"),
}


class Table(Protocol):
    """Columns of equal length."""

    @property
    def columns(self) -> Sequence[str]:
        """The names."""

    @property
    def malformed(self) -> int:
        """How many lines read so far had another number of fields than the header."""

    def chunks(self, numbers: Sequence[str], stamps: Sequence[str], rows: int) -> Iterator[Chunk]:
        """Read columns, about so many rows at a time; what is missing is NaN, what is no number is infinite."""


def open_log(path: Path) -> dict[str, Table]:
    """Open a log and return its tables by name; nothing is read yet but names."""
    if not path.exists():
        raise InputError(f"{path}: there is no such file or folder; give a log in CSV, Parquet, HDF5, NPZ or MAT")
    if not path.is_dir() and not path.is_file():
        raise InputError(f"{path}: is not a regular file; give a log in CSV, Parquet, HDF5, NPZ or MAT")
    with readable(str(path)):
        return _folder(path) if path.is_dir() else _file(path, path.suffix.lower())


@contextmanager
def readable(what: str) -> Iterator[None]:
    """Turn whatever a reader of files complains of into one line."""
    try:
        yield
    except InputError:
        raise
    except Exception as error:  # each format has its own kinds, down to struct.error
        reason = " ".join(str(error).split())[:160]
        raise InputError(
            f"{what}: cannot be read: {reason}; give a whole CSV, Parquet, HDF5, NPZ or MAT file"
        ) from None


def _folder(path: Path) -> dict[str, Table]:
    if (path / "metadata.yaml").exists():
        return _file(path, ".bag")
    files = sorted(p for p in path.iterdir() if p.is_file() and p.suffix.lower() in (".csv", ".txt", ".parquet"))
    if not files:
        raise InputError(f"{path}: the folder has no .csv or .parquet file; give one per table")
    return {p.stem: _file(p, p.suffix.lower())[""] for p in files}


def _file(path: Path, suffix: str) -> dict[str, Table]:
    for (module, reader), suffixes in FORMATS.items():
        if suffix in suffixes:
            return getattr(importlib.import_module(f"gnc.scenarios.logs.{module}"), reader)(path)
    known = ".csv, .parquet, .h5, .npz, .mat, .mcap, .ulg, .tum, .aem, .oem, or the folder of a ROS 2 bag"
    raise InputError(f"{path}: {path.suffix or 'no suffix'} is no format that is known; give {known}")


def pick(tables: dict[str, Table], name: str, key: str) -> Table:
    """Return a table by name; a log of one table needs no name."""
    if not name and len(tables) == 1:
        return next(iter(tables.values()))
    if name not in tables:
        raise InputError(f"{key}: the log has no table {name!r}; {_nearest(name, tables)}")
    return tables[name]


def check_columns(table: Table, names: Iterable[str], key: str) -> None:
    """Refuse columns that the table does not have, with the names that come nearest."""
    for name in names:
        if name not in table.columns:
            raise InputError(f"{key}: the log has no column {name!r}; {_nearest(name, table.columns)}")


def _nearest(name: str, known: Iterable[str]) -> str:
    names = list(known)
    by_lower = {n.lower(): n for n in names}
    close = [by_lower[n] for n in difflib.get_close_matches(name.lower(), by_lower, n=3, cutoff=0.4)]
    shown = close or names[:8]
    more = "" if close or len(names) <= 8 else f" and {len(names) - 8} more"
    return f"{'nearest' if close else 'it has'}: {', '.join(map(repr, shown))}{more}"


def missing(package: str) -> InputError:
    """Return the error for a package that is not installed."""
    return InputError(f"logs in this format need {package}: pip install {package}")
