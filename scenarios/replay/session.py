"""From a log and a configuration to files of results and an account of the data."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from gnc import dual_quaternion
from gnc.errors import InputError
from gnc.estimators.motion_fit import Poses
from gnc.models.pose_body import PoseState
from gnc.models.sensors import Gyro
from gnc.scenarios.replay import filter_config, quantities
from gnc.scenarios.replay.clock import Clock
from gnc.scenarios.replay.config import Replay
from gnc.scenarios.replay.driven import Driven
from gnc.scenarios.replay.filters import driven
from gnc.scenarios.replay.imu_run import Imu, ImuRunner
from gnc.scenarios.replay.merge import Feed, blocks, clock_of, common_origin
from gnc.scenarios.replay.plausibility import Plausibility
from gnc.scenarios.replay.quantities import Quantity
from gnc.scenarios.replay.rest import RestNoise
from gnc.scenarios.replay.results import DroppedRows, Lost, Results
from gnc.scenarios.replay.run import Runner
from gnc.scenarios.replay.sensors import Channel, Model, channel
from gnc.scenarios.replay.smoothing import SmoothingRunner
from gnc.scenarios.replay.start import Starter
from gnc.scenarios.replay.stream import Dropped, Stream
from gnc.scenarios.replay.tables import Table, open_log, pick
from gnc.scenarios.replay.truth import Track

Array = Any

MOTION_POSES, FEWEST_POSES = 300, 20  # that tell the motion of a body
DRIVEN_BY_GYRO = ("gyro-mekf", "imu", "dqekf-kinematic")


@dataclass
class Session:
    """All parts of one replay, connected."""

    config: Replay
    feeds: list[Feed]
    streams: list[Stream]  # of the driver, the channels, the truth
    channels: list[Channel]  # sensors that correct; a gyro that drives is not among them
    filter: Driven
    results: Results
    runner: Runner | ImuRunner
    track: Track | None
    rest: RestNoise | None
    dropped: DroppedRows
    model: Model | None
    plausibility: Plausibility
    seconds: float = 0.0

    def run(self, progress: Callable[[float], None] = lambda t: None) -> None:
        """Read the log to its end; files are whole or absent afterwards."""
        began, keep = time.perf_counter(), False
        try:
            self._pass(progress)
            keep = True
        except Lost:
            keep = True
        finally:
            self._close(keep)
        self.seconds = time.perf_counter() - began

    def _pass(self, progress: Callable[[float], None]) -> None:
        origin_ns = common_origin(self.feeds)
        if self.model is not None and origin_ns:
            self.model.offset_s = origin_ns * 1e-9 - self.model.epoch.utc.timestamp()
        for block in blocks(self.feeds, self.streams, origin_ns):
            if self.track is not None:
                self.track.add(block.parts[-1])
            if self.rest is not None:
                self.rest.add(block.parts)
            self.plausibility.add(block.parts)
            self.runner.run(block)
            self.results.settle(block.until)
            progress(block.until)
        self.runner.finish()
        if not self.results.count:
            raise self._no_start()

    def _no_start(self) -> InputError:
        for stream in self.streams:
            if not stream.counts["measurements"]:
                tried = {k: v for k, v in stream.counts.items() if v and k not in ("rows", "measurements")}
                told = ", ".join(f"{v} {k}" for k, v in tried.items()) or "no rows"
                return InputError(f"{stream.name}: no row of the log can be used ({told}); check columns and units")
        return self.runner.starter.failed()

    def _close(self, keep: bool) -> None:
        self.results.close(keep)
        self.dropped.close(keep)


def connect(log: Path, config: Replay, folder: Path) -> Session:
    """Open the log and put all parts together."""
    tables = open_log(log)
    model = Model(config.orbit) if config.orbit is not None else None
    built = [channel(sensor, model) for sensor in config.sensors]
    by_gyro = config.filter.kind in DRIVEN_BY_GYRO and any(s.kind == "gyro" for s in config.sensors)
    correcting = [c for c in built if not (by_gyro and isinstance(c.sensor, Gyro))]
    gyros = [c.sensor for c in built if isinstance(c.sensor, Gyro)]
    filter_: Any = (
        Imu()
        if config.filter.kind == "imu"
        else driven(config.filter, gyros, config.start, _first_poses(config, built, tables))
    )
    folder.mkdir(parents=True, exist_ok=True)
    dropped = DroppedRows(folder / "dropped.csv")
    try:
        wiring = _Wiring(config, tables, dropped)
        sources = {sensor.name: sensor for sensor in config.sensors}
        drives = _driver(config, built, by_gyro)
        if drives is not None:
            wiring.add(*drives, coasts=by_gyro)
        for c in correcting:
            wiring.add(f"sensors.{c.name}", sources[c.name], c.quantity)
        track = None
        if config.truth is not None:
            track = Track(wiring.add("truth", config.truth, quantities.truth(config.truth, config.score.mask)))
        streams, feeds = wiring.streams, wiring.feeds()
    except BaseException:
        dropped.close(False)
        raise
    names = [c.name for c in correcting]
    results = Results(folder, filter_, names, track, config.output.covariance == "full", config.output.csv)
    doubts = Plausibility(config, streams)
    without_truth = streams[: len(streams) - (track is not None)]
    rest = RestNoise(config.rest, {s.name: s for s in config.sensors}, streams) if config.rest is not None else None
    if isinstance(config.filter, filter_config.ImuFilter):
        runner: Any = ImuRunner(config, without_truth, results, track, folder)
    else:
        starter = Starter(config.start, config.filter.kind in ("dqekf", "dqekf-kinematic"))
        recovery = (np.inf, 1.0) if config.filter.patience else (config.filter.patience_s, config.filter.growth)
        parts = (filter_, correcting, without_truth, results, starter, config.log)
        kind = SmoothingRunner if config.output.smooth else Runner
        runner = kind(*parts, config.filter.ungated_s, recovery, config.interval)
        if isinstance(runner, SmoothingRunner):
            runner.smooth_into(folder, track, config.output.lag_s)
    return Session(config, feeds, streams, correcting, filter_, results, runner, track, rest, dropped, model, doubts)


def _first_poses(config: Replay, built: list[Channel], tables: dict[str, Table]) -> Poses | None:
    """Return the poses that tell the motion of a body, where nothing else does."""
    if config.filter.kind != "dqekf-kinematic" or config.filter.acceleration_psd is not None:
        return None
    sensor = next((s for s in config.sensors if s.kind == "pose" and s.observer is None), None)
    if sensor is None or any(s.kind == "gyro" for s in config.sensors):
        raise InputError(
            "filter.acceleration_psd is missing; only poses in the inertial frame, without a gyro, tell it"
        )
    channel_ = next(c for c in built if c.name == sensor.name)
    wiring = _Wiring(config, tables, lambda *row: None)
    stream, feeds = wiring.add(f"sensors.{sensor.name}", sensor, channel_.quantity), wiring.feeds()
    t, z = np.zeros(0), np.zeros((0, 8))
    for block in blocks(feeds, [stream], common_origin(feeds)):
        m = block.parts[0]
        t, z = np.concatenate([t, m.t[m.valid]]), np.concatenate([z, m.z[m.valid]])
        if len(t) >= MOTION_POSES:
            break
    if len(t) < FEWEST_POSES:
        raise InputError(f"filter.acceleration_psd is missing; {len(t)} poses tell no motion, {FEWEST_POSES} would")
    t, z = t[:MOTION_POSES], dual_quaternion.mul(channel_.sensor.dq_BS, z[:MOTION_POSES])
    return Poses(t, z, channel_.sensor.predict(PoseState(z[0], np.zeros(6)), None).R)


def _driver(config: Replay, built: list[Channel], by_gyro: bool) -> tuple[str, Any, Quantity] | None:
    """Return what moves the filter: name, source and quantity."""
    if by_gyro:
        sensor = next(s for s in config.sensors if s.kind == "gyro")
        return f"sensors.{sensor.name}", sensor, next(c.quantity for c in built if c.name == sensor.name)
    if config.inputs is None:
        return None
    quantity = quantities.inputs(config.inputs)
    if not quantity.columns:
        raise InputError("inputs: none of torque, force, wheels and field has columns; name some, or leave it out")
    return "inputs", config.inputs, quantity


class _Wiring:
    """Streams and the tables they come from; streams with the same time column share a clock."""

    def __init__(self, config: Replay, tables: dict[str, Table], dropped: Dropped) -> None:
        self._config, self._tables, self._dropped = config, tables, dropped
        self.streams: list[Stream] = []
        self._by_table: dict[int, tuple[Table, list[Stream], dict[int, str | None]]] = {}
        self._clocks: dict[tuple[int, str | None, Any, Any], Clock] = {}

    def add(self, name: str, source: Any, quantity: Quantity, coasts: bool = False) -> Stream:
        """Add a stream of the log."""
        log = self._config.log
        table = pick(self._tables, source.table, f"{name}.table")
        column, clock = clock_of(source, log)
        clock = self._clocks.setdefault((id(table), column, clock.unit, clock.rate_hz), clock)
        stream = Stream(name, source, quantity, clock, log.gap_steps, self._dropped, coasts)
        _, streams, stamps = self._by_table.setdefault(id(table), (table, [], {}))
        streams.append(stream)
        stamps[id(clock)] = column
        self.streams.append(stream)
        return stream

    def feeds(self) -> list[Feed]:
        """Open every table that is used, once."""
        return [Feed(*parts) for parts in self._by_table.values()]
