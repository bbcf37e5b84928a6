"""The table of a campaign, one row per trial, for other programs: CSV, Parquet, MAT."""

from __future__ import annotations

import csv
import io
import re
from pathlib import Path

import numpy as np

from gnc.errors import InputError
from gnc.files import explained, replacing
from gnc.montecarlo.flight import Results


def export(table: Results, path: Path) -> None:
    """Write the table in the format of the file's suffix; floating point keeps every bit."""
    check_format(path)
    with explained(path.parent), replacing(path) as temporary:
        WRITERS[path.suffix](table, temporary)


def check_format(path: Path) -> None:
    """Refuse a file whose suffix names no format, or whose folder is not there, before a long flight."""
    if not path.parent.is_dir():
        raise InputError(f"export: {path.parent} is no directory; make it, or give another")
    if path.suffix not in WRITERS:
        raise InputError(f"export: {path.name!r} ends with none of {', '.join(WRITERS)}")


def _csv(table: Results, path: Path) -> None:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(table)
    # repr of a Python float is the shortest text that reads back as the same number.
    writer.writerows(zip(*(values.tolist() for values in table.values()), strict=True))
    path.write_text(text.getvalue(), encoding="utf-8")


def _parquet(table: Results, path: Path) -> None:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise InputError("export: Parquet needs pyarrow: pip install pyarrow") from None
    pyarrow.parquet.write_table(pyarrow.table({name: values.tolist() for name, values in table.items()}), path)


def _mat(table: Results, path: Path) -> None:
    """MATLAB variables, one per column, with names made valid; `columns` lists the names as they were."""
    from scipy.io import savemat

    variables = {"columns": np.array(list(table), dtype=object)}
    for name, values in table.items():
        variables[_matlab_name(name, variables)] = values.astype(object) if values.dtype.kind in "UO" else values
    savemat(path, variables, long_field_names=True, oned_as="column", do_compression=True)


def _matlab_name(name: str, taken: dict[str, np.ndarray]) -> str:
    valid = re.sub(r"\W+", "_", name, flags=re.ASCII).strip("_")[:60]
    valid = valid if valid[:1].isalpha() else f"x_{valid}"
    candidates = [valid, *(f"{valid}_{i}" for i in range(2, 100))]
    return next(candidate for candidate in candidates if candidate not in taken)


WRITERS = {".csv": _csv, ".parquet": _parquet, ".mat": _mat}
