"""Fly a scenario and leave its results: configuration, history, metrics, figures."""

from __future__ import annotations

import tempfile
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from gnc import __version__, history
from gnc import config as configuration
from gnc.checks import bound_text
from gnc.errors import InputError
from gnc.files import replacing
from gnc.scenarios.catalogue import SCENARIOS, scenario
from gnc.scenarios.display import as_json, number, table
from gnc.scenarios.plots import save_figure
from gnc.scenarios.scenario import Scenario, ScenarioConfig, Verdict, fly

if TYPE_CHECKING:
    from xarray import Dataset

CONFIG, HISTORY, METRICS = "config.toml", "history.nc", "metrics.json"


@dataclass(frozen=True)
class Outcome:
    """A scenario as it was flown."""

    scenario: Scenario
    config: ScenarioConfig
    seed: int
    flight: Dataset
    verdict: Verdict
    out: Path | None

    @property
    def interrupted(self) -> bool:
        """Whether the flight was stopped before its end."""
        return bool(self.flight.attrs["interrupted"])

    @property
    def ok(self) -> bool:
        """Whether every check holds."""
        return all(check.ok for check in self.verdict.checks)

    def report(self) -> dict[str, Any]:
        """The outcome for machines."""
        return {
            "scenario": self.scenario.name,
            "title": self.scenario.title,
            "seed": self.seed,
            "trials": int(self.flight.sizes["trial"]),
            "metrics": dict(self.verdict.metrics),
            "checks": [asdict(check) for check in self.verdict.checks],
            "lost": [{"trial": trial, "reason": reason} for trial, reason in self.verdict.lost.items()],
            "comparison": self._comparison(),
            "interrupted": self.interrupted,
            "uncompiled": self.flight.attrs["uncompiled"],
            "version": __version__,
            "out": None if self.out is None else str(self.out),
        }

    def _comparison(self) -> dict[str, Any] | None:
        """The contestants side by side."""
        found = self.verdict.comparison
        if found is None:
            return None
        rows = [[who, *[self.verdict.metrics[key] for key in keys]] for who, keys in found.rows.items()]
        return {"title": found.title, "columns": list(found.columns), "rows": rows}


def resolve(name: str, settings: Sequence[str] = ()) -> tuple[Scenario, ScenarioConfig]:
    """Return a scenario and its configuration, from its name or a TOML file, with settings `key=value` on top."""
    if name in SCENARIOS or not (name.endswith(".toml") or Path(name).exists()):
        found = scenario(name)
        config = found.Config()  # type: ignore[call-arg]  # every scenario has a default for every field
    else:
        found = scenario(_scenario_of(Path(name)))
        config = configuration.read(name, found.Config)
    return found, configuration.override(config, list(settings)) if settings else config


def _scenario_of(path: Path) -> str:
    """Return which scenario a file is for; all else is checked when the file is read as such."""
    try:
        name = tomllib.loads(path.read_text(encoding="utf-8-sig")).get("scenario")
    except (OSError, ValueError):
        return str(configuration.read(path, _AnyScenario).scenario)  # says what is wrong with the file
    if not isinstance(name, str):
        raise InputError(f'{path}: scenario: is missing; give one, scenario = "pointing" say')
    return name


class _AnyScenario(configuration.Section):
    """Any scenario file."""

    scenario: str


def run(
    found: Scenario,
    config: ScenarioConfig,
    seed: int,
    trials: Sequence[int],
    out: Path | None,
    progress: Callable[[int, int], None] | None = None,
) -> Outcome:
    """Fly the trials of these numbers; write results to a directory unless it is None."""
    ready = None if out is None else lambda: make_directory(out)
    flight = fly(found, config, seed, np.asarray(trials), progress, ready=ready)
    outcome = Outcome(found, config, seed, flight, found.judge(config, flight), out)
    if out is not None:
        write(outcome, out)
    return outcome


def make_directory(out: Path) -> None:
    """Make the directory before a flight, which may be long, and see that it can be written."""
    try:
        out.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=out):
            pass
    except OSError as error:
        raise InputError(f"--out {out}: {(error.strerror or str(error)).lower()}; give a directory to write") from None


def write(outcome: Outcome, out: Path) -> None:
    """Write everything that a flight leaves, each file whole or not at all."""
    with replacing(out / CONFIG) as path:
        path.write_text(configuration.dump(outcome.config), encoding="utf-8")
    history.save(outcome.flight, out / HISTORY)
    for name, draw in outcome.scenario.figures(outcome.config, outcome.flight).items():
        save_figure(draw, out / f"{name}.png")
    with replacing(out / METRICS) as path:
        path.write_text(as_json(outcome.report()) + "\n", encoding="utf-8")


def show(outcome: Outcome) -> None:
    """The outcome for people."""
    verdict, name = outcome.verdict, outcome.scenario.name
    side_by_side = verdict.comparison
    compared = set() if side_by_side is None else {key for keys in side_by_side.rows.values() for key in keys}
    rows = [(key, number(value)) for key, value in verdict.metrics.items() if key not in compared]
    table(f"{name}: {outcome.scenario.title}", ("metric", "value"), rows)
    print()
    if side_by_side is not None:
        cells = [(who, *[number(verdict.metrics[key]) for key in keys]) for who, keys in side_by_side.rows.items()]
        table(side_by_side.title, side_by_side.columns, cells)
        print()
    checks = [(c.name, number(c.value), bound_text(c), "ok" if c.ok else "FAILED") for c in verdict.checks]
    table(
        f"checks, {outcome.flight.sizes['trial']} trials, seed {outcome.seed}",
        ("check", "value", "bound", "ok"),
        checks,
    )
    _show_lost(verdict.lost)
    if outcome.flight.attrs["uncompiled"]:
        print(f"flown tick by tick, not compiled: {outcome.flight.attrs['uncompiled']}")
    if outcome.out is not None:
        print(f"results in {outcome.out}")


def _show_lost(lost: Mapping[int, str], most: int = 5) -> None:
    for trial, reason in list(lost.items())[:most]:
        print(f"trial {trial} lost: {reason}")
    if len(lost) > most:
        print(f"... and {len(lost) - most} more")
