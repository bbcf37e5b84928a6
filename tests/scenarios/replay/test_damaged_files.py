"""Files as loggers leave them: interrupted recordings, single broken messages, decimal commas, lines of units."""

import json

import numpy as np
import pytest

from gnc.errors import InputError
from gnc.scenarios.logs.tables import open_log
from gnc.scenarios.replay.inspect import inspected

EPHEMERIS = """CCSDS_{kind}_VERS = 1.0
META_START
OBJECT_NAME = CRAFT
META_STOP
2024-01-01T00:00:00 {row}
2024-01-01T00:01:00 {row}
2024-01-01T00:02:00 0.5 0."""


def read(path, names, rows=1000):
    table = next(iter(open_log(path).values()))
    parts = list(table.chunks(names, [], rows))
    return [np.concatenate([part[name] for part in parts]) for name in names], table


def recorded(path, broken=()):
    """Write 400 JSON messages in chunks of a few, some of them broken."""
    from mcap.writer import Writer

    writer = Writer(str(path), chunk_size=2000)
    writer.start()
    channel = writer.register_channel("/imu", "json", writer.register_schema("imu", "jsonschema", b"{}"))
    for k in range(400):
        content = b"{x" if k in broken else json.dumps({"x": float(k)}).encode()
        writer.add_message(channel, k * 10**7, content, k * 10**7)
    writer.finish()
    return path


def test_a_recording_that_was_interrupted_is_read_to_where_it_ends(tmp_path):
    whole = recorded(tmp_path / "whole.mcap").read_bytes()
    (tmp_path / "cut.mcap").write_bytes(whole[: len(whole) // 2])
    (x,), _ = read(tmp_path / "cut.mcap", ["x"])
    assert 100 < len(x) < 300
    np.testing.assert_array_equal(x, np.arange(len(x)))


def test_a_message_that_cannot_be_decoded_costs_itself(tmp_path):
    (x,), table = read(recorded(tmp_path / "log.mcap", broken=(7, 8, 300)), ["x"])
    np.testing.assert_array_equal(x, np.delete(np.arange(400.0), [7, 8, 300]))
    assert table.malformed >= 3


@pytest.mark.parametrize(("kind", "row", "name"), [("AEM", "0 0 0.6 0.8", "qc"), ("OEM", "7 0 0 0 7 0", "x")])
def test_the_interrupted_last_line_of_an_ephemeris_is_left_out(tmp_path, kind, row, name):
    (tmp_path / "log.kvn").write_text(EPHEMERIS.format(kind=kind, row=row))
    (values,), _ = read(tmp_path / "log.kvn", [name])
    np.testing.assert_array_equal(values, [0.8, 0.8] if kind == "AEM" else [7e3, 7e3])


def test_the_interrupted_last_line_of_a_tum_trajectory_is_left_out(tmp_path):
    (tmp_path / "log.tum").write_text("".join(f"{k} 1 2 3 0 0 0 1\n" for k in range(6)) + "6 1 2 3 0 0 0 -")
    (t,), _ = read(tmp_path / "log.tum", ["t"])
    np.testing.assert_array_equal(t, np.arange(6.0))


def test_decimal_commas_are_read_where_semicolons_separate(tmp_path):
    (tmp_path / "log.csv").write_text("t;x\n" + "".join(f"0,{k:02d};-{k},5\n" for k in range(50)))
    (t, x), _ = read(tmp_path / "log.csv", ["t", "x"])
    np.testing.assert_allclose(t, np.arange(50) / 100)
    np.testing.assert_allclose(x, -np.arange(50) - 0.5 * (1 - 2e-16))


def test_a_line_of_units_counts_more_than_the_size_of_numbers(tmp_path):
    """Numbers of a body at rest are small in deg/s, too."""
    rng = np.random.default_rng(0)
    rows = np.concatenate([np.arange(500)[:, None] / 100, 0.1 * rng.standard_normal((500, 3))], axis=1)
    body = "".join(",".join(f"{x:.5f}" for x in row) + "\n" for row in rows)
    for units, unit in (("[s],[deg/s],[deg/s],[deg/s]", "deg/s"), ("s,rad/s,rad/s,rad/s", "rad/s")):
        (tmp_path / "log.csv").write_text(f"t,gyro_x,gyro_y,gyro_z\n{units}\n{body}")
        (guess,) = inspected(tmp_path / "log.csv")[""]["guesses"]
        assert (guess["unit"], guess["columns"]) == (unit, ["gyro_x", "gyro_y", "gyro_z"])


def test_what_cannot_be_read_is_one_line(tmp_path):
    (tmp_path / "log.csv").write_bytes("t,x\n0,1\n".encode("utf-16"))
    with pytest.raises(InputError, match="no UTF-8"):
        open_log(tmp_path / "log.csv")
    np.savez(tmp_path / "log.npz", t=np.arange(1000.0), x=np.ones(1000))
    damaged = bytearray((tmp_path / "log.npz").read_bytes())
    damaged[1000] ^= 255
    (tmp_path / "log.npz").write_bytes(damaged)
    with pytest.raises(InputError, match="cannot be read"):
        inspected(tmp_path / "log.npz")
