"""CSV and Parquet files by pyarrow, in batches and on one thread."""

from __future__ import annotations

import io
import itertools
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from gnc.errors import InputError
from gnc.scenarios.logs.clock import iso_stamps
from gnc.scenarios.logs.tables import Chunk, Table, missing
from gnc.scenarios.logs.text_header import check_names, fields_of, header, number, separated_by_blanks
from gnc.typing import Array

try:
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.csv
    import pyarrow.parquet
except ImportError:
    raise missing("pyarrow") from None


HEAD = 60  # lines in which the data begin
DECIMAL_COMMA = re.compile(r"\d,\d")
BLANKS, EDGES = re.compile(rb" +"), re.compile(rb"(?m)^ | (?=\r?$)")  # the latter about a line
READ_BYTES = 1 << 21  # at a time
NULLS = ["", "NA", "N/A", "null", "NULL", "None", "-", "nan", "NaN", "NAN"]


class CsvTable:
    """A file with lines of names before its data, fields separated by commas, semicolons, tabs or blanks."""

    def __init__(self, path: Path) -> None:
        self.path, self._dropped, self._inside = path, 0, 0
        with path.open(encoding="utf-8-sig", errors="replace") as file:
            lines = [line.strip("\r\n") for line in itertools.islice(file, HEAD)]
        if any("\0" in line for line in lines[:1]):
            raise InputError(f"{path}: the text is no UTF-8; save it as such")
        if not any(line.strip() for line in lines):
            raise InputError(f"{path}: the file is empty; expected a line of column names")
        longest = max(lines, key=len)
        self._delimiter = next((mark for mark in ";\t" if 2 * longest.count(mark) >= max(longest.count(","), 1)), ",")
        self._comma = self._delimiter != "," and bool(DECIMAL_COMMA.search(lines[-1]))
        lines = [line.replace(",", ".") for line in lines] if self._comma else lines
        self._delimiter = " " if separated_by_blanks(lines) else self._delimiter
        rows = [line.split(self._delimiter) for line in lines] if self._delimiter != " " else fields_of(lines)
        self.columns, self.units, self._skipped = header(rows)
        check_names(self.columns, len(rows[-1]), path)
        if len(set(self.columns)) < len(self.columns):
            raise InputError(f"{path}: two columns have the same name in the first line; give each its own")

    def chunks(self, numbers: Sequence[str], stamps: Sequence[str], rows: int) -> Iterator[Chunk]:
        """Read every field as text first, so that one bad field costs its row and not the file."""
        wanted = [*numbers, *stamps]
        try:
            reader = pyarrow.csv.open_csv(
                _Squeezed(self.path) if self._delimiter == " " else self.path,
                read_options=pyarrow.csv.ReadOptions(
                    use_threads=False,
                    block_size=READ_BYTES,
                    column_names=self.columns,
                    skip_rows=self._skipped,
                    encoding="latin1",  # in which any byte is a character: a corrupt one costs its row
                ),
                parse_options=pyarrow.csv.ParseOptions(delimiter=self._delimiter, invalid_row_handler=self._skip),
                convert_options=pyarrow.csv.ConvertOptions(
                    include_columns=wanted,
                    column_types=dict.fromkeys(wanted, pa.string()),
                    strings_can_be_null=True,
                    null_values=NULLS,
                ),
            )
        except pa.ArrowInvalid as error:  # such as a line of names that ends the file, or is a block long
            raise InputError(f"{self.path}: {str(error).splitlines()[0]}; give rows after the names") from None
        for batch in reader:
            text = dict(zip(wanted, map(self._dotted, batch.columns), strict=True))
            self._inside += sum(_lines_inside(column) for column in batch.columns)
            read = {name: _numbers(text[name]) for name in numbers} | {name: _stamps(text[name]) for name in stamps}
            for start in range(0, batch.num_rows, rows):
                yield {name: column[start : start + rows] for name, column in read.items()}

    def _dotted(self, column: Any) -> Any:
        return pc.replace_substring(column, ",", ".") if self._comma else column

    @property
    def malformed(self) -> int:
        """Lines that are none: each number is counted by one thread, since pyarrow reads ahead in its own."""
        return self._dropped + self._inside

    def _skip(self, row: Any) -> str:
        self._dropped += 1
        return "skip"


class ParquetTable:
    """A Parquet file."""

    malformed = 0

    def __init__(self, path: Path) -> None:
        self._file = pyarrow.parquet.ParquetFile(path, pre_buffer=False, buffer_size=READ_BYTES)  # else: all at once
        self.columns = list(self._file.schema_arrow.names)
        if len(set(self.columns)) < len(self.columns):
            raise InputError(f"{path}: two columns have the same name; give each its own")

    def chunks(self, numbers: Sequence[str], stamps: Sequence[str], rows: int) -> Iterator[Chunk]:
        """Read batches of rows."""
        wanted = list(dict.fromkeys([*numbers, *stamps]))
        for batch in self._file.iter_batches(batch_size=rows, columns=wanted, use_threads=False):
            columns = dict(zip(batch.schema.names, batch.columns, strict=True))
            read = {name: _numbers(columns[name]) for name in numbers}
            yield read | {name: _stamps(columns[name]) for name in stamps}


def csv_tables(path: Path) -> dict[str, Table]:
    """Open a CSV file."""
    return {"": CsvTable(path)}


def parquet_tables(path: Path) -> dict[str, Table]:
    """Open a Parquet file."""
    return {"": ParquetTable(path)}


class _Squeezed(io.RawIOBase):
    """A text file whose fields are separated by one blank each."""

    def __init__(self, path: Path) -> None:
        self._file, self._ready = path.open("rb"), b""

    def readable(self) -> bool:
        """Tell that it can be read."""
        return True

    def read(self, size: int = -1) -> bytes:
        """Return at most so many bytes."""
        if not self._ready:
            self._ready = EDGES.sub(b"", BLANKS.sub(b" ", self._file.read(READ_BYTES) + self._file.readline()))
        size = len(self._ready) if size < 0 else size
        told, self._ready = self._ready[:size], self._ready[size:]
        return told

    def close(self) -> None:
        """Close the file."""
        self._file.close()
        super().close()


def _lines_inside(column: Any) -> int:
    """How many lines a quote that is not closed has taken into a field."""
    return pc.sum(pc.count_substring(column, "\n")).as_py() or 0


def _numbers(column: Any) -> Array:
    """Return float64: NaN where empty, infinite where the text is no number."""
    try:
        return pc.cast(column, pa.float64(), safe=False).to_numpy(zero_copy_only=False)
    except pa.ArrowInvalid:
        return np.array([number(text) for text in column.to_pylist()])
    except (pa.ArrowNotImplementedError, pa.ArrowTypeError):
        raise InputError(f"a column of type {column.type} holds no numbers; map another column") from None


def _stamps(column: Any) -> Array:
    """Return whole numbers if all are, else datetimes if the text is ISO, else float64."""
    if pa.types.is_integer(column.type) and not column.null_count:
        return column.to_numpy(zero_copy_only=False).astype(np.int64)
    if pa.types.is_timestamp(column.type):
        return _naive(column)
    if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
        for kind in (*([] if column.null_count else [pa.int64()]), pa.timestamp("ns"), pa.timestamp("ns", "UTC")):
            try:
                values = pc.cast(column, kind)
            except pa.ArrowInvalid:
                continue
            return values.to_numpy(zero_copy_only=False) if kind == pa.int64() else _naive(values)
        return _mixed(column)
    return _numbers(column)


def _naive(column: Any) -> Array:
    return np.asarray(column.to_numpy(zero_copy_only=False)).astype("datetime64[ns]")


def _mixed(column: Any) -> Array:
    """Return stamps of which some are neither a number nor a date: those are not a time."""
    text = column.to_pylist()
    first = next((s for s in text if s), "")
    if first[4:5] != "-":
        values = np.array([number(s) for s in text])
        return np.where(np.isfinite(values), values, np.nan)
    return iso_stamps(np.array([s or "" for s in text]))
