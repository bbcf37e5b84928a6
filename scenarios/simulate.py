"""Fly one trial of a scenario and leave its measurements as a log, with the configuration by which replay reads it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from gnc.config.base import validate
from gnc.config.toml_text import dump
from gnc.errors import InputError
from gnc.files import replacing
from gnc.scenarios import dispersed
from gnc.scenarios.attitude.navigation import MekfNavigation
from gnc.scenarios.proximity.navigation import TargetNavigation
from gnc.scenarios.replay.attitude_recorder import AttitudeRecorder
from gnc.scenarios.replay.config import Replay
from gnc.scenarios.replay.log_writer import check_path, write_log
from gnc.scenarios.replay.pose_recorder import PoseRecorder
from gnc.scenarios.replay.recorder import Recorder
from gnc.scenarios.scenario import Scenario, ScenarioConfig

RECORDERS: dict[type, Callable[[Any, Any, Any, float], Recorder]] = {
    MekfNavigation: AttitudeRecorder,
    TargetNavigation: PoseRecorder,
}
SIMULATED = "pointing, attitude-only, rendezvous and docking"
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

    def report(self) -> dict[str, Any]:
        """The outcome for machines."""
        return {**asdict(self), "log": str(self.log), "config": str(self.config)}


def simulate(
    scenario: Scenario,
    config: ScenarioConfig,
    seed: int,
    trial: int,
    log: Path,
    progress: Callable[[int, int], None] | None = None,
) -> Simulated:
    """Fly a trial, write the log in the format of its suffix, and the configuration beside it."""
    check_path(log)
    group = dispersed.groups(config, scenario.dispersible, seed, np.array([trial]))[0]
    prepared = scenario.build(group.config, seed, group.trials)
    kind = RECORDERS.get(type(prepared.loop.navigation))
    if kind is None:
        raise InputError(f"scenario: {scenario.name} cannot be simulated to a log; {SIMULATED} can")
    recorder = kind(group.config, prepared.loop.navigation, prepared.belief, prepared.loop.h)
    loop = recorder.connected(prepared.loop)
    flown = loop.fly(prepared.truth, prepared.belief, prepared.memory, progress=progress)
    columns = recorder.columns()
    steps = np.diff(columns["t_s"])
    gap_steps = max(FEWEST_STEPS, 2.0 * float(steps.max() / steps.min()))  # inputs of a simulation have no gaps
    told = recorder.config()
    told["log"] |= {"time": "t_s", "gap_steps": gap_steps}
    chosen, beside = validate(told, Replay, "simulate"), log.with_suffix(".toml")
    try:
        write_log(log, {"": columns})
        with replacing(beside) as temporary:
            temporary.write_text(dump(chosen), encoding="utf-8")
    except OSError as error:
        raise InputError(f"--log {log}: {(error.strerror or str(error)).lower()}; give a file to write") from None
    until_s, cut = flown.ticks * loop.h, flown.ticks < loop.steps
    return Simulated(scenario.name, seed, trial, log, beside, len(columns["t_s"]), until_s, cut)


def check_log(name: str, log: Path) -> None:
    """Refuse to write over the scenario's own file."""
    if log.with_suffix(".toml").resolve() == Path(name).resolve():
        raise InputError(f"--log {log}: its configuration would replace {name}; give the log another name")


def show(outcome: Simulated) -> None:
    """The outcome for people."""
    what = f"{outcome.scenario}, trial {outcome.trial}, seed {outcome.seed}"
    print(f"{what}: {outcome.rows} rows over {outcome.until_s:g} s")
    for path in (outcome.log, outcome.config):
        print(f"wrote {path}")
    print(f"read it: gnc replay {outcome.log} --config {outcome.config}")
