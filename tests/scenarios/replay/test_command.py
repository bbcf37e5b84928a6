"""`gnc replay` as a command: files, JSON, and one clear line for whatever cannot be read."""

import contextlib
import io
import json
import sys

import h5py
import numpy as np
import pytest
import scipy.io
import typer
import xarray

from gnc.config.base import parse
from gnc.errors import InputError
from gnc.scenarios import cli
from gnc.scenarios.logs.log_writer import write_log
from gnc.scenarios.replay.command import replay
from gnc.scenarios.replay.config import Replay
from tests.scenarios.replay import flights


@pytest.fixture(scope="module")
def log(tmp_path_factory):
    """A log, and the configuration that reads it."""
    folder = tmp_path_factory.mktemp("log")
    flight = flights.gyro_flight(150)
    write_log(folder / "flight.csv", {"": flight.columns})
    (folder / "filter.toml").write_text(flight.toml)
    return folder / "flight.csv", folder / "filter.toml"


@pytest.fixture(scope="module")
def done(log, tmp_path_factory):
    """The folder of one replay, and what it printed."""
    folder = tmp_path_factory.mktemp("out")
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        replay(*log, folder, as_json=True)
    return folder, json.loads(printed.getvalue())


def refused(log, config, tmp_path):
    """The one line by which a log is refused; nothing is left behind."""
    with pytest.raises(InputError) as caught:
        replay(log, config, tmp_path / "out", as_json=True)
    assert "\n" not in str(caught.value)
    assert not [p for p in (tmp_path / "out").glob("*") if not p.is_dir()]
    return str(caught.value)


def changed(config, tmp_path, old, new):
    text = config.read_text()
    assert old in text
    (tmp_path / "other.toml").write_text(text.replace(old, new, 1))
    return tmp_path / "other.toml"


def test_it_writes_estimates_innovations_an_account_figures_and_a_page(done):
    folder, told = done
    assert told["filter"] == "gyro-mekf"
    assert {"data", "sensors", "truth", "bias", "hints", "warnings", "rest", "timing"} <= told.keys()
    written = {p.name for p in folder.iterdir()}
    expected = {"estimates", "innovations_tracker", "innovations_magnetometer", "innovations_sun"}
    assert {f"{name}{suffix}" for name in expected for suffix in (".nc", ".csv")} <= written
    assert {"dropped.csv", "metrics.json", "config.toml", "states.png", "nis.png", "report.html"} <= written
    assert written == {p.rsplit("/", 1)[-1] for p in told["files"]}


def test_csv_and_xarray_hold_the_same_estimates(done):
    text = np.genfromtxt(done[0] / "estimates.csv", delimiter=",", names=True, deletechars="")
    with xarray.open_dataset(done[0] / "estimates.nc", engine="scipy") as found:
        np.testing.assert_array_equal(text["t"], found["time"].values)
        np.testing.assert_array_equal(text["q_IB[2]"], found["q_IB"].values[:, 2])
        np.testing.assert_array_equal(text["sigma[3]"], np.sqrt(found["C"].values[:, 3, 3]))
        assert found.attrs["errors"].split()[:4] == ["a_x", "a_y", "a_z", "bias_x"]


def test_the_configuration_it_writes_reads_the_log_to_the_same_estimates(log, done, tmp_path):
    flights.replayed(log[0], (done[0] / "config.toml").read_text(), tmp_path)
    assert (tmp_path / "estimates.nc").read_bytes() == (done[0] / "estimates.nc").read_bytes()


def test_without_json_it_prints_tables_for_people(log, tmp_path, capsys):
    replay(*log, tmp_path / "out")
    told = capsys.readouterr().out
    assert "against truth: RMS" in told
    assert "times real time" in told
    assert "magnetometer" in told


def test_a_filter_that_is_lost_ends_with_exit_code_1_and_says_when(log, tmp_path, capsys):
    """A pose filter whose first covariance overflows has no estimate left."""
    flight = flights.pose_flight(False, 40)
    write_log(tmp_path / "log.npz", {"": flight.columns})
    start = flight.toml.index("C = ")
    C = (np.eye(12) * 1e200).tolist()
    (tmp_path / "f.toml").write_text(flight.toml[:start] + f"C = {C}\n" + flight.toml[flight.toml.index("[inputs]") :])
    with pytest.raises(typer.Exit) as left:
        replay(tmp_path / "log.npz", tmp_path / "f.toml", tmp_path / "out", as_json=True)
    assert left.value.exit_code == 1
    assert json.loads(capsys.readouterr().out)["lost_s"] is not None


def test_a_missing_column_is_named_with_the_nearest_names(log, tmp_path):
    said = refused(log[0], changed(log[1], tmp_path, '"gyro_1"', '"gyro_y"'), tmp_path)
    assert said.startswith("sensors.gyro.columns: the log has no column 'gyro_y'; nearest: ")
    assert "'gyro_1'" in said


def test_a_missing_time_column_is_named(log, tmp_path):
    assert "log.time: the log has no column 'tt'" in refused(
        log[0], changed(log[1], tmp_path, 'time = "t"', 'time = "tt"'), tmp_path
    )


def test_a_wrong_unit_is_told_from_the_numbers(log, tmp_path):
    flight = flights.gyro_flight(150)
    columns = flight.columns | {f"gyro_{i}": 2e4 * flight.columns[f"gyro_{i}"] for i in range(3)}
    write_log(tmp_path / "log.csv", {"": columns})
    assert "sensors.gyro.unit: numbers up to " in refused(tmp_path / "log.csv", log[1], tmp_path)


def test_columns_that_are_no_quaternion_are_refused(log, tmp_path):
    said = refused(log[0], changed(log[1], tmp_path, '"st_0", "st_1", "st_2", "st_3"', '"t", "t", "t", "t"'), tmp_path)
    assert "sensors.tracker.columns: t, t, t, t have the norm" in said


@pytest.mark.parametrize(
    "name, content",
    [
        ("log.csv", b""), ("log.parquet", b"no parquet"), ("log.h5", b"no hdf5"), ("log.npz", b"no zip"),
        ("log.mat", b"no matlab"), ("log.xlsx", b"what"), ("log", b"what"),
    ],
)  # fmt: skip
def test_a_file_that_cannot_be_read_is_one_line(log, name, content, tmp_path):
    (tmp_path / name).write_bytes(content)
    assert str(tmp_path / name) in refused(tmp_path / name, log[1], tmp_path)


def test_a_file_that_is_not_there_is_one_line(log, tmp_path):
    assert "there is no such file" in refused(tmp_path / "no.csv", log[1], tmp_path)


def test_a_log_without_rows_is_one_line(log, tmp_path):
    (tmp_path / "log.csv").write_text(log[0].read_text().splitlines()[0] + "\n")
    assert "no row of the log can be used" in refused(tmp_path / "log.csv", log[1], tmp_path)


def test_a_wrong_word_in_the_configuration_is_one_line(log, tmp_path):
    assert 'did you mean "gyro-mekf"?' in refused(
        log[0], changed(log[1], tmp_path, '"gyro-mekf"', '"gyro-meff"'), tmp_path
    )


def test_a_position_sensor_is_refused_by_an_attitude_filter(log, tmp_path):
    entry = '[[sensors]]\nname = "p"\nkind = "position"\ncolumns = ["t", "t", "t"]\nsigma_m = 1\n'
    (tmp_path / "f.toml").write_text(log[1].read_text() + entry)
    assert "gyro-mekf takes no position" in refused(log[0], tmp_path / "f.toml", tmp_path)


def test_a_matlab_file_of_version_7_3_is_read_as_the_hdf5_that_it_is(tmp_path):
    """MATLAB writes columns as (1, n) in HDF5 behind a block of 512 bytes; SciPy refuses such files."""
    flight = flights.gyro_flight(60)
    path = tmp_path / "log.mat"
    with h5py.File(path, "w", userblock_size=512) as file:
        for name, column in flight.columns.items():
            file[name] = column[None, :]
    with path.open("r+b") as file:
        file.write(b"MATLAB 7.3 MAT-file".ljust(124) + b"\x00\x02IM")
    with pytest.raises(NotImplementedError):
        scipy.io.loadmat(path)
    flights.replayed(path, flight.toml, tmp_path / "out")
    np.testing.assert_array_equal(flights.estimates(tmp_path / "out")["q_IB"].values, flight.estimates["q_IB"])


def test_arrays_with_several_columns_are_addressed_by_their_number(tmp_path):
    flight = flights.gyro_flight(60)
    columns = {name: c for name, c in flight.columns.items() if name not in ("gyro_0", "gyro_1", "gyro_2")}
    columns["w"] = np.stack([flight.columns[f"gyro_{i}"] for i in range(3)], axis=1)
    np.savez(tmp_path / "log.npz", **columns)
    toml = flight.toml.replace(flights.names("gyro", 3), '["w[0]", "w[1]", "w[2]"]')
    flights.replayed(tmp_path / "log.npz", toml, tmp_path / "out")
    np.testing.assert_array_equal(flights.estimates(tmp_path / "out")["q_IB"].values, flight.estimates["q_IB"])


@pytest.mark.parametrize("package, suffix", [("pyarrow", ".csv"), ("pyarrow", ".parquet"), ("h5py", ".h5")])
def test_a_package_that_is_not_installed_is_one_line_with_the_remedy(package, suffix, log, tmp_path, monkeypatch):
    write_log(tmp_path / f"log{suffix}", {"": flights.gyro_flight(5).columns})
    monkeypatch.setitem(sys.modules, package, None)
    monkeypatch.delitem(sys.modules, "gnc.scenarios.logs.arrow_tables", raising=False)
    assert f"need {package}: pip install {package}" in refused(tmp_path / f"log{suffix}", log[1], tmp_path)


def test_a_log_in_which_no_sensor_measured_is_one_line(tmp_path):
    flight = flights.torque_flight(20)
    columns = {n: c if n[:3] in ("t", "tau", "rho") else np.full(20, np.nan) for n, c in flight.columns.items()}
    write_log(tmp_path / "log.npz", {"": columns})
    (tmp_path / "f.toml").write_text(flight.toml)
    assert "sensors.gyro: no row of the log can be used (20 empty)" in refused(
        tmp_path / "log.npz", tmp_path / "f.toml", tmp_path
    )


def test_the_configuration_in_the_documentation_is_one(repository):
    text = (repository / "docs" / "replay.md").read_text()
    imu, ins, config = (parse(part.split("```")[0], Replay) for part in text.split("```toml")[1:])
    assert [sensor.kind for sensor in imu.sensors] == ["gyro", "accelerometer", "magnetometer"]
    assert [sensor.kind for sensor in ins.sensors] == ["gyro", "accelerometer", "position"]
    assert [sensor.kind for sensor in config.sensors] == ["gyro", "attitude", "magnetometer"]


def test_a_file_where_results_should_go_is_refused_and_stays(log, tmp_path, capsys):
    path, config = log
    (tmp_path / "notes").write_text("keep")
    assert cli.main(["replay", str(path), "--config", str(config), "--out", str(tmp_path / "notes")]) == 2
    told = capsys.readouterr().err
    assert "notes: a file and not a directory" in told and told.count("\n") == 1
    assert (tmp_path / "notes").read_text() == "keep" and [one.name for one in tmp_path.iterdir()] == ["notes"]
