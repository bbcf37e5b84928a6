"""`gnc replay LOG --inspect`: tables, columns, rates and gaps, guesses of what they are, a first configuration."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np

from gnc.scenarios.logs.tables import CHUNK_ROWS, Table, open_log

Array = Any

TIME = re.compile(r"#?(t|time|stamp|timestamp|epoch)(?:_(s|ms|us|ns))?", re.I)  # the unit, if the name has it
UNITS = (("s", 1.0), ("ms", 1e-3), ("us", 1e-6), ("ns", 1e-9))
LIKELY_STEP = (1e-5, 100.0)  # [s]
KINDS = {  # by name, then by the usual length of the vector: kind, unit, lowest, highest
    "gyr|gyro|omega|angular|w(?![a-z])": (("gyro", "rad/s", 0.0, 20.0), ("gyro", "deg/s", 20.0, 3e3)),
    "acc|accel|force|a(?![a-z])": (("accelerometer", "m/s^2", 8.0, 12.0), ("accelerometer", "g", 0.8, 1.2)),
    "mag|field|b": (
        ("magnetometer", "uT", 15.0, 80.0), ("magnetometer", "nT", 1.5e4, 8e4), ("magnetometer", "T", 1.5e-5, 8e-5),
        ("magnetometer", "G", 0.15, 0.8),
    ),
}  # fmt: skip


def inspected(log: Path) -> dict[str, Any]:
    """Return rows, rate, gaps and guesses of every table."""
    return {name: _table(table) for name, table in open_log(log).items()}


def _table(table: Table) -> dict[str, Any]:
    columns = [name for name in table.columns if _readable(table, name)]
    time = next((name for name in table.columns if TIME.fullmatch(name)), None)
    first = next(table.chunks(columns, [time] if time else [], CHUNK_ROWS), {})
    told: dict[str, Any] = {
        "columns": list(table.columns),
        "time": time,
        "rows_seen": len(next(iter(first.values()), [])),
    }
    if time is not None:
        told |= _clock(first[time], TIME.fullmatch(time)[2])  # type: ignore[index]
    told["guesses"] = [guess for group in _groups(columns) if (guess := _guess(group, first)) is not None]
    return told


def _readable(table: Table, name: str) -> bool:
    """Tell whether a column holds numbers."""
    try:
        next(table.chunks([name], [], 10), None)
    except Exception:  # each format has its own kinds
        return False
    return True


def _clock(stamps: Array, stated: str | None) -> dict[str, Any]:
    """Return unit, rate and gaps of stamps, by the first rows; the unit is stated, or makes a likely step."""
    if stamps.dtype.kind == "M":
        steps, unit = np.diff(stamps.astype(np.int64)) * 1e-9, "iso"
    else:
        raw = np.diff(stamps.astype(float))
        usual = np.median(raw[raw > 0.0]) if (raw > 0.0).any() else 1.0
        units = [(stated.lower(), dict(UNITS)[stated.lower()])] if stated else UNITS
        units = units[::-1] if stamps.dtype.kind == "i" else units
        unit, scale = next(
            ((u, s) for u, s in units if stated or LIKELY_STEP[0] < usual * s < LIKELY_STEP[1]), UNITS[0]
        )
        steps = raw * scale
    steps = steps[steps > 0.0]
    step = float(np.median(steps)) if len(steps) else float("nan")
    return {"time_unit": unit, "rate_hz": 1.0 / step, "gaps": int((steps > 5.0 * step).sum())}


def _groups(columns: list[str]) -> list[list[str]]:
    """Return columns that differ in their last index or axis only."""
    groups: dict[str, list[str]] = {}
    for name in columns:
        stem = re.sub(r"(\[\d+\]|_?[0-9]|_?[wxyzWXYZ])$", "", name)
        groups.setdefault(stem, []).append(name)
    return [group for group in groups.values() if len(group) in (3, 4)]


def _guess(group: list[str], first: dict[str, Array]) -> dict[str, Any] | None:
    """Return what a group of columns may be."""
    values = np.stack([first[name] for name in group], axis=1)
    values = values[np.isfinite(values).all(axis=1)]
    if not len(values):
        return None
    length = float(np.median(np.sqrt((values**2).sum(axis=1))))
    if len(group) == 4:
        return {"kind": "attitude", "columns": group, "norm": length} if abs(length - 1.0) < 0.01 else None
    stem = group[0].lower()
    for names, options in KINDS.items():
        if re.search(rf"(^|[^a-z])({names})", stem):
            for kind, unit, low, high in options:
                if low <= length < high:
                    return {"kind": kind, "columns": group, "unit": unit, "norm": length}
    return {"kind": "", "columns": group, "norm": length}


def starting_config(told: dict[str, Any]) -> str:
    """Return a first configuration from the guesses; what it says is to be checked."""
    lines = ["# Guessed by gnc replay --inspect: check every unit, order and sign.", 'filter = { kind = "imu" }']
    table = next(iter(told.values()))
    if table["time"] is not None:
        lines += ["[log]", f'time = "{table["time"]}"', f'time_unit = "{table["time_unit"]}"']
    else:
        lines += ["[log]", "rate_hz = 100.0 # not in the log: state it"]
    for name, table in told.items():
        for guess in table["guesses"]:
            if guess["kind"] in ("gyro", "accelerometer", "magnetometer"):
                lines += ["[[sensors]]", f'kind = "{guess["kind"]}"', f'unit = "{guess["unit"]}"']
                lines += [f"columns = {_quoted(guess['columns'])}", *([f'table = "{name}"'] if len(told) > 1 else [])]
    attitude = [(n, g) for n, t in told.items() for g in t["guesses"] if g["kind"] == "attitude"]
    for name, guess in attitude[:1]:
        lines += ["[truth]", f"columns = {_quoted(guess['columns'])}", 'order = "wxyz" # or xyzw']
        lines += [f'table = "{name}"'] if len(told) > 1 else []
    return "\n".join(lines) + "\n"


def _quoted(names: list[str]) -> str:
    return "[" + ", ".join(f'"{name}"' for name in names) + "]"
