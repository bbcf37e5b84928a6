"""A mission: who flies where, what flight software does, what is asked; the same object in a file and in Python.

mission = Mission.like("pointing", {"run": {"duration_s": 1200.0}})
flight = mission.fly(trials=20)
flight.verdict.ok, flight.signals["sat.pointing_error_deg"], flight.worst("pointing")
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from pydantic import Field, model_validator

from gnc.config import Section
from gnc.config.base import validate
from gnc.errors import InputError
from gnc.montecarlo.dispersions import Dispersion
from gnc.notebook import table
from gnc.parts import slot_type
from gnc.scenarios.missions.sections import Environment, Run, Software

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
