"""A simulated log gives the estimates of the filter that flew, bit for bit."""

import functools

import numpy as np
import pytest

from gnc.scenarios.logs.log_writer import write_log
from gnc.scenarios.replay import stepper
from tests.scenarios.replay import flights

FLIGHTS = {
    "gyro-mekf": flights.gyro_flight,
    "mekf": flights.torque_flight,
    "mekf with dipole": functools.partial(flights.torque_flight, dipole=True),
    "dqekf": functools.partial(flights.pose_flight, False),
    "dqekf-kinematic": functools.partial(flights.pose_flight, True),
}


def check(flight, log, folder):
    session, outcome = flights.replayed(log, flight.toml, folder)
    assert outcome["lost_s"] is None
    found = flights.estimates(folder)
    np.testing.assert_array_equal(found["time"].values, flight.times)
    for name, values in flight.estimates.items():
        np.testing.assert_array_equal(found[name].values, values, err_msg=name)


@pytest.mark.parametrize("name", FLIGHTS)
def test_replay_of_a_simulated_log_gives_the_estimates_of_the_filter_that_flew_bit_for_bit(name, tmp_path, monkeypatch):
    """Tick by tick, and as a compiled program."""
    flight = FLIGHTS[name]()
    write_log(tmp_path / "log.parquet", {"": flight.columns})
    check(flight, tmp_path / "log.parquet", tmp_path / "out")
    monkeypatch.setattr(stepper, "FEWEST", 1)
    check(flight, tmp_path / "log.parquet", tmp_path / "compiled")


@pytest.mark.parametrize("suffix", [".csv", ".h5", ".npz", ".mat"])
def test_every_format_keeps_every_bit(suffix, tmp_path):
    flight = flights.gyro_flight(120)
    write_log(tmp_path / f"log{suffix}", {"": flight.columns})
    check(flight, tmp_path / f"log{suffix}", tmp_path / "out")


@pytest.mark.parametrize("suffix", ["", ".h5", ".npz", ".mat"])
def test_one_table_per_sensor_is_the_same_log(suffix, tmp_path):
    """Tables of their own rates, without the rows in which a sensor did not measure."""
    flight, tables = flights.gyro_flight(120), {}
    toml = flight.toml
    for name, prefixes in {"gyro": ["gyro"], "tracker": ["st"], "magnetometer": ["mag", "field"],
                           "sun": ["sun", "dir"], "truth": ["truth"]}.items():  # fmt: skip
        own = {c: v for c, v in flight.columns.items() if c.split("_")[0] in prefixes}
        due = np.isfinite(next(iter(own.values())))
        tables[name] = {c: v[due] for c, v in ({"t": flight.columns["t"]} | own).items()}
        entry = "[truth]" if name == "truth" else f'name = "{name}"'
        toml = toml.replace(entry, f'{entry}\ntable = "{name}"')
    write_log(tmp_path / f"log{suffix or '.csv'}", tables)
    check(flight._replace(toml=toml), tmp_path / f"log{suffix}", tmp_path / "out")
