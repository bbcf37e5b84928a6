"""One guarded way to every file: regular, of limited size and depth; damage is one line."""

import json
import os
import zipfile

import numpy as np
import pytest
from scipy.io import savemat

from gnc.errors import InputError
from gnc.files import read_json, read_regular, read_text
from gnc.models.multibody import urdf
from gnc.scenarios import run
from gnc.scenarios.logs import array_tables
from gnc.scenarios.logs.tables import open_log
from gnc.scenarios.missions import load
from gnc.scenarios.replay import account, wording
from gnc.scenarios.report import results


def test_only_regular_files_of_limited_size_are_read(tmp_path) -> None:
    """The old readers filled the memory from /dev/zero and waited for ever at a FIFO."""
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "long").write_bytes(b"x" * 11)
    for path, says in (
        ("/dev/zero", "is not a regular file"),
        (tmp_path / "pipe", "is not a regular file"),
        (tmp_path, "is a directory"),
        (tmp_path / "long", "11 bytes are too many; a file has at most 10"),
        (tmp_path / "none", "no such file or directory"),
    ):
        with pytest.raises(InputError, match=says):
            read_regular(path, 10)
    (tmp_path / "log.csv").symlink_to(tmp_path / "pipe")
    for read in (open_log, urdf.load):
        with pytest.raises(InputError, match="is not a regular file"):
            read(tmp_path / "log.csv")


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"[" * 100_000, "nested too deeply"),
        (b'{"a": ', "is damaged"),
        (b"\xff\xfe", "line 1 is not UTF-8"),
        (b"a\0", "is binary"),
    ],
)
def test_damaged_json_is_one_line(tmp_path, content, says) -> None:
    (tmp_path / "x.json").write_bytes(content)
    with pytest.raises(InputError, match=says) as caught:
        read_json(tmp_path / "x.json", 10**6, "results")
    assert "\n" not in str(caught.value)


def test_a_byte_order_mark_is_no_text(tmp_path) -> None:
    (tmp_path / "x").write_bytes(b"\xef\xbb\xbfa = 1")
    assert read_text(tmp_path / "x", 10, "text") == "a = 1"


@pytest.mark.parametrize("metrics", ["{}", "[]", "3", '{"name": 3}', '{"checks": 1, "metrics": [], "lost": {}}', "nul"])
@pytest.mark.parametrize("bands", [True, False])
def test_a_report_of_damaged_results_is_one_line(tmp_path, metrics, bands) -> None:
    """The old code ended with a traceback."""
    (tmp_path / "metrics.json").write_text(metrics)
    (tmp_path / "config.toml").write_text('base = "pointing"\n' if bands else "= 3")
    (tmp_path / ("bands.nc" if bands else "history.nc")).write_bytes(b"CDF\x01")
    with pytest.raises(InputError) as caught:
        results.write(tmp_path, tmp_path / "report.html")
    assert str(tmp_path) in str(caught.value) and "\n" not in str(caught.value)
    assert not (tmp_path / "report.html").exists()


def test_a_report_of_a_flight_whose_metrics_alone_are_damaged_is_one_line(tmp_path) -> None:
    """The test above damages all that is read, of which the first tells; here the numbers can be read."""
    run.write(load.read("pointing", ["run.duration_s=1"]).fly(1), tmp_path, False)
    whole = json.loads((tmp_path / "metrics.json").read_text())
    for damaged in ({}, [], 3, whole | {"checks": [1]}, whole | {"metrics": []}, whole | {"trials": "x"}):
        (tmp_path / "metrics.json").write_text(json.dumps(damaged))
        with pytest.raises(InputError, match=rf"{tmp_path}: results are damaged \(\w+: .*\); fly again"):
            results.write(tmp_path, tmp_path / "report.html")


def test_a_report_of_another_configuration_than_was_flown_is_one_line(tmp_path) -> None:
    """Half of the file was a mission too, which the page told as flown."""
    run.write(load.read("pointing", ["run.duration_s=1"]).fly(1), tmp_path, False)
    results.page(tmp_path)
    config = tmp_path / "config.toml"
    config.write_text(config.read_text().replace("duration_s = 1.0", "duration_s = 2.0"))
    with pytest.raises(InputError, match="config.toml: is not the mission that was flown here"):
        results.page(tmp_path)


def test_text_and_single_numbers_of_matlab_are_passed_over(tmp_path) -> None:
    savemat(tmp_path / "log.mat", {"note": "flown on Monday", "t": np.arange(5.0), "mass": 3.0})
    table = open_log(tmp_path / "log.mat")[""]
    assert "t" in table.columns and "note" not in table.columns
    (chunk,) = table.chunks(["t"], [], 100)
    assert chunk["t"].tolist() == [0.0, 1.0, 2.0, 3.0, 4.0]


def test_a_column_that_is_not_used_is_not_read_and_one_that_is_too_large_is_refused(tmp_path, monkeypatch) -> None:
    path = tmp_path / "log.npz"
    np.savez_compressed(path, t=np.arange(5.0), bomb=np.zeros(1000))
    monkeypatch.setattr(array_tables, "LARGEST_ARRAY", 100)
    table = open_log(path)[""]
    assert [chunk["t"].tolist() for chunk in table.chunks(["t"], [], 3)] == [[0.0, 1.0, 2.0], [3.0, 4.0]]
    with pytest.raises(InputError, match="bomb takes .* MiB of memory at most"):
        list(table.chunks(["bomb"], [], 3))
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("junk.npy", b"no array")
    with pytest.raises(InputError, match="cannot be read"):
        open_log(path)
    savemat(tmp_path / "log.mat", {"bomb": np.zeros(1000)})
    with pytest.raises(InputError, match="bomb takes"):
        open_log(tmp_path / "log.mat")


def test_numbers_that_lie_in_another_file_are_refused(tmp_path) -> None:
    h5py = pytest.importorskip("h5py")
    (tmp_path / "secret").write_bytes(np.arange(4.0).tobytes())
    with h5py.File(tmp_path / "log.h5", "w") as file:
        file.create_dataset("x", (4,), dtype="f8", external=[(str(tmp_path / "secret"), 0, 32)])
    with pytest.raises(InputError, match="x lies in another file"):
        open_log(tmp_path / "log.h5")


def test_two_columns_of_one_name_are_refused_in_parquet_too(tmp_path) -> None:
    pa, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    table = pa.Table.from_arrays([pa.array([1.0]), pa.array([2.0])], names=["x", "x"])
    parquet.write_table(table, tmp_path / "log.parquet")
    with pytest.raises(InputError, match="two columns have the same name"):
        open_log(tmp_path / "log.parquet")


def test_lines_that_an_open_quote_takes_are_counted(tmp_path) -> None:
    """The old code told of one line."""
    pytest.importorskip("pyarrow")
    lines = ["t,x", *(f"{k},1.0" for k in range(10)), '10,"1.0', *(f"{k},1.0" for k in range(11, 30)), '30,1.0"']
    (tmp_path / "log.csv").write_text("\n".join([*lines, "31,1.0"]) + "\n")
    table = open_log(tmp_path / "log.csv")[""]
    assert sum(len(chunk["t"]) for chunk in table.chunks(["t", "x"], [], 100)) == 12
    assert table.malformed == 20


def test_a_log_of_one_estimate_and_a_truth_that_scores_none_are_failures() -> None:
    """A log whose rows stood in reverse order ended with 0."""
    assert [line.split(":")[0] for line in account._unjudged(1, {"scored": 0})] == [
        "there is 1 estimate", "nothing was scored against the truth",
    ]  # fmt: skip
    assert not account._unjudged(2, None) and not account._unjudged(2, {"scored": 1})


def test_a_score_that_is_undefined_is_told(tmp_path) -> None:
    """The old code ended with a TypeError."""
    truth = dict.fromkeys(["rms_deg", "rms_m", "nees", "rms_heading_deg"]) | {"scored": 0, "times": 5}
    outcome = {"lost_s": None, "failures": [], "malformed_lines": 0, "recoveries": 0, "truth": truth, "bias": None}
    said = wording.sentences(outcome | {"warnings": [], "hints": []})
    assert said == ["against truth: no RMS, at 0 of 5 times"]
    json.dumps(said)
