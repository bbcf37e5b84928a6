"""Rows of the IMU filter in body axes, with what clipped and missing samples have hidden."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryFile
from typing import Any, NamedTuple

import numpy as np

from gnc import quaternion
from gnc.estimators.imu_clipping import bridge, limits, mend
from gnc.scenarios.replay.quantities import SI
from gnc.scenarios.replay.sensor_config import ALIGNED

Array = Any

CHUNK = 16384  # rows
MISSED, BRIDGED_S = 1.5, 0.3  # usual steps, of which one misses a sample; longest time that is bridged
DOUBT, ADDED, WIDTH = 10, 13, 14  # columns behind the sensors': the gyro's doubt, 1 in rows that the log does not have
FIRST = {"gyro": 1, "accelerometer": 4}  # column of a row


class Clipped(NamedTuple):
    """How often a sensor was at the end of its range."""

    limit: float
    unit: str
    share: float  # of its numbers
    longest_s: float


def in_body_axes(rows: Array, sensors: Any) -> dict[str, Clipped]:
    """Mend and turn the samples of gyro and accelerometer in place; a gyro that was clipped is doubted."""
    told = dict[str, Clipped]()
    for s in sensors:
        doubt = rows[:, DOUBT:ADDED] if s.kind == "gyro" else None
        part = rows[:, FIRST[s.kind] : FIRST[s.kind] + 3]
        limit, stated = limits(part, s.kind), SI[s.unit] * (s.range or np.inf)
        limit = np.clip(limit, -stated, stated)
        if np.isfinite(limit).any():
            number, longest_s = mend(rows[:, 0], part, limit, doubt)
            if number:
                told[s.name] = Clipped(float(np.abs(limit).min()) / SI[s.unit], s.unit, number / part.size, longest_s)
        if s.q_BS != ALIGNED:
            _turn(part, doubt, np.array(s.q_BS))
    return told


def bridged(rows: Array, dt: float, folder: Path) -> Array:
    """Return rows with others in short gaps, which are doubted and marked as added."""
    parts = ((i, np.diff(rows[i : i + CHUNK + 1, 0])) for i in range(0, len(rows), CHUNK))
    after = np.concatenate([i + np.flatnonzero((h > MISSED * dt) & (h <= BRIDGED_S)) for i, h in parts])
    if not len(after):
        return rows
    added, doubt = bridge(rows[:, :7], after, dt)
    wide, at = _room(len(rows) + len(added), WIDTH, folder), 0
    for i in range(0, len(rows), CHUNK):
        old = rows[i : i + CHUNK]
        new: Array = slice(*np.searchsorted(added[:, 0], [old[0, 0], rows[min(i + CHUNK, len(rows) - 1), 0]]))
        block = np.zeros((len(old) + len(added[new]), WIDTH))
        place = np.searchsorted(old[:, 0], added[new, 0]) + np.arange(len(added[new]))
        block[place, :7], block[place, 7:DOUBT], block[place, DOUBT:ADDED] = added[new], np.nan, doubt[new]
        block[place, ADDED] = 1.0
        block[np.setdiff1d(np.arange(len(block)), place)] = old
        wide[at : at + len(block)], at = block, at + len(block)
    return wide


def _turn(part: Array, doubt: Array | None, q_BS: Array) -> None:
    """Turn samples to body axes; of a doubt the variances along them remain."""
    squares = quaternion.to_matrix(q_BS) ** 2
    for i in range(0, len(part), CHUNK):
        part[i : i + CHUNK] = quaternion.rotate(q_BS, part[i : i + CHUNK])
        if doubt is not None:
            doubt[i : i + CHUNK] = doubt[i : i + CHUNK] @ squares.T


def _room(n: int, k: int, folder: Path) -> Array:
    """Return zeros (n, k) in a file that goes with them."""
    with TemporaryFile(dir=folder) as file:  # the map keeps it open
        file.truncate(8 * n * k)
        return np.memmap(file, float, "r+", shape=(n, k))
