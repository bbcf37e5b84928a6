"""The passes of the IMU filter: gyro, accelerometer and magnetometer in step, then the filter, then the way back.

The log is read once. Its rows in step wait in a temporary file among the results, because the noises come from the
whole log, and smoothing goes back through it: memory does not grow with the log. A row is a sample of the gyro with the
last sample of the accelerometer (`inertial.Pairing`), and the magnetometer's if it has a new one.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any

import numpy as np

from gnc import quaternion
from gnc.errors import InputError
from gnc.estimators.calibration import carries_iron, magnetometer
from gnc.estimators.imu_filter import Chunk, ImuFilter, passed, surveyed, walking
from gnc.estimators.imu_smoother import TIES, smoothed
from gnc.scenarios.replay import filter_config
from gnc.scenarios.replay.config import Replay
from gnc.scenarios.replay.filter_protocol import named
from gnc.scenarios.replay.imu_range import ADDED, DOUBT, WIDTH, Clipped, bridged, in_body_axes
from gnc.scenarios.replay.inertial import driving
from gnc.scenarios.replay.merge import Block
from gnc.scenarios.replay.results import Results
from gnc.scenarios.replay.smoothing import Spool

Array = Any

CHUNK = 16384  # rows
IRON_ROWS = 2000  # by which iron is looked for


class Imu:
    """What the results ask of the filter."""

    errors = named("a", "bias")


class ImuRunner:
    """Takes blocks of the log, and does all the filtering at its end."""

    recoveries = 0
    away_s = 0.0  # for which the body was beyond its place
    iron = ""  # what was taken off the magnetometer, in words
    clipped: Mapping[str, Clipped] = {}  # sensors that were at the end of their range

    def __init__(self, config: Replay, results: Results, folder: Path) -> None:
        self._config, self._results, self._folder = config, results, folder
        self._driving = driving(config)
        mag = next((s for s in config.sensors if s.kind == "magnetometer"), None)
        self._mounted = None if mag is None else np.array(mag.q_BS)
        self._file, self._late_mag = TemporaryFile(dir=folder), np.zeros((0, 4))  # noqa: SIM115 - as long as the runner
        self.noise: Any = None
        self.candidates: Sequence[Replay] = ()  # whose likelihood is asked for, instead of estimates
        self.told: Callable[[Array, Array], None] = lambda t, terms: None
        self.starter = self

    def failed(self) -> InputError:
        """Return the error for a log without a row in which both sensors are known."""
        return InputError("sensors: gyro and accelerometer have no time in common; check their stamps")

    def run(self, block: Block) -> None:
        """Put the magnetometer beside the samples of gyro and accelerometer."""
        t, z, valid, _ = block.parts[0]
        if self._driving[0].range is not None:  # samples beyond are filled in
            valid = valid | z[:, :3].any(axis=1)
        rows = np.zeros((int(valid.sum()), WIDTH))
        rows[:, 0], rows[:, 1:7], rows[:, 7:DOUBT] = t[valid], z[valid], np.nan
        if self._mounted is not None:
            m = block.parts[1]
            field = np.concatenate([m.t[:, None], quaternion.rotate(self._mounted, m.z[:, :3])], axis=1)[m.valid]
            field = np.concatenate([self._late_mag, field])
            row = np.searchsorted(rows[:, 0], field[:, 0])
            self._late_mag = field[row == len(rows)][-1:]
            rows[row[row < len(rows)], 7:DOUBT] = field[row < len(rows), 1:]
        self._file.write(rows.tobytes())

    def finish(self) -> None:
        """Find the noises, filter, smooth, and write."""
        self._file.flush()
        if self._file.tell():
            rows = np.memmap(self._file, float, "r+").reshape(-1, WIDTH)
            self.clipped = in_body_axes(rows, self._driving)
            rows = bridged(rows, _usual_step(rows), self._folder)
            if self._mounted is not None:
                self._remove_iron(rows)
            (self._compare if self.candidates else self._filter)(rows)

    def _remove_iron(self, rows: Array) -> None:
        """Calibrate a magnetometer whose field is of one length but for a magnet that the body carries all the time."""
        some = np.array(rows[:: max(len(rows) // IRON_ROWS, 1), 7:DOUBT])
        some = some[np.isfinite(some).all(axis=1)]
        if not carries_iron(some):
            return
        found = magnetometer(some)
        soft = not any(name.startswith("soft") for name in found.undetermined)
        S, b = found.values["soft_iron"] if soft else np.eye(3), found.values["hard_iron"]
        for start in range(0, len(rows), CHUNK):
            part = rows[start : start + CHUNK, 7:DOUBT]
            part[:] = (part - b) @ S
        left = float(np.linalg.norm((some - b) @ S, axis=1).std())
        offset = ", ".join(f"{1e6 * x:.3g}" for x in b)
        self.iron = f"the field's length varied by {1e6 * found.before:.3g} uT as the body turned; without a magnet of "
        self.iron += f"({offset}) uT on the body, which was taken off, by {1e6 * left:.3g}: gnc calibrate"

    def _compare(self, rows: Array) -> None:
        """Tell the likelihood of every innovation for all candidates."""
        terms, t = [], np.zeros(0)
        for config in self.candidates:
            parts = list(self._forwards(self._built(rows, config), rows, CHUNK))
            t = np.concatenate([rows[chunk.start + told.row, 0] for chunk, _, told in parts])
            terms.append([-0.5 * (told.nis + np.linalg.slogdet(told.S)[1]) for _, _, told in parts])
        self.told(t, np.stack([np.concatenate(x) for x in terms], axis=1))

    def _filter(self, rows: Array) -> None:
        imu, output, starts = self._built(rows, self._config), self._config.output, list[tuple[Chunk, Any]]()
        for chunk, before, told in self._forwards(imu, rows, self._chunk(imu.dt)):
            self._innovations(rows[chunk.start : chunk.end, 0], told, imu)
            self.away_s += told.away
            if output.smooth:
                starts.append((chunk, before))
            else:
                self._estimates(rows, chunk, told, imu)
        if not output.smooth:
            return
        back = Spool(self._folder)
        for chunk, told in smoothed(imu, rows, starts, None if output.lag_s is None else 1):
            back.append((chunk, told))
        for i in range(len(back) - 1, -1, -1):
            chunk, told = back[i]
            self._estimates(rows, chunk, told, imu)

    def _chunk(self, dt: float) -> int:
        """Return the rows of a chunk: with a lag, as many as it has."""
        lag_s = self._config.output.lag_s
        return CHUNK if lag_s is None or not self._config.output.smooth else max(int(np.ceil(lag_s / dt)), 1)

    def _built(self, rows: Array, config: Replay) -> ImuFilter:
        chosen = config.filter
        assert isinstance(chosen, filter_config.ImuFilterSection)
        dt = _usual_step(rows)
        constants = {"sigma_p": chosen.reach_m, "tau_p": chosen.stroke_s} | (TIES if config.output.smooth else {})
        with_field = self._mounted is not None
        self.noise = self.noise or walking(ImuFilter(dt, surveyed(rows, dt), with_field, constants), rows)
        noise = self.noise
        for s in config.sensors:
            if s.kind == "gyro" and s.arw is not None:
                noise = dataclasses.replace(noise, gyro=s.arw / np.sqrt(dt))
            if s.kind == "gyro" and s.bias_walk > 0.0:
                noise = dataclasses.replace(noise, bias_walk=s.bias_walk)
            if s.kind == "magnetometer" and s.sigma_T > 0.0:
                noise = dataclasses.replace(noise, mag=s.sigma_T)
        if not np.isfinite(noise.gyro):
            raise InputError(f"the log has {len(rows)} rows in step, less than a second; imu needs its noises from it")
        return ImuFilter(dt, noise, with_field, constants)

    def _forwards(self, imu: ImuFilter, rows: Array, size: int) -> Iterator[tuple[Chunk, Any, Any]]:
        q_IB = self._config.start.q_IB
        return passed(imu, rows, size, None if q_IB is None else np.array(q_IB))

    def _innovations(self, t: Array, told: Any, imu: ImuFilter) -> None:
        if len(told.row):
            scaled = told.y / imu.scale, told.S / imu.scale**2
            self._results.innovations(0, t[told.row], (*scaled, told.nis, np.ones(len(told.row))))

    def _estimates(self, rows: Array, chunk: Chunk, told: Any, imu: ImuFilter) -> None:
        columns = {"t": np.array(rows[chunk.start : chunk.end, 0])}
        columns |= {"q_IB": told.q, "w_B": told.w, "bias": told.bias}
        if self._mounted is not None:
            columns |= {"magnet_B": told.magnet[:, :3] / imu.scale, "magnet_I": told.magnet[:, 3:] / imu.scale}
        columns |= {"C": told.C.reshape(-1, 6, 6)}
        if (added := rows[chunk.start : chunk.end, ADDED] > 0.0).any():
            columns = {name: z[~added] for name, z in columns.items()}
        self._results.write(columns)


def _usual_step(rows: Array) -> float:
    return float(np.median(np.diff(rows[:CHUNK, 0]))) if len(rows) > 1 else 1.0
