"""A mission as it was flown: signals, verdict, table of trials."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from gnc.config import override
from gnc.config.toml_text import value_text
from gnc.draws import Draws
from gnc.errors import InputError
from gnc.expression import LARGEST, Expression
from gnc.flying import Record
from gnc.history import CLOCK, History, Signal
from gnc.labelled import Table
from gnc.scenarios.missions import dispersal
from gnc.scenarios.missions.build import Prepared, prepare
from gnc.scenarios.missions.mission import Mission
from gnc.scenarios.missions.requirements.base import ALWAYS, resolve
from gnc.scenarios.missions.verdict import Verdict, judge
from gnc.scenarios.missions.world import observe_innovation
from gnc.scenarios.plots import Figure
from gnc.shared_state import undisturbed
from gnc.typing import Array

if TYPE_CHECKING:
    from xarray import Dataset

    from gnc.scenarios.missions.flight_code import FlightCode
    from gnc.scenarios.report.page import Shown

Progress = Callable[[int, int], None]
MOST_INNOVATIONS = 600  # kept of each instrument
DRAWN = "drawn."  # begins the name of what a part drew, in the table of trials


@dataclass(frozen=True)
class Flight:
    """Trials of a mission that were flown."""

    mission: Mission
    seed: int
    recorded: Table  # what `signals` are made of
    verdict: Verdict
    drawn: Mapping[str, Array] = field(default_factory=dict, repr=False)  # (trials, ...) of everything drawn
    out: Path | None = None

    @property
    def interrupted(self) -> bool:
        """Whether the flight was stopped before its end."""
        return bool(self.recorded.attrs["interrupted"])

    @functools.cached_property
    def signals(self) -> Dataset:
        """All signals over trials and time."""
        return self.recorded.dataset()

    @property
    def table(self) -> Dataset:
        """One row per trial: what was asked of it, whether it succeeded, all that was drawn for it."""
        return self.rows.dataset()

    @property
    def rows(self) -> Table:
        """What `table` is made of."""
        trial = self.recorded["trial"].values
        columns = {**self.verdict.per_trial, "success": self.verdict.success, **flat(self.drawn)}
        data: dict[str, Any] = {name: ("trial", np.asarray(values)) for name, values in columns.items()}
        data["lost"] = ("trial", np.array([self.verdict.lost.get(int(k), "") for k in trial]))
        return Table(data, {"trial": trial})

    def worst(self, requirement: str, count: int = 5) -> list[int]:
        """Return the numbers of the trials that are worst by a requirement, the worst first."""
        if requirement not in self.verdict.per_trial:
            names = ", ".join(self.verdict.per_trial) or "none"
            raise InputError(f"{requirement}: no requirement is called so; there are {names}")
        values = np.asarray(self.verdict.per_trial[requirement], float)
        part = self.mission.requirements.get(requirement)
        sign = -1.0 if getattr(part, "at_least", None) is not None and getattr(part, "at_most", None) is None else 1.0
        order = np.argsort(-sign * np.where(np.isnan(values), np.inf * sign, values), kind="stable")
        return [int(k) for k in self.recorded["trial"].values[order][:count]]

    def _repr_html_(self) -> str:
        """What it was worth, for notebooks."""
        n, lost = self.recorded.sizes["trial"], len(self.verdict.lost)
        return f"<p>{self.mission.name}: {n} trials, seed {self.seed}, {lost} lost</p>{self.verdict._repr_html_()}"

    def plot(self, what: str = "requirements", trial: int | None = None) -> Figure:
        """Draw a signal over time, or requirements, knowledge, consistency, innovations, actuators or approach."""
        from gnc.scenarios.missions.figures import plot

        return plot(self, what, trial)

    def page(self, trial: int | None = None) -> Shown:
        """Return the report page, which a notebook shows in its place, 3-D playback included."""
        from gnc.scenarios.report.results import of_flight, shown

        return shown(of_flight(self, trial))

    def write(self, out: str | Path) -> Flight:
        """Write what a flight leaves: configuration, signals, metrics, figures; return the flight that knows where."""
        from gnc.scenarios.run import write

        return write(self, Path(out))

    def report(self, path: str | Path = "report.html", trial: int | None = None) -> Path:
        """Write the report page."""
        from gnc.scenarios.report.results import write_flight

        return write_flight(self, Path(path), trial)

    def __repr__(self) -> str:
        outcome = "met" if self.verdict.ok else "not met"
        n, lost = self.recorded.sizes["trial"], len(self.verdict.lost)
        return f"<Flight of {self.mission.name}: {n} trials, seed {self.seed}, {lost} lost, requirements {outcome}>"


def flat(drawn: Mapping[str, Array]) -> dict[str, Array]:
    """Return what was drawn as columns of one number per trial."""
    columns = {}
    for name, values in drawn.items():
        for index in np.ndindex(values.shape[1:]):
            element = f"[{','.join(map(str, index))}]" if index else ""
            columns[f"{DRAWN}{name}{element}"] = values[(slice(None), *index)]
    return columns


def needed(mission: Mission, prepared: Prepared) -> frozenset[str]:
    """Return the signals that requirements need, and those by which a loss is noticed."""
    there = {**prepared.signals, **prepared.innovations}
    names = {"shadow"}
    for craft in mission.craft:
        names |= {f"{craft}.{name}" for name in ("q_IB", "knowledge_error_deg", "mode", "guard_s")}
    names |= {name for name in there if name.endswith((".used", ".refused", ".recoveries", ".search"))}
    special = ALWAYS | {f"t_{name}" for name in mission.events}

    def signal(name: str) -> Signal | None:
        bare = name.removeprefix(LARGEST)
        return None if bare in special else there.get(resolve(bare, there, mission.craft))

    for key, part in mission.requirements.items():
        try:
            names |= {resolve(name, there, mission.craft) for name in part.names() - special}
            for field, expression in part.expressions().items():
                _refuse_text(field, expression, signal)
        except InputError as error:
            raise InputError(f"requirements.{key}: {error}") from None
    return frozenset(names & there.keys())


def _refuse_text(field: str, expression: Expression, signal: Callable[[str], Signal | None]) -> None:
    """Refuse text that a signal never says, and text where a number or a condition is wanted."""
    for name, text in sorted(expression.said):
        labels = getattr(signal(name), "labels", ())
        if labels and text not in labels:
            raise InputError(f"{field} = {expression.text!r}: {name} is never {text!r}; it is {', '.join(labels)}")
    likely = lambda name: np.array(getattr(signal(name), "labels", ()) or [1.0])[:1]  # noqa: E731
    if np.asarray(expression.value(likely)).dtype.kind == "U":
        raise InputError(f"{field} = {expression.text!r}: is text; compare it with one, as in mode == 'nadir'")


def fly(
    mission: Mission,
    trials: int | Sequence[int] | None = None,
    seed: int | None = None,
    *,
    progress: Progress | None = None,
    ready: Callable[[], None] | None = None,
    judged_only: bool = False,
    flight_code: FlightCode | None = None,
    draws: Callable[[Array], Draws] | None = None,
) -> Flight:
    """Fly trials and judge them; `ready` is called once all is built, which is when bad input has shown itself.

    `draws` of trials replace those that they would have.
    """
    several = trials if isinstance(trials, Sequence) else range(mission.run.trials if trials is None else trials)
    numbers = np.array(several, dtype=int)
    seed = mission.run.seed if seed is None else seed
    groups = dispersal.groups(mission, seed, numbers)
    built = [(group, prepare(group, seed, draws and draws(group.trials))) for group in groups]
    if flight_code is not None:
        built = flight_code.aboard(mission, built, seed)
    only = needed(mission, built[0][1])
    if ready is not None:
        ready()
    signals, drawn = _flown(mission, seed, built, progress, only if judged_only else None)
    modes = built[0][1].modes

    def again(changes: Mapping[str, Any], wanted: frozenset[str]) -> Table:
        return _other(mission, changes, seed, numbers, wanted)

    return Flight(mission, seed, signals, judge(mission, signals, modes, again), drawn)


def beginning(mission: Mission, seed: int, numbers: Array, records: int) -> Table:
    """Fly trials until so many records are made, and judge nothing."""
    group = dispersal.groups(mission, seed, numbers)[0]
    prepared = prepare(group, seed)

    def stop(done: int, _: int) -> None:
        if done >= records * prepared.loop.recorded.every:
            raise KeyboardInterrupt

    return group_flown(mission, seed, group, prepared, stop, None)


def _other(mission: Mission, changes: Mapping[str, Any], seed: int, numbers: Array, wanted: frozenset[str]) -> Table:
    """Fly the same trials with other software, for a comparison."""
    other = override(mission, [f"{key}={value_text(value)}" for key, value in changes.items()])
    built = [(group, prepare(group, seed)) for group in dispersal.groups(other, seed, numbers)]
    return _flown(other, seed, built, None, wanted)[0]


def _flown(
    mission: Mission,
    seed: int,
    built: list[tuple[dispersal.Group, Prepared]],
    progress: Progress | None,
    only: frozenset[str] | None,
) -> tuple[Table, dict[str, Array]]:
    """Fly all groups and put their trials in order."""
    parts, drawn = [], []
    for i, (group, prepared) in enumerate(built):
        moved = None if progress is None else _part_of(progress, i, len(built))
        parts.append(group_flown(mission, seed, group, prepared, moved, only))
        drawn.append({**group.fields, **prepared.drawn})
        if parts[-1].attrs["interrupted"]:
            break
    names = set.intersection(*(set(one) for one in drawn))
    together = {name: np.concatenate([one[name] for one in drawn]) for name in drawn[0] if name in names}
    if len(parts) == 1:
        return parts[0], together
    from xarray import concat

    order = np.argsort(np.concatenate([part["trial"].values for part in parts]), kind="stable")
    datasets = [part.dataset() for part in parts]
    joined = concat(datasets, "trial", data_vars="minimal", coords="minimal", compat="override").sortby("trial")
    joined.attrs["loops"] = len(built)
    return Table.of(joined), {name: values[order] for name, values in together.items()}


def _part_of(progress: Progress, i: int, n: int) -> Progress:
    return lambda done, total: progress(i * total + done, n * total)


def group_flown(
    mission: Mission,
    seed: int,
    group: dispersal.Group,
    prepared: Prepared,
    progress: Progress | None,
    only: frozenset[str] | None,
) -> Table:
    """Fly what was built and label what was recorded."""
    loop = prepared.loop
    counts = {i.name: 1 + int(loop.duration_s / i.period_s) for i in loop.instruments}
    every = {name: 1 + (count - 1) // MOST_INNOVATIONS for name, count in counts.items()}
    times = {f"{CLOCK}_{name}": -(-count // every[name]) for name, count in counts.items()}
    history = History({**prepared.signals, **prepared.innovations}, {**times, CLOCK: loop.times_recorded})
    keep = lambda values: {k: v for k, v in values.items() if only is None or k in only}  # noqa: E731
    surroundings = prepared.observer.surroundings
    record = Record(
        lambda moment: keep(prepared.observer(moment)),
        lambda t, values: history.record(t, {**values, **keep(surroundings(t))}),
    )
    innovation = _thinned(every, history, keep) if keep(prepared.innovations) else None
    with undisturbed():
        flown = loop.fly(prepared.truth, prepared.belief, prepared.memory, record, innovation, progress)
    note = {"mission": mission.name, "seed": seed, "interrupted": int(flown.ticks < loop.steps)}
    code = loop.flight_code
    note |= {} if code is None else {"flight_code": code.told_of()}
    table = history.table(group.trials, **note, uncompiled=flown.uncompiled, loops=1)
    for name, when in flown.happened.items():
        about = {"units": "s", "long_name": f"when: {name}"}
        table[f"t_{name}"] = ("trial", np.broadcast_to(when, (len(group.trials),)).astype(float), about)
    return table


def _thinned(
    every: Mapping[str, int], history: History, keep: Callable[[Any], Any]
) -> Callable[[str, float, Any], None]:
    """Return the recorder of innovations, of which every so many are kept."""
    counts = dict.fromkeys(every, 0)

    def record(name: str, t: float, innovation: Any) -> None:
        counts[name] += 1
        if (counts[name] - 1) % every[name] == 0:
            values = keep(observe_innovation(name, innovation))
            if values:
                history.record(t, values, f"{CLOCK}_{name}")

    return record
