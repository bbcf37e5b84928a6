"""A first configuration from what `gnc replay --inspect` guesses: a filter that suits the sensors, and their noises."""

from __future__ import annotations

import json
import math
from typing import Any

from gnc.scenarios.replay.column_names import TRUTH, vectors
from gnc.scenarios.replay.quantities import SI

Guess = dict[str, Any]
Truth = tuple[Guess, Guess | None]  # attitude, position

AIDED = 0.5  # of the gyro's rate: what comes less often corrects a filter, what comes as often is the truth
_text = json.JSONEncoder(ensure_ascii=False).encode  # an array of TOML
WALK = 0.1  # [1/s] by which a bias walks, of the angular or velocity random walk
HEAD = "# Guessed by gnc replay --inspect: check units, orders, signs. Noises are the scatter of samples; see gnc tune."


def starting_config(told: dict[str, Any]) -> str:
    """Return the text of a configuration; where no filter suits, it says what is missing."""
    guesses = [guess | {"table": name} for name, table in told.items() for guess in table["guesses"]]
    kind, sensors, truth = _chosen(guesses)
    first = told[sensors[0]["table"]] if sensors else next(iter(told.values()))
    lines = [HEAD, *_filter(kind, sensors, first.get("jerk", 0.0)), *_unknown(guesses), *_clock(first)]
    for number, sensor in enumerate(sensors):
        kinds = [other["kind"] for other in sensors[:number]]
        lines += ["[[sensors]]", f'kind = "{sensor["kind"]}"']
        lines += [f'name = "{sensor["kind"]}_{number}"'] if sensor["kind"] in kinds else []
        lines += [f"columns = {_text(sensor['columns'])}", *_numbers(sensor, kind), *_place(sensor, told, first)]
    for attitude, position in [truth] if truth else []:
        lines += ["[truth]", f"columns = {_text(attitude['columns'])}", _order(attitude)]
        lines += [f"position = {_text(position['columns'])}"] if position else []
        if kind == "imu" and all(sensor["kind"] != "magnetometer" for sensor in sensors):
            lines += ['align = "heading" # which no sensor tells']
        lines += ['align = "world" # its z axis points down, that of the filter up'] if attitude.get("down") else []
        lines += _place(attitude, told, first)
        mask = told[attitude["table"]].get("mask")
        lines += ["[score]", f'mask = "{mask}" # only where this is not 0'] if mask else []
    return "\n".join(lines) + "\n"


def _filter(kind: str, sensors: list[Guess], psd: float) -> list[str]:
    if kind == "mekf":  # of a body of which nothing is known
        return [
            "[filter]",
            'kind = "mekf"',
            "J = [[1, 0, 0], [0, 1, 0], [0, 0, 1]] # not in the log: state it, or torques are angular accelerations",
            f"torque_psd = {max(psd, 1e-12):.2g} # see gnc tune",
        ]
    counts = sensors[0].get("interval", "mean" if kind == "gyro-mekf" else None) if sensors else None
    told = f', interval = "{counts}"' if counts and kind in ("gyro-mekf", "ins") else ""
    return [f'filter = {{ kind = "{kind}"{told} }}' if kind else "# filter = ?  # none suits what was recognised"]


def _unknown(guesses: list[Guess]) -> list[str]:
    """Tell of columns whose name is that of a sensor, and whose numbers are in no unit that it has."""
    return [
        f"# {', '.join(g['columns'])}: {g['like']}? usually of length {g['norm']:.3g}, in no known unit: left out"
        for g in guesses
        if g.get("like")
    ]


def _clock(first: dict[str, Any]) -> list[str]:
    if first["time"] is not None:
        other = "".join(f" # or {unit}" for unit in first.get("other_units", ()))
        return ["[log]", f'time = "{first["time"]}"', f'time_unit = "{first["time_unit"]}"{other}']
    if "rate_hz" in first:
        return ["[log]", f"rate_hz = {first['rate_hz']!r}"]
    return ["# [log]", "# rate_hz = ? # the log has neither stamps nor a rate: state it"]


def _chosen(guesses: list[Guess]) -> tuple[str, list[Guess], Truth | None]:
    """Return the filter, its sensors, and attitude and position of a truth."""

    def of(*kinds: str) -> list[Guess]:
        return [guess for guess in guesses if guess["kind"] in kinds]

    def better(found: list[Guess]) -> list[Guess]:
        return [guess for guess in found if TRUTH.search(guess["columns"][0]) or TRUTH.search(guess["table"])]

    gyro, force = of("gyro")[:1], of("accelerometer")[:1]
    attitude, position = of("attitude"), of("position", "geodetic")
    sampled = gyro[0]["rate_hz"] if gyro else math.inf
    true = better(attitude) + [guess for guess in attitude if guess not in better(attitude)]
    often = [guess for guess in position if not guess["rate_hz"] < AIDED * sampled]
    where = next(iter(better(position) + often), None)
    truth = (true[0], where) if true else None
    aiding = [g for g in (*position, *of("velocity")) if g["rate_hz"] < AIDED * sampled and g not in better(position)]
    if gyro and force and any(guess["kind"] in ("position", "geodetic") for guess in aiding):
        aiding = [g | {"kind": "position", "frame": "geodetic"} if g["kind"] == "geodetic" else g for g in aiding]
        seldom = [g for g in attitude if g["rate_hz"] < AIDED * sampled and (not truth or g is not truth[0])]
        if seldom and (pose := _pose(seldom[0], aiding)) is not None:
            aiding = [pose]
        return "ins", [*gyro, *force, *aiding], truth
    if gyro and force:
        return "imu", [*gyro, *force, *of("magnetometer")[:1]], (true[0], None) if true else None
    seen = [guess for guess in attitude if guess not in better(attitude)]
    if gyro and seen:
        return "gyro-mekf", [*gyro, seen[0]], ((*better(attitude), *seen[1:])[0], None) if attitude[1:] else None
    pairs = vectors(of("vector", "magnetometer"))
    if len(pairs) > 1:
        return "gyro-mekf" if gyro else "mekf", [*gyro, *pairs], (true[0], None) if true else None
    for measured in [*seen, *attitude]:
        if (pose := _pose(measured, position)) is not None:
            true = [guess for guess in better(attitude) if guess is not measured]
            return "dqekf-kinematic", [pose], (true[0], _beside(true[0], position)) if true else None
    if seen and not gyro:
        return "mekf", seen[:1], ((*better(attitude), *seen[1:])[0], None) if attitude[1:] else None
    return "", [*gyro, *force, *of("magnetometer")], truth


def _pose(attitude: Guess, positions: list[Guess]) -> Guess | None:
    """Return attitude and position of one table as a pose."""
    if (alike := _beside(attitude, positions)) is None:
        return None
    return attitude | {
        "kind": "pose",
        "columns": [*attitude["columns"], *alike["columns"]],
        "scatter_m": alike["scatter"],
    }


def _beside(attitude: Guess, positions: list[Guess]) -> Guess | None:
    """Return the position in the table of an attitude, by preference one that is called alike."""
    near = [p for p in positions if p["table"] == attitude["table"] and p["kind"] == "position" and "frame" not in p]
    return max(near, key=lambda p: (p["stem"][:3] == attitude["stem"][:3], -near.index(p)), default=None)


def _numbers(sensor: Guess, filter_kind: str) -> list[str]:
    """Return unit, order and noises of a sensor, as its filter needs them."""
    kind, unit = sensor["kind"], str(sensor.get("unit"))
    scatter = float(sensor["scatter"])
    sample = max(scatter, 1e-6 * float(sensor["norm"]), 1e-12)
    lines = [f'unit = "{unit}"'] if kind in ("gyro", "accelerometer", "magnetometer", "velocity") else []
    lines += [f"range = {sensor['range']!r} # where its samples stay"] if "range" in sensor else []
    if kind in ("attitude", "pose"):
        turned = math.degrees(
            4.0 / math.sqrt(3.0) * sample
        )  # a turn by three sigma moves four components by half of it
        lines += [_order(sensor), f"sigma_deg = {turned:.2g}"]
    if kind == "vector":
        lines += [f"reference = {_text(sensor['reference'])}", "normalize = true"]
        lines += [f"sigma_deg = {math.degrees(sample / float(sensor['norm'])):.2g}"]
    if kind in ("pose", "position"):
        lines += [f"sigma_m = {max(sensor.get('scatter_m', scatter), 1e-6):.2g}"]
        lines += ['frame = "geodetic"'] if sensor.get("frame") else []
    if kind == "velocity":
        lines += ['frame = "inertial" # or body', f"sigma_m_s = {sample:.2g}"]
    if filter_kind != "imu" and kind in ("gyro", "accelerometer") and math.isfinite(sensor["rate_hz"]):
        walk = sample * SI[unit] / math.sqrt(sensor["rate_hz"])
        lines += [f"{'arw' if kind == 'gyro' else 'vrw'} = {walk:.2g}", f"bias_walk = {WALK * walk:.2g} # a guess"]
    return lines


def _order(guess: Guess) -> str:
    return f'order = "{guess["order"]}" # or the other' + (
        '\nrotation = "q_BI" # as the gyro turns' if guess.get("inverse") else ""
    )


def _place(guess: Guess, told: dict[str, Any], first: dict[str, Any]) -> list[str]:
    """Return the table of a quantity, and its clock where that is not the log's."""
    table = told[guess["table"]]
    lines = [f'table = "{guess["table"]}"'] if len(told) > 1 else []
    if table["time"] is not None and (table["time"], table["time_unit"]) != (first["time"], first.get("time_unit")):
        lines += [f'time = "{table["time"]}"', f'time_unit = "{table["time_unit"]}"']
    return lines
