"""The page of a flight, as a story: verdict, target, filter, actuators, causes, the flight itself, what was flown."""

from __future__ import annotations

import platform
from collections.abc import Mapping, Sequence
from hashlib import sha256
from typing import TYPE_CHECKING, Any

import numpy as np

from gnc import __version__
from gnc import config as configuration
from gnc.checks import Check, bound_text
from gnc.config import flat
from gnc.montecarlo.sampling import INPUT
from gnc.montecarlo.statistics import sensitivities, wilson
from gnc.scenarios.missions.flight import DRAWN
from gnc.scenarios.missions.hints import perfect
from gnc.scenarios.missions.mission import Mission
from gnc.scenarios.missions.verdict import lowest
from gnc.scenarios.report import covariance_page
from gnc.scenarios.report.flight_scene import scene
from gnc.scenarios.report.page import Badge, Bar, Cell, Chapter, Page, Table
from gnc.scenarios.report.panels import EDGE, Panels, title_of
from gnc.scenarios.report.plot import Plot

if TYPE_CHECKING:
    from xarray import Dataset

Columns = Mapping[str, Any]  # (trials,) each: the table of trials
MOST_ROWS = 20
MOST_LOST = 2  # lost trials among those
TAKES = 6  # trials that a page can show
ROOM = 6_000_000  # numbers of a page
CHECKS = ("requirement", "value", "bound", "margin", "trials that keep it", "95 % interval", "note", "result")
CHANCE = 0.05  # false-discovery rate


def page(
    result: dict[str, Any], text: str, mission: Mission, flight: Dataset, table: Columns, trial: int | None, beside: Any
) -> Page:
    """Return the page of a flight; `table` has a row for each trial, `beside` is a run of gnc covariance or None."""
    numbers = flight["trial"].values.tolist()
    shown = _shown(mission, flight, table, trial, result["lost"])
    verdict = verdict_chapter(mission, result, table)
    causes, what = causes_chapter(related(table), beside), flown_chapter(mission, text, result)
    takes = {
        name: [verdict, *_of_trial(Panels(mission, flight, numbers.index(k)), result, causes), what]
        for k, name in shown.items()
    }
    subtitle = f"{result['title'].rstrip('.')}. {len(numbers)} trial{'s' * (len(numbers) > 1)}, seed {result['seed']}."
    notes = ["The flight was interrupted before its end."] if result["interrupted"] else []
    return Page(result["scenario"], subtitle, (), text, notes, badge(result["checks"], result["trials"]), takes)


def _shown(
    mission: Mission, flight: Dataset, table: Columns, trial: int | None, lost: Sequence[Mapping[str, Any]]
) -> dict[int, str]:
    """Return the trials that the page can show, each with why: the one asked for or the first, lost ones, the worst."""
    numbers = flight["trial"].values.tolist()
    first = numbers[0] if trial is None else trial
    size = sum(x.size for x in flight.data_vars.values()) / len(numbers)
    most = min(TAKES, max(1, int(ROOM / max(size, 1.0))))
    of_lost = {x["trial"]: f"trial {x['trial']}, lost: {x['reason']}" for x in lost[: min(MOST_LOST, most - 1)]}
    shown = {first: f"trial {first}"} | of_lost
    for key in mission.requirements:
        values = _column(table, key)
        if len(shown) >= most or len(values) != len(numbers) or not np.isfinite(values).any():
            continue
        worst = numbers[int(np.nanargmin(values) if key in lowest(mission) else np.nanargmax(values))]
        shown.setdefault(worst, f"trial {worst}, worst {title_of(mission, key)}")
    return shown


def _of_trial(panels: Panels, result: dict[str, Any], causes: Chapter) -> list[Chapter]:
    """Return the chapters that show one trial."""
    target = Chapter("Is it on target?", _target_lead(panels), plots=panels.target(), tables=_beside(result))
    tables = [_measurements(result)] if result.get("measurements") else []
    tables += [Table("Alarms", ("what",), [(hint,) for hint in result["hints"]])] if result.get("hints") else []
    filters = filter_chapter([*panels.errors(), *panels.nees(), *panels.nis()], tables)
    metrics = [(key, float("nan") if value is None else value) for key, value in result["metrics"].items()]
    tables = [Table("Metrics of all trials", ("metric", "value"), metrics)]
    rest = Chapter("All metrics and other signals", "", tables, panels.others(), folded=True)
    chapters = [target, filters, actuators_chapter(panels), causes, flight_chapter(panels), rest]
    return [c for c in chapters if c.tables or c.plots or c.scene or c is causes]


def _target_lead(panels: Panels) -> str:
    if panels.flight.sizes["trial"] < 4:
        return "Lines are trials; dotted lines are what is asked."
    return "The band holds 90 % of the trials at each time, the line on top is the trial chosen; dotted: what is asked."


# Verdict


def badge(checks: Sequence[Mapping[str, Any]], trials: int) -> Badge:
    """Return the verdict in few words: of all that is asked, by all trials together."""
    failed = [check for check in checks if not check["ok"]]
    of = f"{trials} trial{'s' * (trials > 1)}"
    if any("nothing was judged" in check.get("note", "") for check in checks):
        return Badge("nothing was asked", None)
    if failed:
        return Badge(f"{len(failed)} of {len(checks)} requirements failed by {of}", False)
    return Badge(f"all {len(checks)} requirements met by {of}", True)


def verdict_chapter(mission: Mission, result: Mapping[str, Any], table: Columns) -> Chapter:
    """Return what was asked, with value, bound, margin, and how many trials keep it by themselves."""
    parts: dict[str, tuple[str, Any]] = {
        getattr(part, "title", "") or key: (key, part) for key, part in mission.requirements.items()
    }
    rows = [_check_row(check, *parts.get(check["name"], ("", None)), table) for check in result["checks"]]
    tables = [Table("Requirements", CHECKS, rows)]
    if result.get("lost"):
        lost: list[tuple[Cell, ...]] = [(entry["trial"], entry["reason"]) for entry in result["lost"][:MOST_ROWS]]
        rest = len(result["lost"]) - len(lost)
        tables.append(Table("Lost trials", ("trial", "reason"), lost + [("", f"and {rest} more")] * (rest > 0)))
    success, lead = np.asarray(table.get("success", ()), bool), ""
    if len(success) > 1:
        p = wilson(int(success.sum()), len(success))
        lead = f"{int(success.sum())} of {len(success)} trials meet by themselves all that a trial can be asked: "
        lead += f"{100 * p.p:.4g} %, 95 % interval {100 * p.lo:.3g} to {100 * p.hi:.4g} %."
    return Chapter("The verdict", lead, tables)


def _check_row(check: Mapping[str, Any], key: str, part: Any, table: Columns) -> tuple[Cell, ...]:
    share, interval = "", ""
    alone = _column(table, key)
    if len(alone) > 1 and hasattr(part, "_keeps") and getattr(part, "per_trial", False):
        good = int(part._keeps(alone).sum())
        p = wilson(good, len(alone))
        share, interval = f"{good} of {len(alone)}", f"{100 * p.lo:.3g} .. {100 * p.hi:.4g} %"
    value = check["value"]
    shown: Cell = float("nan") if value is None else float(value)
    return (
        check["name"],
        shown,
        bound_text(Check(**check)),
        _margin(check),
        share,
        interval,
        check.get("note", ""),
        bool(check["ok"]),
    )


def _column(table: Columns, key: str) -> Any:
    """Return the values of a requirement, trial by trial; empty where the table has none."""
    values = np.asarray(table.get(key, ()))
    return values.astype(float) if values.dtype.kind == "f" else np.zeros(0)


def _margin(check: Mapping[str, Any]) -> str:
    """Return how far a value is from its bound, in per cent of the bound; negative is beyond."""
    value, limit = check["value"], check["bound"]
    if value is None or not np.isfinite(value):
        return ""
    if isinstance(limit, list | tuple):
        half = 0.5 * (limit[1] - limit[0])
        return f"{100 * min(value - limit[0], limit[1] - value) / half:.3g} %" if half > 0.0 else ""
    room = (limit - value) * (1.0 if check["relation"] == "<=" else -1.0)
    return f"{100 * room / abs(limit):.3g} %" if limit else f"{room:.3g}"


def _beside(result: Mapping[str, Any]) -> list[Table]:
    """Return contestants side by side."""
    side = result.get("comparison")
    return [Table(side["title"], side["columns"], side["rows"])] if side else []


# Filter and actuators


def filter_chapter(plots: Sequence[Plot], tables: Sequence[Table] = ()) -> Chapter:
    """Return what the filter believes beside what is."""
    lead = "Its error should stay in its own 3 sigma 99.7 % of the time; NEES and NIS, which weigh errors and "
    lead += "innovations by what the filter believes, should have means in their bands."
    return Chapter("Is the filter honest?", lead, tables, plots)


def actuators_chapter(panels: Panels) -> Chapter:
    """Return what the actuators did."""
    use = _use(panels)
    return Chapter("What did the actuators do?", "", [use] if use.rows else [], panels.actuators())


def flight_chapter(panels: Panels) -> Chapter:
    """Return the flight of one trial in three dimensions, and its approach."""
    shown = scene(panels.mission, panels.flight, panels.place)
    return Chapter("The flight", shown.caption if shown else "", plots=panels.ways(), scene=shown)


def _measurements(result: Mapping[str, Any]) -> Table:
    rows: list[tuple[Cell, ...]] = []
    for name, n in result["measurements"].items():
        heard = n["used"] + n["refused"]
        rows.append((name, n["used"], n["refused"], n["missing"], Bar(n["refused"] / heard) if heard else None))
    columns = ("sensor", "used", "refused by the gate", "missing", "share refused")
    return Table("Measurements of all trials", columns, rows)


def _use(panels: Panels) -> Table:
    """Return the largest use of each actuator, and how long it was at its limit."""
    rows: list[tuple[Cell, ...]] = []
    for name, signal, limit in panels.used():
        size = np.abs(signal.values)
        if not np.isfinite(size).any():
            continue
        parts = size if size.ndim == 3 else size[..., None]
        largest, at_end = float(np.nanmax(size)), float(np.nanmedian(np.nanmax(parts[:, -1], axis=-1)))
        share = None if limit is None else Bar(largest / limit)
        stuck = None if limit is None else f"{100 * np.mean(parts.max(axis=-1) >= EDGE * limit):.3g} %"
        unit = signal.attrs["units"].removeprefix("1")
        rows.append((name, unit, largest, limit, share, stuck, at_end))
    of = "all trials" if panels.flight.sizes["trial"] > 1 else f"trial {panels.trial}"
    columns = ("signal", "unit", "largest", "limit", "use", "time at the limit", "median at the end")
    return Table(f"Use of actuators in {of}", columns, rows)


# Causes


def related(table: Columns) -> list[dict[str, Any]]:
    """Return rank correlations of what is asked with what was drawn."""
    arrays = {str(n): np.asarray(x) for n, x in table.items()}
    numbers = {n: x.astype(float) for n, x in arrays.items() if x.dtype.kind == "f" and x.ndim == 1}
    inputs = {n: x for n, x in numbers.items() if n.startswith((DRAWN, INPUT))}
    metrics = {n: x for n, x in numbers.items() if n not in inputs and not n.startswith("tally.")}
    return [row._asdict() for row in sensitivities(metrics, inputs)]


def causes_chapter(rows: Sequence[Mapping[str, Any]], beside: Dataset | None) -> Chapter:
    """Return what goes with what, and the error budget of a linear covariance run where there is one."""
    sure = [row for row in rows if row["p_adjusted"] < CHANCE][:MOST_ROWS]
    cells: list[tuple[Cell, ...]] = [
        (
            r["metric"],
            r["input"].removeprefix(DRAWN).removeprefix("input."),
            Bar(r["rho"], percent=False),
            r["p_adjusted"],
        )
        for r in sure
    ]
    tables, lead = [], ""
    if cells:
        columns = ("metric", "what was drawn", "rank correlation", "p, adjusted")
        tables.append(Table("What goes with what", columns, cells))
    elif rows:
        lead = f"None of {len(rows)} pairs of a metric and a drawn number goes together beyond chance. "
    budgets, plots = ([], []) if beside is None else covariance_page.budgets(beside)
    tables += budgets
    if plots:
        lead += "Error budgets are those of the variance after the transient, by linear covariance of the whole loop."
    else:
        lead += "For an error budget by sources, run gnc covariance config.toml --out . here, and report again."
    return Chapter("Who causes the error?", lead, tables, plots)


# What was flown


def flown_chapter(mission: Mission, text: str, result: Mapping[str, Any]) -> Chapter:
    """Return what differs from the nearest built-in mission, what is perfect, versions, and how to fly it again."""
    base, changes = _nearest(mission)
    lead = f"Nearest built-in mission: {base}, of which " + (
        f"{len(changes)} field{'s differ' if len(changes) > 1 else ' differs'}." if changes else "nothing differs."
    )
    tables = [Table(f"What differs from {base}", ("field", f"in {base}", "here"), changes)] if changes else []
    tables.append(Table("What is perfect in it", ("what",), [(line,) for line in perfect(mission)]))
    command = f"gnc {'run' if 'interrupted' in result else 'monte-carlo'} config.toml --trials {result['trials']}"
    versions = f"gnc {__version__}, Python {platform.python_version()}, NumPy {np.__version__}"
    rows = [
        ("fly it again", f"{command} --seed {result['seed']}"),
        ("flown with", f"gnc {result.get('version', __version__)}"),
        ("page made with", versions),
        ("SHA-256 of config.toml", sha256(text.encode()).hexdigest()),
        ("SHA-256 of the mission", configuration.digest(mission)),
    ]
    return Chapter("What was flown", lead, [*tables, Table("To repeat it", ("what", "value"), rows)])


def _nearest(mission: Mission) -> tuple[str, list[tuple[str, str, str]]]:
    """Return the built-in mission that differs in the fewest fields, and those fields."""
    from gnc.scenarios.missions.load import builtin, read

    own, best, fewest = flat(mission), "", None
    for name in [mission.name, *builtin()] if mission.name in builtin() else builtin():
        other = flat(read(name))
        keys = [k for k in dict.fromkeys([*other, *own]) if other.get(k) != own.get(k) and k not in TITLES]
        rows = [(k, other.get(k, "absent"), own.get(k, "absent")) for k in keys]
        if fewest is None or len(rows) < len(fewest):
            best, fewest = name, rows
        if name == mission.name:
            break
    return best, fewest or []


TITLES = ("name", "title", "story")
