"""TUM, AEM and OEM files, and what is guessed of a log."""

import contextlib
import io
import json

import numpy as np
import pytest

from gnc import quaternion
from gnc.config.base import read
from gnc.errors import InputError
from gnc.scenarios.replay.command import replay
from gnc.scenarios.replay.config import Replay
from gnc.scenarios.replay.tables import open_log
from tests.estimators.imu_motion import motion

AEM = """CCSDS_AEM_VERS = 1.0
CREATION_DATE = 2024-01-01T00:00:00
ORIGINATOR = TEST
META_START
OBJECT_NAME = CRAFT
ATTITUDE_TYPE = QUATERNION
QUATERNION_TYPE = {order}
META_STOP
DATA_START
2024-01-01T00:00:00.000 {rows[0]}
2024-01-01T00:00:00.500 {rows[1]}
DATA_STOP
"""
OEM = """CCSDS_OEM_VERS = 2.0
CREATION_DATE = 2024-01-01T00:00:00
META_START
OBJECT_NAME = CRAFT
META_STOP
2024-01-01T00:00:00 7000.0 0.0 1.5 0.0 7.5 0.0
2024-01-01T00:01:00 6990.0 450.0 1.5 -0.5 7.4 0.0
"""


def chunk(path, numbers, stamps):
    return next(open_log(path)[""].chunks(numbers, stamps, 100))


@pytest.mark.parametrize(
    ("order", "rows"), [("LAST", ("0 0 0 1", "0.6 0 0 0.8")), ("FIRST", ("1 0 0 0", "0.8 0.6 0 0"))]
)
def test_an_attitude_ephemeris_is_a_table_whatever_the_place_of_the_scalar(order, rows, tmp_path):
    (tmp_path / "a.aem").write_text(AEM.format(order=order, rows=rows))
    found = chunk(tmp_path / "a.aem", ["q1", "qc"], ["epoch"])
    np.testing.assert_array_equal(found["q1"], [0.0, 0.6])
    np.testing.assert_array_equal(found["qc"], [1.0, 0.8])
    assert np.diff(found["epoch"].astype(np.int64)) == 500_000_000


def test_an_orbit_ephemeris_is_in_metres(tmp_path):
    (tmp_path / "o.oem").write_text(OEM)
    found = chunk(tmp_path / "o.oem", ["x", "vy"], ["epoch"])
    np.testing.assert_allclose(found["x"], [7e6, 6.99e6])
    np.testing.assert_allclose(found["vy"], [7500.0, 7400.0])


def test_what_is_no_ephemeris_is_refused(tmp_path):
    (tmp_path / "x.aem").write_text("nothing of this kind\n")
    with pytest.raises(InputError, match="x.aem"):
        open_log(tmp_path / "x.aem")


def test_a_tum_trajectory_goes_in_and_out(tmp_path):
    t, rng = np.arange(60) / 10.0, np.random.default_rng(0)
    q = quaternion.from_euler321(0.3 * np.sin(np.outer(t, [1.0, 0.7, 0.4])))
    r = np.sin(np.outer(t, [0.5, 0.6, 0.7])) + 0.01 * rng.standard_normal((60, 3))
    lines = np.concatenate([t[:, None], r, q[:, [1, 2, 3, 0]]], axis=1)
    np.savetxt(tmp_path / "groundtruth.txt", lines, header="timestamp tx ty tz qx qy qz qw")
    (tmp_path / "x.toml").write_text(
        'log = { time = "t" }\noutput = { tum = true }\n'
        'filter = { kind = "dqekf-kinematic", acceleration_psd = 1.0 }\n'
        'sensors = [{ kind = "pose", columns = ["qx", "qy", "qz", "qw", "x", "y", "z"], order = "xyzw", '
        "sigma_deg = 1.0, sigma_m = 0.02 }]\n".replace("\\\n", "\n")
    )
    with contextlib.redirect_stdout(io.StringIO()):
        replay(tmp_path / "groundtruth.txt", tmp_path / "x.toml", tmp_path / "out", as_json=True)
    found = np.loadtxt(tmp_path / "out" / "estimates.tum")
    assert found.shape[1] == 8
    np.testing.assert_allclose(found[-1, 1:4], r[-1], atol=0.05)


def test_an_imu_log_is_recognised_and_its_first_configuration_runs(tmp_path):
    m = motion(seed=1, duration=30.0)
    columns = {"imu_gyr": m.rows[:, 1:4], "imu_acc": m.rows[:, 4:7], "imu_mag": m.rows[:, 7:], "opt_quat": m.q_IB}
    np.savez(tmp_path / "log.npz", time=m.rows[:, 0], **columns)
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        replay(tmp_path / "log.npz", out=tmp_path / "out", inspect=True, as_json=True)
    told = json.loads(printed.getvalue())["tables"][""]
    assert told["rate_hz"] == pytest.approx(200.0)
    assert {(g["kind"], g.get("unit")) for g in told["guesses"]} == {
        ("gyro", "rad/s"), ("accelerometer", "m/s^2"), ("magnetometer", "uT"), ("attitude", None),
    }  # fmt: skip
    config = read(tmp_path / "out" / "inspect.toml", Replay)
    assert [s.kind for s in config.sensors] == ["gyro", "accelerometer", "magnetometer"]


def test_without_a_configuration_it_says_how_to_get_one(tmp_path):
    with pytest.raises(InputError, match="--inspect"):
        replay(tmp_path / "log.npz", out=tmp_path)
