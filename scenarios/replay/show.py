"""The outcome for people: tables on the terminal, figures, a page; and metrics.json for machines."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from gnc.config.toml_text import dump
from gnc.files import replacing
from gnc.scenarios import display
from gnc.scenarios.plots import save_figure
from gnc.scenarios.replay import curves, figures, told, trajectories
from gnc.scenarios.replay.kept import CONFIG, METRICS, load
from gnc.scenarios.replay.session import Session
from gnc.scenarios.report.page import write_page
from gnc.scenarios.report.replay_page import page


def write(session: Session, outcome: dict[str, Any], folder: Path) -> list[Path]:
    """Write metrics, the configuration as it was understood, figures and page; return all files of the replay."""
    for name, content in ((METRICS, display.as_json(outcome) + "\n"), (CONFIG, dump(session.config))):
        with replacing(folder / name) as temporary:
            temporary.write_text(content, encoding="utf-8")
    kept = load(folder)
    trajectory = [folder / f"estimates.{kind}" for kind in session.config.output.formats]
    for path in trajectory:
        trajectories.write(path.suffix[1:], path, kept.estimates, session.origin_ns)
    state, nis = curves.states(kept), curves.nis(kept)
    save_figure(lambda figure: figures.draw_states(figure, state), folder / "states.png")
    save_figure(lambda figure: figures.draw_nis(figure, nis), folder / "nis.png")
    write_page(folder / "report.html", page(folder))
    records = [r.path for r in session.results.all_records()]
    text = [path.with_suffix(".csv") for path in records if path.with_suffix(".csv").exists()]
    others = [folder / n for n in (METRICS, CONFIG, "states.png", "nis.png", "report.html")]
    return [*records, *text, *trajectory, session.dropped.path, *others]


def tables(outcome: dict[str, Any]) -> None:
    """Print what was in the log, how the filter did, and the hints."""
    display.table(f"{outcome['replay']}: the data", told.DATA, told.data_rows(outcome))
    print()
    display.table(f"{outcome['filter']}: innovations", told.SENSORS, told.sensor_rows(outcome))
    print()
    for line in told.sentences(outcome):
        print(line)
    print(f"{outcome['estimates']} estimates over {outcome['span_s']:.6g} s, {_speed(outcome)}")
    for path in outcome["files"]:
        print(f"wrote {path}")


def _speed(outcome: dict[str, Any]) -> str:
    return f"{outcome['timing']['times_real_time'] or 0.0:.3g} times real time"
