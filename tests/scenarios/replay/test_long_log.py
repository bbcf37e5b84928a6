"""A log of a million rows."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

from gnc import quaternion
from gnc.config.base import parse
from gnc.scenarios.logs.log_writer import write_log
from gnc.scenarios.replay import account
from gnc.scenarios.replay.config import Replay
from gnc.scenarios.replay.session import connect
from tests.estimators.imu_motion import motion
from tests.scenarios.replay import flights
from tests.scenarios.replay.flights import names
from tests.scenarios.replay.test_imu import TOML as IMU_TOML

STATUS = Path("/proc/self/status")
TOML = f"""
[log]
time = "t"
[filter]
kind = "gyro-mekf"
[[sensors]]
name = "gyro"
kind = "gyro"
columns = {names("gyro", 3)}
unit = "deg/s"
arw = 1e-4
[[sensors]]
name = "tracker"
kind = "attitude"
columns = {names("st", 4)}
order = "wxyz"
sigma_deg = 0.05
[truth]
columns = {names("truth", 4)}
order = "wxyz"
"""


def anonymous_mb() -> float:
    """Memory of this process that is not a mapped file."""
    line = next(line for line in STATUS.read_text().splitlines() if line.startswith("RssAnon"))
    return float(line.split()[1]) / 1024.0


def coning(rows: int):
    """A body whose attitude is known in closed form: it turns about z, and z turns about inertial z."""
    t, rng = np.arange(rows) / 300.0, np.random.default_rng(0)
    about = lambda axis, angle: quaternion.from_axis_angle(np.broadcast_to(axis, (rows, 3)), angle)  # noqa: E731
    z, x = np.array([0.0, 0.0, 1.0]), np.array([1.0, 0.0, 0.0])
    outer, inner = 0.05, 0.2
    q = quaternion.mul(quaternion.mul(about(z, outer * t), about(x, np.full(rows, 0.5))), about(z, inner * t))
    w = outer * quaternion.inverse_rotate(q, z) + np.array([0.0, 0.0, inner])
    gyro = np.degrees(w + 1e-4 * np.sqrt(300.0) * rng.standard_normal((rows, 3)))
    st = quaternion.mul(q, quaternion.exp(np.radians(0.05) * rng.standard_normal((rows, 3))))
    st[np.arange(rows) % 60 != 0] = np.nan
    return {"t": t, **flights.named("gyro", gyro), **flights.named("st", st), **flights.named("truth", q)}


@pytest.mark.slow
@pytest.mark.skipif(not STATUS.exists(), reason="memory is read from Linux's /proc")
@pytest.mark.parametrize("suffix", [".parquet", ".csv"])
def test_a_million_rows_need_no_more_memory_than_a_hundred_thousand(suffix, tmp_path):
    """The columns alone have 96 MB; growth beyond the first tenth of the log stays below a quarter of that."""
    write_log(tmp_path / f"log{suffix}", {"": coning(1_000_000)})
    session, used = connect(tmp_path / f"log{suffix}", parse(TOML, Replay), tmp_path / "out"), []
    session.run(lambda t: used.append(anonymous_mb()))
    outcome = account.outcome(session, tmp_path)
    used.append(anonymous_mb())
    tenth = len(used) // 10
    assert max(used[tenth:]) - max(used[:tenth]) < 24.0
    assert outcome["estimates"] == 1_000_000
    assert outcome["sensors"]["tracker"]["used"] + outcome["sensors"]["tracker"]["rejected"] == 16_666
    # Steady state of 0.05 deg at 5 Hz with a random walk of 1e-4 rad/sqrt(s): below 0.05 deg in total.
    assert outcome["truth"]["rms_deg"] < 0.05
    assert outcome["truth"]["nees_inside_95"] == pytest.approx(0.95, abs=0.03)


@pytest.mark.slow
@pytest.mark.skipif(not STATUS.exists(), reason="memory is read from Linux's /proc")
def test_ten_million_rows_need_no_more_memory_than_one_million(tmp_path):
    """800 MB of columns, 1.4 GB of estimates: beyond the first tenth of the log memory grows by less than 24 MB."""
    part = {name: column for name, column in coning(1_000_000).items() if not name.startswith("truth")}
    writer = None
    for k in range(10):
        table = pa.table(part | {"t": part["t"] + k * 1_000_000 / 300.0})
        writer = writer or pyarrow.parquet.ParquetWriter(tmp_path / "log.parquet", table.schema)
        writer.write_table(table, row_group_size=100_000)
    writer.close()
    toml = TOML.split("[truth]")[0] + '[output]\ncsv = false\ncovariance = "sigma"\n'
    session, used = connect(tmp_path / "log.parquet", parse(toml, Replay), tmp_path / "out"), []
    session.run(lambda t: used.append(anonymous_mb()))
    tenth = len(used) // 10
    assert max(used[tenth:]) - max(used[:tenth]) < 24.0
    assert session.results.count == 10_000_000


@pytest.mark.slow
@pytest.mark.skipif(not STATUS.exists(), reason="memory is read from Linux's /proc")
def test_an_imu_log_of_600_000_rows_is_smoothed_in_the_memory_of_60_000(tmp_path):
    """Ten times the rows, 300 MB of estimates: memory that is not a mapped file grows by less than 40 MB."""
    one, used = motion(seed=1), []
    for repeats in (5, 50):
        rows = np.tile(one.rows, (repeats, 1))
        path = tmp_path / f"{repeats}.npz"
        np.savez(path, gyr=rows[:, 1:4], acc=rows[:, 4:7], mag=rows[:, 7:])
        toml = IMU_TOML.split("truth = ")[0] + "output = { smooth = true }\nsensors" + IMU_TOML.split("sensors")[1]
        session = connect(path, parse(toml, Replay), tmp_path / str(repeats))
        before = anonymous_mb()
        session.run()
        used.append(anonymous_mb() - before)
        assert session.results.count == len(rows)
    assert used[1] - used[0] < 40.0
