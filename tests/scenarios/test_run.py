"""`gnc run` and `gnc show`: what they print, leave and refuse."""

import json
import os
from contextlib import contextmanager

import numpy as np
import pytest

from gnc import history
from gnc.config import dump, parse
from gnc.scenarios import cli, progress
from gnc.scenarios.catalogue import SCENARIOS, scenario

SHORT = ["--set", "duration_s=30", "--set", "record_s=1", "--set", "criteria.settle_s=5"]


def run(tmp_path, *arguments):
    out = tmp_path / "results"
    code = cli.main(["run", "pointing", *SHORT, "--out", str(out), *arguments])
    return code, out


@pytest.mark.parametrize("name", sorted(SCENARIOS))
def test_the_file_that_show_prints_is_the_scenario(name, capsys, tmp_path):
    assert cli.main(["show", name]) == 0
    text = capsys.readouterr().out
    found = scenario(name)
    assert parse(text, found.Config, f"{name}.toml") == found.Config()
    assert dump(parse(text, found.Config)) == text


@pytest.mark.parametrize("name", sorted(SCENARIOS))
def test_every_number_of_a_scenario_file_has_a_unit_or_a_description(name):
    def bare(model, path):
        for key, field in model.model_fields.items():
            value = field.default
            if hasattr(type(value), "model_fields"):
                yield from bare(type(value), f"{path}{key}.")
            elif isinstance(value, float) and not field.description and not key.endswith(UNITS):
                yield f"{path}{key}"

    assert not list(bare(scenario(name).Config, ""))


UNITS = ("_s", "_hz", "_deg", "_rad_s", "_m", "_km", "_kg", "_kgm2", "_Nm", "_Nms", "_N", "_T", "_nT", "_percent")
UNITS += ("_Am2", "_arcsec", "_Nm2s", "damping")


def test_a_run_leaves_configuration_history_metrics_and_figures(tmp_path, capsys):
    code, out = run(tmp_path, "--trials", "3", "--json")
    told = json.loads(capsys.readouterr().out)
    assert code in (0, 1) and {"scenario", "seed", "metrics", "checks", "out"} <= set(told)
    assert code == (0 if all(check["ok"] for check in told["checks"]) else 1)
    assert json.loads((out / "metrics.json").read_text()) == told
    flight = history.load(out / "history.nc")
    assert flight.sizes["trial"] == 3 and flight.sizes["time"] == 31
    assert all("units" in flight[name].attrs for name in flight.data_vars)
    assert {"config.toml", "history.nc", "metrics.json", "pointing.png", "knowledge.png"} <= set(os.listdir(out))
    assert parse((out / "config.toml").read_text(), scenario("pointing").Config).duration_s == 30.0


def test_one_trial_alone_gives_the_bits_it_gives_among_others(tmp_path):
    run(tmp_path / "all", "--trials", "5", "--seed", "9")
    run(tmp_path / "one", "--trial", "3", "--seed", "9")
    together = history.load(tmp_path / "all" / "results" / "history.nc").sel(trial=[3])
    alone = history.load(tmp_path / "one" / "results" / "history.nc")
    assert set(alone.data_vars) == set(together.data_vars)
    for name in alone.data_vars:
        assert np.array_equal(alone[name].values, together[name].values, equal_nan=True), name


def test_the_stored_configuration_flies_the_same_again(tmp_path):
    _, first = run(tmp_path / "a", "--trials", "2", "--set", "vehicle.dipole_Am2=0.05")
    again = tmp_path / "b"
    cli.main(["run", str(first / "config.toml"), "--trials", "2", "--out", str(again)])
    assert (first / "history.nc").read_bytes() == (again / "history.nc").read_bytes()


def test_a_failed_check_gives_exit_code_one(tmp_path, capsys):
    code, _ = run(tmp_path, "--trials", "2", "--set", "criteria.sun_p997_deg=1e-6")
    assert code == 1 and "FAILED" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["run", "pointing", "--set", "sensors.magnetometer.rte_hz=1"], "did you mean rate_hz?"),
        (["run", "pointing", "--set", "duration_s"], "duration_s"),
        (["run", "pointing", "--trial", "1", "--trials", "2"], "not both"),
        (["run", "no_such.toml"], "no_such.toml"),
        (["show", "pointng"], "did you mean pointing?"),
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


def test_a_flight_that_ends_before_errors_count_is_judged_by_what_there_is(tmp_path, capsys):
    assert run(tmp_path, "--trials", "2", "--set", "criteria.settle_s=1000")[0] == 0
    assert "NEES" not in capsys.readouterr().out


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
