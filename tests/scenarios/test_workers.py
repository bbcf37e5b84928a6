"""Missions, alone on two workers and together in one process: the same bits in every number."""

import csv

import numpy as np
import pytest

from gnc.config.base import override
from gnc.scenarios import cli
from gnc.scenarios.missions.load import builtin, read

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


def on_workers(path, tmp_path, seed):
    """Return the numbers that two workers found for each of the trials, a chunk each, by the requirement's name."""
    table = tmp_path / "table.csv"
    given = ["monte-carlo", str(path), "--seed", str(seed), "--workers", "2", "--chunk", "1", "--export", str(table)]
    assert cli.main([*given, "--out", str(tmp_path / "mc")]) in (0, 1)
    rows = list(csv.DictReader(table.open()))
    return {key.split(".")[-1]: [row[key] for row in rows] for key in rows[0]}


@pytest.mark.parametrize("name", [n if n in FAST else pytest.param(n, marks=pytest.mark.slow) for n in FORMS])
def test_workers_change_no_bit(name, tmp_path, capsys):
    path = tmp_path / f"{name}.toml"
    path.write_text(COMMON.format(name=name, craft="chaser" if "rendezvous" in name else "sat") + FORMS[name])
    apart, together = on_workers(path, tmp_path, 5), read(str(path)).fly(4, 5).verdict
    assert {"turned_deg", "modes", "known_deg", "books"} <= set(together.per_trial)
    for key, values in together.per_trial.items():
        np.testing.assert_array_equal([float(x) for x in apart[key]], values, err_msg=key)
    assert set(apart["modes"]) != {"0.0"} and len(set(apart["turned_deg"])) == 4


DURATION_S = {"attitude-only": 60, "tumble-capture": 320, "separation": 140}  # others 20 s


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(builtin()))
def test_every_signal_of_every_mission_has_the_same_bits_on_workers(name, tmp_path):
    duration_s = DURATION_S.get(name, 20)
    short = override(read(name), [f"run.duration_s={duration_s}", f"run.record_s={10 if name in DURATION_S else 2}"])
    flown = short.fly(3, 6).signals.items()
    signals = [key for key, x in flown if x.dims[:2] == ("trial", "time") and "labels" not in x.attrs]
    lines = [f'base = "{name}"', 'remove = ["requirements"]', "[run]", "trials = 3", f"duration_s = {duration_s}.0"]
    lines += ["record_s = 10.0" if name in DURATION_S else "record_s = 2.0", "[requirements]"]
    lines += [f's{k} = {{ signal = "{key}", statistic = "rms" }}' for k, key in enumerate(signals)]
    path = tmp_path / "all.toml"
    path.write_text("\n".join(lines))
    apart, together = on_workers(path, tmp_path, 6), read(str(path)).fly(3, 6).verdict.per_trial
    assert set(together) >= {f"s{k}" for k in range(len(signals))} and len(signals) > 10
    for key, values in together.items():
        np.testing.assert_array_equal([float(x) for x in apart[key]], values, err_msg=signals[int(key[1:])])
    assert any(len(set(values)) == 3 for values in together.values())


@pytest.mark.slow
@pytest.mark.parametrize("name", FORMS)
def test_a_whole_flight_has_the_same_bits_alone(name):
    mission = override(read(name), ["run.record_s=10.0"])
    many, one = (mission.fly(trials, 5).signals for trials in (3, [1]))
    for key in many.data_vars:
        mine = many[key].values if "trial" not in many[key].dims else many[key].values[1:2]
        assert np.array_equal(mine, one[key].values, equal_nan=True), key
