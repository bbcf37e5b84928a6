"""One number of a log that no body and no sensor can have costs its row, also while nothing is gated; it was believed.

The old code ended 113 deg off with one field of 1 T, with exit 0, and in a defect with a torque of 1e6 N m.
"""

import csv
import json

import numpy as np
import pytest

from gnc.scenarios import cli
from gnc.scenarios.replay.quantities import inputs
from gnc.scenarios.replay.score import Offset, offset


@pytest.fixture(scope="module")
def log(tmp_path_factory):
    path = tmp_path_factory.mktemp("log") / "log.csv"
    assert cli.main(["simulate", "pointing", "--log", str(path), "--set", "run.duration_s=100"]) == 0
    return path


def replayed(log, folder, column=None, value=None):
    """Replay the log with one number changed in its 20th row; return its metrics."""
    rows = list(csv.reader(log.open()))
    if column is not None:
        rows[20][rows[0].index(column)] = value
    changed = folder / "changed.csv"
    with changed.open("w", newline="") as file:
        csv.writer(file).writerows(rows)
    words = ["replay", str(changed), "--config", str(log.with_suffix(".toml")), "--out", str(folder / "out")]
    assert cli.main(words) == 0
    return json.loads((folder / "out" / "metrics.json").read_text())


@pytest.mark.parametrize(
    ("column", "value", "quantity", "rule"),
    [
        ("magnetometer_0", "1.0", "magnetometer", "saturated"),
        ("torque_1", "1e6", "inputs", "saturated"),
        ("wheels_2", "-1e6", "inputs", "saturated"),
        ("field_0", "1e3", "inputs", "saturated"),
        ("sun_sensor_1", "1e5", "sun_sensor", "bad norm"),
    ],
)
def test_a_number_that_cannot_be_costs_its_row_and_is_told(log, tmp_path, column, value, quantity, rule):
    (tmp_path / "calm").mkdir()
    calm, wild = replayed(log, tmp_path / "calm"), replayed(log, tmp_path, column, value)
    assert calm["data"][quantity]["dropped"] == {} and wild["data"][quantity]["dropped"] == {rule: 1}
    assert wild["truth"]["rms_deg"] < 1.2 * calm["truth"]["rms_deg"]


def test_inputs_are_held_to_the_inertia_of_the_body():
    class Named:
        torque, force, wheels, field = ("x", "y", "z"), None, None, None

    class Body:
        J = np.diag([1.0, 2.0, 3.0])

    values = np.array([[999.0, 0.0, 0.0], [0.0, 0.0, -1001.0]])
    assert inputs(Named, Body).convert(values)[1].tolist() == ["", "saturated"]
    assert inputs(Named, object()).convert(values)[1].tolist() == ["", ""]


def test_a_filter_that_is_lost_has_no_offset():
    """The eigenvalues of a matrix of NaN were a defect."""

    class Score:
        from_s, to_s, min_rate_deg_s = None, None, 0.0

    kinds = [("t", float), ("q_IB", float, 4), ("truth_q_IB", float, 4), ("truth_turn", float), ("truth_mask", float)]
    records = np.ones(3, kinds)
    records["q_IB"] = np.nan
    assert offset(records, Score, "body", False) == Offset()
