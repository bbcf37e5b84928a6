"""Recorded data at 300 Hz through the filters, as multiples of real time: reading, filtering and writing included."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from benchmarks.timing import Row
from gnc import quaternion
from gnc.config import parse
from gnc.scenarios.replay.config import Replay
from gnc.scenarios.replay.log_writer import write_log
from gnc.scenarios.replay.session import connect

RATE_HZ, ROWS = 300.0, 30_000
GYRO = """
[[sensors]]
name = "gyro"
kind = "gyro"
columns = ["gyro_0", "gyro_1", "gyro_2"]
unit = "rad/s"
arw = 1e-4
rate_hz = 300
"""
TRACKER = """
[[sensors]]
name = "tracker"
kind = "attitude"
columns = ["st_0", "st_1", "st_2", "st_3"]
order = "wxyz"
sigma_deg = 0.05
"""
BY_GYRO = '[filter]\nkind = "gyro-mekf"\n' + GYRO + TRACKER
BY_DYNAMICS = '[filter]\nkind = "mekf"\nJ = [[1, 0, 0], [0, 2, 0], [0, 0, 3]]\ntorque_psd = 1e-3\n' + TRACKER


def log(every: int) -> dict[str, np.ndarray]:
    """Make a log of a body that cones, with an attitude in every so many rows."""
    t, rng = np.arange(ROWS) / RATE_HZ, np.random.default_rng(0)
    spin = np.stack([0.05 * np.sin(0.3 * t), 0.05 * np.cos(0.3 * t), np.full(ROWS, 0.2)], axis=-1)
    q = [np.array([1.0, 0.0, 0.0, 0.0])]
    for w in spin[:-1]:
        q.append(quaternion.normalize(quaternion.mul(q[-1], quaternion.exp(w / RATE_HZ))))
    st = quaternion.mul(np.array(q), quaternion.exp(np.radians(0.05) * rng.standard_normal((ROWS, 3))))
    st[np.arange(ROWS) % every != 0] = np.nan
    gyro = spin + 1e-4 * np.sqrt(RATE_HZ) * rng.standard_normal((ROWS, 3))
    columns = {f"gyro_{i}": gyro[:, i] for i in range(3)} | {f"st_{i}": st[:, i] for i in range(4)}
    return {"t": t, **columns}


def seconds(columns: dict[str, np.ndarray], toml: str) -> float:
    """Return how long a replay takes, the better of two."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "log.parquet"
        write_log(path, {"": columns})
        took = []
        for i in range(2):
            session = connect(path, parse('[log]\ntime = "t"\n' + toml, Replay), Path(folder) / f"out{i}")
            start = time.perf_counter()
            session.run()
            took.append(time.perf_counter() - start)
    return min(took)


def rows() -> Iterator[Row]:
    """Measure each filter."""
    often, seldom = log(1), log(60)
    cases = (
        ("gyro-mekf, gyro at 300 Hz, attitude at 5 Hz", seldom, BY_GYRO),
        ("gyro-mekf, gyro and attitude at 300 Hz", often, BY_GYRO),
        ("mekf, attitude at 300 Hz", often, BY_DYNAMICS),
    )
    for name, columns, toml in cases:
        took = seconds(columns, toml)
        yield Row(name, "gnc", took / ROWS * 1e6, "us per row", "real time", ROWS / RATE_HZ / took, ">= 20x")
