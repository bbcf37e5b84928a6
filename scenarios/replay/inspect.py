"""`gnc replay LOG --inspect`: tables, columns, rates and gaps, guesses of what they are, a first configuration."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np

from gnc.errors import InputError
from gnc.scenarios.logs.tables import CHUNK_ROWS, Table, open_log

Array = Any

TIME = re.compile(r"#?(t|time|stamp|timestamp|epoch)(?:_(s|ms|us|ns))?", re.I)  # the unit, if the name has it
UNITS = (("s", 1.0), ("ms", 1e-3), ("us", 1e-6), ("ns", 1e-9))
LIKELY_STEP = (1e-5, 100.0)  # [s]
AXIS = re.compile(r"(\[\d+\]|_?\d|_?[wxyz]|(?<=q)[cs]|[_.](?:[enud]|east|north|up|down))$|_[wxyz](?=_)", re.I)
STATED = {  # units at the end of a name
    "deg_s": "deg/s", "dps": "deg/s", "rad_s": "rad/s", "m_s2": "m/s^2", "ms2": "m/s^2", "mps2": "m/s^2", "nt": "nT",
    "ut": "uT", "mg": "mG", "gauss": "G", "m_s": "m/s", "mps": "m/s", "m": "m",
}  # fmt: skip
UNIT = re.compile(rf"_({'|'.join(STATED)})$")
KINDS = (  # by the name without its axis, then by the usual length of the vector: unit, lowest, highest
    ("gyro", r"gyr|omega|angular|rate|(^|[_.])w$", (("rad/s", 0.0, 20.0), ("deg/s", 20.0, 3e3))),
    ("accelerometer", r"acc|force|(^|[_.])a$", (("m/s^2", 8.0, 12.0), ("g", 0.8, 1.2))),
    ("magnetometer", r"mag|field|(^|[_.])[bm]$",
     (("uT", 15.0, 80.0), ("nT", 1.5e4, 8e4), ("T", 1.5e-5, 8e-5), ("G", 0.15, 0.8), ("mG", 150.0, 800.0))),
    ("velocity", r"vel|(^|[_.])v$", (("m/s", 0.0, 2e4),)),
    ("position", r"^$|pos|gnss|gps|trans|(^|[_.])[pr]$", (("m", 0.0, 1e9),)),
)  # fmt: skip


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
    if not told["rows_seen"]:
        raise InputError(f"a table of the columns {', '.join(table.columns)} has no rows; give a log with some")
    if time is not None:
        told |= _clock(first[time], TIME.fullmatch(time)[2])  # type: ignore[index]
    groups, rate_hz = _groups(columns).items(), told.get("rate_hz", float("nan"))
    guesses = (_guess(stem, group, first, rate_hz) for stem, group in groups)
    told["guesses"] = [guess for guess in guesses if guess is not None]
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


def _groups(columns: list[str]) -> dict[str, list[str]]:
    """Return columns that differ in their last index or axis only, by what they have in common."""
    groups: dict[str, list[str]] = {}
    for name in columns:
        groups.setdefault(AXIS.sub("", name).lower(), []).append(name)
    return {stem: group for stem, group in groups.items() if len(group) in (3, 4)}


def _guess(stem: str, group: list[str], first: dict[str, Array], rate_hz: float) -> dict[str, Any] | None:
    """Return what a group of columns may be, how often it has a value, and how much its samples scatter."""
    values = np.stack([first[name] for name in group], axis=1)
    whole = np.isfinite(values).all(axis=1)
    if not whole.any():
        return None
    length = float(np.median(np.linalg.norm(values[whole], axis=1)))
    guess = {"kind": "", "columns": group, "norm": length, "rate_hz": rate_hz * float(whole.mean())}
    guess["scatter"] = _scatter(values[whole])
    if len(group) == 4:
        return guess | {"kind": "attitude", "order": _order(group)} if abs(length - 1.0) < 0.01 else None
    stated = UNIT.search(stem)
    for kind, names, units in KINDS:
        for unit, low, high in units:
            likely = STATED[stated[1]] == unit if stated else low <= length < high
            if re.search(names, UNIT.sub("", stem)) and likely:
                return guess | {"kind": kind, "unit": unit}
    return guess


def _order(group: list[str]) -> str:
    """Return where the scalar of a quaternion is, by the names; scalar first where they do not tell."""
    return "xyzw" if group[-1][-1].lower() in "wcs" else "wxyz"


def _scatter(values: Array) -> float:
    """Return the noise of a sample, by third differences, in which smooth motion cancels: variance 1 + 9 + 9 + 1."""
    if values.shape[1] == 4:  # q and -q are the same attitude
        turned = np.where((values[1:] * values[:-1]).sum(axis=1) < 0.0, -1.0, 1.0)
        values = values * np.concatenate([[1.0], np.cumprod(turned)])[:, None]
    if len(values) < 5:
        return 0.0
    return float(1.4826 * np.median(np.abs(np.diff(values, n=3, axis=0))) / np.sqrt(20.0))
