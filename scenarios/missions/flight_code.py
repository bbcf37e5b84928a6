"""Flight software of a mission as C, and missions flown by it."""

import dataclasses
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from gnc.errors import InputError
from gnc.export.aboard import Aboard, Carrier, Library, Processor
from gnc.export.component import Component
from gnc.export.component_files import MANIFEST, export_component
from gnc.export.software import Software
from gnc.files import read_json
from gnc.loop import Controller, Loop
from gnc.scenarios.missions.build import Prepared, prepare
from gnc.scenarios.missions.dispersal import Group
from gnc.scenarios.missions.mission import Mission
from gnc.scenarios.missions.world import Controls, Navigations

OPTIONS = ("single", "most_repeats")
TRIALS = 31  # that software is recorded from: no array of a part has so many rows, so that none is taken for trials


def export(mission: Mission, craft: str | None, out: Path, tables: bool, sizes: bool, **options: Any) -> list[Path]:
    """Write the flight software of a craft into a folder."""
    craft = _craft(mission, craft)
    component, truth = component_of(mission, craft, **options)
    return export_component(component, truth, out, {"mission": mission.name, "craft": craft}, tables, sizes)


def component_of(mission: Mission, craft: str, **options: Any) -> tuple[Component, Any]:
    """Return the flight software of a craft, from trials without dispersions, and the truth these begin with."""
    prepared = prepare(Group(mission, mission, np.arange(TRIALS), {}), mission.run.seed)
    loop, belief, memory = _own(prepared, list(mission.software).index(craft), craft)
    name = re.sub(r"\W", "_", mission.name)
    name = name if name[0].isalpha() else f"mission_{name}"
    title = re.sub(r"[^\x20-\x7e]|\*/", " ", f"{mission.name}, {craft}: {mission.title}")
    actuators = tuple(f"{key}, {part.kind_name()}" for key, part in mission.craft[craft].actuators.items())
    software = Software(loop, prepared.truth, belief, memory)
    return Component(software, name, title, actuators=actuators, **options), prepared.truth


def _own(prepared: Prepared, place: int, craft: str) -> tuple[Loop, Any, Any]:
    """Return the loop with the software of one craft, and what that believes and remembers; others do nothing."""
    loop, software = prepared.loop, prepared.observer.software
    if len(software) == 1:
        return loop, prepared.belief, prepared.memory
    own = {craft: software[craft]}
    control = loop.controller
    changed = dataclasses.replace(
        loop,
        plant=dataclasses.replace(prepared.observer.world, commanded=(craft,)),
        instruments=[i for i in loop.instruments if i.name.split(".")[0] == craft],
        navigation=Navigations(own),
        controller=Controller(Controls(own), control.period_s, (control.idle[place],), control.first_s),
    )
    return changed, (prepared.belief[place],), (prepared.memory[place],)


def _craft(mission: Mission, craft: str | None) -> str:
    there = list(mission.software)
    if craft is None and len(there) == 1:
        return there[0]
    if craft not in there:
        what = "there is none with flight software" if not there else f"flight software is aboard {', '.join(there)}"
        raise InputError(f"--craft {craft or ''}: {what}; name one")
    return craft


@dataclasses.dataclass(frozen=True)
class FlightCode:
    """Where flight code is: a folder of gnc export, `pipe:COMMAND` or `tcp:HOST:PORT`, or DIR@ before one of these."""

    place: str
    timeout_s: float = 1.0
    carrier: Carrier | None = None  # what runs the software, if not what the place says

    @property
    def folder(self) -> Path | None:
        """The folder of the export; None for software of others."""
        return None if self.place.startswith(("pipe:", "tcp:")) else Path(self.place.partition("@")[0])

    @property
    def sources(self) -> tuple[str, ...]:
        """The files that are flown, which belong to the identity of a campaign."""
        return () if self.folder is None else tuple(str(path) for path in sorted(self.folder.glob("*.[ch]")))

    def aboard(
        self, mission: Mission, built: Sequence[tuple[Group, Prepared]], seed: int
    ) -> list[tuple[Group, Prepared]]:
        """Put flight code in the place of the software of some loops; refuse it if it is not that of the mission."""
        if len(mission.software) != 1:
            raise InputError("--flight-code: flies missions in which one craft has flight software")
        component = self.component(mission)
        folder, _, wire = ("", "", self.place) if self.folder is None else self.place.partition("@")
        made = lambda: Processor(wire, component, self.timeout_s) if wire else Library(Path(folder), component)  # noqa: E731
        carrier = self.carrier or made()
        flights = []
        for group, prepared in built:
            parameters = component.software.parameters_for(len(group.trials))
            start = prepared.belief, prepared.loop.controller.idle, prepared.memory
            if component.software.differs or group.nominal is not mission:
                few = len(group.trials) < TRIALS and group.mission is mission
                padded = prepare(group._replace(trials=np.resize(group.trials, TRIALS)), seed) if few else prepared
                own = Software(padded.loop, padded.truth, padded.belief, padded.memory)
                parameters = component.software.parameters_of(own)[: len(group.trials)]
            loop = dataclasses.replace(prepared.loop, flight_code=Aboard(component, start, parameters, carrier))
            flights.append((group, dataclasses.replace(prepared, loop=loop)))
        return flights

    def component(self, mission: Mission) -> Component:
        """Return what the mission's software would be exported as, with the options of the folder."""
        craft = next(iter(mission.software))
        if self.folder is None:
            return component_of(mission, craft)[0]
        about = read_json(self.folder / MANIFEST, 1 << 16, "a folder of gnc export")
        kinds = {"name": str, "craft": str, "single": bool, "most_repeats": int}
        sound = isinstance(about, dict) and all(type(about.get(key)) is kind for key, kind in kinds.items())
        if not sound or about["craft"] != craft or not about["name"].isidentifier():
            raise InputError(f"--flight-code {self.folder}: was not exported from this mission; export it again")
        component, _ = component_of(mission, craft, **{key: about[key] for key in OPTIONS})
        return dataclasses.replace(component, name=about["name"])
