import numpy as np
import pytest

from gnc import history
from gnc.errors import InputError
from gnc.history import BLOCK, History, Signal
from gnc.labelled import Table, encoded

SIGNALS = {
    "q_IB": Signal("1", "attitude"),
    "error": Signal("deg", "an error"),
    "stored": Signal("N m s", "momentum", ("wheel", ("a", "b"))),
    "sun": Signal("1", "direction", shared=True),
}


LARGE = Table({"x": (("trial", "time"), np.arange(3e5).reshape(3, -1)[:, : 2**16])}, {"trial": np.arange(3)})


def recorded():
    kept = History(SIGNALS)
    for k in range(5):
        kept.record(0.1 * k, {"q_IB": np.full((3, 4), k), "error": np.arange(3.0) + k, "sun": np.full(3, k)})
        if k % 2 == 0:
            kept.record(0.1 * k, {"stored": np.full((3, 2), -k)}, "time_wheel")
    return kept.table([4, 7, 9], seed=3)


def test_signals_have_labels_units_and_their_own_clock():
    data = recorded().dataset()
    assert data["q_IB"].dims == ("trial", "time", "wxyz") and data["stored"].dims == ("trial", "time_wheel", "wheel")
    assert data["sun"].dims == ("time", "xyz")
    assert data["error"].attrs == {"units": "deg", "long_name": "an error"}
    assert float(data["error"].sel(trial=7).isel(time=3).values) == pytest.approx(4.0)
    assert data["stored"].sel(wheel="b", trial=9).values.tolist() == [0, -2, -4]


@pytest.mark.parametrize("expected", [0, 1, BLOCK, 3 * BLOCK + 5, 1000])
def test_values_of_many_times_are_those_given_however_many_were_expected(expected):
    n, rng = 3 * BLOCK + 5, np.random.default_rng(1)
    given = {"q_IB": rng.normal(size=(n, 3, 4)), "error": rng.integers(0, 9, (n, 3)), "sun": rng.normal(size=(n, 3))}
    kept, buffer = History(SIGNALS, {"time": expected}), np.empty((3, 4))
    for k in range(n):
        buffer[...] = given["q_IB"][k]  # the same memory for every time
        values = {"q_IB": buffer, "error": given["error"][k] if k < BLOCK else given["error"][k] + 0.5}
        kept.record(float(k), {**values, "sun": given["sun"][k]})
    kept._times["time"].append(n)  # a time whose values Ctrl-C has cut off
    data = kept.table(range(3))
    assert data["time"].values.tolist() == list(range(n))
    assert data["q_IB"].values.tolist() == given["q_IB"].swapaxes(0, 1).tolist()
    assert data["error"].values.tolist() == (given["error"] + 0.5 * (np.arange(n) >= BLOCK)[:, None]).T.tolist()
    assert data["sun"].values.tolist() == given["sun"].tolist()


def test_signals_that_no_memory_can_hold_are_refused_at_the_first_record():
    values = {"q_IB": np.zeros((3, 4)), "error": np.zeros(3)}
    History(SIGNALS, {"time": 10**5}).record(0.0, values)  # 12 MB
    with pytest.raises(InputError, match=r"the signals take 1.2e\+04 GB or more, .*run.record_s.* gnc monte-carlo"):
        History(SIGNALS, {"time": 10**11}).record(0.0, values)  # 120 bytes each time


def test_there_is_no_more_room_than_is_free_nor_than_the_limit_of_a_container(monkeypatch, tmp_path):
    (tmp_path / "free").write_text("MemTotal: 9 kB\nMemAvailable:       3 kB\nSwapFree:     1 kB\n")
    monkeypatch.setattr(history, "MEMORY", (str(tmp_path / "free"), str(tmp_path / "limit"), str(tmp_path / "none")))
    for limit, room in (("max\n", 4096.0), ("4000\n", 4000.0), ("9000\n", 4096.0)):
        (tmp_path / "limit").write_text(limit)
        assert history.room() == room


def test_a_file_gives_back_what_was_written_and_the_same_bytes_each_time(tmp_path):
    data = recorded()
    history.save(data, tmp_path / "a.nc")
    history.save(data, tmp_path / "b.nc")
    assert (tmp_path / "a.nc").read_bytes() == (tmp_path / "b.nc").read_bytes()
    history.save(LARGE, tmp_path / "large.nc")  # in pieces
    assert history.load(tmp_path / "large.nc").equals(LARGE.dataset())
    (tmp_path / "large.nc").unlink()
    again = history.load(tmp_path / "a.nc")
    assert again.equals(data.dataset()) and again.equals(Table.of(again).dataset())
    assert again.attrs["seed"] == 3 and again["stored"].attrs["units"] == "N m s"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.nc", "b.nc"]


@pytest.mark.parametrize("kept", [0, 3, 100, 700])
def test_a_damaged_file_is_told_in_one_line(tmp_path, kept):
    path = tmp_path / "a.nc"
    history.save(recorded(), path)
    path.write_bytes(path.read_bytes()[:kept])
    with pytest.raises(InputError, match="damaged"):
        history.load(path)


def test_text_tests_and_whole_numbers_are_read_back_by_xarray(tmp_path):
    data = {
        "reason": ("trial", np.array(["", "gyro é", "a longer one"])),
        "success": ("trial", np.array([True, False, True])),
        "count": ("trial", np.array([1, -2, 2**31 - 1])),
        "single": (("trial", "xyz"), np.arange(9, dtype=np.float32).reshape(3, 3)),
    }
    labels = {"trial": np.array([4, 7, 9], np.int32), "xyz": list("xyz")}
    table = Table(data, labels, {"seed": 3, "scale": 0.5, "a": ""})
    history.save(table, tmp_path / "a.nc")
    again = history.load(tmp_path / "a.nc")
    assert again.equals(table.dataset())
    assert again["success"].dtype == bool and again["single"].dtype == np.float32 and again.attrs == table.attrs
    with pytest.raises(ValueError, match="too large"):
        encoded(Table({"n": ("k", np.array([2**31]))}, {}))
