"""`kind = "imu"`: attitude from gyro, accelerometer and magnetometer, with nothing told but columns and units."""

import numpy as np
import pytest
import xarray

from gnc import quaternion
from gnc.config.base import parse
from gnc.errors import InputError
from gnc.scenarios.logs.log_writer import write_log
from gnc.scenarios.replay import folder
from gnc.scenarios.replay.config import Replay
from tests.estimators.imu_motion import motion
from tests.scenarios.replay.flights import replayed

TOML = """
log = { rate_hz = 200 }
filter = { kind = "imu" }
truth = { columns = "q", order = "wxyz" }
score = { mask = "moves" }
sensors = [
    { kind = "gyro", columns = "gyr", unit = "deg/s" },
    { kind = "accelerometer", columns = "acc", unit = "g" },
    { kind = "magnetometer", columns = "mag", unit = "uT" },
]
"""


@pytest.fixture(scope="module")
def log(tmp_path_factory):
    m = motion(seed=1)
    columns = {"gyr": np.degrees(m.rows[:, 1:4]), "acc": m.rows[:, 4:7] / 9.80665, "mag": m.rows[:, 7:], "q": m.q_IB}
    path = tmp_path_factory.mktemp("imu") / "log.npz"
    np.savez(path, moves=m.moves, **columns)
    return path


def test_a_log_needs_nine_lines_and_no_noise(log, tmp_path):
    session, outcome = replayed(log, TOML, tmp_path)
    truth = outcome["truth"]
    assert truth["rms_deg"] < 1.0
    assert truth["scored"] == int(np.load(log)["moves"].sum())  # the mask, and nothing else
    assert outcome["sensors"]["magnetometer"]["nis"] == pytest.approx(3.0, rel=0.3)
    assert outcome["noise"]["gyro"] == pytest.approx(2e-3, rel=0.1)
    assert {p.name for p in folder.write(session, outcome, tmp_path)} >= {"estimates.nc", "report.html"}
    with xarray.open_dataset(tmp_path / "estimates.nc", engine="scipy") as data:
        assert data["magnet_B"].shape == (12000, 3)
        assert np.abs(data["magnet_B"].values).max() < 1e-9  # tesla: there was none
    assert not list(tmp_path.glob(".imu*"))


def test_smoothing_is_better_and_a_lag_is_in_between(log, tmp_path):
    ways = ({}, {"smooth": "true"}, {"smooth": "true", "lag_s": "2.0"})
    rms = []
    for i, way in enumerate(ways):
        output = "".join(f"{key} = {value}, " for key, value in way.items())
        _, outcome = replayed(log, TOML + f"output = {{ {output.rstrip(', ')} }}\n", tmp_path / str(i))
        rms.append(outcome["truth"]["rms_deg"])
    assert rms[1] < rms[0]
    assert rms[2] < rms[0]


def test_sensors_of_their_own_rates_and_tables_are_put_in_step(tmp_path):
    m = motion(seed=1)
    t, every = m.rows[:, :1], slice(None, None, 4)
    tables = {
        "gyro": np.concatenate([t, m.rows[:, 1:4]], axis=1),
        "acc": np.concatenate([t, m.rows[:, 4:7]], axis=1)[::2],
        "mag": np.concatenate([t, m.rows[:, 7:]], axis=1)[every],
        "truth": np.concatenate([t, m.q_IB], axis=1)[::3],
    }
    named = {
        table: {"t": z[:, 0], **{f"c{i}": z[:, i + 1] for i in range(z.shape[1] - 1)}} for table, z in tables.items()
    }
    write_log(tmp_path / "log.h5", named)
    three = '["c0", "c1", "c2"]'
    toml = f"""
    log = {{ time = "t" }}
    filter = {{ kind = "imu" }}
    truth = {{ table = "truth", columns = ["c0", "c1", "c2", "c3"], order = "wxyz" }}
    sensors = [
        {{ kind = "gyro", table = "gyro", columns = {three}, unit = "rad/s" }},
        {{ kind = "accelerometer", table = "acc", columns = {three}, unit = "m/s^2" }},
        {{ kind = "magnetometer", table = "mag", columns = {three}, unit = "uT" }},
    ]
    """
    _, outcome = replayed(tmp_path / "log.h5", toml, tmp_path / "out")
    assert outcome["truth"]["rms_deg"] < 1.0
    assert outcome["estimates"] == len(t)


@pytest.mark.parametrize("stated", ["", ", range = 171.8"])
def test_a_gyro_at_the_end_of_its_range_costs_little_and_is_told(tmp_path, stated):
    """At 3 rad/s of 4.8; without the peaks the error is 79 deg."""
    m, turned = motion(seed=5, pace=3.0), np.array([0.0, 0.6, 0.0, 0.8])
    w = np.clip(quaternion.inverse_rotate(turned, m.rows[:, 1:4]), -3.0, 3.0)
    share = float((np.abs(w) >= 3.0).mean())
    np.savez(
        tmp_path / "log.npz",
        moves=m.moves,
        q=m.q_IB,
        gyr=np.degrees(w),
        acc=m.rows[:, 4:7] / 9.80665,
        mag=m.rows[:, 7:],
    )
    toml = TOML.replace('"deg/s"', f'"deg/s", q_BS = {turned.tolist()}{stated}')
    _, outcome = replayed(tmp_path / "log.npz", toml, tmp_path / "out")
    assert share > 0.03
    assert outcome["truth"]["rms_deg"] < 4.0
    assert outcome["failures"] == []
    (warning,) = outcome["warnings"]
    assert warning.startswith("gyro: at the end of its range (171.")
    assert f" in {100 * share:.2g} % of its numbers" in warning


def test_many_short_gaps_cost_half_a_degree_and_add_no_estimate(tmp_path):
    """30 times 0.2 s of 40 s of motion; held over the gaps, samples would cost 4 deg."""
    m = motion(seed=6)
    lost = (m.rows[:, :1] - np.linspace(11.0, 49.0, 30)) % 100.0 < 0.2
    kept = ~lost.any(axis=1)
    columns = {"t": m.rows[:, 0], "gyr": np.degrees(m.rows[:, 1:4]), "acc": m.rows[:, 4:7] / 9.80665}
    columns |= {"mag": m.rows[:, 7:], "q": m.q_IB, "moves": m.moves}
    np.savez(tmp_path / "log.npz", **{name: z[kept] for name, z in columns.items()})
    _, outcome = replayed(tmp_path / "log.npz", TOML.replace("rate_hz = 200", 'time = "t"'), tmp_path / "out")
    assert outcome["estimates"] == kept.sum() < 11_000
    assert outcome["truth"]["rms_deg"] < 1.0


def test_it_says_which_sensors_it_takes():
    with pytest.raises(InputError, match="0 of the kind accelerometer; imu is driven by exactly one"):
        parse(TOML.replace('{ kind = "accelerometer", columns = "acc", unit = "g" },', ""), Replay)
    with pytest.raises(InputError, match="gyro-mekf takes no accelerometer; those that do: imu, ins"):
        parse(TOML.replace('kind = "imu"', 'kind = "gyro-mekf"').replace('"deg/s" ', '"deg/s", arw = 1e-4 '), Replay)
