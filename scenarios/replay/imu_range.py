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
ADDED = 13  # column that is 1 in rows that the log does not have, behind those of the gyro's doubt
FIRST = {"gyro": 1, "accelerometer": 4}  # column of a row


class Clipped(NamedTuple):
    """How often a sensor was at the end of its range."""

    limit: float
    unit: str
    share: float  # of its numbers
    longest_s: float


def in_body_axes(rows: Array, sensors: Any, folder: Path) -> tuple[Array, dict[str, Clipped]]:
    """Mend and turn the samples of gyro and accelerometer in place; a gyro that was clipped adds columns of doubt."""
    told, doubt = dict[str, Clipped](), None
    for s in sensors:
        part = rows[:, FIRST[s.kind] : FIRST[s.kind] + 3]
        limit, stated = limits(part, s.kind), SI[s.unit] * (s.range or np.inf)
        limit = np.clip(limit, -stated, stated)
        if np.isfinite(limit).any():
            spare = _room(len(rows), 3, folder) if s.kind == "gyro" else None
            number, longest_s = mend(rows[:, 0], part, limit, spare)
            if number:
                told[s.name] = Clipped(float(np.abs(limit).min()) / SI[s.unit], s.unit, number / part.size, longest_s)
                doubt = spare if s.kind == "gyro" else doubt
        if s.q_BS != ALIGNED:
            _turn(part, doubt if s.kind == "gyro" else None, np.array(s.q_BS))
    return (rows if doubt is None else _beside(rows, doubt, folder)), told


def bridged(rows: Array, dt: float, folder: Path) -> Array:
    """Return rows with others in short gaps, and columns of doubt and of what was added; as they are without a gap."""
    parts = ((i, np.diff(rows[i : i + CHUNK + 1, 0])) for i in range(0, len(rows), CHUNK))
    after = np.concatenate([i + np.flatnonzero((h > MISSED * dt) & (h <= BRIDGED_S)) for i, h in parts])
    if not len(after):
        return rows
    added, doubt = bridge(rows[:, :7], after, dt)
    wide, n, at = _room(len(rows) + len(added), ADDED + 1, folder), rows.shape[1], 0
    for i in range(0, len(rows), CHUNK):
        old = rows[i : i + CHUNK]
        new: Array = slice(*np.searchsorted(added[:, 0], [old[0, 0], rows[min(i + CHUNK, len(rows) - 1), 0]]))
        block = np.zeros((len(old) + len(added[new]), ADDED + 1))
        place = np.searchsorted(old[:, 0], added[new, 0]) + np.arange(len(added[new]))
        block[place, :7], block[place, 7:10], block[place, 10:] = (
            added[new],
            np.nan,
            np.pad(doubt[new], ((0, 0), (0, 1)), constant_values=1.0),
        )
        block[np.setdiff1d(np.arange(len(block)), place), :n] = old
        wide[at : at + len(block)], at = block, at + len(block)
    return wide


def _turn(part: Array, doubt: Array | None, q_BS: Array) -> None:
    """Turn samples to body axes; of a doubt the variances along them remain."""
    squares = quaternion.to_matrix(q_BS) ** 2
    for i in range(0, len(part), CHUNK):
        part[i : i + CHUNK] = quaternion.rotate(q_BS, part[i : i + CHUNK])
        if doubt is not None:
            doubt[i : i + CHUNK] = doubt[i : i + CHUNK] @ squares.T


def _beside(rows: Array, doubt: Array, folder: Path) -> Array:
    """Return rows with further columns."""
    n = rows.shape[1]
    wide = _room(len(rows), n + doubt.shape[1], folder)
    for i in range(0, len(rows), CHUNK):
        wide[i : i + CHUNK, :n], wide[i : i + CHUNK, n:] = rows[i : i + CHUNK], doubt[i : i + CHUNK]
    return wide


def _room(n: int, k: int, folder: Path) -> Array:
    """Return zeros (n, k) in a file that goes with them."""
    with TemporaryFile(dir=folder) as file:  # the map keeps it open
        file.truncate(8 * n * k)
        return np.memmap(file, float, "r+", shape=(n, k))
