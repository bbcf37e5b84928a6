"""Options of filters and starts, and settings on the command line."""

import numpy as np
import pytest
import xarray

from gnc.config.base import parse
from gnc.errors import InputError
from gnc.scenarios import cli
from gnc.scenarios.logs.log_writer import write_log
from gnc.scenarios.replay.config import Replay
from gnc.scenarios.replay.session import driven
from tests.scenarios.replay import flights


def spoilt():
    """A flight with a direction of the Sun that is off by some 90 deg at 2 s."""
    flight = flights.gyro_flight(60)
    for i, value in enumerate(np.roll([flight.columns[f"sun_{i}"][20] for i in range(3)], 1)):
        flight.columns[f"sun_{i}"][20] = value
    return flight


@pytest.mark.parametrize("ungated_s, used", [(0.0, 0.0), (2.0, 0.0), (2.1, 1.0)])
def test_all_measurements_are_let_in_until_ungated_s(ungated_s, used, tmp_path):
    flight = spoilt()
    write_log(tmp_path / "log.npz", {"": flight.columns})
    toml = flight.toml.replace('kind = "gyro-mekf"', f'kind = "gyro-mekf"\nungated_s = {ungated_s}')
    flights.replayed(tmp_path / "log.npz", toml, tmp_path / "out")
    with xarray.open_dataset(tmp_path / "out" / "innovations_sun.nc", engine="scipy") as found:
        assert found["used"].values[found["time"].values == 2.0] == used


def test_settings_change_the_configuration(tmp_path):
    flight = spoilt()
    write_log(tmp_path / "log.npz", {"": flight.columns})
    (tmp_path / "f.toml").write_text(flight.toml)
    words = ["replay", str(tmp_path / "log.npz"), "--config", str(tmp_path / "f.toml"), "--out", str(tmp_path / "out")]
    assert cli.main([*words, "--set", "filter.ungated_s=2", "--set", "sensors.sun.sigma_deg=0.3"]) == 0
    read = parse((tmp_path / "out" / "config.toml").read_text(), Replay)
    assert read.filter.ungated_s == 2.0
    assert read.sensors[-1].name == "sun" and read.sensors[-1].sigma_deg == 0.3


def test_errors_are_named_without_blanks(tmp_path):
    """So that the attribute of estimates.nc can be split."""
    flight = flights.torque_flight(20, dipole=True)
    write_log(tmp_path / "log.npz", {"": flight.columns})
    flights.replayed(tmp_path / "log.npz", flight.toml, tmp_path / "out")
    names = flights.estimates(tmp_path / "out").attrs["errors"].split()
    assert len(names) == 12
    assert names[6] == "dipole_x" and names[9] == "bias_gyro_x"


REFUSED = [
    ("field = ", "# field = ", "filter.dipole_sigma_Am2: the field acts on a dipole; give its columns as inputs.field"),
    ("w_B = ", "P_B = [0, 0, 0]\nw_B = ", "start.C: give 12 rows of 12 numbers, over a_x, a_y"),
    ("C = ", "# C = ", None),
    ("C = ", "C = [[1.0]]\n# C = ", "start.C: give 6 rows of 6 numbers, over a_x, a_y, a_z, w_x, w_y, w_z"),
    ("C = ", "P_B = [0, 0, 0]\n# C = ", "start: P_B: needs q_IB and C"),
]


@pytest.mark.parametrize("old, new, said", REFUSED)
def test_a_start_or_filter_that_does_not_fit_is_one_line(old, new, said):
    toml = flights.torque_flight(20, dipole=True).toml
    assert old in toml

    def build():
        config = parse(toml.replace(old, new, 1), Replay)
        return driven(config.filter, {"gyro": _gyro()}, config.start)

    if said is None:
        assert len(build().errors) == 12
        return
    with pytest.raises(InputError) as caught:
        build()
    assert said.split(": ", 1)[-1] in str(caught.value) and "\n" not in str(caught.value)


def _gyro():
    from gnc.models.sensors import Gyro

    return Gyro(rate_hz=2.0, arw=1e-4, bias_walk=1e-5)


def test_momentum_is_for_the_filter_that_has_one():
    toml = flights.gyro_flight(20).toml.replace("bias = [1e-3, 0, 0]", "P_B = [0, 0, 0]")
    with pytest.raises(InputError, match="start.P_B: gyro-mekf has no momentum; give start.w_B"):
        parse(toml, Replay)


def test_beginning_anew_is_for_poses_seen_from_an_observer():
    toml = flights.pose_flight(False, 10).toml.replace("wrench_psd", "restart_beyond = [0.1, 0.1]\nwrench_psd")
    with pytest.raises(InputError, match="filter.restart_beyond: 'ranger' is no pose in an observer's frame"):
        parse(toml, Replay)


@pytest.mark.parametrize(
    "key",
    ["misalignment_deg = 1.0", "bias_nT = 9.0", "bias_walk_nT = 1.0", "scale_percent = 1.0", "soft_iron_percent = 1"],
)
def test_a_filter_that_does_not_estimate_an_error_of_a_sensor_says_which_do(key):
    sensor = "[[sensors]]\nkind = '{}'\ncolumns = ['a', 'b', 'c']\nunit = '{}'\n"
    toml = "[filter]\nkind = 'imu'\n" + sensor.format("gyro", "rad/s") + sensor.format("accelerometer", "m/s^2")
    with pytest.raises(InputError, match="imu does not estimate it; those that do: gyro-mekf, mekf, dqekf"):
        parse(toml + sensor.format("magnetometer", "uT") + key, Replay)
