"""Fly one trial of a mission and leave its measurements as a log, with the configuration by which replay reads it."""

import dataclasses
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from gnc.config.base import validate
from gnc.config.toml_text import dump
from gnc.errors import InputError
from gnc.estimators.navigation.acquisition import Acquisition
from gnc.estimators.navigation.attitude import AttitudeNavigation
from gnc.estimators.navigation.free_body import TargetNavigation
from gnc.estimators.navigation.gyro_mekf import GyroNavigation
from gnc.files import replacing
from gnc.loop import Loop
from gnc.scenarios.logs.attitude_recorder import AttitudeRecorder, GyroRecorder
from gnc.scenarios.logs.log_writer import check_path, write_log
from gnc.scenarios.logs.pose_recorder import PoseRecorder
from gnc.scenarios.logs.recorder import LogRecorder
from gnc.scenarios.missions import dispersal
from gnc.scenarios.missions.build import Prepared, prepare
from gnc.scenarios.missions.mission import Mission
from gnc.scenarios.missions.world import Controls, Navigations
from gnc.scenarios.replay.config import Replay

RECORDERS: dict[type, Callable[[Any, Any, Any, float], LogRecorder]] = {
    AttitudeNavigation: AttitudeRecorder,
    GyroNavigation: GyroRecorder,
    TargetNavigation: PoseRecorder,
}
HELD_WEIGHT = "replay holds the weight beside the orbit from one measurement to the next: estimates differ slightly"
FEWEST_STEPS = 5.0  # gap_steps of a log whose inputs come regularly


@dataclass(frozen=True)
class Simulated:
    """A trial that was flown and taken down."""

    scenario: str
    seed: int
    trial: int
    log: Path
    config: Path
    rows: int
    until_s: float
    interrupted: bool
    note: str = ""  # in what replay's filter is not the one that flew

    def report(self) -> dict[str, Any]:
        """The outcome for machines."""
        return {**asdict(self), "log": str(self.log), "config": str(self.config)}


def simulate(mission: Mission, trial: int, log: Path, progress: Callable[[int, int], None] | None = None) -> Simulated:
    """Fly a trial, write the log in the format of its suffix, and the configuration beside it."""
    check_path(log)
    seed = mission.run.seed
    prepared = prepare(dispersal.groups(mission, seed, np.array([trial]))[0], seed)
    loop, recorder = _connected(mission, prepared)
    flown = loop.fly(prepared.truth, prepared.belief, prepared.memory, progress=progress)
    columns = recorder.columns()
    steps = np.diff(columns["t_s"])
    gap_steps = max(FEWEST_STEPS, 2.0 * float(steps.max() / steps.min()))  # inputs of a simulation have no gaps
    config = recorder.config()
    config["log"] |= {"time": "t_s", "gap_steps": gap_steps}
    chosen, beside = validate(config, Replay, "simulate"), log.with_suffix(".toml")
    try:
        write_log(log, {"": columns})
        with replacing(beside) as temporary:
            temporary.write_text(dump(chosen), encoding="utf-8")
    except OSError as error:
        raise InputError(f"--log {log}: {(error.strerror or str(error)).lower()}; give a file to write") from None
    until_s, cut = flown.ticks * loop.h, flown.ticks < loop.steps
    falling = any(getattr(section, "falls", False) for section in mission.craft.values())
    notes = [HELD_WEIGHT] if falling and mission.environment.orbit.kind_name() != "free" else []
    if recorder.left_out:
        notes.append(f"replay has no sensors like {', '.join(recorder.left_out)}, which are left out: estimates differ")
    note = "; ".join(notes)
    return Simulated(mission.name, seed, trial, log, beside, len(columns["t_s"]), until_s, cut, note)


def _connected(mission: Mission, prepared: Prepared) -> tuple[Loop, LogRecorder]:
    """Return the loop with a recorder in place of the filter of its only flight software."""
    software = prepared.observer.software
    if len(software) != 1:
        raise InputError("software: a log is of one craft; give a mission with one flight software")
    name, own = next(iter(software.items()))
    inner: Any = own.navigation.inner
    searched = inner.inner if isinstance(inner, Acquisition) else inner  # a search may precede a filter on a gyro
    kind = RECORDERS.get(type(searched)) if searched is inner or isinstance(searched, GyroNavigation) else None
    if kind is None:
        navigation = mission.software[name].navigation.kind_name()
        raise InputError(
            f"software.{name}.navigation: replay has no {navigation!r}; give one that it has, such as mekf"
        )
    recorder = kind(inner, prepared.belief[0].filter, own.navigation.sensors, prepared.loop.h)
    stand_in: Any = recorder
    watched = {name: dataclasses.replace(own, navigation=dataclasses.replace(own.navigation, inner=stand_in))}
    place = list(mission.craft).index(prepared.observer.seen[name])
    loop = dataclasses.replace(
        prepared.loop,
        navigation=Navigations(watched),
        controller=dataclasses.replace(prepared.loop.controller, law=Controls(watched)),
        instruments=[recorder.noting(instrument, place) for instrument in prepared.loop.instruments],
        compiled=False,
    )
    return loop, recorder


def check_log(name: str, log: Path) -> None:
    """Refuse to write over the mission's own file."""
    if log.with_suffix(".toml").resolve() == Path(name).resolve():
        raise InputError(f"--log {log}: its configuration would replace {name}; give the log another name")


def show(outcome: Simulated) -> None:
    """The outcome for people."""
    what = f"{outcome.scenario}, trial {outcome.trial}, seed {outcome.seed}"
    print(f"{what}: {outcome.rows} rows over {outcome.until_s:g} s")
    for path in (outcome.log, outcome.config):
        print(f"wrote {path}")
    if outcome.note:
        print(f"note: {outcome.note}")
    print(f"read it: gnc replay {outcome.log} --config {outcome.config}")
