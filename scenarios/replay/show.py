"""The outcome for people: tables on the terminal, figures, a page; and metrics.json for machines."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from gnc.files import replacing
from gnc.scenarios import display
from gnc.scenarios.config.toml_text import dump
from gnc.scenarios.replay import curves, figures
from gnc.scenarios.replay.account import DROPPING
from gnc.scenarios.replay.curves import AXES, Curve, NisCurve
from gnc.scenarios.replay.session import Session
from gnc.scenarios.report.page import Page, Plot, Series, Table, write_page
from gnc.scenarios.reproduce import save_figure

DATA = (
    "quantity",
    "rows",
    "empty",
    "measured",
    "flagged",
    "dropped, by rule",
    "gaps",
    "longest [s]",
    "step [s]",
    "jitter [s]",
)
SENSORS = ("sensor", "used", "rejected", "NIS", "95 % band", "lag 1", "95 % band")


def write(session: Session, outcome: dict[str, Any], folder: Path) -> list[Path]:
    """Write figures, page, metrics and the configuration as it was understood; return all files of the replay."""
    state, nis = curves.states(session, outcome), curves.nis(session)
    save_figure(lambda figure: figures.draw_states(figure, state), folder / "states.png")
    save_figure(lambda figure: figures.draw_nis(figure, nis), folder / "nis.png")
    configuration = dump(session.config)
    for name, content in (("metrics.json", display.as_json(outcome) + "\n"), ("config.toml", configuration)):
        with replacing(folder / name) as temporary:
            temporary.write_text(content, encoding="utf-8")
    write_page(folder / "report.html", _page(outcome, configuration, state, nis))
    records = [r.path for r in session.results.all_records()]
    text = [path.with_suffix(".csv") for path in records] if session.config.output.csv else []
    others = [folder / n for n in ("metrics.json", "config.toml", "states.png", "nis.png", "report.html")]
    return [*records, *text, session.dropped.path, *others]


def tables(outcome: dict[str, Any]) -> None:
    """Print what was in the log, how the filter did, and the hints."""
    display.table(f"{outcome['replay']}: the data", DATA, _data_rows(outcome))
    print()
    display.table(f"{outcome['filter']}: innovations", SENSORS, _sensor_rows(outcome))
    print()
    for line in _sentences(outcome):
        print(line)
    print(f"{outcome['estimates']} estimates over {outcome['span_s']:.6g} s, {_speed(outcome)}")
    for path in outcome["files"]:
        print(f"wrote {path}")


def _speed(outcome: dict[str, Any]) -> str:
    return f"{outcome['timing']['times_real_time'] or 0.0:.3g} times real time"


def _data_rows(outcome: dict[str, Any]) -> list[tuple[str, ...]]:
    rows = []
    for name, d in outcome["data"].items():
        dropped = ", ".join(f"{rule} {d['dropped'][rule]}" for rule in DROPPING if rule in d["dropped"]) or "none"
        step = "" if d["step_s"] is None else f"{d['step_s']:.4g}"
        numbers = (str(d[key]) for key in ("rows", "empty", "measurements", "flagged"))
        rows.append(
            (name, *numbers, dropped, str(d["gaps"]), f"{d['longest_gap_s']:.4g}", step, f"{d['jitter_s']:.2g}")
        )
    return rows


def _sensor_rows(outcome: dict[str, Any]) -> list[tuple[str, ...]]:
    return [
        (
            name, str(s["used"]), str(s["rejected"]), f"{s['nis'] or np.nan:.3f}",
            f"{s['nis_band'][0]:.3f} .. {s['nis_band'][1]:.3f}", f"{s['correlation'][0]:.3f}",
            f"+-{s['correlation_band']:.3f}",
        )
        for name, s in outcome["sensors"].items()
    ]  # fmt: skip


def _sentences(outcome: dict[str, Any]) -> list[str]:
    """Return what is worth a line."""
    said = []
    if outcome["lost_s"] is not None:
        said.append(f"LOST: the filter has no estimate from {outcome['lost_s']:.6g} s on; reading stopped there")
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
        counted = f"at {truth['scored']} of {truth['times']} times"
        said.append(f"against truth: RMS {truth['rms_deg']:.4g} deg{metres}{nees}, {counted}")
    if outcome["bias"] is not None:
        said.append("gyro bias: " + ", ".join(f"{np.degrees(b):.4g}" for b in outcome["bias"]["rad_s"][:3]) + " deg/s")
    return [*said, *(f"warning: {w}" for w in outcome["warnings"]), *(f"hint: {h}" for h in outcome["hints"])]


# The page


def _page(outcome: dict[str, Any], configuration: str, state: list[Curve], nis: list[NisCurve]) -> Page:
    data = Table("The data", DATA, _data_rows(outcome))
    sensors = Table("Innovations", SENSORS, _sensor_rows(outcome))
    title, subtitle = f"Replay of {Path(outcome['replay']).name}", f"{outcome['filter']}, {outcome['span_s']:.6g} s"
    plots = [_state_plot(curve) for curve in state] + [_nis_plot(curve) for curve in nis]
    return Page(title, subtitle, [data, sensors], configuration, plots, notes=_sentences(outcome))


def _state_plot(curve: Curve) -> Plot:
    series = []
    for i, axis in enumerate(AXES):
        y = None if curve.y is None else curve.y[:, i]
        centre = np.zeros(len(curve.t)) if curve.about_zero or y is None else y
        edges = {"lower": centre - curve.bound[:, i], "upper": centre + curve.bound[:, i]}
        series.append(Series(f"3 sigma {axis}", None, "band", **edges))
        if y is not None:
            series.append(Series(axis, y))
    return Plot(curve.title, "time [s]", curve.unit, curve.t, series)


def _nis_plot(curve: NisCurve) -> Plot:
    band = Series("95 % band", None, "band", lower=curve.lo, upper=curve.hi)
    return Plot(f"NIS of {curve.sensor}", "time [s]", "", curve.t, [band, Series("mean NIS", curve.mean)])
