"""What every kind of requirement gives a verdict."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple, Self

import numpy as np
from pydantic import model_validator

from gnc.checks import Check
from gnc.errors import InputError
from gnc.expression import LARGEST, Expression, parse
from gnc.parts import Part
from gnc.typing import Array, Mask

if TYPE_CHECKING:
    from gnc.labelled import Signals

TIME = ("trial", "time")
ALWAYS = frozenset({"t", "end", "eclipse"})  # what every flight has beside its signals


class Comparison(NamedTuple):
    """Metrics that read better side by side: one row per contestant."""

    title: str
    columns: Sequence[str]  # the first is that of the names
    rows: Mapping[str, Sequence[str]]  # name -> keys of its metrics
    histories: Mapping[str, Mapping[str, Array]] = {}  # name -> signals (trials, times) that the columns are of


@dataclass
class Finding:
    """What a requirement says about a flight."""

    metrics: dict[str, float] = field(default_factory=dict)  # of all trials together
    checks: list[Check] = field(default_factory=list)
    per_trial: dict[str, Array] = field(default_factory=dict)  # (trials,) each
    success: Mask | None = None  # (trials,) whether a trial by itself meets it
    tally: dict[str, Array] = field(default_factory=dict)  # (trials,) what the whole campaign is judged by
    lost: dict[int, str] = field(default_factory=dict)  # trial -> reason
    comparison: Comparison | None = None


class RequirementPart(Part):
    """Something that is asked of a mission."""

    slot: ClassVar[str] = "requirement"
    first: ClassVar[bool] = False  # whether it is judged before others, as it tells which trials are lost
    written: ClassVar[tuple[str, ...]] = ()  # fields that are expressions; those that need not be given may be empty

    @model_validator(mode="after")
    def _parsed(self) -> Self:
        self.expressions()
        return self

    def expressions(self) -> dict[str, Expression]:
        """Return what is written of signals, by its key."""
        made = {}
        for key in self.written:
            if (text := getattr(self, key)) or type(self).model_fields[key].is_required():
                try:
                    made[key] = parse(text)
                except InputError as error:
                    raise InputError(f"{key}: {error}") from None
        return made

    def names(self) -> set[str]:
        """Return the signals that it needs, as they are written in the file."""
        return set().union(*(one.names for one in self.expressions().values()))

    @property
    def asks(self) -> bool:
        """Whether what is written names a signal: numbers, and the clock, are what they are in any flight."""
        return not self.expressions() or not self.names() <= {"t", "end"}

    def judge(self, name: str, judged: Judged) -> Finding:
        """Return what a flight is worth by this requirement."""
        raise NotImplementedError

    def campaign(self, name: str, table: Mapping[str, Any], kept: Any) -> list[Check]:
        """Return what a campaign is worth by this requirement, from the columns of its trials; none: as its trials."""
        return []


@dataclass
class Judged:
    """A flight as requirements look at it."""

    mission: Any
    flight: Signals
    modes: Mapping[str, Sequence[str]]  # craft -> names of its modes
    lost: dict[int, str]
    fly: Callable[[Mapping[str, Any], frozenset[str]], Signals] | None = None  # the same trials with other software

    @property
    def trials(self) -> Array:
        """Numbers of the trials."""
        return self.flight["trial"].values

    @property
    def kept(self) -> Mask:
        """Which trials (trials,) are not lost."""
        return ~np.isin(self.trials, list(self.lost))

    def value(self, expression: Expression) -> Any:
        """Return what an expression of signals says: (trials, times), or (trials,) where no signal has a time."""
        values = expression.value(self._signal)
        shape = (len(self.trials), self.flight.sizes["time"])
        values = np.asarray(values)
        return values[:, 0] if values.shape == (shape[0], 1) and shape[1] > 1 else np.broadcast_to(values, shape)

    def stuck(self, i: int) -> str:
        """Say in which modes a trial ended, since when, and which guards did not let it out of them."""
        reasons = []
        for craft, software in self.mission.software.items():
            if f"{craft}.mode" not in self.flight or len(self.modes.get(craft, ())) < 2:
                continue
            mode, since = self.mode(craft, i, -1)
            here = self.modes[craft].index(mode)
            ways = [(k, way) for k, way in enumerate(software.ways) if here in software.places[getattr(way, "from")]]
            guards = [self._waited(craft, i, k, way) for k, way in ways if way.to != mode]
            reasons.append(f"{craft} is in mode {mode}{since}" + (f", as {' and '.join(guards)}" if guards else ""))
            if f"{craft}.search" in self.flight:
                search = self.flight[f"{craft}.search"]
                reasons.append(search.attrs["labels"].split(", ")[int(search.values[i, -1])])
        return f": {'; '.join(reasons)}" if reasons else ""

    def mode(self, craft: str, i: int, k: int) -> tuple[str, str]:
        """Return the mode of a trial at a record, and since when in words."""
        name, time = f"{craft}.mode", self.flight["time"].values
        here = self.flight[name].values[i]
        other = np.flatnonzero(here[: len(time) + k + 1 if k < 0 else k + 1] != here[k])
        first = int(other[-1]) + 1 if len(other) else 0
        return self.modes[craft][int(here[k])], f" since {time[first]:g} s" if first else ""

    def _waited(self, craft: str, i: int, k: int, way: Any) -> str:
        """Say that a guard was never true, or not for long enough, or in an earlier time of the mode only."""
        name = f"{craft}.guard_s"
        held = float(self.flight[name].values[i, -1, k]) if name in self.flight else 0.0
        if held and held >= way.for_s:
            return f"{way.when} was true earlier, and not since"
        return f"{way.when} was true for {held:g} s of {way.for_s:g} s" if held else f"{way.when} was not true"

    def in_mode(self, i: int, k: int) -> str:
        """Say in which mode a trial is at a record, of every craft that has several."""
        crafts = [one for one in self.mission.software if len(self.modes.get(one, ())) > 1]
        stays = [(one, *self.mode(one, i, k)) for one in crafts if f"{one}.mode" in self.flight]
        several = len(stays) > 1
        return "".join(f", {f'{one} ' if several else ''}in mode {mode}{since}" for one, mode, since in stays)

    def _signal(self, name: str) -> Any:
        """Return a signal: its length if it is a vector; text where its values have labels."""
        if name.startswith(LARGEST):
            full = resolve(name.removeprefix(LARGEST), self.flight.data_vars, self.mission.craft)
            values = np.abs(self.flight[full].values)
            return values.max(axis=-1) if values.ndim == 3 else values
        if name == "t":
            return self.flight["time"].values[None, :]
        if name == "end":
            return np.array(float(self.flight["time"].values[-1]))
        if name == "eclipse":
            return self.flight["shadow"].values[None, :] > 0.5
        full = resolve(name, self.flight.data_vars, self.mission.craft)
        signal = self.flight[full]
        if "labels" in signal.attrs:
            return _labelled(signal.values, signal.attrs["labels"].split(", "))
        values = signal.values
        if "trial" not in signal.dims:
            values = values[None]
        if signal.dims == ("trial",):  # the time of an event
            return values[:, None]
        if "time" not in signal.dims:
            return values
        return np.sqrt(np.sum(np.square(values), axis=-1)) if values.ndim == 3 else values


def _labelled(values: Array, labels: Sequence[str]) -> Array:
    """Return the labels of values 0, 1, 2, ...; NaN has the empty one."""
    names = np.array(["", *labels])
    return names[np.where(np.isfinite(values), values + 1.0, 0.0).astype(int)]


def resolve(name: str, there: Any, craft: Any) -> str:
    """Return the whole name of a signal; that of the craft may be left out where there is one craft only."""
    if name in there or name in ALWAYS:
        return name
    names = [f"{one}.{name}" for one in craft if f"{one}.{name}" in there]
    if len(names) == 1:
        return names[0]
    if len(names) > 1:
        raise InputError(f"{name}: is a signal of several craft; give {' or '.join(names)}")
    likely, possible = (
        difflib.get_close_matches(name, map(str, there), most, least) for most, least in ((1, 0.9), (3, 0.4))
    )
    near = " or ".join(likely or possible)
    hint = f"did you mean {near}? " if near else ""
    raise InputError(f"{name}: there is no such signal; {hint}gnc show --signals lists them")


def no_data(name: str, bound: Any, relation: Literal["<=", ">=", "in"] = "<=") -> Check:
    """Return the check of a requirement that found nothing to judge: it fails."""
    return Check(name, float("nan"), bound, False, relation, "no data")


def without_numbers(mission: Any, flight: Signals, modes: Mapping[str, Sequence[str]]) -> dict[int, str]:
    """Return the trials whose truth has no numbers from some time on, and the mode they were in."""
    lost: dict[int, str] = {}
    t = flight["time"].values
    for craft in mission.craft:
        for name in (f"{craft}.q_IB", f"{craft}.knowledge_error_deg"):
            if name not in flight or flight[name].attrs.get("partial"):
                continue
            finite = np.isfinite(flight[name].values).all(axis=-1)
            for i in np.flatnonzero(~finite.all(axis=1)):
                k = int(np.argmin(finite[i]))
                what = "the truth" if name.endswith("q_IB") else "the estimate"
                mode = _mode(flight, craft, modes, int(i), k)
                lost.setdefault(int(flight["trial"].values[i]), f"{what} of {craft} is NaN from {t[k]:g} s on{mode}")
    return lost


def _mode(flight: Signals, craft: str, modes: Mapping[str, Sequence[str]], i: int, k: int) -> str:
    name = f"{craft}.mode"
    if name not in flight or len(modes.get(craft, ())) < 2:
        return ""
    return f", in mode {modes[craft][int(flight[name].values[i, k])]}"
