"""What `gnc replay --inspect` makes of the logs of strangers: names, units, orders, rates."""

import h5py
import numpy as np
import pytest

from gnc import quaternion
from gnc.config.base import parse
from gnc.scenarios.logs.log_writer import write_log
from gnc.scenarios.replay import column_names, quantities
from gnc.scenarios.replay.config import Replay
from gnc.scenarios.replay.first_config import starting_config
from gnc.scenarios.replay.inspect import inspected
from gnc.scenarios.replay.sensor_config import PositionSensor
from tests.estimators.imu_motion import motion

M = motion(seed=2, duration=30.0, rate=100.0)
T, GYR, ACC, MAG = np.split(M.rows, [1, 4, 7], axis=1)
LAST = [1, 2, 3, 0]  # scalar at the end


def axes(pattern, z, letters="xyz"):
    return {pattern.format(letter): z[:, i] for i, letter in enumerate(letters)}


def told(tmp_path, columns):
    write_log(tmp_path / "log.csv", {"": columns})
    return parse(starting_config(inspected(tmp_path / "log.csv")), Replay)


@pytest.mark.parametrize(
    ("name", "kind", "unit"),
    [
        ("Gyroscope {} (deg/s)", "gyro", "deg/s"), ("w_RS_S_{} [rad s^-1]", "gyro", "rad/s"), ("g{}", "gyro", None),
        ("omega_{}_rad_s", "gyro", "rad/s"), ("rotation_rate_{}(radians/s)", "gyro", "rad/s"),
        ("Accelerometer {} (g)", "accelerometer", "g"), ("a_RS_S_{} [m s^-2]", "accelerometer", "m/s^2"),
        ("Magnetometer {} (uT)", "magnetometer", "uT"), ("magnetic_field_{}(microteslas)", "magnetometer", "uT"),
        ("v_RS_R_{} [m s^-1]", "velocity", "m/s"), ("b_w_RS_S_{} [rad s^-1]", "", None),
    ],
)  # fmt: skip
def test_names_tell_quantity_and_unit(name, kind, unit):
    (group,) = column_names.groups([name.format(axis) for axis in "zyx"], "")
    assert group.kind == kind
    assert group.columns == [name.format(axis) for axis in "xyz"]  # in the order of axes, not of the file
    if unit:
        assert column_names.unit_of(group, 1e-9) == unit


def test_a_tables_title_tells_what_its_columns_are():
    (group,) = column_names.groups(["z", "y", "x"], "Magnetometer")
    assert group.kind == "magnetometer"


def test_a_slow_gyro_in_degrees_is_recognised_by_how_the_field_swings(tmp_path):
    slow = motion(seed=2, duration=30.0, rate=100.0)
    gyr = np.degrees(slow.rows[:, 1:4])
    assert np.median(np.linalg.norm(gyr, axis=1)) < 200.0
    for factor, unit in ((1.0, "deg/s"), (np.radians(1.0), "rad/s")):
        config = told(tmp_path, {"t": T[:, 0]} | axes("g{}", factor * gyr) | axes("a{}", ACC) | axes("m{}", MAG))
        assert config.filter.kind == "imu"
        assert config.sensors[0].unit == unit


def test_an_accelerometer_that_is_pushed_is_still_one(tmp_path):
    config = told(tmp_path, {"t": T[:, 0]} | axes("gyro_{}", GYR) | axes("acc_{}", 1.5 * ACC))
    assert config.filter.kind == "imu"
    assert config.sensors[1].unit == "m/s^2"


def test_the_order_of_a_quaternion_and_when_samples_count_come_from_the_gyro(tmp_path):
    q = M.q_IB[:, LAST].copy()
    q[np.arange(len(q)) % 10 != 0] = np.nan
    config = told(tmp_path, {"t": T[:, 0]} | axes("gyro_{}", GYR) | axes("tracker_{}", q, "0123"))
    assert config.filter.kind == "gyro-mekf"
    assert config.sensors[1].order == "xyzw"
    assert config.filter.interval == "before"  # a sample of this log is the mean rate up to its stamp


def test_a_truth_with_z_downwards_is_scored_up_to_its_world(tmp_path):
    ned = quaternion.mul(np.array([0.0, 1.0, 1.0, 0.0]) / np.sqrt(2.0), M.q_IB)
    sensors = {"t": T[:, 0]} | axes("gyro_{}", GYR) | axes("acc_{}", ACC) | axes("mag_{}", MAG)
    assert told(tmp_path, sensors | axes("q_{}", ned, "wxyz")).truth.align == "world"
    assert told(tmp_path, sensors | axes("q_{}", M.q_IB, "wxyz")).truth.align is False


def test_a_rate_beside_the_arrays_is_the_clock_and_without_one_it_has_to_be_stated(tmp_path):
    with h5py.File(tmp_path / "log.hdf5", "w") as file:
        file["imu_gyr"], file["imu_acc"], file["imu_mag"] = GYR, ACC, MAG
        file["opt_quat"], file["movement"] = M.q_IB, M.moves
        file.attrs["sampling_rate"] = 100.0
    config = parse(starting_config(inspected(tmp_path / "log.hdf5")), Replay)
    assert config.log.rate_hz == 100.0
    assert config.score.mask == "movement"
    np.savez(tmp_path / "log.npz", gyr=GYR, acc=ACC, mag=MAG)
    assert "state it" in starting_config(inspected(tmp_path / "log.npz"))
    assert parse(starting_config(inspected(tmp_path / "log.npz")), Replay).log.rate_hz is None


def test_directions_of_a_satellite_are_paired_with_their_references(tmp_path):
    sun, field = np.array([0.6, 0.0, 0.8]), np.array([2e4, -1e4, 3e4])
    rows = [np.broadcast_to(z, (len(T), 3)) for z in (sun, field)]
    body = [quaternion.inverse_rotate(M.q_IB, z) for z in rows]
    columns = {"t": T[:, 0]} | axes("sun_b_{}", body[0]) | axes("mag_b_{}", body[1])
    columns |= axes("sun_eci_{}", rows[0]) | axes("mag_eci_{}", rows[1])
    with_gyro, alone = told(tmp_path, columns | axes("gyro_{}", GYR)), told(tmp_path, columns)
    assert (with_gyro.filter.kind, alone.filter.kind) == ("gyro-mekf", "mekf")
    assert [s.reference for s in alone.sensors] == [("sun_eci_x", "sun_eci_y", "sun_eci_z")] + [
        ("mag_eci_x", "mag_eci_y", "mag_eci_z")
    ]


def test_latitude_and_longitude_are_metres_to_the_north_and_east():
    sensor = PositionSensor(name="gnss", kind="position", columns=("lat", "lon", "alt"), frame="geodetic", sigma_m=1.0)
    z, rule = quantities.position(sensor).convert(
        np.array([[45.0, 7.0, 100.0], [45.001, 7.0, 100.0], [45.0, 7.001, 100.0], [45.0, 7.0, 103.0], [95.0, 7.0, 0.0]])
    )
    assert list(rule[:4]) == [""] * 4 and rule[4]
    # radii of curvature at 45 deg: 6 367 382 m along the meridian, 6 388 838 m across
    np.testing.assert_allclose(z[1, 1], np.radians(0.001) * 6367482.0, rtol=1e-4)
    np.testing.assert_allclose(z[2, 0], np.radians(0.001) * 6388938.0 * np.cos(np.radians(45.0)), rtol=1e-4)
    np.testing.assert_allclose(z[3], [0.0, 0.0, 3.0], atol=1e-6)


@pytest.mark.parametrize(("factor", "unit"), [(1.0, "s"), (1e3, "ms"), (1e6, "us")])
def test_stamps_beside_an_accelerometer_are_in_the_unit_in_which_an_imu_is_sampled(tmp_path, factor, unit):
    stamps = np.round(factor * T[:, 0]) if factor > 1.0 else T[:, 0]
    config = told(tmp_path, {"timestamp": stamps} | axes("g{}", GYR) | axes("a{}", ACC))
    assert config.log.time_unit == unit


def test_whole_seconds_of_directions_are_seconds(tmp_path):
    parts = {
        f"{name}_{frame}_{{}}": M.rows[::100, i : i + 3]
        for name, i in (("sun", 4), ("mag", 7))
        for frame in ("body", "eci")
    }
    columns = {"t": np.arange(len(M.rows[::100]))}
    for pattern, z in parts.items():
        columns |= axes(pattern, z)
    assert told(tmp_path, columns).log.time_unit == "s"


def test_an_attitude_that_takes_inertial_axes_to_the_body_is_recognised_by_the_gyro(tmp_path):
    columns = {"t": T[:, 0]} | axes("g{}", GYR) | axes("a{}", ACC) | axes("q{}", quaternion.conj(M.q_IB), "wxyz")
    assert told(tmp_path, columns).truth.rotation == "q_BI"


def test_milli_units_of_sensors_are_recognised(tmp_path):
    columns = {"t": T[:, 0]} | axes("g{}", 1e3 * np.degrees(GYR)) | axes("a{}", ACC / 9.80665e-3) | axes("m{}", MAG)
    assert [sensor.unit for sensor in told(tmp_path, columns).sensors[:2]] == ["mdps", "mg"]


def test_what_has_no_unit_is_listed(tmp_path, capsys):
    from gnc.scenarios import cli

    columns = {"t": T[:, 0]} | axes("g{}", GYR) | axes("a{}", ACC) | axes("spread_{}", GYR)
    write_log(tmp_path / "log.csv", {"": columns})
    assert cli.main(["replay", str(tmp_path / "log.csv"), "--inspect", "--out", str(tmp_path)]) in (0, None)
    assert "spread_x" in capsys.readouterr().out


def test_messages_of_ros_are_an_imu_without_an_attitude(tmp_path):
    still = np.tile([0.0, 0.0, 0.0, 1.0], (len(T), 1))
    columns = {"log_time": np.round(1e9 * T[:, 0]), "stamp": np.round(1e9 * T[:, 0])}
    columns |= axes("orientation.{}", still, "xyzw") | axes("angular_velocity.{}", GYR)
    config = told(tmp_path, columns | axes("linear_acceleration.{}", ACC))
    assert (config.filter.kind, config.log.time, config.truth) == ("imu", "stamp", None)
    assert column_names.time_column(["log_time", "x"]) == "log_time"


def test_the_pose_that_is_no_truth_is_filtered(tmp_path):
    poses = axes("p_{}", ACC[::10]) | axes("q_{}", M.q_IB[::10], "wxyz")
    stamps = {"t": T[::10, 0]}
    write_log(tmp_path / "log.h5", {"groundtruth": stamps | poses, "pose": stamps | poses})
    config = parse(starting_config(inspected(tmp_path / "log.h5")), Replay)
    assert (config.sensors[0].table, config.truth.table) == ("pose", "groundtruth")


def test_noise_of_a_gnss_is_told_from_the_way_of_a_vehicle(tmp_path):
    """10 m/s at 5 Hz, fixes of 0.5 m, seed 5; 600 fixes tell a sigma to 5 %."""
    t, rng = 0.2 * np.arange(600), np.random.default_rng(5)
    place = 100.0 * np.stack([np.sin(0.1 * t), 1.0 - np.cos(0.1 * t), 0.0 * t], axis=1)
    columns = {"t": t} | axes("pos_{}", place + 0.5 * rng.standard_normal((600, 3)))
    write_log(tmp_path / "log.csv", {"": columns})
    (guess,) = inspected(tmp_path / "log.csv")[""]["guesses"]
    assert guess["scatter"] == pytest.approx(0.5, rel=0.2)


def test_attitudes_alone_are_a_log_of_a_body_with_dynamics(tmp_path):
    turns = axes("q{}", M.q_IB[:, LAST], "1234")
    stamps = np.datetime64("2025-03-01T00:00:00", "ms") + (1e3 * T[:, 0]).astype(int)
    (tmp_path / "log.csv").write_text(
        "\n".join(["utc,q1,q2,q3,qc"] + [",".join(map(str, row)) for row in zip(stamps, *turns.values(), strict=True)])
    )
    config = parse(starting_config(inspected(tmp_path / "log.csv")), Replay)
    assert (config.filter.kind, config.log.time_unit) == ("mekf", "iso")
    assert config.filter.torque_psd > 0.0 and config.sensors[0].order == "xyzw"


def test_noise_of_poses_at_uneven_stamps_is_told_from_their_motion(tmp_path):
    """A pose when something happens, 10 in a second: 0.3 deg and 5 mm of noise beside 40 deg/s and 0.4 m/s."""
    rng = np.random.default_rng(851)
    t = np.cumsum(rng.exponential(0.1, 400))
    turns, r = (size * np.sin(np.outer(t, [0.9, 1.3, 1.7]) + [0.0, 1.0, 2.0]) for size in (0.5, 0.3))
    q = quaternion.mul(quaternion.exp(turns), quaternion.exp(np.radians(0.3) * rng.standard_normal((400, 3))))
    pose = dict(zip(["q_w", "q_x", "q_y", "q_z"], q.T, strict=True)) | axes(
        "p_{}", r + 0.005 * rng.standard_normal(r.shape)
    )
    sensor = told(tmp_path, {"t": t} | pose).sensors[0]
    assert 0.2 < sensor.sigma_deg < 0.45
    assert 0.0035 < sensor.sigma_m < 0.007
