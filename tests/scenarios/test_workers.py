"""Missions with modes and faults, alone on two workers and together in one process: the same bits in every number."""

import csv

import numpy as np
import pytest

from gnc.config.settings import override
from gnc.scenarios import cli
from gnc.scenarios.missions.load import read

# Modes, time lines, faults and their dispersed times, brought into a minute.
FORMS = {
    "wheel-failure": """
[[software.sat.timeline]]
at_s = 15.0
mode = "ahead"
[[software.sat.timeline]]
at_s = 35.0
mode = "back"
[faults]
wheel = { from_s = 20.0 }
tracker = { from_s = 40.0, to_s = 50.0 }
[dispersions.wheel_dies]
plus_minus = 10.0
""",
    "thruster-pointing": """
[[software.sat.timeline]]
at_s = 20.0
mode = "sun"
[faults.leak]
from_s = 30.0
[dispersions.leaks]
plus_minus = 10.0
""",
    "commissioning": """
[[software.sat.timeline]]
at_s = 20.0
mode = "sun"
[[software.sat.timeline]]
at_s = 40.0
mode = "nadir"
[faults.reset]
part = "sat"
kind = "reset"
from_s = 30.0
[dispersions.reset]
kind = "uniform"
key = "faults.reset.from_s"
plus_minus = 15.0
""",
    "flexible-slew": """
[faults.wheel]
part = "sat.wheels"
which = [2]
kind = "weak"
from_s = 20.0
""",
    "elliptic-rendezvous": """
[[software.chaser.timeline]]
at_s = 10.0
mode = "closing"
[[software.chaser.timeline]]
at_s = 30.0
mode = "stopped"
[faults.jet]
part = "chaser.thrusters"
which = [3]
kind = "stuck"
from_s = 20.0
to_s = 30.0
[faults.tracker]
part = "chaser.tracker"
kind = "outliers"
size_deg = 5.0
from_s = 20.0
""",
}
COMMON = """
base = "{name}"
remove = ["requirements"]
[run]
trials = 4
duration_s = 60.0
record_s = 1.0
[requirements]
turned_deg = {{ signal = "{craft}.pointing_error_deg", statistic = "rms" }}
modes = {{ signal = "{craft}.mode_time_s", statistic = "rms" }}
known_deg = {{ signal = "{craft}.knowledge_error_deg", statistic = "max" }}
books = {{ signal = "{craft}.momentum_gap", at_most = 1e-9 }}
"""
FAST = ("wheel-failure", "thruster-pointing")


@pytest.mark.parametrize("name", [n if n in FAST else pytest.param(n, marks=pytest.mark.slow) for n in FORMS])
def test_workers_change_no_bit(name, tmp_path, capsys):
    path, table = tmp_path / f"{name}.toml", tmp_path / "table.csv"
    path.write_text(COMMON.format(name=name, craft="chaser" if "rendezvous" in name else "sat") + FORMS[name])
    given = ["monte-carlo", str(path), "--seed", "5", "--workers", "2", "--chunk", "1", "--export", str(table)]
    assert cli.main([*given, "--out", str(tmp_path / "mc")]) in (0, 1)
    capsys.readouterr()
    rows = list(csv.DictReader(table.open()))
    together = read(str(path)).fly(4, 5).verdict
    assert {"turned_deg", "modes", "known_deg", "books"} <= set(together.per_trial)
    for key, values in together.per_trial.items():
        column = next(c for c in rows[0] if c.split(".")[-1] == key)
        np.testing.assert_array_equal([float(row[column]) for row in rows], values, err_msg=key)
    seen = {row[next(c for c in rows[0] if c.endswith("modes"))] for row in rows}
    assert seen != {"0.0"} and len({row[next(c for c in rows[0] if c.endswith("turned_deg"))] for row in rows}) == 4


@pytest.mark.slow
@pytest.mark.parametrize("name", FORMS)
def test_a_whole_flight_has_the_same_bits_alone(name):
    mission = override(read(name), ["run.record_s=10.0"])
    many, one = (mission.fly(trials, 5).signals for trials in (3, [1]))
    for key in many.data_vars:
        mine = many[key].values if "trial" not in many[key].dims else many[key].values[1:2]
        assert np.array_equal(mine, one[key].values, equal_nan=True), key
