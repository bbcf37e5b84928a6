"""The page of a replay: what was in the log, how good and how honest the filter was, and how the body moved."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from gnc.scenarios.replay import curves, wording
from gnc.scenarios.replay.curves import AXES
from gnc.scenarios.replay.folder import Kept, load
from gnc.scenarios.report.page import Badge, Body, Chapter, Page, Scene, Table

SIZE_M = (1.5, 1.1, 0.7)  # of the box that stands for the body; a log does not tell its size
GREY = "#9aa4b2"
RANGE = "Plots of the motion keep to the range of all but the first tenth of the log; estimates.nc has everything."
SCORES = {
    "scored": "times scored",
    "rms_deg": "attitude RMS [deg]",
    "rms_m": "position RMS [m]",
    "rms_rate_deg_s": "rate RMS [deg/s]",
    "nees": "mean NEES",
    "nees_size": "its dimension",
    "nees_inside_95": "fraction of NEES in the central 95 %",
}


def page(folder: Path) -> Page:
    """Return the page of the results in a directory."""
    kept = load(folder)
    outcome = kept.outcome
    subtitle = f"{outcome['filter']}, {outcome['estimates']} estimates over {outcome['span_s']:.6g} s"
    plots = [plot for curve in curves.states(kept) for plot in curves.plots(curve, apart=True)]
    data, sensors, *rest = _tables(outcome)
    shown = _scene(kept)
    story = [
        Chapter("What is in the log", "", [data]),
        Chapter("Is the filter honest?", " ".join(wording.sentences(outcome)), [sensors, *rest], curves.nis(kept)),
        Chapter("What it estimates", RANGE, plots=plots),
        Chapter("The motion", shown.caption if shown else "", scene=shown),
    ]
    story = [c for c in story if c.tables or c.plots or c.scene]
    title = f"Replay of {Path(outcome['replay']).name}"
    failed = outcome["lost_s"] is not None or outcome["failures"]
    badge = Badge("the filter failed" if failed else "not lost, no sensor shut out", not failed)
    return Page(title, subtitle, story, kept.text, (), badge)


def _tables(outcome: dict[str, Any]) -> list[Table]:
    """Return the tables that have something to say."""
    tables = [
        Table("The data", wording.DATA, wording.data_rows(outcome)),
        Table("Innovations", wording.SENSORS, wording.sensor_rows(outcome)),
    ]
    if outcome["truth"] is not None:
        tables.append(Table("Against the truth", ("metric", "value"), _truth_rows(outcome["truth"])))
    if outcome["bias"] is not None:
        tables.append(
            Table("Gyro bias at the end", ("axis", "[deg/s]", "1 sigma [deg/s]"), _bias_rows(outcome["bias"]))
        )
    if outcome["rest"]:
        rows = [(name, level, *pair) for name, x in outcome["rest"].items() for level, pair in x["levels"].items()]
        tables.append(Table("Noise at rest", ("sensor", "level", "measured", "stated"), rows))
    if outcome["hints"]:
        tables.append(Table("Tuning", ("hint",), [(hint,) for hint in outcome["hints"]]))
    return tables


def _truth_rows(truth: dict[str, Any]) -> list[tuple[str, Any]]:
    rows: list[tuple[str, Any]] = [(name, truth[key]) for key, name in SCORES.items() if truth[key] is not None]
    if truth["offset"] is not None:
        rows += [(f"offset {key}", ", ".join(f"{x:.6g}" for x in value)) for key, value in truth["offset"].items()]
    return rows


def _bias_rows(bias: dict[str, Any]) -> list[tuple[str, float, float]]:
    pairs = zip(np.degrees(bias["rad_s"]), np.degrees(bias["sigma_rad_s"]), strict=True)
    return [(AXES[k % 3], float(value), float(sigma)) for k, (value, sigma) in enumerate(pairs)]


def _scene(kept: Kept) -> Scene | None:
    """Return the body as it was estimated to turn and move, with the truth if there is one."""
    part, truth = curves.thinned(kept), kept.config.truth
    if len(part) < 2:
        return None
    t, placed = part["t"].astype(float), "r_IB" in (part.dtype.names or ())
    r = part["r_IB"].astype(float) if placed else np.zeros((len(t), 3))
    bodies = [Body("estimate", r, part["q_IB"].astype(float), SIZE_M)]
    if truth is not None:
        r_true = part["truth_r_IB"].astype(float) if placed and truth.position is not None else r
        bodies.append(Body("truth", r_true, part["truth_q_IB"].astype(float), SIZE_M, GREY))
    return Scene(t, bodies, caption="Attitude against inertial space, as estimated, and as it was where that is known")
