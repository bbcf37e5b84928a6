"""The outcome in words and rows, for the terminal and the page."""

from __future__ import annotations

from typing import Any

import numpy as np

from gnc.scenarios import display
from gnc.scenarios.replay.account import DROPPING

NUMBERS = ("rows", "empty", "measurements", "flagged")
DATA = ("quantity", *NUMBERS, "dropped, by rule", "gaps", "longest [s]", "step [s]", "jitter [s]")
SENSORS = ("sensor", "used", "rejected", "NIS", "95 % band", "lag 1", "95 % band")


def data_rows(outcome: dict[str, Any]) -> list[tuple[str, ...]]:
    """Return what was in the log, one row per quantity."""
    rows = []
    for name, d in outcome["data"].items():
        dropped = ", ".join(f"{rule} {d['dropped'][rule]}" for rule in DROPPING if rule in d["dropped"]) or "none"
        step = "" if d["step_s"] is None else f"{d['step_s']:.4g}"
        numbers = (str(d[key]) for key in NUMBERS)
        rows.append(
            (name, *numbers, dropped, str(d["gaps"]), f"{d['longest_gap_s']:.4g}", step, f"{d['jitter_s']:.2g}")
        )
    return rows


def sensor_rows(outcome: dict[str, Any]) -> list[tuple[str, ...]]:
    """Return how the innovations of each sensor were."""
    return [
        (
            name, str(s["used"]), str(s["rejected"]), f"{s['nis'] or np.nan:.3f}",
            f"{s['nis_band'][0]:.3f} .. {s['nis_band'][1]:.3f}", f"{s['correlation'][0]:.3f}",
            f"+-{s['correlation_band']:.3f}",
        )
        for name, s in outcome["sensors"].items()
    ]  # fmt: skip


def sentences(outcome: dict[str, Any]) -> list[str]:
    """Return what is worth a line."""
    said = []
    if outcome["lost_s"] is not None:
        said.append(f"LOST: the filter has no estimate from {outcome['lost_s']:.6g} s on; reading stopped there")
    said += [f"FAILED: {failure}" for failure in outcome["failures"]]
    if outcome["malformed_lines"]:
        said.append(
            f"{outcome['malformed_lines']} lines had another number of fields than the header and were left out"
        )
    if outcome["recoveries"]:
        said.append(f"the filter let its covariance grow {outcome['recoveries']} times, after too many rejections")
    truth = outcome["truth"]
    if truth is not None:
        metres = "" if truth["rms_m"] is None else f" and {truth['rms_m']:.4g} m"
        nees = ""
        if truth["nees"] is not None:
            inside = f"{100 * truth['nees_inside_95']:.1f} % in its 95 % band"
            nees = f", NEES {truth['nees']:.3g} of {truth['nees_size']}, {inside}"
        if truth["rms_heading_deg"] is not None:
            nees += f", heading {truth['rms_heading_deg']:.3g} and inclination {truth['rms_inclination_deg']:.3g} deg"
        counted = f"at {truth['scored']} of {truth['times']} times"
        turned = "no RMS" if truth["rms_deg"] is None else f"RMS {truth['rms_deg']:.4g} deg"
        said.append(f"against truth: {turned}{metres}{nees}, {counted}")
    if outcome["bias"] is not None:
        said.append("gyro bias: " + ", ".join(f"{np.degrees(b):.4g}" for b in outcome["bias"]["rad_s"][:3]) + " deg/s")
    return [*said, *(f"warning: {w}" for w in outcome["warnings"]), *(f"hint: {h}" for h in outcome["hints"])]


def tables(outcome: dict[str, Any]) -> None:
    """Print what was in the log, how the filter did, and the hints."""
    display.table(f"{outcome['replay']}: the data", DATA, data_rows(outcome))
    print()
    display.table(f"{outcome['filter']}: innovations", SENSORS, sensor_rows(outcome))
    print()
    speed = f"{outcome['timing']['times_real_time'] or 0.0:.3g} times real time"
    lines = [*sentences(outcome), f"{outcome['estimates']} estimates over {outcome['span_s']:.6g} s, {speed}"]
    print("\n".join([*lines, *(f"wrote {path}" for path in outcome["files"])]))
