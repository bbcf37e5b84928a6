"""`gnc replay LOG --inspect`: tables, columns, rates and gaps, guesses of what they are, a first configuration."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from gnc import quaternion
from gnc.errors import InputError
from gnc.estimators.imu_clipping import LEAST, limits
from gnc.scenarios.logs.tables import CHUNK_ROWS, Table, open_log, readable
from gnc.scenarios.replay import column_names
from gnc.scenarios.replay.column_names import Group
from gnc.scenarios.replay.quantities import SI

Array = Any
Values = dict[str, Array]

UNITS = (("s", 1.0), ("ms", 1e-3), ("us", 1e-6), ("ns", 1e-9))
LIKELY_STEP = (4e-4, 100.0)  # [s]
EPOCHS = (9e8, 2.5e9)  # [s] since 1970 of stamps that are dates
SLOWEST_IMU_S = 0.25  # step of an accelerometer at most, where its unit is in doubt
ORDERS, RESOLVED = (1, 3, 4, 5, 6), 0.3  # of differences; share of a step below which motion cancels in them
WHITE = 0.8  # and above which all is noise: a walk leaves 0.7
FLAT = 0.85  # of the differences of fourth order is left in those of sixth: noise leaves all, motion up to 0.7 of it
WHOLE_SECONDS, REGULAR = 60.0, 0.9  # largest step of stamps in whole seconds, and the share of them that are multiples
UNEVEN = 0.2  # of a step, by which others may differ
LAG_S, IN_RADIANS = 0.1, 0.13  # over which directions swing; by what share of a gyro's numbers if they are in rad/s
IN_DEGREES = 5.5e-4  # ... in deg/s
EARTH_M = 6.371e6
SWINGS = ("rad/s", IN_RADIANS), ("deg/s", IN_DEGREES)
WAYS = [(order, inverse) for inverse in (False, True) for order in ("wxyz", "xyzw")]  # to write an attitude
CLEARLY = 0.9  # less is left of the attitudes' turns if samples do not count before their stamps
AGREES = 0.5  # correlation of a gyro with the rate of an attitude, from which the attitude tells more


def inspected(log: Path) -> dict[str, Any]:
    """Return rows, rate, gaps and guesses of every table."""
    with readable(str(log)):
        return {name: _table(table, name) for name, table in open_log(log).items()}


def _table(table: Table, title: str) -> dict[str, Any]:
    begins = {name: _begin(table, name) for name in table.columns}
    longest = max((len(z) for z in begins.values() if z is not None), default=0)
    columns = [name for name, z in begins.items() if z is not None and len(z) == longest]
    single = {n: float(z[0]) for n, z in begins.items() if z is not None and len(z) == 1 < longest}
    time = column_names.time_column(table.columns)
    first = next(table.chunks(columns, [time] if time else [], CHUNK_ROWS), {})
    told: dict[str, Any] = {
        "columns": list(table.columns),
        "time": time,
        "rows_seen": len(next(iter(first.values()), [])),
    }
    if not told["rows_seen"]:
        raise InputError(f"a table of the columns {', '.join(table.columns)} has no rows; give a log with some")
    units = getattr(table, "units", {})  # of a line below the names
    plain = {f"{name} [{units[name]}]" if units.get(name) else name: name for name in columns}
    named = [
        replace(group, columns=[plain[name] for name in group.columns])
        for group in column_names.groups(list(plain), title)
    ]
    if time is not None:
        inertial = any(group.kind == "accelerometer" for group in named)
        told |= _clock(first[time], column_names.parsed(time).time_unit, inertial)
    elif rate := column_names.rate_of(getattr(table, "scalars", {}) | single):
        told["rate_hz"] = rate
    told["mask"] = next((name for name in columns if column_names.MASK.fullmatch(name)), None)
    rate_hz = told.get("rate_hz", float("nan"))
    stamps = None if time is None or told["even"] else first[time]
    guesses = [_guess(group, first, rate_hz, stamps) for group in named]
    told["guesses"] = [guess for guess in guesses if guess is not None]
    _by_gyro(told["guesses"], first)
    told["jerk"] = _jerk(_seen(told["guesses"], first), rate_hz)
    _down(told["guesses"], first)
    return told


def _begin(table: Table, name: str) -> Array | None:
    """Return the first numbers of a column, None if it holds none."""
    try:
        return next(table.chunks([name], [], 10), {}).get(name)
    except Exception:  # each format has its own kinds
        return None


def _clock(stamps: Array, stated: str | None, inertial: bool) -> dict[str, Any]:
    """Return unit, rate and gaps of stamps; the unit is stated, or makes a date, or a likely step."""
    others = list[str]()
    if stamps.dtype.kind == "M":
        steps, unit = np.diff(stamps.astype(np.int64)) * 1e-9, "iso"
    else:
        raw = np.diff(stamps.astype(float))
        usual = np.median(raw[raw > 0.0]) if (raw > 0.0).any() else 1.0
        dates = [(u, s) for u, s in UNITS if len(stamps) and EPOCHS[0] < float(stamps[0]) * s < EPOCHS[1]]
        likely = _likely_units(raw, float(usual), inertial) or [UNITS[0]]
        unit, scale = (stated, dict(UNITS)[stated]) if stated else (dates or likely)[0]
        others, steps = [] if stated or dates else [u for u, _ in likely[1:]], raw * scale
    steps = steps[steps > 0.0]
    step = float(np.median(steps)) if len(steps) else float("nan")
    told = {"time_unit": unit, "other_units": others, "rate_hz": 1.0 / step, "gaps": int((steps > 5.0 * step).sum())}
    return told | {"even": bool((np.abs(steps - step) < UNEVEN * step).mean() > REGULAR)}


def _likely_units(steps: Array, usual: float, inertial: bool) -> list[tuple[str, float]]:
    """Return units that make a step likely, the likeliest first: of whole numbers the finest, but regular seconds."""
    likely = [(u, s) for u, s in UNITS if LIKELY_STEP[0] < usual * s < LIKELY_STEP[1]]
    if inertial:
        likely = [(u, s) for u, s in likely if usual * s < SLOWEST_IMU_S] or likely
    whole, regular = (steps % 1.0 == 0.0).all(), (steps % usual == 0.0).mean() > REGULAR
    return likely[::-1] if whole and not (regular and usual <= WHOLE_SECONDS and not inertial) else likely


def _guess(group: Group, first: Values, rate_hz: float, stamps: Array | None) -> dict[str, Any] | None:
    """Return what a group of columns may be, how often it has a value, and how much its samples scatter."""
    values = _stacked(first, group.columns)
    whole = np.isfinite(values).all(axis=1)
    if not whole.any():
        return None
    share = float((whole & np.append(True, (values[1:] != values[:-1]).any(axis=1))).mean())
    if group.kind == "geodetic":
        values = EARTH_M * np.radians(values[:, :2]) * [1.0, np.cos(np.radians(values[whole][0, 0]))]
    length = float(np.median(np.linalg.norm(values[whole], axis=1)))
    guess = {"kind": group.kind, "columns": group.columns, "norm": length, "rate_hz": rate_hz * share}
    guess |= {
        "scatter": _scatter(values[whole], stamps if stamps is None else stamps[whole]),
        "stem": group.stem,
        "order": group.order,
    }
    if len(group.columns) == 4:  # one that never changes is a message without an attitude
        turns = len(values) == 1 or (values[whole] != values[whole][0]).any()
        return guess | {"kind": "attitude"} if abs(length - 1.0) < 0.01 and turns else None
    if (
        group.kind == "accelerometer"
        and "linear" in group.stem
        and column_names.unit_of(replace(group, unit=""), length) is None
    ):
        return guess | {"kind": ""}  # without gravity; that of ROS has it
    unit = column_names.unit_of(group, length)
    if unit is None and group.kind not in ("", "geodetic"):  # its name is known, and its numbers are not
        return guess | {"kind": "", "like": group.kind}
    stated = bool(group.unit) and unit is not None and group.unit in column_names.ALIASES[unit].split()
    if unit is not None and group.kind in LEAST:
        end = np.abs(limits(values[whole], group.kind, SI[unit]))
        guess |= {"range": float(end.min())} if np.isfinite(end).any() else {}
    return guess | {"unit": unit, "stated": stated}


def _by_gyro(guesses: list[dict[str, Any]], first: Values) -> None:
    """Find a gyro's unit and interval, and a quaternion's order: directions and attitudes swing as the gyro turns."""
    gyro = next((g for g in guesses if g["kind"] == "gyro"), None)
    if gyro is None or not np.isfinite(gyro["rate_hz"]):
        return
    w, step = _stacked(first, gyro["columns"]), 1.0 / gyro["rate_hz"]
    sizes, intervals = [], list[tuple[float, str]]()
    for guess in guesses:
        z = _stacked(first, guess["columns"])
        if guess["kind"] in ("magnetometer", "accelerometer") and step < LAG_S:
            sizes.append((guess["kind"] == "accelerometer", _swing(w, z, step)))
        if guess["kind"] == "attitude":
            shares = {way: _agreement(w, _attitudes(z, *way)) for way in WAYS}
            if max(shares.values()) > AGREES:
                guess["order"], guess["inverse"] = way = max(shares, key=shares.__getitem__)
                interval, left = _interval(w, _attitudes(z, *way))
                intervals.append((left, interval))
                guess["scatter"] = min(guess["scatter"], left * np.sqrt(3.0) / 4.0)  # as components of a quaternion
    if intervals:
        gyro["interval"] = min(intervals)[1]  # by the better attitude
    sizes = sorted(size for size in sizes if np.isfinite(size[1]))  # a field is not pushed
    if sizes and not gyro.get("stated"):
        gyro["unit"] = next((u for u, least in SWINGS if sizes[0][1] > least), "mdps")


def _swing(w: Array, z: Array, step: float) -> float:
    """Return the slope of the motion of a direction over that by a gyro, dz = -w x z; NaN if they disagree."""
    both = np.isfinite(w).all(axis=1) & np.isfinite(z).all(axis=1)
    n = int(LAG_S / step) + 1
    w, z = w[both], z[both]
    if len(w) < 4 * n:
        return float("nan")
    swept = np.cumsum(w * step, axis=0)
    by_gyro = -np.cross(swept[n:] - swept[:-n], 0.5 * (z[n:] + z[:-n]))
    moved = z[n:] - z[:-n]
    both, square, whole = (by_gyro * moved).sum(), (by_gyro**2).sum(), (moved**2).sum()
    return float(both / square) if both > AGREES * np.sqrt(square * whole) else float("nan")


def _turns(w: Array, q: Array) -> tuple[Array, Array]:
    """Return rotations between attitudes, and what a gyro's samples sum up to: those before stamps, and those after."""
    rows = np.flatnonzero(np.isfinite(q).all(axis=1) & np.isfinite(w).all(axis=1))
    sums = np.cumsum(np.nan_to_num(w), axis=0)
    near = np.diff(rows) <= 1.5 * np.median(np.diff(rows)) if len(rows) > 1 else np.zeros(0, bool)  # over no gap
    turn = quaternion.log(quaternion.mul(quaternion.conj(q[rows[:-1]]), q[rows[1:]]))[near]
    return turn, np.stack([np.diff(z[rows], axis=0)[near] for z in (sums, sums - np.nan_to_num(w))])


def _attitudes(z: Array, order: str, inverse: bool) -> Array:
    """Return q_IB of columns in their order."""
    q = z if order == "wxyz" else z[:, [3, 0, 1, 2]]
    return quaternion.conj(q) if inverse else q


def _agreement(w: Array, q: Array) -> float:
    """Return the correlation of a gyro with the rate of attitudes, whatever their scale."""
    turn, (swept, _) = _turns(w, q)
    return float((turn * swept).sum() / np.sqrt((turn**2).sum() * (swept**2).sum() + 1e-300))


def _interval(w: Array, q: Array) -> tuple[str, float]:
    """Return when samples of a gyro count, so that least of the attitudes' turns is unexplained, and their noise."""
    turn, (before, after) = _turns(w, q)
    ways = {"before": before, "after": after, "mean": 0.5 * (before + after)}
    left = {}
    for name, swept in ways.items():
        x, y = swept - swept.mean(axis=0), turn - turn.mean(axis=0)  # a bias is no matter
        left[name] = float(np.median(np.abs(y - (x * y).sum() / max(float((x * x).sum()), 1e-300) * x)))
    best = min(left, key=left.__getitem__)
    best = best if left[best] < CLEARLY * left["before"] else "before"
    return best, 1.4826 * left[best] / float(np.sqrt(2.0))


def _seen(guesses: list[dict[str, Any]], first: Values) -> Array:
    """Return attitudes q_IB by two directions, or as they are in the log."""
    pair = column_names.vectors(guesses)[:2]
    if len(pair) < 2:
        told = [g for g in guesses if g["kind"] == "attitude"][:1]
        q = _attitudes(_stacked(first, told[0]["columns"]), told[0]["order"], False) if told else np.zeros((0, 4))
        return q[np.isfinite(q).all(axis=1)]
    b_1, b_2 = (_stacked(first, guess["columns"]) for guess in pair)
    r_1, r_2 = (_stacked(first, guess["reference"]) for guess in pair)
    seen = np.isfinite(np.concatenate([b_1, b_2, r_1, r_2], axis=1)).all(axis=1)
    axes = [_triads(*(z[seen] for z in two)) for two in ((b_1, b_2), (r_1, r_2))]
    return quaternion.from_matrix(np.einsum("nik,njk->nij", axes[1], axes[0]))


def _jerk(q_IB: Array, rate_hz: float) -> float:
    """Return the density of the angular acceleration [rad^2/s^3] by attitudes."""
    over = max(len(q_IB) // 200, 1)  # rows over which a turn stands out of the noise
    rate = quaternion.log(quaternion.mul(quaternion.conj(q_IB[:-over]), q_IB[over:])) * rate_hz / over
    change = (rate[over:] - rate[:-over])[::over]
    usual = 1.4826 * np.median(np.abs(change)) if len(change) else 0.0  # a gap is no jerk
    return float(usual) ** 2 * rate_hz / over


def _triads(a: Array, b: Array) -> Array:
    """Return right-handed axes of pairs of directions, as columns."""
    x, z = a, np.cross(a, b)
    axes = np.stack([x, np.cross(z, x), z], axis=2)
    return axes / np.linalg.norm(axes, axis=1, keepdims=True)


def _down(guesses: list[dict[str, Any]], first: Values) -> None:
    """Note attitudes whose world has z downwards and x to the north, by what they make of force and field."""
    force, field = (next((g for g in guesses if g["kind"] == k), None) for k in ("accelerometer", "magnetometer"))
    for guess in [g for g in guesses if g["kind"] == "attitude"] if force and field else []:
        q = _attitudes(_stacked(first, guess["columns"]), guess["order"], guess.get("inverse", False))
        turned = (quaternion.rotate(q, _stacked(first, z["columns"])) for z in (force, field) if z is not None)
        up, north = (np.nanmedian(z, axis=0) for z in turned)
        guess["down"] = bool(up[2] < -0.5 * np.linalg.norm(up) and north[0] > abs(north[1]))


def _stacked(first: Values, names: list[str]) -> Array:
    return np.stack([first[name].astype(float) for name in names], axis=1)


def _scatter(values: Array, stamps: Array | None) -> float:
    """Return the noise of a sample, by differences of third order and above, in which smooth motion cancels.

    Where it does not, the samples are too far apart: then steps over one and over two samples tell noise from a walk,
    of variance 2 s^2 + q and 2 s^2 + 2 q; and an instrument is taken to resolve a tenth of the steps. A body that goes
    on moves more over two samples than any walk does: what its higher differences have in common is noise.
    Stamps are given where they are uneven: there these are divided differences.
    """
    if values.shape[1] == 4:  # q and -q are the same attitude
        turned = np.where((values[1:] * values[:-1]).sum(axis=1) < 0.0, -1.0, 1.0)
        values = values * np.concatenate([[1.0], np.cumprod(turned)])[:, None]
    if len(values) < 8:
        return 0.0
    usual = [1.4826 * float(np.median(np.abs(_differences(values, stamps, n)))) for n in ORDERS]
    step, smooth = usual[0], min(usual[1:])
    if smooth < RESOLVED * step or smooth > WHITE * step:
        return smooth
    over_two = 1.4826 * float(np.median(np.abs(values[2:] - values[:-2])))
    white = 2.0 * step**2 - 0.5 * over_two**2
    if white < 0.0 and usual[-1] > FLAT * usual[2]:
        return smooth
    return min(smooth, math.sqrt(max(white, (0.1 * step) ** 2)))


def _differences(values: Array, stamps: Array | None, n: int) -> Array:
    """Return differences of order n with the variance of a sample, divided by uneven stamps if those only grow."""
    t = np.arange(len(values)) if stamps is None else (stamps - stamps[0]).astype(float)
    if not (np.diff(t) > 0.0).all():
        t = np.arange(len(values))
    rows = np.lib.stride_tricks.sliding_window_view(t / np.median(np.diff(t)), n + 1)
    weights = 1.0 / (rows[:, :, None] - rows[:, None, :] + np.eye(n + 1)).prod(axis=2)
    weights = weights / np.linalg.norm(weights, axis=1, keepdims=True)
    windows = np.lib.stride_tricks.sliding_window_view(values, n + 1, axis=0)
    return (windows * weights[:, None, :]).sum(axis=2)
