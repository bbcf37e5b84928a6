"""From a mission to a loop that is ready to fly: truth, flight software, sensors between them, what is recorded."""

import dataclasses
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from gnc.controllers.allocation import shares
from gnc.controllers.guidance.base import Plan
from gnc.draws import Draws
from gnc.errors import InputError
from gnc.estimators.fdir.base import Fdir
from gnc.expression import parse
from gnc.history import Signal
from gnc.loop import Controller, Instrument, Loop
from gnc.models.craft.base import CraftPart, Site
from gnc.models.environment.table import FreeSpace
from gnc.models.faults.base import FailingSensor
from gnc.models.known import Known
from gnc.models.pose_body import PoseState
from gnc.models.sensors import Gyro
from gnc.models.sensors.interface import attitude, rate
from gnc.models.sensors.part import OwnSensor
from gnc.models.states import AttitudeState
from gnc.noise import Streams, Walk
from gnc.parts import OwnPart
from gnc.scenarios.missions.dispersal import Group
from gnc.scenarios.missions.measuring import Measure, Measuring, failing, faults_of, measured, torquer, trouble, walk_of
from gnc.scenarios.missions.mission import Mode, Software, quiet_until
from gnc.scenarios.missions.modes import Guard, guard, words_of
from gnc.scenarios.missions.navigating import CraftNavigation
from gnc.scenarios.missions.software import CraftSoftware, ModeRun, first_reference, unloader
from gnc.scenarios.missions.world import Controls, Navigations, Observer, World, innovation_signals
from gnc.shared_state import undisturbed
from gnc.typing import Array


@dataclass(frozen=True)
class Prepared:
    """Some trials of a mission, ready to fly."""

    loop: Loop
    truth: tuple[Any, ...]
    belief: tuple[Any, ...]
    memory: tuple[Any, ...]
    observer: Observer
    innovations: Mapping[str, Signal]
    drawn: Mapping[str, Array]  # what each trial was given, by name
    modes: Mapping[str, list[str]]  # of each craft with flight software

    @property
    def signals(self) -> dict[str, Signal]:
        """All that can be recorded of a moment."""
        return self.observer.signals


@contextmanager
def at(path: str) -> Iterator[None]:
    """Put the path of a section before the message of what is wrong in it."""
    try:
        yield
    except InputError as error:
        text = str(error)
        raise InputError(text if text.startswith(path) else f"{path}: {text}") from None


def believed(section: Any, changes: Mapping[str, Any], path: str) -> Any:
    """Return a section of the truth as flight software takes it to be."""
    if not changes:
        return section
    if unknown := set(changes) - set(type(section).model_fields):
        raise InputError(f"{path}.{min(unknown)}: unknown key; known here: {', '.join(type(section).model_fields)}")
    from gnc.config.base import validate

    return validate({**section.__dict__, **changes}, type(section), path)


@undisturbed()
def prepare(group: Group, seed: int, draws: Draws | None = None) -> Prepared:
    """Build the loop of trials that fly together, with the random numbers of their own or with other draws."""
    return _Builder(group, draws or Draws(seed, group.trials)).prepared()


class _Builder:
    """One mission on its way to a loop."""

    def __init__(self, group: Group, draws: Draws) -> None:
        self.mission, self.nominal, self.n = group.mission, group.nominal, len(group.trials)
        self.draws = draws
        self.measuring: dict[tuple[str, str], Measuring] = {}  # by craft and sensor
        self.h, self.duration = self.mission.run.truth_step_s, self.mission.run.duration_s
        with at("environment.orbit"):
            how = self.h, self.duration, any(section.falls for section in self.mission.craft.values())
            self.sky = self.mission.environment.orbit.sky(*how)
            same = self.mission.environment == self.nominal.environment
            self.known_sky = self.sky if same else self.nominal.environment.orbit.sky(*how)
        for name, section in self.mission.craft.items():
            self._refuse_without_orbit(name, section)

    def _refuse_without_orbit(self, name: str, section: CraftPart) -> None:
        """Refuse parts that need an orbit in free space."""
        if not isinstance(self.sky, FreeSpace):
            return
        groups: dict[str, Mapping[str, Any]] = {"loads": section.loads, "actuators": section.actuators}
        groups["sensors"] = section.sensors
        for what, parts in groups.items():
            for key, part in parts.items():
                if part.needs_orbit:
                    raise InputError(f"craft.{name}.{what}.{key}: needs an orbit; give [environment.orbit] one")

    def draws_of(self, name: str) -> Draws:
        """Return the draws of a craft, which begin with its name where there are several."""
        return self.draws if len(self.mission.craft) == 1 else self.draws.within(f"{name} ")

    def prepared(self) -> Prepared:
        """Return the loop with its start."""
        known = {name: self._known(name) for name in self.mission.software}
        modes = {name: self._modes(name, known[name]) for name in known}
        craft: dict[str, Any] = {}
        truth: dict[str, Any] = {}
        for name, section in self.mission.craft.items():
            first = first_reference(modes[name][0].guidance) if name in modes else None
            period = known[name].control_s if name in known else self.duration
            faults = {part: list(them.values()) for part, them in faults_of(self.mission, name).items()}
            site = Site(name, self.draws_of(name), self.sky, first, period, truth, faults)
            with at(f"craft.{name}"):
                craft[name] = section.truth(site)
            truth[name] = craft[name].start()
        self._measuring(tuple(truth.values()))
        software, beliefs, memories, estimated = {}, [], [], {}
        for name, flown in self.mission.software.items():
            estimated[name] = flown.navigation.of or name
            flight_software, belief, memory = self._software(name, flown, known[name], modes[name], craft, truth)
            software[name] = flight_software
            beliefs.append(belief)
            memories.append(memory)
        idle = {n: tuple(np.zeros((self.n, e.size)) for e in c.effectors) for n, c in craft.items()}
        happenings = [
            part.build(key, craft, self.mission.craft, self.draws) for key, part in self.mission.events.items()
        ]
        world = World(craft, tuple(software), idle, happenings)
        observer = Observer(world, software, self.sky, estimated)
        instruments = self._instruments(software)
        names = [instrument.name for instrument in instruments]
        loop = Loop(
            h=self.h,
            duration_s=self.duration,
            plant=world,
            instruments=instruments,
            navigation=Navigations(software),
            controller=self._controller(software),
            events=[happening.event() for happening in happenings],
            record_s=self.mission.run.record_s,
            compiled=all(getattr(one, "compilable", True) for one in craft.values()),
        )
        begin = tuple(truth.values())
        for happening in happenings:
            begin = happening.begin(begin)
        state = begin, tuple(beliefs), tuple(memories)
        mode_names = {name: self.nominal.software[name].names for name in software}
        return Prepared(loop, *state, observer, innovation_signals(names), self.draws.drawn, mode_names)

    # Flight software

    def _known(self, name: str) -> Known:
        """Return what flight software knows: the nominal craft, with what it believes otherwise."""
        software, section = self.nominal.software[name], self.nominal.craft[name]
        section = believed(section, software.craft, f"software.{name}.craft")
        sensors, effectors = {}, {}
        for kind, changes in (("sensors", software.sensors), ("actuators", software.actuators)):
            if unknown := set(changes) - set(getattr(section, kind)):
                there = ", ".join(getattr(section, kind)) or "none"
                raise InputError(f"software.{name}.{kind}.{min(unknown)}: there is no such part; there are {there}")
        for key, part in section.sensors.items():
            path = f"software.{name}.sensors.{key}"
            with at(f"craft.{name}.sensors.{key}"):
                sensors[key] = believed(part, software.sensors.get(key, {}), path).belief()
        for key, part in section.actuators.items():
            path = f"software.{name}.actuators.{key}"
            with at(f"craft.{name}.actuators.{key}"):
                effector = believed(part, software.actuators.get(key, {}), path).belief()
                effectors[key] = effector.paced(1.0 / software.rate_hz)
        with at(f"craft.{name}"):
            nominal = section.belief()
        loads = [load for load in (part.belief(nominal.J) for part in section.loads.values()) if load is not None]
        others = {n: c.belief() for n, c in self.nominal.craft.items() if n != name}
        when = self.h, 1.0 / software.rate_hz
        surroundings = self.known_sky, *when, self.draws_of(name), others, self.nominal.events
        error = float(getattr(section, "J_error_percent", 0.0))
        return Known(name, nominal, sensors, effectors, loads, *surroundings, self._unsure(section, nominal.J), error)

    def _unsure(self, section: CraftPart, J: Any) -> dict[str, Any]:
        """Return one sigma of what loads of each kind do unknown to flight software, all along the path."""
        skies = [self.known_sky.at(round(share * self.duration / self.h) * self.h) for share in np.linspace(0, 1, 9)]
        squares: dict[str, Any] = {}
        for part in section.loads.values():
            kind, each = part.kind_name(), [np.square(part.unsure(J, env)) for env in skies]
            squares[kind] = squares.get(kind, 0.0) + np.mean(each, axis=0)
        return {kind: np.sqrt(square) for kind, square in squares.items()}

    def _modes(self, name: str, known: Known) -> list[ModeRun]:
        sections: Mapping[str, Mode] = self.nominal.software[name].modes
        runs = []
        for key, mode in sections.items():
            with at(f"software.{name}.modes.{key}"):
                place = self.nominal.software[name].places[key]
                runs.append(dataclasses.replace(self._mode(key, mode, known), places=place, legs=mode.legs))
        return runs

    def _mode(self, key: str, mode: Mode, known: Known) -> ModeRun:
        if mode.guidance is not None and mode.guidance.needs_orbit and isinstance(self.sky, FreeSpace):
            raise InputError("guidance: needs an orbit; give [environment.orbit] one")
        guidance = None if mode.guidance is None else mode.guidance.build(known)
        law = mode.law.build(known)
        if getattr(law, "guided", mode.law.guided):
            mode.law.refuse_reference(mode.guidance, self._asks_for_poses(mode, guidance, known))
        usual = "wrench" if isinstance(mode.law, OwnPart) and known.nominal.M is not None else mode.law.demand
        demand = getattr(law, "demand", usual)
        places = {effector: i for i, effector in enumerate(known.effectors)}
        own = isinstance(mode.law, OwnPart)
        by_place = {places[one]: share for one, share in shares(known.effectors, mode.to, demand, own).items()}
        judged = guidance
        if mode.guidance is not None and isinstance(guidance, Plan) and self.known_sky is not self.sky:
            judged = mode.guidance.build(dataclasses.replace(known, sky=self.sky))
        if mode.slew is not None:
            if guidance is None:
                raise InputError("slew: turns to what guidance asks for; give the mode a guidance")
            guidance = mode.slew.build(guidance, known)
        return ModeRun(key, guidance, law, by_place, unloader(mode.unload, known), judged)

    def _asks_for_poses(self, mode: Mode, guidance: Any, known: Known) -> bool:
        own = isinstance(mode.guidance, OwnPart)
        if not own:
            return mode.guidance is not None and mode.guidance.poses
        first = first_reference(guidance)
        poses = (getattr(guidance, "wanted", 4) if first is None else np.shape(first[0])[-1]) == 8
        if poses and known.nominal.M is None:
            raise InputError("guidance: asks for a pose, 8 numbers, of a craft that only turns; give an attitude, 4")
        return poses

    def _software(
        self, name: str, section: Software, known: Known, modes: list[ModeRun], craft: Any, truth: Any
    ) -> tuple[CraftSoftware, Any, Any]:
        """Return the flight software of a craft, and what it believes and remembers at time zero."""
        section, start = self.nominal.software[name], getattr(self.nominal.craft[name], "start", None)
        target = section.navigation.of or name
        if target not in truth:
            raise InputError(f"software.{name}.navigation.of = {target!r}: there is no such craft")
        with at(f"software.{name}.navigation"):
            reference = first_reference(modes[0].guidance, craft[name].report(truth[name]))
            of = truth[target] if target == name else truth
            planned = [
                mode.guidance.load_B for mode in modes if mode.guidance is not None and hasattr(mode.guidance, "load_B")
            ]
            coasts = all(mode.guidance is None and not mode.shares for mode in modes)
            known = dataclasses.replace(known, planned=planned, coasts=coasts)
            inner, belief = section.navigation.build(known, start, of, reference)
        used = {key: sensor for key, sensor in known.sensors.items() if key not in section.unused}
        self._refuse_sights(name, section, [key for key, s in used.items() if not getattr(s, "recorded", False)])
        self._refuse_slopes(name, section.navigation, used, truth)
        sizes = {key: effector.size for key, effector in known.effectors.items()}
        words = words_of(list(used), list(sizes))
        words |= {mode.name: getattr(mode.guidance, "words", ()) for mode in modes if mode.guidance is not None}
        guards = self._guards(name, section, words)
        asked = {one.partition(".")[0] for way in guards for one in way.names}
        watching: dict[str, Any] = {
            "restarting": [section.places[key][0] for key, mode in section.modes.items() if mode.restart]
        }
        watching |= {"watches": self._watches(name, section, known), "watched": [key for key in used if key in asked]}
        readings = {key: self.measuring[name, key].faults for key in used}
        with at(f"software.{name}.navigation"):
            navigation = CraftNavigation(inner, used, trouble(self.mission, name, readings, sizes, **watching), belief)
        software = CraftSoftware(navigation, modes, guards, sizes, known.control_s, known.sky)
        start_belief = navigation.start(belief, self.n)
        return software, start_belief, software.start(start_belief, craft[name].report(truth[name]), self.n)

    def _refuse_sights(self, name: str, section: Software, used: list[str]) -> None:
        """Refuse sensors that do not look where the filter needs them to."""
        navigation, parts = section.navigation, self.nominal.craft[name].sensors
        own = navigation.of in ("", name)
        for key in used:
            sees = getattr(parts[key], "sees", "")
            wrong = sees if own else sees not in ("", navigation.of) or not (sees or getattr(navigation, "own", True))
            if wrong and navigation.kind_name() not in ("own", "known"):
                what = f"looks at {sees}" if sees else "tells of the own motion"
                of, remedy = name if own else navigation.of, "" if sees or own else ", or give navigation.own a filter"
                text = f"{what}, and the filter is of {of}: list it under software.{name}.unused{remedy}"
                raise InputError(f"craft.{name}.sensors.{key}: {text}")

    def _refuse_slopes(self, name: str, navigation: Any, used: Mapping[str, Any], truth: Any) -> None:
        """Refuse users' sensors whose H is no derivative, for filters that work with it."""
        poses = navigation.kind_name() in ("dqekf", "release-dqekf")
        for key, part in self.nominal.craft[name].sensors.items():
            if key in used and isinstance(part, OwnSensor) and (poses or navigation.kind_name().endswith("mekf")):
                states = [truth[part.sees or name], truth[name]]
                poses_of = lambda x: PoseState(x.dq_IB[0], x.chi_B[0])  # noqa: E731
                x = poses_of(states[0]) if poses else AttitudeState(attitude(states[0])[0], rate(states[0])[0])
                part.refuse_slope(used[key], x, poses_of(states[1]) if part.sees else self.known_sky.at(0.0))

    def _guards(self, name: str, section: Software, parts: Mapping[str, Any]) -> list[Guard]:
        """Return the transitions of a craft's flight software, those of its time line first."""
        places, guards = section.places, []
        for i, way in enumerate(section.ways, -len(section.timeline)):
            with at(f"software.{name}.transitions.{i}"):
                origin = places[getattr(way, "from")]
                ends = (origin[0], origin[-1]), places[way.to][0]
                guards.append(guard(ends, parse(way.when), way.keep, way.for_s, parts))
        return guards

    def _watches(self, name: str, section: Software, known: Known) -> list[Fdir]:
        watches = []
        for key, part in section.fdir.items():
            with at(f"software.{name}.fdir.{key}"):
                watches.append(part.build(known))
        return watches

    # The loop

    def _measuring(self, truth: tuple[Any, ...]) -> None:
        """Build the true sensors with their faults, which are told the size of a reading."""
        places = {name: i for i, name in enumerate(self.mission.craft)}
        for name in self.mission.software:
            faults = faults_of(self.mission, name)
            for key, part in self.mission.craft[name].sensors.items():
                if key in self.mission.software[name].unused:
                    continue
                with at(f"craft.{name}.sensors.{key}"):
                    if part.feels and not hasattr(truth[places[name]], "felt_B"):
                        raise InputError('measures specific force; give the craft a kind that moves, "pose"')
                    sensor = part.truth(key, self.draws_of(name))
                    how = self._sighted(name, part, sensor, places)
                own, built = faults.get(key, {}), []
                size, walk = sensor.noise_size, walk_of(sensor)
                if own:
                    z = how(truth, 0.0, np.zeros((self.n, size + walk)))[0]
                    one = FailingSensor(np.shape(z)[-1], part.interval_s, part.reads)
                    for fault, section in own.items():
                        with at(f"faults.{fault}"):
                            built.append(section.of_sensor(one))
                self.measuring[name, key] = Measuring(size, walk, how, list(own), built)

    def _controller(self, software: Mapping[str, CraftSoftware]) -> Controller:
        periods = {name: s.period_s for name, s in software.items()}
        if len(set(periods.values())) > 1:
            raise InputError(f"software.*.rate_hz: {', '.join(periods)} differ; give all flight software one rate")
        period = next(iter(periods.values()), self.duration)
        when = self.duration, self.h
        first = min((quiet_until(self.nominal.software[name], *when) for name in software), default=np.inf)
        if not np.isfinite(first):
            first, period = 0.0, self.duration
        return Controller(Controls(software), period, tuple(s.idle(self.n) for s in software.values()), first)

    def _instruments(self, software: Mapping[str, CraftSoftware]) -> list[Instrument]:
        """Put the true sensors into the loop, gyros first: what they drive is moved before it is corrected."""
        instruments = []
        for name, flown in software.items():
            sensors = flown.navigation.sensors
            for key in sorted(sensors, key=lambda one: not isinstance(sensors[one], Gyro)):  # noqa: B023
                part = self.mission.craft[name].sensors[key]
                with at(f"craft.{name}.sensors.{key}"):
                    instruments.append(self._instrument(name, key, part))
        return instruments

    def _instrument(self, name: str, key: str, part: Any) -> Instrument:
        draws, measuring = self.draws_of(name), self.measuring[name, key]
        size, walk, how, names, faults = measuring
        streams = [draws.stream(key, size)] + ([Walk(draws.stream(f"{key} walk", walk))] if walk else [])
        streams += [draws.stream(f"fault {one}", f.normals) for one, f in zip(names, faults, strict=True) if f.normals]
        noise = Streams(*streams) if len(streams) > 1 else streams[0]
        plain = [fault for fault in faults if not fault.remembers]
        how = failing(measuring, plain) if plain else how
        return Instrument(f"{name}.{key}", part.interval_s, how, noise, part.latency_s, part.first_s)

    def _sighted(self, name: str, part: Any, sensor: Any, places: Mapping[str, int]) -> Measure:
        """Return how a sensor measures the own craft, or another one."""
        sees = getattr(part, "sees", "")
        if sees and sees not in places:
            raise InputError(f"sees = {sees!r}: there is no such craft; there are {', '.join(places)}")
        return measured(sensor, part, self.sky, places[name], places.get(sees), torquer(self.mission.craft[name]))
