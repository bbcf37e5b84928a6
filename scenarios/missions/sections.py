"""The sections of a mission's file that are not parts: run settings, environment, flight software."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self

from pydantic import Field, create_model, model_validator

from gnc.config import NonNegative, Positive, Section, Vector3
from gnc.controllers.guidance.slewing import SlewSection
from gnc.errors import InputError
from gnc.expression import parse
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
