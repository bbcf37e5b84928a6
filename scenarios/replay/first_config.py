"""A first configuration from what `gnc replay --inspect` guesses: a filter that suits the sensors, and their noises."""

from __future__ import annotations

import math
import re
from typing import Any

Guess = dict[str, Any]

AIDED = 0.5  # of the gyro's rate: what comes less often corrects a filter, what comes as often is the truth
HEAD = "# Guessed by gnc replay --inspect: check units, orders, signs. Noises are the scatter of samples; see gnc tune."


def starting_config(told: dict[str, Any]) -> str:
    """Return the text of a configuration; where no filter suits, it says what is missing."""
    guesses = [guess | {"table": name} for name, table in told.items() for guess in table["guesses"]]
    kind, sensors, truth = _chosen(guesses)
    first = next(iter(told.values()))
    lines = [HEAD, f'filter = {{ kind = "{kind}" }}' if kind else "# filter = ?  # none suits what was recognised"]
    if first["time"] is not None:
        lines += ["[log]", f'time = "{first["time"]}"', f'time_unit = "{first["time_unit"]}"']
    else:
        lines += ["[log]", "rate_hz = 100.0 # not in the log: state it"]
    for number, sensor in enumerate(sensors):
        kinds = [other["kind"] for other in sensors[:number]]
        lines += ["[[sensors]]", f'kind = "{sensor["kind"]}"']
        lines += [f'name = "{sensor["kind"]}_{number}"'] if sensor["kind"] in kinds else []
        lines += [f"columns = {_quoted(sensor['columns'])}", *_numbers(sensor, kind), *_place(sensor, told, first)]
    for attitude, position in [truth] if truth else []:
        lines += [
            "[truth]",
            f"columns = {_quoted(attitude['columns'])}",
            f'order = "{attitude["order"]}" # or the other',
        ]
        lines += [f"position = {_quoted(position['columns'])}"] if position else []
        lines += _place(attitude, told, first)
    return "\n".join(lines) + "\n"


def _chosen(guesses: list[Guess]) -> tuple[str, list[Guess], tuple[Guess, Guess | None] | None]:
    """Return the filter, its sensors, and attitude and position of a truth."""

    def of(kind: str) -> list[Guess]:
        return [guess for guess in guesses if guess["kind"] == kind]

    gyro, force, attitude, position = of("gyro")[:1], of("accelerometer")[:1], of("attitude"), of("position")
    sampled = gyro[0]["rate_hz"] if gyro else math.inf
    aiding = [guess for guess in (*position, *of("velocity")) if guess["rate_hz"] < AIDED * sampled]
    where = next((guess for guess in position if guess not in aiding), None)
    truth = (attitude[0], where) if attitude else None
    if gyro and force and any(guess["kind"] == "position" for guess in aiding):
        return "ins", [*gyro, *force, *aiding], truth
    if gyro and force:
        return "imu", [*gyro, *force, *of("magnetometer")[:1]], (attitude[0], None) if attitude else None
    better = [guess for guess in attitude if re.search("tru|ref|opt|gt", guess["columns"][0], re.I)]
    seen = [guess for guess in attitude if guess not in better]
    if gyro and seen:
        return "gyro-mekf", [*gyro, seen[0]], ((*better, *seen[1:])[0], None) if attitude[1:] else None
    if attitude and position and attitude[0]["table"] == position[0]["table"]:
        pose = attitude[0] | {"kind": "pose", "columns": [*attitude[0]["columns"], *position[0]["columns"]]}
        return "dqekf-kinematic", [pose | {"scatter_m": position[0]["scatter"]}], None
    return "", [*gyro, *force, *of("magnetometer")], truth


def _numbers(sensor: Guess, filter_kind: str) -> list[str]:
    """Return unit, order and noises of a sensor, as its filter needs them."""
    kind, unit = sensor["kind"], str(sensor.get("unit"))
    scatter = float(sensor["scatter"])
    sample = max(scatter, 1e-6 * float(sensor["norm"]), 1e-12)
    lines = [f'unit = "{unit}"'] if kind in ("gyro", "accelerometer", "magnetometer", "velocity") else []
    if kind in ("attitude", "pose"):
        turned = math.degrees(
            4.0 / math.sqrt(3.0) * sample
        )  # a turn by three sigma moves four components by half of it
        lines += [f'order = "{sensor["order"]}" # or the other', f"sigma_deg = {turned:.2g}"]
    if kind in ("pose", "position"):
        lines += [f"sigma_m = {max(sensor.get('scatter_m', scatter), 1e-6):.2g}"]
    if kind == "velocity":
        lines += ['frame = "inertial" # or body', f"sigma_m_s = {sample:.2g}"]
    if filter_kind != "imu" and kind in ("gyro", "accelerometer"):
        size = {"deg/s": math.pi / 180.0, "g": 9.80665}.get(unit, 1.0)
        lines += [f"{'arw' if kind == 'gyro' else 'vrw'} = {sample * size / math.sqrt(sensor['rate_hz']):.2g}"]
    return lines


def _place(guess: Guess, told: dict[str, Any], first: dict[str, Any]) -> list[str]:
    """Return the table of a quantity, and its clock where that is not the log's."""
    table = told[guess["table"]]
    lines = [f'table = "{guess["table"]}"'] if len(told) > 1 else []
    if table["time"] is not None and (table["time"], table["time_unit"]) != (first["time"], first.get("time_unit")):
        lines += [f'time = "{table["time"]}"', f'time_unit = "{table["time_unit"]}"']
    return lines


def _quoted(names: list[str]) -> str:
    return "[" + ", ".join(f'"{name}"' for name in names) + "]"
