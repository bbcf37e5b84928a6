"""The folder of a replay: metrics, configuration, trajectories, figures and page, written and opened again."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

from gnc.config.base import parse
from gnc.config.toml_text import dump
from gnc.files import read_json, read_text, replacing
from gnc.scenarios import display
from gnc.scenarios.logs import trajectories
from gnc.scenarios.replay.config import Replay
from gnc.scenarios.replay.records import opened
from gnc.scenarios.replay.session import Session

Array = Any

LARGEST_FILE = 2**28  # bytes
METRICS, CONFIG, ESTIMATES, PAGE = "metrics.json", "config.toml", "estimates.nc", "report.html"
FIGURES = ("states.png", "nis.png")
LINES = "lines: x, y, z; shaded: 3 sigma"


class Kept(NamedTuple):
    """A replay as it is on disk; records are mapped, not read."""

    text: str  # the configuration
    config: Replay
    outcome: dict[str, Any]
    estimates: Array
    errors: tuple[str, ...]  # names of the rows of C
    innovations: dict[str, Array]  # by sensor


def load(folder: Path) -> Kept:
    """Open the results of a replay."""
    text = read_text(folder / CONFIG, LARGEST_FILE, "results of gnc replay")
    outcome = read_json(folder / METRICS, LARGEST_FILE, "results of gnc replay")
    estimates, attributes = opened(folder / ESTIMATES)
    innovations = {name: opened(folder / f"innovations_{name}.nc")[0] for name in outcome["sensors"]}
    return Kept(text, parse(text, Replay, CONFIG), outcome, estimates, tuple(attributes["errors"].split()), innovations)


def write(session: Session, outcome: dict[str, Any], folder: Path) -> list[Path]:
    """Write metrics, the configuration as it was understood, figures and page; return all files of the replay."""
    from gnc.scenarios.plots import panels, save_figure
    from gnc.scenarios.replay import curves
    from gnc.scenarios.report.page import write_page
    from gnc.scenarios.report.replay_page import page

    for name, content in ((METRICS, display.as_json(outcome) + "\n"), (CONFIG, dump(session.config))):
        with replacing(folder / name) as temporary:
            temporary.write_text(content, encoding="utf-8")
    kept = load(folder)
    trajectory = [folder / f"estimates.{kind}" for kind in session.config.output.formats]
    for path in trajectory:
        trajectories.write(path.suffix[1:], path, kept.estimates, session.origin_ns)
    states = [plot for curve in curves.states(kept) for plot in curves.plots(curve, apart=False)]
    for name, title, plots in zip(FIGURES, (LINES, "innovations"), (states, curves.nis(kept)), strict=True):
        if plots:
            save_figure(lambda figure, title=title, plots=plots: panels(figure, title, plots), folder / name)  # type: ignore[misc]
    write_page(folder / PAGE, page(folder))
    records = [r.path for r in session.results.all_records()]
    beside = [*(path.with_suffix(".csv") for path in records), *(folder / name for name in FIGURES)]
    others = [folder / METRICS, folder / CONFIG, folder / PAGE]
    return [*records, *(path for path in beside if path.exists()), *trajectory, session.dropped.path, *others]
