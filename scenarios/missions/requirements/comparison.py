"""Other flight software on the same trials, side by side: who loses trials, whose errors are larger."""

from collections.abc import Iterator, Mapping
from typing import Any, Literal, Self

import numpy as np
from pydantic import model_validator

from gnc.checks import Check, at_most, within
from gnc.config import Positive, override
from gnc.config.toml_text import value_text
from gnc.errors import InputError
from gnc.expression import Expression, parse
from gnc.montecarlo.summary import TALLY
from gnc.scenarios.missions.requirements.base import (
    ALWAYS,
    Comparison,
    Finding,
    Judged,
    RequirementPart,
    resolve,
    without_numbers,
)
from gnc.scenarios.missions.requirements.statistic import StatisticPart
from gnc.typing import Array

Table = dict[str, Any]
NO_VARIANT: dict[str, Table] = {"": {}}


class ComparisonPart(RequirementPart):
    """Contestants: other settings of the flight software, flown on the same trials, each in a closed loop of its own.

    Each contestant is flown once with each of the variants, such as levels of process noise. A trial counts as lost by
    the same conditions as in the mission itself.
    """

    kind: Literal["comparison"] = "comparison"
    title: str = ""
    """Of the table."""
    craft: str = ""
    """Whose flight software; may be left out where one craft has some."""
    contestants: dict[str, Table]
    """Tables laid over [software.CRAFT], by the name of the contestant."""
    variants: dict[str, Table] = NO_VARIANT
    """Tables laid over it beside those."""
    columns: dict[str, StatisticPart]
    """What is compared beside the number of lost trials."""
    ours: str = ""
    """The contestant that may lose no trial."""
    tie: str = ""
    """A strong contestant whose numbers must be those of ours ..."""
    tie_column: str = ""
    """... in this column ..."""
    tie_within: Positive = 0.1
    """... up to this fraction."""

    @model_validator(mode="after")
    def _there(self) -> Self:
        for key, name in (("ours", self.ours), ("tie", self.tie)):
            if name and name not in self.contestants:
                raise InputError(f"{key} = {name!r}: is no contestant; there are {', '.join(self.contestants)}")
        if self.tie and (not self.ours or self.tie_column not in self.columns):
            raise InputError(f"tie: give `ours`, and as tie_column one of {', '.join(self.columns)}")
        return self

    def expressions(self) -> dict[str, Expression]:
        """Return what is written of signals, by its key."""
        return {f"columns.{n}.{k}": one for n, part in self.columns.items() for k, one in part.expressions().items()}

    def judge(self, name: str, judged: Judged) -> Finding:
        """Return the table, and whether ours loses none and ties with the strong one."""
        finding, rows, histories = Finding(), {}, {}
        for contestant, table in self.contestants.items():
            for variant, changes in self.variants.items():
                label = _label(contestant, variant)
                own = self._flown(judged, {**_flat(table), **_flat(changes)})
                finding.metrics |= self._scored(own, label)
                finding.tally |= self._tally(name, own, label)
                rows[label] = [f"{key}_{label}" for key in ("lost", *self.columns)]
                histories[label] = {key: own.value(parse(column.signal)) for key, column in self.columns.items()}
        finding.checks = list(self._checks(finding.metrics))
        titles = [column.title or key for key, column in self.columns.items()]
        title = self.title or f"the same {len(judged.trials)} trials"
        finding.comparison = Comparison(title, ("contestant", "lost", *titles), rows, histories)
        return finding

    def _flown(self, judged: Judged, changes: Mapping[str, Any]) -> Judged:
        """Return the flight of a contestant with its losses; that of the mission itself if nothing is changed."""
        mission, craft = judged.mission, self._craft(judged)
        changes = {f"software.{craft}.{key}": value for key, value in changes.items()}
        other = override(mission, [f"{key}={value_text(value)}" for key, value in changes.items()])
        flight = judged.flight
        if other.software != mission.software:
            if judged.fly is None:
                raise InputError("a comparison needs trials that can be flown again")
            flight = judged.fly(changes, frozenset(self._wanted(judged)))
        own = Judged(other, flight, judged.modes, without_numbers(other, flight, judged.modes))
        for key, part in mission.requirements.items():
            if part.first:
                own.lost = {**part.judge(key, own).lost, **own.lost}
        return own

    def _wanted(self, judged: Judged) -> Iterator[str]:
        """Give the signals by which contestants are compared, and by which their losses are noticed."""
        for part in (*self.columns.values(), *(p for p in judged.mission.requirements.values() if p.first)):
            for name in part.names():
                if name not in ALWAYS and not name.startswith("t_"):
                    yield resolve(name, judged.flight.data_vars, judged.mission.craft)
        yield "shadow"
        for craft in judged.mission.craft:
            yield from (f"{craft}.{name}" for name in ("q_IB", "knowledge_error_deg", "mode"))

    def _craft(self, judged: Judged) -> str:
        there = judged.mission.software
        if self.craft in there or (not self.craft and len(there) == 1):
            return self.craft or next(iter(there))
        raise InputError(f"craft = {self.craft!r}: give one that has flight software: {', '.join(there)}")

    def _scored(self, own: Judged, label: str) -> dict[str, float]:
        """Return the numbers of one row."""
        metrics = {f"lost_{label}": float(len(own.lost))}
        for key, column in self.columns.items():
            metrics[f"{key}_{label}"] = column.judge(key, own).metrics[key]
        return metrics

    def _tally(self, name: str, own: Judged, label: str) -> dict[str, Array]:
        """Return what a campaign needs of each trial: whether it was lost, and its number in the column of the tie."""
        tally = {f"{name} lost {label}": (~own.kept).astype(float)}
        if self.tie:
            column = self.columns[self.tie_column].judge(self.tie_column, own)
            tally[f"{name} tie {label}"] = np.where(own.kept, column.per_trial[self.tie_column], np.nan)
        return tally

    def campaign(self, name: str, table: Mapping[str, Any], kept: Any) -> list[Check]:
        """Return the same checks over all trials of a campaign; a tie is that of the RMS over the trials."""
        sums: dict[str, float] = {}
        for label in (_label(one, variant) for one in (self.ours, self.tie) if one for variant in self.variants):
            sums[f"lost_{label}"] = float(np.sum(table[f"{TALLY}{name} lost {label}"]))
            if self.tie:
                each = np.asarray(table[f"{TALLY}{name} tie {label}"])
                sums[f"{self.tie_column}_{label}"] = float(np.sqrt(np.nanmean(np.square(each))))
        return list(self._checks(sums))

    def _checks(self, metrics: Mapping[str, float]) -> Iterator[Check]:
        for variant in self.variants if self.ours else ():
            ours, strong = _label(self.ours, variant), _label(self.tie, variant)
            yield at_most(f"lost by {ours}", metrics[f"lost_{ours}"], 0)
            if self.tie:
                a, b = (np.float64(metrics[f"{self.tie_column}_{label}"]) for label in (strong, ours))
                what = f"{strong} ties with {ours}: ratio of {self.tie_column}"
                yield within(what, float(a / b), 1.0 - self.tie_within, 1.0 + self.tie_within)


def _label(contestant: str, variant: str) -> str:
    return f"{contestant}_{variant}" if variant else contestant


def _flat(table: Mapping[str, Any], before: str = "") -> dict[str, Any]:
    """Return the values of nested tables by their dotted keys."""
    values: dict[str, Any] = {}
    for key, value in table.items():
        values |= _flat(value, f"{before}{key}.") if isinstance(value, Mapping) else {f"{before}{key}": value}
    return values
