"""The passes of the IMU filter: gyro, accelerometer and magnetometer in step, then the filter, then the way back.

The log is read once. Its rows in step, with the truth beside them, wait in a temporary file among the results, because
the noises come from the whole log, and smoothing goes back through it: memory does not grow with the log. A row is a
sample of the gyro with the last sample of the accelerometer, and the magnetometer's if it has a new one.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from gnc import quaternion
from gnc.errors import InputError
from gnc.estimators.imu_filter import ImuConstants, ImuFilter, passed, surveyed
from gnc.estimators.imu_smoother import smoothed
from gnc.scenarios.replay import filter_config
from gnc.scenarios.replay.config import Replay
from gnc.scenarios.replay.driven import named
from gnc.scenarios.replay.merge import Block
from gnc.scenarios.replay.results import Results
from gnc.scenarios.replay.smoothing import KeptTruth, Spool
from gnc.scenarios.replay.stream import Measurements, Stream
from gnc.scenarios.replay.truth import Track

Array = Any

CHUNK = 16384  # rows
SENSORS = 10  # t, gyro, accelerometer, magnetometer


class Imu:
    """What the results ask of the filter."""

    errors = named("a", "bias")


class ImuRunner:
    """Takes blocks of the log, and does all the filtering at its end."""

    recoveries = 0

    def __init__(self, config: Replay, streams: Sequence[Stream], results: Results, track: Track | None, folder: Path):
        self._config, self._streams, self._results = config, streams, results
        kinds = [next(s for s in config.sensors if f"sensors.{s.name}" == stream.name).kind for stream in streams]
        self._gyro, self._acc = kinds.index("gyro"), kinds.index("accelerometer")
        self._mag = kinds.index("magnetometer") if "magnetometer" in kinds else None
        self._turns = [_mounting(config, stream) for stream in streams]
        self._folder, self._rows = folder, folder / ".imu_rows.tmp"
        self._file, self._truth = self._rows.open("wb"), KeptTruth(track, folder / ".imu_truth.tmp")
        self._last_acc, self._late_mag = np.full((1, 4), np.nan), np.zeros((0, 4))
        self.noise: Any = None
        self.candidates: Sequence[Replay] = ()  # whose likelihood is asked for, instead of estimates
        self.told: Callable[[Array, Array], None] = lambda t, terms: None

    @property
    def starter(self) -> ImuRunner:
        """Return what tells why there was no start."""
        return self

    def failed(self) -> InputError:
        """Return the error for a log without a row in which both sensors are known."""
        return InputError("sensors: gyro and accelerometer have no time in common; check their stamps")

    def run(self, block: Block) -> None:
        """Put the samples of a block in step."""
        rows = self._in_step(block.parts)
        if len(rows):
            rows.tofile(self._file)
            self._truth.add({"t": rows[:, 0]})
        self._truth.settle(block.until)

    def _in_step(self, parts: Sequence[Measurements]) -> Array:
        gyro, acc = (self._turned(parts, i) for i in (self._gyro, self._acc))
        acc = np.concatenate([self._last_acc, acc])
        held = acc[np.searchsorted(acc[1:, 0], gyro[:, 0], side="right")]
        self._last_acc = acc[-1:]
        rows = np.full((len(gyro), SENSORS), np.nan)
        rows[:, :4], rows[:, 4:7] = gyro, held[:, 1:]
        if self._mag is not None:
            mag = np.concatenate([self._late_mag, self._turned(parts, self._mag)])
            row = np.searchsorted(gyro[:, 0], mag[:, 0])
            self._late_mag = mag[row == len(gyro)][-1:]
            rows[row[row < len(gyro)], 7:] = mag[row < len(gyro), 1:]
        started = np.isfinite(rows[:, 4])
        self._streams[self._gyro].counts["before start"] += int((~started).sum())
        return rows[started]

    def _turned(self, parts: Sequence[Measurements], i: int) -> Array:
        """Return times and vectors in body axes of the valid samples."""
        m = parts[i]
        return np.concatenate([m.t[m.valid, None], quaternion.rotate(self._turns[i], m.z[m.valid, :3])], axis=1)

    def finish(self) -> None:
        """Find the noises, filter, smooth, and write."""
        self._truth.settle(np.inf)
        self._file.close()
        try:
            if self._rows.stat().st_size:
                self._filter(np.memmap(self._rows, float, "r").reshape(-1, SENSORS))
        finally:
            self._rows.unlink()
            self._truth.close()

    def _compare(self, rows: Array) -> None:
        """Tell the likelihood of every innovation for all candidates."""
        terms, t = [], np.zeros(0)
        for config in self.candidates:
            parts = list(self._forwards(self._built(rows, config), rows, CHUNK))
            t = np.concatenate([rows[start + told.row, 0] for start, _, told in parts])
            terms.append([-0.5 * (told.nis + np.linalg.slogdet(told.S)[1]) for _, _, told in parts])
        self.told(t, np.stack([np.concatenate(x) for x in terms], axis=1))

    def _filter(self, rows: Array) -> None:
        if self.candidates:
            self._compare(rows)
            return
        imu, output, starts = self._built(rows, self._config), self._config.output, list[tuple[int, Any]]()
        chunk = self._chunk(imu.dt)
        for start, before, told in self._forwards(imu, rows, chunk):
            self._innovations(rows[start : start + chunk, 0], told, imu)
            if output.smooth:
                starts.append((start, before))
            else:
                self._estimates(rows, start, told, imu)
        if not output.smooth:
            return
        back = Spool(self._folder / ".imu_smoothed.tmp")
        for start, told in smoothed(imu, rows, starts, None if output.lag_s is None else 1):
            back.append((start, told))
        for i in range(len(back) - 1, -1, -1):
            start, told = back[i]
            self._estimates(rows, start, told, imu)
        back.close()

    def _chunk(self, dt: float) -> int:
        """Return the rows of a chunk: with a lag, as many as it has."""
        lag_s = self._config.output.lag_s
        return CHUNK if lag_s is None or not self._config.output.smooth else max(int(np.ceil(lag_s / dt)), 1)

    def _built(self, rows: Array, config: Replay) -> ImuFilter:
        chosen = config.filter
        assert isinstance(chosen, filter_config.ImuFilter)
        dt = float(np.median(np.diff(rows[: min(len(rows), CHUNK), 0]))) if len(rows) > 1 else 1.0
        noise = self.noise or surveyed(rows, dt)
        self.noise = noise
        for s in config.sensors:
            if s.kind == "gyro" and s.arw is not None:
                noise = dataclasses.replace(noise, gyro=s.arw / np.sqrt(dt))
            if s.kind == "magnetometer" and s.sigma_T > 0.0:
                noise = dataclasses.replace(noise, mag=s.sigma_T)
        if not np.isfinite(noise.gyro):
            raise InputError(f"the log has {len(rows)} rows in step, less than a second; imu needs its noises from it")
        constants = ImuConstants(sigma_p=chosen.reach_m, tau_p=chosen.stroke_s)
        return ImuFilter(dt, noise, self._mag is not None, constants)

    def _forwards(self, imu: ImuFilter, rows: Array, chunk: int) -> Iterator[tuple[int, Any, Any]]:
        q_IB = self._config.start.q_IB
        return passed(imu, rows, chunk, None if q_IB is None else np.array(q_IB))

    def _innovations(self, t: Array, told: Any, imu: ImuFilter) -> None:
        if self._mag is None or not len(told.row):
            return
        scaled = {"y": told.y / imu.scale, "S": told.S / imu.scale**2}
        columns = {"t": t[told.row], **scaled, "nis": told.nis, "used": np.ones(len(told.row))}
        self._results.write_innovations(self._mag - 1, columns)

    def _estimates(self, rows: Array, start: int, told: Any, imu: ImuFilter) -> None:
        end = start + len(told.q)
        columns = {"t": np.array(rows[start:end, 0]), "q_IB": told.q, "w_B": told.w, "bias": told.bias}
        if self._mag is not None:
            columns |= {"magnet_B": told.magnet[:, :3] / imu.scale, "magnet_I": told.magnet[:, 3:] / imu.scale}
        columns |= {"C": told.C.reshape(-1, 6, 6), **self._truth.rows(start, end)}
        self._results.count += end - start
        self._results.write(columns)


def _mounting(config: Replay, stream: Stream) -> Array:
    return np.array(next(s.q_BS for s in config.sensors if f"sensors.{s.name}" == stream.name))
