"""A mission: who flies where, what flight software does, what is asked; the same object in a file and in Python.

mission = Mission.like("pointing", {"run": {"duration_s": 1200.0}})
flight = mission.fly(trials=20)
flight.verdict.ok, flight.signals["sat.pointing_error_deg"], flight.worst("pointing")
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self

import numpy as np
from pydantic import Field, create_model, model_validator

from gnc.config import NonNegative, Positive, Section, Vector3
from gnc.config.base import validate
from gnc.controllers.guidance.slewing import SlewSection
from gnc.errors import InputError
from gnc.expression import parse
from gnc.montecarlo.dispersions import Dispersion
from gnc.notebook import table
from gnc.parts import slot_type

if TYPE_CHECKING:
    from gnc.controllers.guidance.base import GuidancePart as AnyGuidance
    from gnc.controllers.laws.base import LawPart as AnyLaw
    from gnc.estimators.fdir.base import FdirPart as AnyFdir
    from gnc.estimators.navigation.base import NavigationPart as AnyNavigation
    from gnc.models.orbits.base import OrbitPart as AnyOrbit
else:
    AnyOrbit, AnyNavigation = slot_type("orbit"), slot_type("navigation")
    AnyGuidance, AnyLaw, AnyFdir = slot_type("guidance"), slot_type("law"), slot_type("fdir")
MOST_STEPS = 5_000_000  # of the truth, whose environment is tabulated for all of them: about a gigabyte
ON_TIME_S = 1e-6  # by which rounding may put a command before its time
Overrides = dict[str, dict[str, Any]]


class Run(Section):
    """How it is flown."""

    seed: Annotated[int, Field(ge=0, lt=2**31)] = 0
    """All random numbers of a trial come from the seed and the number of the trial."""
    trials: Annotated[int, Field(ge=1, le=1_000_000)] = 100
    """How many are flown."""
    duration_s: Positive = 600.0
    truth_step_s: Positive = 0.1
    record_s: Positive = 10.0
    """How often signals are kept; a whole number of truth steps."""
    sampling: Literal["plain", "latin-hypercube", "sobol"] = "plain"
    """How dispersions are drawn."""

    @model_validator(mode="after")
    def _can_be_flown(self) -> Self:
        steps = self.duration_s / self.truth_step_s
        if steps > MOST_STEPS:
            remedy = f"at most {MOST_STEPS:g}; fly shorter, or with a longer truth_step_s"
            raise InputError(f"duration_s = {self.duration_s:g} makes {steps:.3g} truth steps, {remedy}")
        return self


class Environment(Section):
    """Where all craft are."""

    orbit: AnyOrbit = {"kind": "free"}  # type: ignore[assignment]
    """The path, and with it field, Sun, shadow and air."""


class Unloading(Section):
    """Taking momentum out of the wheels; the name of the actuator alone does too."""

    by: str = "torquers"
    """The actuator that does it: magnetorquers, or thrusters."""
    gain_per_s: Positive = 1e-3
    """Fraction of the wheels' momentum beyond `bias_Nms` that is taken away per second."""
    bias_Nms: Vector3 | Literal["entry"] = (0.0, 0.0, 0.0)
    """Momentum that the wheels keep, body axes; it stiffens the body. "entry": what they have when the mode begins."""

    @model_validator(mode="before")
    @classmethod
    def _named(cls, value: Any) -> Any:
        return {"by": value} if isinstance(value, str) else value


class Mode(Section):
    """What flight software does while it is in this mode."""

    guidance: AnyGuidance | None = None
    """What is asked for."""
    slew: SlewSection | None = None
    """How it turns there when the mode begins; by default the law is given the reference at once."""
    law: AnyLaw = {"kind": "none"}  # type: ignore[assignment]
    """How it is followed."""
    to: tuple[str, ...] = ()
    """The actuators that make what the law demands, each what it can of what those before it leave."""
    unload: Unloading | None = None
    restart: bool = False
    """Whether the filter forgets all and searches anew when this mode is entered."""

    @property
    def legs(self) -> tuple[str, ...]:
        """The modes that stand for this one, by its guidance."""
        return () if self.guidance is None else self.guidance.legs


_Ends = create_model(
    "_Ends",
    __base__=Section,
    **{  # type: ignore[call-overload]
        "from": (str, Field(description="The mode that is left; * is any")),
        "to": (str, Field(description="The mode that follows")),
    },
)


class Transition(_Ends):  # type: ignore[misc, valid-type]
    """When one mode gives way to another, in each trial by itself."""

    when: str
    """A condition on what flight software knows, such as rate_deg_s < 0.5; `missions/modes.py` has all names."""
    for_s: NonNegative = 0.0
    """It must hold for so long without a break."""
    keep: str = ""
    """A weaker condition by which it goes on holding, once it does: hysteresis."""

    @model_validator(mode="after")
    def _parsed(self) -> Self:
        for key, text in (("when", self.when), ("keep", self.keep or "t")):
            try:
                parse(text)
            except InputError as error:
                raise InputError(f"{key}: {error}") from None
        return self


_Commanded = create_model(
    "_Commanded",
    __base__=Section,
    **{"from": (str, Field(default="*", description="Only from this mode; * is any"))},  # type: ignore[call-overload]
)


class TimedCommand(_Commanded):  # type: ignore[misc, valid-type]
    """A mode that is commanded for a time, by the ground or a stored time line."""

    at_s: NonNegative
    """When; the first command of flight software from then on obeys."""
    mode: str
    """The mode that follows."""


class Software(Section):
    """The flight software of one craft; it believes in the craft's nominal numbers unless told otherwise here."""

    rate_hz: Positive = 1.0
    """How often commands are given."""
    navigation: AnyNavigation
    """What is believed."""
    modes: dict[str, Mode] = {"drift": Mode()}
    """What is done, by the name of the mode. At the start: the first that is left and never entered, else the first."""
    first_mode: str = ""
    """The mode of the start, where that would be another."""
    transitions: tuple[Transition, ...] = ()
    """When modes change."""
    timeline: tuple[TimedCommand, ...] = ()
    """Modes that are commanded for a time; they come before transitions."""
    fdir: dict[str, AnyFdir] = {}
    """What watches innovations and telemetry, and leaves out what has failed."""
    sensors: Overrides = {}
    """Fields of sensors that flight software believes to be others than the craft's."""
    actuators: Overrides = {}
    """Fields of actuators that flight software believes to be others."""
    craft: dict[str, Any] = {}
    """Fields of the craft itself, such as J_kgm2, that flight software believes to be others."""
    unused: tuple[str, ...] = ()
    """Sensors that are there but not listened to."""

    @model_validator(mode="before")
    @classmethod
    def _start_first(cls, table: Any) -> Any:
        """Put the mode of the start first: modes of a base come before those of the file that stands on it."""
        if not isinstance(table, Mapping) or not isinstance(modes := table.get("modes"), Mapping):
            return table
        origins, entered = (_words(table.get("transitions"), end) for end in ("from", "to"))
        stated = _words([table], "first_mode") or origins - entered - _words(table.get("timeline"), "mode")
        starts = [name for name in modes if name in stated]
        return {**table, "modes": {starts[0]: modes[starts[0]], **modes}} if starts else table

    @model_validator(mode="after")
    def _named(self) -> Self:
        if not self.modes:
            raise InputError("modes: there is none; give at least one")
        if "*" in self.modes:
            raise InputError("modes: '*' stands for any mode in transitions; give another name")
        if self.first_mode and self.first_mode not in self.modes:
            raise InputError(f"first_mode: there is no mode {self.first_mode!r}; there are {', '.join(self.modes)}")
        if len(set(self.names)) < len(self.names):
            raise InputError(
                f"modes: two of them have the same name, legs of guidance among them: {', '.join(self.names)}"
            )
        for transition in self.ways:
            for end in (getattr(transition, "from"), transition.to):
                if end not in self.places or (end == "*" and end == transition.to):
                    raise InputError(f"transitions: there is no mode {end!r}; there are {', '.join(self.names)}")
        return self

    @property
    def names(self) -> list[str]:
        """The modes in which flight software may be: those of the file, the legs of guidance in place of theirs."""
        return [leg for name, mode in self.modes.items() for leg in mode.legs or (name,)]

    @property
    def places(self) -> dict[str, range]:
        """Where each mode, each leg, and * stand among the names."""
        ranges, first = {name: range(i, i + 1) for i, name in enumerate(self.names)}, 0
        for name, mode in self.modes.items():
            ranges[name] = range(first, first + max(len(mode.legs), 1))
            first = ranges[name].stop
        return ranges | {"*": range(first)}

    @property
    def ways(self) -> tuple[Transition, ...]:
        """All transitions: those of the time line, conditions on the clock at one command, of the file, of guidance."""
        commanded = []
        for one in self.timeline:
            begin = one.at_s - ON_TIME_S
            when = f"t >= {begin!r} and t < {begin + 1.0 / self.rate_hz!r}" if begin > 0.0 else f"t < {ON_TIME_S!r}"
            commanded.append(Transition(**{"from": getattr(one, "from"), "to": one.mode, "when": when}))
        legs = [way for name, mode in self.modes.items() if mode.guidance for way in mode.guidance.ways(name)]
        usual = (Transition(**{"from": source, "to": to, "when": when}) for source, to, when in legs)
        return (*commanded, *self.transitions, *usual)


def _words(tables: Any, key: str) -> set[str]:
    """Return the words that tables have for a key, whatever else may stand there before it is validated."""
    rows = [table for table in tables if isinstance(table, Mapping)] if isinstance(tables, list | tuple) else []
    return {row[key] for row in rows if isinstance(row.get(key), str) and row[key]}


def quiet_until(software: Software, duration_s: float, h: float) -> float:
    """Return the time of the first command: 0 unless the first mode asks for nothing and ends by the clock; inf: never.

    A command is an event at which the belief is moved. Software that drifts through a mode without a law gives none, so
    that its filter takes whole intervals of its sensors: 10 s at 0.1 Hz, however often commands are given later.
    A condition on anything but t, or one that must hold for a while, is looked at with every command, from 0 on.
    """
    name, mode = next(iter(software.modes.items()))
    ways = [one for one in software.ways if getattr(one, "from") in (name, "*") and one.to != name]
    by_clock = all(parse(way.when).names <= {"t"} and way.for_s == 0.0 for way in ways)
    if mode.law.kind_name() != "none" or mode.unload is not None or software.fdir or not by_clock:
        return 0.0
    rate_hz = min(software.rate_hz, 1.0 / h)  # the loop refuses what is faster
    t = np.arange(int(duration_s * rate_hz + 1e-9) + 1) / rate_hz
    return min((_first(way, t) for way in ways), default=float("inf"))


def _first(way: Transition, t: np.ndarray) -> float:
    """Return the first time at which a condition on t is true."""
    holds = np.broadcast_to(np.asarray(parse(way.when).value(lambda name: t), bool), t.shape)
    return float(t[np.argmax(holds)]) if holds.any() else float("inf")


if TYPE_CHECKING:
    from gnc.models.craft.base import CraftPart as AnyCraft
    from gnc.models.faults.base import FaultPart as AnyFault
    from gnc.models.happenings.base import EventPart as AnyEvent
    from gnc.scenarios.missions.flight import Flight
    from gnc.scenarios.missions.requirements.base import RequirementPart as AnyRequirement
else:
    AnyCraft, AnyEvent, AnyFault = slot_type("craft", "rigid"), slot_type("event"), slot_type("fault")
    AnyRequirement = slot_type("requirement", "statistic")


COLUMNS = ("success", "lost", "trial", "shadow")  # of tables of trials, which are no requirement's


class Mission(Section):
    """Who flies where, what flight software does, and what is asked.

    `craft` is the truth; `software` is what is believed, equal to the truth's nominal numbers where it says nothing.
    """

    name: str = Field(default="mission", pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,79}$")
    """What it is called; by default the name of its file."""
    title: str = ""
    """What it is about, in a sentence."""
    story: str = ""
    """What is to be seen in it."""
    run: Run = Run()
    environment: Environment = Environment()
    craft: dict[str, AnyCraft]
    """Who flies: the truth."""
    software: dict[str, Software] = {}
    """What flies them, by the name of the craft: what is believed and done."""
    events: dict[str, AnyEvent] = {}
    """What happens once in a flight, at its own time in each trial."""
    faults: dict[str, AnyFault] = {}
    """What goes wrong, from when to when; flight software is not told unless the fault says so."""
    requirements: dict[str, AnyRequirement] = {}
    """What is asked."""
    dispersions: dict[str, Dispersion] = {}
    """Fields that vary over the trials, beside what the parts themselves draw; flight software is not told."""

    @model_validator(mode="after")
    def _fits(self) -> Self:
        if not self.craft:
            raise InputError("craft: nobody flies; give at least one")
        for group in (self.craft, self.software, self.requirements, self.events, self.faults):
            for name in group:
                if not name.replace("_", "").replace("-", "").isalnum() or name[0].isdigit():
                    raise InputError(f"{name!r} is no name; use letters, digits, _ and -, and begin with a letter")
        for name, part in self.requirements.items():
            if name in COLUMNS and part.kind_name() != name:
                raise InputError(f"requirements.{name}: the tables have a column of that name; give another")
        for name in self.software:
            if name not in self.craft:
                raise InputError(f"software.{name}: there is no such craft; there are {', '.join(self.craft)}")
        for name, fault in self.faults.items():
            self._can_fail(name, fault)
        return self

    def _can_fail(self, name: str, fault: Any) -> None:
        """Refuse the fault of a part that is not there, and one that ends before it begins."""
        craft, _, part = fault.part.partition(".")
        owner = self.craft.get(craft)
        parts = [] if owner is None else [*owner.sensors, *owner.actuators]
        if owner is None or (part and part not in parts):
            there = ", ".join(f"{craft}.{one}" for one in parts) if owner is not None else ", ".join(self.craft)
            raise InputError(f"faults.{name}.part = {fault.part!r}: there is no such part; there are {there or 'none'}")
        if (fault.kind == "reset") != (not part):
            raise InputError(
                f"faults.{name}.part = {fault.part!r}: a reset is of a craft, other faults are of its parts"
            )
        if fault.kind == "reset" and craft not in self.software:
            raise InputError(f"faults.{name}.part = {craft!r}: it has no flight software")
        if np.ndim(fault.from_s) == 0 == np.ndim(fault.to_s) and fault.to_s is not None and fault.to_s <= fault.from_s:
            raise InputError(f"faults.{name}: ends at {fault.to_s:g} s, before it begins")

    def __repr__(self) -> str:
        """Name and parts in a line."""
        return f"<Mission {self.name}: {', '.join(self.craft)}, {len(self.requirements)} requirements>"

    def _repr_html_(self) -> str:
        """Who flies with what, for notebooks."""
        rows: list[tuple[str, str]] = [("flight", f"{self.run.trials} trials of {self.run.duration_s:g} s")]
        for name, craft in self.craft.items():
            for what, parts in (("sensors", craft.sensors), ("actuators", craft.actuators), ("loads", craft.loads)):
                rows.append((f"{name} {what}", ", ".join(f"{k} ({part.kind_name()})" for k, part in parts.items())))
        for name, software in self.software.items():
            rows.append((f"{name} navigation", software.navigation.kind_name()))
            rows.append((f"{name} modes", ", ".join(f"{k} ({m.law.kind_name()})" for k, m in software.modes.items())))
        rows += [("events", ", ".join(self.events)), ("requirements", ", ".join(self.requirements))]
        return table(f"{self.name}: {self.title}", ("what", "here"), [row for row in rows if row[1]])

    @classmethod
    def like(cls, base: str, changes: Mapping[str, Any] | None = None) -> Mission:
        """Return a mission by its name or file, with tables of changes laid over it."""
        from gnc.scenarios.missions.load import merged, table_of

        return validate(merged(table_of(base), dict(changes or {})), cls, base)

    def fly(self, trials: int | Sequence[int] | None = None, seed: int | None = None, **options: Any) -> Flight:
        """Fly some trials, by their number or their numbers, and judge them."""
        from gnc.scenarios import progress
        from gnc.scenarios.missions.flight import fly

        if "progress" in options or not progress.in_notebook():
            return fly(self, trials, seed, **options)
        with progress.bar(self.name) as moved:
            return fly(self, trials, seed, progress=moved, **options)
