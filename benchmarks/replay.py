"""Recorded data: the filters as multiples of real time, reading and writing included, and the IMU filter beside VQF.

Speed is measured on logs made here, at 300 Hz. Accuracy is that of trials of BROAD (D. Laidig et al., Data 6, 2021),
whose HDF5 files lie in the folder that the variable BROAD names: RMS of the total error while the body moves, with
nothing aligned and nothing tuned; VQF has its defaults. Without the folder: left out.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from benchmarks.timing import Row
from gnc import quaternion
from gnc.config import override, parse
from gnc.scenarios.logs.log_writer import write_log
from gnc.scenarios.replay import account
from gnc.scenarios.replay.config import Replay
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
IMU = """
filter = { kind = "imu" }
[[sensors]]
kind = "gyro"
columns = ["gyr_0", "gyr_1", "gyr_2"]
unit = "rad/s"
[[sensors]]
kind = "accelerometer"
columns = ["acc_0", "acc_1", "acc_2"]
unit = "m/s^2"
[[sensors]]
kind = "magnetometer"
columns = ["mag_0", "mag_1", "mag_2"]
unit = "uT"
"""
BROAD_TOML = """
log = { rate_hz = 285.714285714 }
filter = { kind = "imu" }
score = { mask = "movement" }
truth = { columns = "opt_quat", order = "wxyz" }
sensors = [
    { kind = "gyro", columns = "imu_gyr", unit = "rad/s" },
    { kind = "accelerometer", columns = "imu_acc", unit = "m/s^2" },
    { kind = "magnetometer", columns = "imu_mag", unit = "uT" },
]
"""
BY_GYRO = '[filter]\nkind = "gyro-mekf"\n' + GYRO + TRACKER
VECTORS = """
[[sensors]]
name = "gravity"
kind = "vector"
columns = ["acc_0", "acc_1", "acc_2"]
reference = [0, 0, 1]
sigma_deg = 0.5
normalize = true
[[sensors]]
name = "field"
kind = "vector"
columns = ["mag_0", "mag_1", "mag_2"]
reference = [0, 18, -40]
sigma_deg = 1.0
normalize = true
"""
BY_VECTORS = '[filter]\nkind = "gyro-mekf"\n' + GYRO.replace("gyro_", "gyr_") + VECTORS
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
    """Return how much time of a core a replay takes, the best of three."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "log.parquet"
        write_log(path, {"": columns})
        took = []
        for i in range(3):
            session = connect(path, parse(toml + '[log]\ntime = "t"\n', Replay), Path(folder) / f"out{i}")
            session.run()
            took.append(session.cpu_seconds)
    return min(took)


def hand_held() -> dict[str, np.ndarray]:
    """Make a log of an IMU that rests and swings."""
    t, rng = np.arange(ROWS) / RATE_HZ, np.random.default_rng(0)
    swings = np.maximum(np.sin(0.05 * np.pi * t), 0.0)[:, None] ** 2 * np.sin(np.outer(t, [1.0, 1.7, 0.6]))
    q = quaternion.from_euler321(swings)
    w = np.append(np.zeros((1, 3)), quaternion.log(quaternion.mul(quaternion.conj(q[:-1]), q[1:])) * RATE_HZ, axis=0)
    parts = {"gyr": w, "acc": quaternion.inverse_rotate(q, np.broadcast_to([0.0, 0.0, 9.81], (ROWS, 3)))}
    parts["mag"] = quaternion.inverse_rotate(q, np.broadcast_to([0.0, 18.0, -40.0], (ROWS, 3)))
    noise = {"gyr": 2e-3, "acc": 0.05, "mag": 0.6}
    noisy = {name: z + noise[name] * rng.standard_normal(z.shape) for name, z in parts.items()}
    return {"t": t, **{f"{name}_{i}": z[:, i] for name, z in noisy.items() for i in range(3)}}


def angle(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return the total error [deg]."""
    return np.degrees(2.0 * np.arccos(np.clip(np.abs((a * b).sum(axis=1)), 0.0, 1.0)))


def ours(path: Path, smooth: bool) -> tuple[float, float]:
    """Return RMS error [deg] and seconds of the replay of a trial."""
    with tempfile.TemporaryDirectory() as folder:
        config = override(parse(BROAD_TOML, Replay), [f"output.smooth={str(smooth).lower()}"])
        session = connect(path, config, Path(folder))
        session.run()
        return account.outcome(session, path)["truth"]["rms_deg"], session.seconds


def peer(path: Path, offline: bool) -> tuple[float, float]:
    """Return the same of VQF."""
    import h5py
    from vqf import VQF, offlineVQF

    with h5py.File(path) as file:
        names = ("imu_gyr", "imu_acc", "imu_mag", "opt_quat", "movement")
        gyr, acc, mag, truth, moves = (np.ascontiguousarray(file[name][()]) for name in names)
        step = 1.0 / float(file.attrs["sampling_rate"])
    began = time.perf_counter()
    estimates = offlineVQF(gyr, acc, mag, step) if offline else VQF(step).updateBatch(gyr, acc, mag)
    took = time.perf_counter() - began
    counts = (moves.ravel() != 0) & np.isfinite(truth).all(axis=1)
    return float(np.sqrt((angle(estimates["quat9D"], truth)[counts] ** 2).mean())), took


def accuracy() -> Iterator[Row]:
    """Measure errors on the trials of BROAD, one by one and in the mean."""
    trials = sorted(Path(os.environ.get("BROAD", "broad")).glob("*.hdf5"))
    for smooth, name in ((False, "filter"), (True, "smoothed")):
        pairs = [(ours(path, smooth)[0], peer(path, smooth)[0]) for path in trials]
        labels = [path.stem for path in trials]
        if pairs:
            pairs.append((float(np.mean([a for a, _ in pairs])), float(np.mean([b for _, b in pairs]))))
            labels.append(f"mean of {len(trials)}")
        for label, (a, b) in zip(labels, pairs, strict=True):
            against = "VQF offline" if smooth else "VQF"
            yield Row(
                f"imu {name}, {label}", "gnc", a, "deg RMS", f"{against}, {b:.3g} deg", b / a, ">= 1x in the mean"
            )


def rows() -> Iterator[Row]:
    """Measure each filter."""
    took = seconds(hand_held(), IMU)
    yield Row(
        "imu, 9 axes at 300 Hz", "gnc", took / ROWS * 1e6, "us per row", "real time", ROWS / RATE_HZ / took, ">= 500x"
    )
    often, seldom = log(1), log(60)
    cases = (
        ("gyro-mekf, gyro and two vectors at 300 Hz", hand_held(), BY_VECTORS),
        ("gyro-mekf, gyro at 300 Hz, attitude at 5 Hz", seldom, BY_GYRO),
        ("gyro-mekf, gyro and attitude at 300 Hz", often, BY_GYRO),
        ("mekf, attitude at 300 Hz", often, BY_DYNAMICS),
    )
    for name, columns, toml in cases:
        took = seconds(columns, toml)
        yield Row(name, "gnc", took / ROWS * 1e6, "us per row", "real time", ROWS / RATE_HZ / took, ">= 500x")
    yield from accuracy()
