"""`gnc run` and `gnc show`: what they print, leave and refuse."""

import json
import os
from contextlib import contextmanager

import numpy as np
import pytest

from gnc import history
from gnc.config import dump, parse
from gnc.scenarios import cli, progress
from gnc.scenarios.missions.load import builtin, read
from gnc.scenarios.missions.mission import Mission

SHORT = ["--set", "run.duration_s=30", "--set", "run.record_s=1"]


def run(tmp_path, *arguments):
    out = tmp_path / "results"
    code = cli.main(["run", "pointing", *SHORT, "--out", str(out), *arguments])
    return code, out


@pytest.mark.parametrize("name", sorted(builtin()))
def test_the_file_that_show_prints_is_the_mission_and_says_what_is_perfect(name, capsys):
    assert cli.main(["show", name]) == 0
    text = capsys.readouterr().out
    assert parse(text, Mission, f"{name}.toml") == read(name)
    whole, perfect = text.split("\n# What the truth shares")
    assert dump(parse(whole, Mission)) == whole
    assert len(perfect.splitlines()) > 1


def test_show_lists_the_signals_that_a_flight_has(capsys):
    assert cli.main(["show", "wheel-failure", "--signals", "--json"]) == 0
    told = {row["signal"]: row for row in json.loads(capsys.readouterr().out)}
    flight = read("wheel-failure", ["run.duration_s=2.0", "run.record_s=1.0", "requirements={}"]).fly(trials=1)
    assert set(told) - set(flight.signals) == {"sat.gyro.nis", "sat.gyro.innovation"}  # the gyro drives the filter
    assert all(told[str(name)]["unit"] == signal.attrs["units"] for name, signal in flight.signals.items())
    assert "nadir" in told["sat.mode"]["what it is"]


def test_a_run_leaves_configuration_history_metrics_table_and_figures(tmp_path, capsys):
    code, out = run(tmp_path, "--trials", "3", "--json")
    told = json.loads(capsys.readouterr().out)
    assert code in (0, 1) and {"scenario", "seed", "metrics", "checks", "out"} <= set(told)
    assert code == (0 if all(check["ok"] for check in told["checks"]) else 1)
    assert json.loads((out / "metrics.json").read_text()) == told
    flight = history.load(out / "history.nc")
    assert flight.sizes["trial"] == 3 and flight.sizes["time"] == 31
    assert all("units" in flight[name].attrs for name in flight.data_vars)
    assert {"config.toml", "history.nc", "metrics.json", "trials.nc", "requirements.png"} <= set(os.listdir(out))
    assert parse((out / "config.toml").read_text(), Mission).run.duration_s == 30.0


def test_everything_drawn_is_in_the_table_of_trials(tmp_path):
    _, out = run(tmp_path, "--trials", "3")
    table = history.load(out / "trials.nc")
    for name in ("inertia[0,0]", "attitude[0]", "rate[2]", "wheels[3]", "dipole[1]"):
        assert len(np.unique(table[f"drawn.{name}"].values)) == 3


def test_one_trial_alone_gives_the_bits_it_gives_among_others(tmp_path):
    run(tmp_path / "all", "--trials", "5", "--seed", "9")
    run(tmp_path / "one", "--trial", "3", "--seed", "9")
    together = history.load(tmp_path / "all" / "results" / "history.nc").sel(trial=[3])
    alone = history.load(tmp_path / "one" / "results" / "history.nc")
    assert set(alone.data_vars) == set(together.data_vars)
    for name in alone.data_vars:
        assert np.array_equal(alone[name].values, together[name].values, equal_nan=True), name


def test_the_stored_configuration_flies_the_same_again(tmp_path):
    _, first = run(tmp_path / "a", "--trials", "2", "--set", "craft.sat.loads.dipole.size_Am2=0.05")
    again = tmp_path / "b"
    cli.main(["run", str(first / "config.toml"), "--trials", "2", "--out", str(again)])
    assert (first / "history.nc").read_bytes() == (again / "history.nc").read_bytes()


def test_a_requirement_that_is_not_met_gives_exit_code_one(tmp_path, capsys):
    code, _ = run(tmp_path, "--trials", "2", "--set", "requirements.books.at_most=1e-30")
    assert code == 1 and "FAILED" in capsys.readouterr().out


def test_a_requirement_without_data_fails_and_says_so(tmp_path, capsys):
    """On the old code a flight shorter than its settling time printed success."""
    assert run(tmp_path, "--trials", "2")[0] == 1
    out = capsys.readouterr().out
    assert "pointing p99.7 in sunlight [deg]" in out and "no data" in out


@pytest.mark.parametrize("asked", ["", "signal = '1'", "signal = 'end - t'", "signal = 't'\nwhen = 't > 3'"])
def test_a_mission_that_asks_nothing_of_the_flight_is_no_success(asked, tmp_path, capsys):
    bare = tmp_path / "bare.toml"
    text = 'base = "pointing"\nremove = ["requirements"]\n[run]\nduration_s = 10\ntrials = 2\nrecord_s = 1\n'
    bare.write_text(f"{text}[requirements.x]\nat_most = 100\n{asked}\n" if asked else text)
    assert cli.main(["run", str(bare), "--out", str(tmp_path / "out")]) == 1
    assert "nothing was judged" in capsys.readouterr().out


OWN_LAW = """
import numpy as np
class Law:
    def __init__(self): self.calls = 0
    def command(self, belief, reference, memory):
        self.calls += 1
        return WORDS * np.ones_like(belief.w_B), memory
"""
MOODS = {"0.0": False, "1e-9 * np.random.standard_normal()": True, "1e-9 * self.calls": False}
MOODS["1e-9 * len(belief.w_B)"] = True  # of the trials beside it


@pytest.mark.parametrize("words", MOODS)
def test_a_law_whose_numbers_differ_when_it_flies_again_is_told(words, tmp_path, capsys):
    """A count of its own calls is the same again: only a longer memory than that of the object is chance."""
    law = tmp_path / "law.py"
    law.write_text(OWN_LAW.replace("WORDS", words))
    code, _ = run(tmp_path, "--trials", "2", "--no-figures", "--set", f'software.sat.modes.nadir.law="{law}:Law"')
    assert code == 1 and ("law.py: not repeatable" in capsys.readouterr().out) == MOODS[words]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["run", "pointing", "--set", "craft.sat.sensors.magnetometer.rte_hz=1"], "did you mean rate_hz?"),
        (["run", "pointing", "--set", "run.duration_s"], "run.duration_s"),
        (["run", "pointing", "--trial", "1", "--trials", "2"], "not both"),
        (["run", "no_such.toml"], "no_such.toml"),
        (["run", "pointing", "--out", ""], "--out: is empty"),
        (["run", "no_such.py"], "no_such.py"),
        (["show", "pointng"], "did you mean pointing?"),
        (["parts", "sensr"], "sensor"),
        (["parts", "sensor", "gyroscope"], "gyro"),
    ],
)
def test_bad_arguments_give_one_line(arguments, says, capsys):
    assert cli.main(arguments) == 2
    err = capsys.readouterr().err
    assert says in err and err.count("\n") == 1


def test_a_directory_that_cannot_be_made_is_told_before_the_flight(tmp_path, capsys):
    (tmp_path / "results").write_text("a file is in the way")
    assert run(tmp_path, "--trials", "1")[0] == 2
    assert "--out" in capsys.readouterr().err


@pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="needs a place where nobody can make a directory")
def test_a_place_where_no_directory_can_be_made_is_told_before_the_flight(capsys):
    assert cli.main(["run", "pointing", *SHORT, "--trials", "1", "--out", "/proc/nowhere"]) == 2
    assert "--out /proc/nowhere" in capsys.readouterr().err


def test_ctrl_c_leaves_what_was_flown_and_says_so(tmp_path, capsys, monkeypatch):
    @contextmanager
    def impatient(what):
        def interrupt(done, total):
            if done >= 123:
                raise KeyboardInterrupt

        yield interrupt

    monkeypatch.setattr(progress, "bar", impatient)
    code, out = run(tmp_path, "--trials", "2")
    assert code == 130 and "stopped at 12 s of 30 s" in capsys.readouterr().err
    flight = history.load(out / "history.nc")
    assert flight["time"].values[-1] == 12.0 and flight.attrs["interrupted"] == 1
    assert json.loads((out / "metrics.json").read_text())["interrupted"] is True
