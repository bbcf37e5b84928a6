"""Every rule for dirty data: what it does to the rows, that it counts them, and that good rows go on undisturbed."""

import csv

import numpy as np
import pytest

from gnc import quaternion
from gnc.errors import InputError
from gnc.scenarios.logs.log_writer import write_log
from tests.scenarios.replay import flights
from tests.scenarios.replay.flights import names

SENSORS = f"""
[log]
time = "t"
[filter]
kind = "gyro-mekf"
[start]
q_IB = [1, 0, 0, 0]
[[sensors]]
name = "gyro"
kind = "gyro"
columns = {names("gyro", 3)}
unit = "rad/s"
arw = 1e-4
[[sensors]]
name = "tracker"
kind = "attitude"
columns = {names("st", 4)}
order = "wxyz"
sigma_deg = 0.1
"""


def clean(rows: int = 400, h: float = 0.1) -> dict[str, np.ndarray]:
    """A log without noise: gyro and tracker in every row."""
    q, w = flights.tumble(rows, h)
    return {"t": h * np.arange(rows), **flights.named("gyro", w), **flights.named("st", q)}


def run(columns, tmp_path, toml=SENSORS):
    write_log(tmp_path / "log.npz", {"": columns})
    _, outcome = flights.replayed(tmp_path / "log.npz", toml, tmp_path / "out")
    with (tmp_path / "out" / "dropped.csv").open() as file:
        listed = [(r["quantity"], int(r["row"]), r["rule"]) for r in csv.DictReader(file)]
    return outcome, listed, flights.estimates(tmp_path / "out")


def largest_error_deg(columns, found):
    """Against the noiseless attitudes of the clean log, by time."""
    q = np.stack([columns[f"st_{i}"] for i in range(4)], axis=1)
    at = np.searchsorted(columns["t"], found["time"].values)
    return np.degrees(quaternion.angle_between(found["q_IB"].values, q[at])).max()


def test_a_clean_log_drops_nothing(tmp_path):
    outcome, listed, found = run(clean(), tmp_path)
    assert listed == []
    assert all(d["dropped"] == {} and d["gaps"] == 0 for d in outcome["data"].values())
    assert largest_error_deg(clean(), found) < 1e-6


def test_rows_out_of_order_within_the_window_are_put_in_order(tmp_path):
    ordered, _, expected = run(clean(), tmp_path / "a")
    swap = np.arange(400)
    for k in range(20, 380, 9):
        swap[[k, k + 2]] = swap[[k + 2, k]]
    outcome, listed, found = run({name: column[swap] for name, column in clean().items()}, tmp_path / "b")
    assert listed == []
    np.testing.assert_array_equal(found["q_IB"].values, expected["q_IB"].values)


def test_a_row_that_comes_later_than_the_window_is_dropped_as_late(tmp_path):
    columns, order = clean(), np.r_[np.arange(100), np.arange(101, 200), 100, np.arange(200, 400)]
    outcome, listed, found = run({name: column[order] for name, column in columns.items()}, tmp_path)
    assert listed == [("sensors.gyro", 199, "late"), ("sensors.tracker", 199, "late")]
    assert outcome["data"]["gyro"]["dropped"] == {"late": 1}
    assert 10.0 not in np.round(found["time"].values, 6)


def test_one_stamp_far_ahead_costs_its_own_row_and_no_other(tmp_path):
    columns = clean()
    columns["t"][150] = 1e6
    outcome, listed, found = run(columns, tmp_path)
    assert listed == [("sensors.gyro", 150, "wild stamp"), ("sensors.tracker", 150, "wild stamp")]
    assert len(found["time"]) == 399
    assert largest_error_deg(clean(), found) < 1.0


def test_a_repeated_stamp_counts_once_the_first_time(tmp_path):
    columns, again = clean(), np.r_[np.arange(200), 199, np.arange(200, 400)]
    doubled = {name: column[again].copy() for name, column in columns.items()}
    doubled["gyro_0"][200] = 3.0  # the second of the two is off: had it counted, the attitude would be too
    outcome, listed, found = run(doubled, tmp_path)
    assert listed == [("sensors.gyro", 200, "repeated"), ("sensors.tracker", 200, "repeated")]
    assert largest_error_deg(columns, found) < 1e-6


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_a_row_with_a_number_that_is_not_finite_is_incomplete(bad, tmp_path):
    columns = clean()
    columns["st_2"][77] = bad
    outcome, listed, found = run(columns, tmp_path)
    assert listed == [("sensors.tracker", 77, "incomplete")]
    assert outcome["sensors"]["tracker"]["used"] == 399
    assert largest_error_deg(clean(), found) < 1e-6


def test_empty_rows_of_a_sensor_are_no_measurements_and_are_counted_apart(tmp_path):
    columns = clean()
    for i in range(4):
        columns[f"st_{i}"][np.arange(400) % 10 != 0] = np.nan
    outcome, listed, _ = run(columns, tmp_path)
    assert listed == []
    assert outcome["data"]["tracker"]["empty"] == 360
    assert outcome["data"]["tracker"]["measurements"] == 40
    assert outcome["data"]["tracker"]["gaps"] == 0


def test_a_row_without_a_stamp_is_dropped(tmp_path):
    columns = clean()
    columns["t"][5] = np.nan
    _, listed, _ = run(columns, tmp_path)
    assert listed == [("sensors.gyro", 5, "no stamp"), ("sensors.tracker", 5, "no stamp")]


def test_a_saturated_gyro_coasts_and_the_filter_knows_that_it_is_less_sure(tmp_path):
    columns = clean()
    for i in range(4):
        columns[f"st_{i}"][101:120] = np.nan
    columns["gyro_1"][110] = 5.0
    outcome, listed, found = run(columns, tmp_path, SENSORS.replace("arw = 1e-4", "arw = 1e-4\nrange = 4.0"))
    assert listed == [("sensors.gyro", 110, "saturated")]
    sigma = np.sqrt(found["C"].values[:, 0, 0])
    # coast_sigma 0.01 rad/s over one step of 0.1 s: the variance grows by 1e-6 over the gyro's own 1e-9.
    assert sigma[111] ** 2 - sigma[110] ** 2 == pytest.approx(1e-6, rel=0.02)


def test_a_single_wild_rate_is_saturated_and_a_log_full_of_them_is_a_wrong_unit(tmp_path):
    columns = clean()
    columns["gyro_0"][50] = 4000.0
    _, listed, _ = run(columns, tmp_path)
    assert listed == [("sensors.gyro", 50, "saturated")]
    columns["gyro_0"] = columns["gyro_0"] + 4000.0
    with pytest.raises(InputError, match=r"sensors\.gyro\.unit: numbers up to .* rad/s .* state the other unit"):
        run(columns, tmp_path)


def test_a_quaternion_that_is_far_from_unit_is_dropped_and_one_that_is_rounded_is_normalised(tmp_path):
    columns = clean()
    for i in range(4):
        columns[f"st_{i}"][40] *= 0.5
        columns[f"st_{i}"][41:] = np.round(columns[f"st_{i}"][41:], 4)
    outcome, listed, found = run(columns, tmp_path)
    assert listed == [("sensors.tracker", 40, "bad norm")]
    assert largest_error_deg(clean(), found) < 0.02


def test_a_gap_is_counted_and_beyond_its_hold_time_the_gyro_is_not_trusted(tmp_path):
    columns = {name: np.delete(column, np.arange(200, 260)) for name, column in clean().items()}
    outcome, listed, found = run(columns, tmp_path)
    assert listed == []
    assert outcome["data"]["gyro"]["gaps"] == 1
    assert outcome["data"]["gyro"]["longest_gap_s"] == pytest.approx(6.1)
    y = innovations_of(tmp_path, "tracker")
    after = np.searchsorted(y["time"], 26.0)
    # Held for 5 steps of 0.1 s, then coasting for 5.6 s at 0.01 rad/s: variance (5.6 * 0.01)^2 in front of everything.
    assert y["S"][after, 0, 0] == pytest.approx(0.056**2, rel=0.02)


def innovations_of(folder, sensor):
    import xarray

    with xarray.open_dataset(folder / "out" / f"innovations_{sensor}.nc", engine="scipy") as found:
        return {name: found[name].values for name in found.variables}


def test_jitter_is_lived_with_and_reported(tmp_path):
    columns, rng = clean(), np.random.default_rng(0)
    exact = columns["t"].copy()
    columns["t"] = exact + 0.01 * rng.uniform(-1.0, 1.0, 400)
    q, w = [np.array([1.0, 0.0, 0.0, 0.0])], np.stack([columns[f"gyro_{i}"] for i in range(3)], axis=1)
    for k, h in enumerate(np.diff(columns["t"])):
        q.append(quaternion.mul(q[-1], quaternion.exp(h * w[k])))
    columns |= flights.named("st", np.array(q))
    outcome, listed, found = run(columns, tmp_path)
    assert listed == []
    assert outcome["data"]["gyro"]["jitter_s"] == pytest.approx(np.diff(columns["t"]).std(), rel=1e-6)
    assert largest_error_deg(columns, found) < 1e-6


def test_a_latency_that_is_stated_is_taken_out(tmp_path):
    """The tracker's stamps are 0.3 s late; at 0.36 rad/s that would be 6 deg."""
    rows = np.arange(400)
    late = {name: column[rows >= 3] if name.startswith("gyro") or name == "t" else column[rows < 397]
            for name, column in clean().items()}  # fmt: skip
    toml = SENSORS.replace("q_IB = [1, 0, 0, 0]", "").replace("sigma_deg = 0.1", "sigma_deg = 0.1\nlatency_s = 0.3")
    outcome, _, found = run(late, tmp_path, toml)
    assert np.degrees(np.abs(innovations_of(tmp_path, "tracker")["y"][1:])).max() < 1e-6
    assert outcome["sensors"]["tracker"]["used"] == 393
    assert outcome["data"]["tracker"]["start"] == 1
    assert outcome["data"]["tracker"]["dropped"] == {"before start": 3}  # the gyro begins 0.3 s later


def test_sensors_at_different_rates_from_tables_of_their_own_meet_in_order_of_time(tmp_path):
    columns = clean()
    gyro = {name: c for name, c in columns.items() if not name.startswith("st")}
    tracker = {name: c[::7] for name, c in columns.items() if not name.startswith("gyro")}
    write_log(tmp_path / "log.h5", {"imu": gyro, "st": tracker})
    toml = SENSORS.replace('name = "gyro"', 'name = "gyro"\ntable = "imu"')
    toml = toml.replace('name = "tracker"', 'name = "tracker"\ntable = "st"')
    _, outcome = flights.replayed(tmp_path / "log.h5", toml, tmp_path / "out")
    assert outcome["sensors"]["tracker"]["used"] == len(tracker["t"])
    assert largest_error_deg(columns, flights.estimates(tmp_path / "out")) < 1e-6


def test_truth_is_interpolated_between_its_stamps_and_not_across_its_gaps(tmp_path):
    columns = clean()
    other = np.arange(0.05, 39.0, 0.25)
    other = other[(other < 10.0) | (other > 20.0)]
    q = np.stack([columns[f"st_{i}"] for i in range(4)], axis=1)
    k = np.floor(other / 0.1).astype(int)
    truth = quaternion.slerp(q[k], q[k + 1], (other - columns["t"][k]) / 0.1)
    write_log(tmp_path / "log.h5", {"a": columns, "b": {"t": other, **flights.named("truth", truth)}})
    toml = (
        SENSORS.replace('name = "', 'table = "a"\nname = "')
        + f"""
[truth]
table = "b"
columns = {names("truth", 4)}
order = "wxyz"
"""
    )
    _, outcome = flights.replayed(tmp_path / "log.h5", toml, tmp_path / "out")
    t, known = columns["t"], np.sort(other)
    inside = (t >= known[0]) & (t <= known[-1]) & ~((t > known[known < 10.0][-1]) & (t < known[known > 20.0][0]))
    assert outcome["truth"]["scored"] == inside.sum()
    # Between stamps 0.25 s apart the rate changes by up to 0.05 rad/s: bend (0.21 rad/s^2)(0.25 s)^2/8 = 0.1 deg.
    assert 0.0 < outcome["truth"]["rms_deg"] < 0.1


@pytest.mark.parametrize(
    "unit, stamps",
    [
        ("ns", lambda t: (t * 1e9).round().astype(np.int64) + 1_700_000_000_123_456_789),
        ("us", lambda t: (t * 1e6).round().astype(np.int64) + 1_700_000_000_123_456),
        ("ms", lambda t: t * 1e3),
        ("iso", lambda t: np.datetime64("2025-03-20T09:01:00.5", "ns") + (t * 1e9).round().astype("timedelta64[ns]")),
    ],
)
def test_stamps_in_every_unit_tell_the_same_times(unit, stamps, tmp_path):
    columns = clean()
    columns["t"] = stamps(columns["t"])
    if unit == "iso":
        columns["t"] = np.datetime_as_string(columns["t"])
    _, _, found = run(columns, tmp_path, SENSORS.replace('time = "t"', f'time = "t"\ntime_unit = "{unit}"'))
    np.testing.assert_allclose(np.diff(found["time"].values), 0.1, rtol=0, atol=2e-9)
    assert largest_error_deg(clean() | {"t": found["time"].values}, found) < 1e-6


def test_a_stated_rate_needs_no_stamps(tmp_path):
    columns = {name: c for name, c in clean().items() if name != "t"}
    toml = SENSORS.replace('time = "t"', "").replace('name = "', 'rate_hz = 10\nname = "')
    _, _, found = run(columns, tmp_path, toml)
    np.testing.assert_array_equal(found["time"].values, np.arange(400) / 10.0)


def test_stamps_in_another_unit_than_stated_are_refused(tmp_path):
    columns = clean()
    columns["t"] = (columns["t"] * 1e9).round()
    with pytest.raises(InputError, match="time_unit: rows are 1e.08 s apart if stamps are in 's'"):
        run(columns, tmp_path)


def test_text_among_the_numbers_of_a_csv_file_and_broken_lines_cost_their_own_rows(tmp_path):
    write_log(tmp_path / "log.csv", {"": clean()})
    lines = (tmp_path / "log.csv").read_text().splitlines()
    fields = lines[31].split(",")
    lines[31] = ",".join([fields[0], "ERROR", *fields[2:]])
    lines[61] = ",".join(lines[61].split(",")[:4])
    lines[-1] = lines[-1][:9]
    (tmp_path / "log.csv").write_text("\n".join(lines))
    _, outcome = flights.replayed(tmp_path / "log.csv", SENSORS, tmp_path / "out")
    assert outcome["data"]["gyro"]["dropped"] == {"incomplete": 1}
    assert outcome["malformed_lines"] == 2
    assert outcome["data"]["gyro"]["measurements"] == 397


def test_a_byte_that_is_no_character_costs_its_own_row(tmp_path):
    write_log(tmp_path / "log.csv", {"": clean()})
    lines = (tmp_path / "log.csv").read_bytes().splitlines()
    fields = lines[31].split(b",")
    lines[31] = b",".join([*fields[:2], b"\xff\xce" + fields[2], *fields[3:]])
    lines[61] += b",\xdb"
    (tmp_path / "log.csv").write_bytes(b"\n".join(lines))
    _, outcome = flights.replayed(tmp_path / "log.csv", SENSORS, tmp_path / "out")
    assert outcome["data"]["gyro"]["dropped"] == {"incomplete": 1}
    assert outcome["malformed_lines"] == 1


def test_a_rule_that_drops_many_rows_is_worth_a_warning(tmp_path):
    columns = clean()
    columns["st_0"][::3] = np.nan
    outcome, _, _ = run(columns, tmp_path)
    assert outcome["warnings"] == ["tracker: 134 of 400 rows were dropped by the rule 'incomplete'"]


@pytest.mark.parametrize("rows", [5, 64, 1000])
def test_the_size_of_the_chunks_changes_nothing(rows, tmp_path, monkeypatch):
    from gnc.scenarios.replay import merge

    columns, rng = clean(), np.random.default_rng(1)
    order = np.argsort(columns["t"] + rng.uniform(0.0, 0.4, 400), kind="stable")
    columns = {name: column[order] for name, column in columns.items()}
    columns["st_1"][::17] = np.nan
    columns["t"][[90, 91, 250]] = [1e5, 1e5 + 1.0, -7.0]
    whole, listed, expected = run(columns, tmp_path / "a")
    monkeypatch.setattr(merge, "CHUNK_ROWS", rows)
    cut, listed_too, found = run(columns, tmp_path / "b")
    assert sorted(listed) == sorted(listed_too)
    np.testing.assert_array_equal(found["q_IB"].values, expected["q_IB"].values)
