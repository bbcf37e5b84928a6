"""From a log and a configuration to files of results and an account of the data."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from gnc import dual_quaternion
from gnc.errors import InputError
from gnc.estimators.motion_fit import Poses
from gnc.models.pose_body import PoseState
from gnc.models.sensors import Gyro
from gnc.scenarios.logs.clock import LogClock
from gnc.scenarios.logs.tables import CHUNK_ROWS, Table, open_log, pick
from gnc.scenarios.replay import filter_config, quantities
from gnc.scenarios.replay.config import Replay, Start
from gnc.scenarios.replay.dynamic_filters import ByTorque, ByWrench
from gnc.scenarios.replay.evidence import Evidence
from gnc.scenarios.replay.filter_protocol import ReplayFilter
from gnc.scenarios.replay.imu_run import Imu, ImuRunner
from gnc.scenarios.replay.inertial import Inertial, InsStarter, Pairing, tells_attitude
from gnc.scenarios.replay.inertial import channels as ins_channels
from gnc.scenarios.replay.merge import Block, Feed, blocks, clock_of, common_origin
from gnc.scenarios.replay.motion_filters import GyroDriven, Kinematic, Moving
from gnc.scenarios.replay.quantities import Quantity
from gnc.scenarios.replay.results import DroppedRows, Lost, Results
from gnc.scenarios.replay.run import OWN_PATIENCE, Runner
from gnc.scenarios.replay.sensors import Channel, Model, channel
from gnc.scenarios.replay.smoothing import SmoothingRunner
from gnc.scenarios.replay.start import Starter
from gnc.scenarios.replay.stream import Dropped, LogStream
from gnc.scenarios.replay.truth import Track

Array = Any

STRETCH, MOST_STRETCHES, FEWEST_POSES = 50, 12, 20  # poses that tell the motion of a body, over the whole log
ROUNDED_LENGTH = 1e-5  # by which the length of normalised directions may be off 1: they are written with few digits
DRIVEN_BY_GYRO = ("gyro-mekf", "dqekf-kinematic")


@dataclass
class Session:
    """All parts of one replay, connected."""

    config: Replay
    feeds: list[Feed]
    streams: list[LogStream]  # of the driver, the channels, the truth
    channels: list[Channel]  # sensors that correct; a gyro that drives is not among them
    filter: ReplayFilter
    results: Results
    runner: Runner | ImuRunner
    track: Track | None
    dropped: DroppedRows
    model: Model | None
    pairing: Pairing | None = None  # of gyro and accelerometer, of ins
    seconds: float = 0.0
    cpu_seconds: float = 0.0
    origin_ns: int = 0  # since 1970, of time 0

    def __post_init__(self) -> None:
        """Look at what the sensors say."""
        self.evidence = Evidence(self.config, self.streams)

    def run(self, progress: Callable[[float], None] = lambda t: None) -> None:
        """Read the log to its end; files are whole or absent afterwards."""
        began, cpu, keep = time.perf_counter(), time.process_time(), False
        try:
            self._pass(progress)
            keep = True
        except Lost:
            keep = True
        finally:
            self._close(keep)
        self.seconds, self.cpu_seconds = time.perf_counter() - began, time.process_time() - cpu

    def _pass(self, progress: Callable[[float], None]) -> None:
        for block in self.blocks():
            if self.track is not None:
                self.track.add(block.parts[-1])
            self.evidence.add(block.parts)
            self.runner.run(self.paired(block))
            progress(block.until)
        self.runner.finish()
        if not self.results.count:
            raise self._no_start()

    def blocks(self) -> Iterator[Block]:
        """Read the log."""
        self.origin_ns = common_origin(self.feeds)
        if self.model is not None and self.origin_ns:
            self.model.offset_s = self.origin_ns * 1e-9 - self.model.epoch.utc.timestamp()
        return blocks(self.feeds, self.streams, self.origin_ns)

    def paired(self, block: Block) -> Block:
        """Return a block as the runner takes it."""
        return block if self.pairing is None else self.pairing(block, self.track is not None)

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


def connect(log: Path, config: Replay, folder: Path, headings: tuple[Array, float] | None = None) -> Session:
    """Open the log and put all parts together; `headings` (with their sigma) are tried where none is known.

    An inertial filter of which only gravity tells the first attitude begins with the heading that suits the log best.
    """
    if headings is None and config.filter.kind == "ins" and not tells_attitude(config):
        from gnc.scenarios.replay.heading import likeliest

        headings = likeliest(log, config)
    tables = open_log(log)
    config = _of_unit_length(config, tables)
    model = Model(config.orbit) if config.orbit is not None else None
    built = {sensor.name: channel(sensor, model) for sensor in config.sensors}
    by_gyro = config.filter.kind in DRIVEN_BY_GYRO and any(s.kind == "gyro" for s in config.sensors)
    paired = config.filter.kind in ("imu", "ins")
    driving = ("gyro", "accelerometer") if paired else ("gyro",) if by_gyro else ()
    # Of measurements at one time a gyro's come first, as in missions.
    others = sorted((s for s in config.sensors if s.kind not in driving), key=lambda s: s.kind != "gyro")
    correcting = [built[s.name] for s in others]
    filter_ = _filter(config, built, tables)
    if headings is not None:
        filter_.headings, filter_.heading_sigma = headings
    folder.mkdir(parents=True, exist_ok=True)
    dropped = DroppedRows(folder / "dropped.csv")
    try:
        wiring = _Wiring(config, tables, dropped)
        coasting = driving if config.filter.kind == "imu" else ("gyro",)
        for kind in driving:
            sensor = next(s for s in config.sensors if s.kind == kind)
            wiring.add(f"sensors.{sensor.name}", sensor, built[sensor.name].quantity, coasts=kind in coasting)
        if not driving and config.inputs is not None:
            wiring.add("inputs", config.inputs, quantities.inputs(config.inputs, config.filter))
        for s in others:
            wiring.add(f"sensors.{s.name}", s, built[s.name].quantity)
        track = None
        if config.truth is not None:
            track = Track(wiring.add("truth", config.truth, quantities.truth(config.truth, config.score.mask)), folder)
        streams, feeds = wiring.streams, wiring.feeds()
    except BaseException:
        dropped.close(False)
        raise
    if isinstance(config.filter, filter_config.InsFilterSection):
        correcting = ins_channels(correcting, filter_, config.filter.rest_sigma_m_s)
    results = Results(folder, filter_, [c.name for c in correcting], track, config.output)
    runner = _runner(config, filter_, correcting, streams[: len(streams) - (track is not None)], results, folder)
    session = Session(config, feeds, streams, correcting, filter_, results, runner, track, dropped, model)
    session.pairing = Pairing(config, streams) if paired else None
    return session


def _of_unit_length(config: Replay, tables: dict[str, Table]) -> Replay:
    """Return the configuration with `normalize` where the directions of a sensor have unit length already."""
    sensors = []
    for s in config.sensors:
        if s.kind == "vector" and not s.normalize:
            table = pick(tables, s.table, f"sensors.{s.name}.table")
            first = next(table.chunks(list(s.columns), [], CHUNK_ROWS), {}) if {*s.columns} <= {*table.columns} else {}
            length = np.linalg.norm([first[name] for name in s.columns], axis=0) if first else np.zeros(0)
            whole = np.isfinite(length)
            unit = whole.any() and float(np.median(np.abs(length[whole] - 1.0))) < ROUNDED_LENGTH
            s = s.model_copy(update={"normalize": True}) if unit else s
        sensors.append(s)
    return config.model_copy(update={"sensors": tuple(sensors)})


def _filter(config: Replay, built: dict[str, Channel], tables: dict[str, Table]) -> Any:
    if config.filter.kind in ("imu", "ins"):
        return Imu() if config.filter.kind == "imu" else Inertial(config)
    sensors = {name: c.sensor for name, c in built.items()}
    return driven(config.filter, sensors, config.start, _motion_poses(config, built, tables))


def driven(chosen: Any, sensors: Mapping[str, Any], start: Start, poses: Sequence[Poses] = ()) -> ReplayFilter:
    """Build the filter of a configuration; stretches of poses tell the motion, if it is not stated."""
    patience = "patience" if chosen.kind == "gyro-mekf" else "patience_s"
    common = {"gate_probability": chosen.gate_probability, patience: chosen.patience or OWN_PATIENCE}
    common |= {} if chosen.inflation is None else {"inflation": chosen.inflation}
    gyros = [sensor for sensor in sensors.values() if isinstance(sensor, Gyro)]
    others = {name: sensor for name, sensor in sensors.items() if not isinstance(sensor, Gyro)}
    made: ReplayFilter
    if chosen.kind == "gyro-mekf":
        made = GyroDriven(chosen, gyros[0], others, common)
    elif chosen.kind == "dqekf-kinematic":
        made = Moving(chosen, poses) if poses else Kinematic(chosen, common, gyros[0] if gyros else None)
    else:
        known = sensors if start.sigma_bias_deg_s > 0.0 else others
        made = (ByTorque if chosen.kind == "mekf" else ByWrench)(chosen, known, common)
    n = made.start_size(start)
    if start.C is not None and (len(start.C) != n or any(len(row) != n for row in start.C)):
        raise InputError(f"start.C: give {n} rows of {n} numbers, over {', '.join(made.errors[:n])}")
    return made


def _runner(
    config: Replay, filter_: Any, correcting: list[Channel], streams: list[LogStream], results: Results, folder: Path
) -> Runner | ImuRunner:
    """Return what takes the log through the filter."""
    chosen = config.filter
    if isinstance(chosen, filter_config.ImuFilterSection):
        return ImuRunner(config, results, folder)
    if chosen.kind == "ins":
        streams = [streams[0], *streams[2:]]
        streams += [dataclasses.replace(streams[0], name="rest")] if chosen.rest_sigma_m_s > 0.0 else []
    recovery = (np.inf, 1.0) if chosen.patience else (chosen.patience_s, chosen.growth)
    kind = SmoothingRunner if config.output.smooth else Runner
    parts = (filter_, correcting, streams, results, starter_of(config, filter_), config.log)
    runner = kind(*parts, chosen.ungated_s, recovery, config.interval)
    if isinstance(runner, SmoothingRunner):
        runner.smooth_into(folder, config.output.lag_s)
    return runner


def starter_of(config: Replay, filter_: Any) -> Starter:
    """Return what looks for a start."""
    if config.filter.kind == "ins":
        return InsStarter(config, filter_)
    return Starter(config.start, config.filter.kind in ("dqekf", "dqekf-kinematic"))


def _motion_poses(config: Replay, built: dict[str, Channel], tables: dict[str, Table]) -> list[Poses]:
    """Return stretches of poses over the whole log that tell the motion of a body, where nothing else does."""
    if config.filter.kind != "dqekf-kinematic" or config.filter.acceleration_psd is not None:
        return []
    sensor = next((s for s in config.sensors if s.kind == "pose" and s.observer is None), None)
    if sensor is None or any(s.kind == "gyro" for s in config.sensors):
        raise InputError(
            "filter.acceleration_psd is missing; only poses in the inertial frame, without a gyro, tell it"
        )
    channel_ = built[sensor.name]
    wiring = _Wiring(config, tables, lambda *row: None)
    stream, feeds = wiring.add(f"sensors.{sensor.name}", sensor, channel_.quantity), wiring.feeds()
    measured = (block.parts[0] for block in blocks(feeds, [stream], common_origin(feeds)))
    kept = _spread((m.t[m.valid], m.z[m.valid]) for m in measured)
    if not kept or len(kept[0][0]) < FEWEST_POSES:
        few = len(kept[0][0]) if kept else 0
        raise InputError(f"filter.acceleration_psd is missing; {few} poses tell no motion, {FEWEST_POSES} would")
    dq_BS, R = channel_.sensor.dq_BS, channel_.sensor.predict(PoseState(kept[0][1][0], np.zeros(6)), None).R
    return [Poses(t, dual_quaternion.mul(dq_BS, z), R) for t, z in kept]


def _spread(parts: Iterable[tuple[Array, Array]]) -> list[tuple[Array, Array]]:
    """Return stretches of STRETCH rows, evenly over all parts: every second goes when there are too many."""
    kept: list[tuple[Array, Array]] = []
    t, z, number, every = np.zeros(0), np.zeros((0, 8)), 0, 1
    for more_t, more_z in parts:
        t, z = np.concatenate([t, more_t]), np.concatenate([z, more_z])
        while len(t) >= STRETCH:
            if number % every == 0:
                kept.append((t[:STRETCH], z[:STRETCH]))
            if len(kept) > MOST_STRETCHES:
                kept, every = kept[::2], 2 * every
            t, z, number = t[STRETCH:], z[STRETCH:], number + 1
    return kept or [(t, z)]


class _Wiring:
    """Streams and the tables they come from; streams with the same time column share a clock."""

    def __init__(self, config: Replay, tables: dict[str, Table], dropped: Dropped) -> None:
        self._config, self._tables, self._dropped = config, tables, dropped
        self.streams: list[LogStream] = []
        self._by_table: dict[int, tuple[Table, list[LogStream], dict[int, str | None]]] = {}
        self._clocks: dict[tuple[int, str | None, Any, Any], LogClock] = {}

    def add(self, name: str, source: Any, quantity: Quantity, coasts: bool = False) -> LogStream:
        """Add a stream of the log."""
        log = self._config.log
        table = pick(self._tables, source.table, f"{name}.table")
        column, clock = clock_of(source, log)
        clock = self._clocks.setdefault((id(table), column, clock.unit, clock.rate_hz), clock)
        stream = LogStream(name, source, quantity, clock, log.gap_steps, self._dropped, coasts)
        _, streams, stamps = self._by_table.setdefault(id(table), (table, [], {}))
        streams.append(stream)
        stamps[id(clock)] = column
        self.streams.append(stream)
        return stream

    def feeds(self) -> list[Feed]:
        """Open every table that is used, once."""
        return [Feed(*parts) for parts in self._by_table.values()]
