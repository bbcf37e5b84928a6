"""TUM, AEM and OEM files, and what is guessed of a log."""

import contextlib
import io
import json

import numpy as np
import pytest

from gnc import quaternion
from gnc.config.base import read
from gnc.errors import InputError
from gnc.scenarios.logs.log_writer import write_log
from gnc.scenarios.logs.tables import open_log
from gnc.scenarios.replay.command import replay
from gnc.scenarios.replay.config import Replay
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
        'log = { time = "t" }\noutput = { formats = ["tum", "aem", "oem", "mcap"] }\n'
        'filter = { kind = "dqekf-kinematic", acceleration_psd = 1.0 }\n'
        'sensors = [{ kind = "pose", columns = ["qx", "qy", "qz", "qw", "x", "y", "z"], order = "xyzw", '
        "sigma_deg = 1.0, sigma_m = 0.02 }]\n".replace("\\\n", "\n")
    )
    with contextlib.redirect_stdout(io.StringIO()):
        replay(tmp_path / "groundtruth.txt", tmp_path / "x.toml", tmp_path / "out", as_json=True)
    found = np.loadtxt(tmp_path / "out" / "estimates.tum")
    assert found.shape[1] == 8
    np.testing.assert_allclose(found[-1, 1:4], r[-1], atol=0.05)
    aem = chunk(tmp_path / "out" / "estimates.aem", ["q1", "qc"], ["epoch"])
    np.testing.assert_allclose(aem["q1"], found[:, 4], atol=1e-11)
    np.testing.assert_allclose(chunk(tmp_path / "out" / "estimates.oem", ["y"], ["epoch"])["y"], found[:, 2], atol=1e-9)
    messages = open_log(tmp_path / "out" / "estimates.mcap")["estimate"]
    mcap = next(messages.chunks(["pose.orientation.w", "pose.position.z"], ["stamp"], 100))
    np.testing.assert_allclose(mcap["pose.orientation.w"], aem["qc"], atol=1e-11)
    np.testing.assert_allclose(1e-9 * mcap["stamp"], found[:, 0], atol=1e-8)


IMU_ROWS = np.random.default_rng(3).standard_normal((40, 6))
IMU_COLUMNS = [f"angular_velocity.{a}" for a in "xyz"] + [f"linear_acceleration.{a}" for a in "xyz"]


def imu_messages(store):
    """Give times and IMU messages of ROS 2, serialised."""
    types = {name.rsplit("/", 1)[-1]: kind for name, kind in store.types.items()}
    nothing = types["Quaternion"](x=0.0, y=0.0, z=0.0, w=1.0), np.zeros(9)
    for k, row in enumerate(IMU_ROWS):
        header = types["Header"](stamp=types["Time"](sec=1700000000 + k // 10, nanosec=k % 10 * 10**8), frame_id="imu")
        w, f = (types["Vector3"](*(float(x) for x in part)) for part in (row[:3], row[3:]))
        message = types["Imu"](header, *nothing, w, np.zeros(9), f, np.zeros(9))
        yield 1700000000 * 10**9 + k * 10**8 + 5, store.serialize_cdr(message, "sensor_msgs/msg/Imu")


def test_a_ros_2_bag_is_a_log_with_a_table_per_topic(tmp_path):
    from rosbags.rosbag2 import Writer
    from rosbags.typesys import Stores, get_typestore

    store = get_typestore(Stores.ROS2_HUMBLE)
    with Writer(tmp_path / "bag", version=9) as writer:
        connection = writer.add_connection("/imu/data", "sensor_msgs/msg/Imu", typestore=store)
        for time, data in imu_messages(store):
            writer.write(connection, time, data)
    read_back(open_log(tmp_path / "bag"))


def test_an_mcap_file_of_ros_2_messages_is_read_and_one_of_protobuf_is_refused_by_name(tmp_path):
    from mcap.writer import Writer
    from rosbags.typesys import Stores, get_typestore

    store = get_typestore(Stores.ROS2_HUMBLE)
    for encoding in ("cdr", "protobuf"):
        writer = Writer(str(tmp_path / f"{encoding}.mcap"))
        writer.start()
        text = store.generate_msgdef("sensor_msgs/msg/Imu", ros_version=2)[0]
        schema = writer.register_schema("sensor_msgs/msg/Imu", "ros2msg", text.encode())
        channel = writer.register_channel("/imu/data", encoding, schema)
        for time, data in imu_messages(store):
            writer.add_message(channel, time, data, time)
        writer.finish()
    read_back(open_log(tmp_path / "cdr.mcap"))
    with pytest.raises(InputError, match="encoded as protobuf; json and cdr"):
        open_log(tmp_path / "protobuf.mcap")
    (tmp_path / "broken.mcap").write_bytes((tmp_path / "cdr.mcap").read_bytes()[:200])
    with pytest.raises(InputError, match="broken.mcap"):
        open_log(tmp_path / "broken.mcap")


def read_back(tables):
    assert list(tables) == ["imu/data"]
    chunks = list(tables["imu/data"].chunks(IMU_COLUMNS, ["stamp"], 16))
    assert [len(c["stamp"]) for c in chunks] == [16, 16, 8]
    found = np.concatenate([np.stack([c[n] for n in IMU_COLUMNS], axis=1) for c in chunks])
    np.testing.assert_array_equal(found, IMU_ROWS)
    assert np.diff(np.concatenate([c["stamp"] for c in chunks])).tolist() == [10**8] * 39


def ulog_message(kind, payload):
    return len(payload).to_bytes(2, "little") + kind + payload


def test_a_px4_ulog_has_a_table_per_topic(tmp_path):
    """The bytes are written here, by the format's description: header, flags, format, subscription, data."""
    content = b"ULog\x01\x12\x35\x01" + (0).to_bytes(8, "little")
    content += ulog_message(b"B", bytes(40))
    content += ulog_message(b"F", b"sensor_combined:uint64_t timestamp;float[3] gyro_rad;float[3] accelerometer_m_s2;")
    content += ulog_message(b"A", b"\x00" + (0).to_bytes(2, "little") + b"sensor_combined")
    for k, row in enumerate(IMU_ROWS):
        data = (1000 * k).to_bytes(8, "little") + row.astype("<f4").tobytes()
        content += ulog_message(b"D", (0).to_bytes(2, "little") + data)
    (tmp_path / "x.ulg").write_bytes(content)
    names = [f"gyro_rad[{i}]" for i in range(3)] + [f"accelerometer_m_s2[{i}]" for i in range(3)]
    found = next(open_log(tmp_path / "x.ulg")["sensor_combined"].chunks(names, ["timestamp"], 100))
    np.testing.assert_array_equal(np.stack([found[n] for n in names], axis=1), IMU_ROWS.astype("f4"))
    assert found["timestamp"][1] == 1000


@pytest.mark.parametrize(
    ("head", "names"),
    [
        ("t,wx,wy", ["t", "wx", "wy"]),
        ("# flight 7\nrecorded by hand\nt,wx,wy\ns,rad/s,rad/s", ["t", "wx", "wy"]),
        ("t,wx,wy\n[s],[deg/s],[deg/s]", ["t", "wx", "wy"]),
        (",gyro,gyro\nt,x,x2\n", ["t", "x", "x2"]),
        ("time,gyro,gyro2\nt,x,x", ["time_t", "gyro_x", "gyro2_x"]),
        ("#t [s],wx [rad/s],wy [rad/s]", ["#t [s]", "wx [rad/s]", "wy [rad/s]"]),
    ],
)
def test_csv_files_may_have_titles_units_and_names_in_two_lines(head, names, tmp_path):
    (tmp_path / "x.csv").write_text(head.rstrip("\n") + "\n0.0,1.0,2.0\n0.1,3.0,4.0\n0.2,5.0,6.0\n")
    table = open_log(tmp_path / "x.csv")[""]
    assert table.columns == names
    found = next(table.chunks(names[1:], names[:1], 100))
    np.testing.assert_array_equal(found[names[2]], [2.0, 4.0, 6.0])
    np.testing.assert_array_equal(found[names[0]], [0.0, 0.1, 0.2])


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


def _axes(stem, values, axes):
    return {f"{stem}{axis}": values[:, i] for i, axis in enumerate(axes)}


def test_the_first_configuration_has_the_filter_that_suits_the_sensors_with_their_units_and_noises(tmp_path):
    rng, n = np.random.default_rng(4), 400
    t, noise = np.arange(n) / 50.0, lambda sigma, k=3: sigma * rng.standard_normal((n, k))
    turn = quaternion.from_euler321(0.3 * np.stack([np.sin(t), np.cos(0.7 * t), 0.2 * t], axis=1))
    xyzw = quaternion.mul(turn, quaternion.exp(noise(np.radians(0.5))))[:, [1, 2, 3, 0]]
    gyro, force = _axes("w", 0.1 + noise(1e-3), "xyz"), _axes("acc_", [0, 0, 1.0] + noise(1e-3), "xyz")
    gnss = np.where(np.arange(n)[:, None] % 10 == 0, 100.0 + noise(2.0), np.nan)
    logs = {
        "imu": gyro | force | _axes("mag_", [200.0, 0, 430.0] + noise(3.0), "xyz"),
        "ins": gyro | force | _axes("gnss_", gnss, "enu") | _axes("q", xyzw, "xyzw"),
        "gyro-mekf": {f"{key}_rad_s": w for key, w in _axes("omega_", 0.1 + noise(1e-3), "xyz").items()}
        | _axes("tracker_q", xyzw, "xyzw")
        | _axes("truth_q", xyzw, "xyzw"),
        "dqekf-kinematic": _axes("", np.sin(t)[:, None] + noise(0.02), "xyz") | _axes("q", xyzw, "xyzw"),
    }
    for kind, log in logs.items():
        write_log(tmp_path / "log.csv", {"": {"t": t} | log})
        with contextlib.redirect_stdout(io.StringIO()):
            replay(tmp_path / "log.csv", out=tmp_path / kind, inspect=True)
        config = read(tmp_path / kind / "inspect.toml", Replay)
        assert config.filter.kind == kind
        for sensor in config.sensors:
            true = {"mag": {"unit": "mG"}, "acc": {"unit": "g"}, "wx,": {"unit": "rad/s"}, "om": {"unit": "rad/s"}}
            for start, fields in true.items():
                if ",".join(sensor.columns).startswith(start):
                    assert {key: getattr(sensor, key) for key in fields} == fields
            for key, value in {
                "sigma_m": 2.0 if kind == "ins" else 0.02,
                "sigma_deg": 0.5,
                "arw": 1e-3 / 50**0.5,
            }.items():
                if kind != "imu" and getattr(sensor, key, None) is not None:
                    assert getattr(sensor, key) == pytest.approx(value, rel=0.3)
            if hasattr(sensor, "order"):
                assert sensor.order == "xyzw"


def test_without_a_configuration_it_says_how_to_get_one(tmp_path):
    with pytest.raises(InputError, match="--inspect"):
        replay(tmp_path / "log.npz", out=tmp_path)


def test_a_text_file_whose_fields_are_separated_by_blanks_is_read(tmp_path):
    """Aligned columns, a comment of names, a title, 3 MB of rows, a line cut off and one with a field too many."""
    values = np.arange(90_000)[:, None] * [0.5, -2.0, 3.0]
    rows = "".join(f"{a:9} {b:12}{c:12}  \r\n" for a, b, c in values.tolist())
    for suffix in (".csv", ".txt"):
        path = tmp_path / f"log{suffix}"
        path.write_text(f"a log, of a body\n#  t   wx  wy\n{rows}1 2\n1 2 3 4\n  7 8 9")
        table = open_log(path)[""]
        found = np.concatenate([list(chunk.values()) for chunk in table.chunks(["t", "wx", "wy"], [], 10_000)], axis=1)
        np.testing.assert_array_equal(found.T, [*values, [7.0, 8.0, 9.0]])
        assert table.malformed == 2


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("0.0,1,2\n0.1,3,4\n", "the first line has numbers and no names; write a line of column names above it"),
        ("0.0 1 2\n0.1 3 4\n", "the first line has numbers and no names"),
        ("2024-01-01T00:00:00,0.0,0.0\n2024-01-01T00:00:01,0.0,1.0\n", "the first line has numbers and no names"),
        ("Time stamp  w x\n0.0 1\n0.1 3\n", "no line of as many names is above them; write 2 names without blanks"),
    ],
)
def test_a_text_file_without_names_is_one_line_that_says_what_to_do(text, said, tmp_path):
    (tmp_path / "log.csv").write_text(text)
    with pytest.raises(InputError, match=said):
        open_log(tmp_path / "log.csv")


def test_columns_may_be_named_by_their_places(tmp_path):
    (tmp_path / "log.csv").write_text(",0,1\n0,0.5,1.5\n1,0.25,2.5\n")
    (found,) = open_log(tmp_path / "log.csv")[""].chunks(["1"], [], 100)
    np.testing.assert_array_equal(found["1"], [1.5, 2.5])
