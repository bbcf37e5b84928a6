"""Attacks by hand that once gave a defect, a hang, a folder left behind or JSON that nobody can parse."""

import importlib.util
import json
import math
import os
import pickle
import subprocess
import sys

import numpy as np
import pytest

from gnc import check
from gnc.contract import guarded
from gnc.errors import InputError, PartError
from gnc.scenarios import cli, display, run
from gnc.scenarios.covariance.analysis import blaming
from gnc.scenarios.missions.load import read
from gnc.scenarios.sweep.sweep import Axis, points

LAW = """
import numpy as np
from gnc.batch import batched

print("hello")  # on standard output

class Plain:
    def command(self, belief, reference, memory):
        raise ValueError("bad")
"""
MISSION = 'base = "pointing"\n[run]\ntrials = 2\nduration_s = 20\n[software.sat.modes.nadir]\nlaw = "law.py:Plain"\n'


class Law:
    """Returns what it was made with."""

    def __init__(self, demand):
        self.demand = demand

    def command(self, q_IB, memory):
        return self.demand, memory


@pytest.mark.parametrize(
    ("demand", "says"),
    [
        (np.ma.masked_array(np.zeros((2, 3)), mask=True), "an array with masked ones"),
        (np.zeros((3, 3)), r"a row for each trial, received shape \(3, 3\)"),
        (np.zeros((1, 2, 3)), r"a row for each trial, received shape \(1, 2, 3\)"),
        (np.zeros((2, 3), complex), "received a ndarray"),
        (np.zeros((2, 3), object), "received a ndarray"),
    ],
)
def test_arrays_that_are_none_of_numbers_or_not_of_the_trials_are_refused(demand, says):
    with pytest.raises(PartError, match=says):
        guarded(Law(demand), "law", "law.py:Law").command(np.ones((2, 4)), ())


@pytest.mark.parametrize("demand", [np.zeros((2, 3)), np.zeros((1, 3)), np.zeros((2, 3), np.float32), np.zeros(6)])
def test_arrays_of_the_trials_or_of_all_of_them_are_taken(demand):
    assert guarded(Law(demand), "law", "law.py:Law").command(np.ones((2, 4)), ())[0] is demand


@pytest.mark.parametrize("text", ["1e999999999", "inf", "nan", "1/0", "1/nan", "1//2", "", "one"])
def test_texts_that_tell_no_finite_number_are_refused_at_once(text):
    """`Fraction("1e999999999")` computed a whole number of a thousand million digits."""
    with pytest.raises(ValueError):
        check.number(text)
    assert check.number("1/30") == 1 / 30 and check.number(" 2e-3") == 2e-3


@pytest.mark.parametrize("over", ["run.duration_s=1:2:1000000000", "run.duration_s=1:inf", "run.duration_s=2:1"])
def test_sweeps_of_too_many_points_are_refused_before_they_fill_the_memory(over):
    with pytest.raises(InputError, match="--over"):
        Axis.of(over, read("pointing"))


def test_axes_of_a_sweep_that_multiply_to_too_many_points_are_refused():
    axes = [Axis("x", ("x",), tuple(range(1000)))] * 3
    with pytest.raises(InputError, match="1000000000 points are too many"):
        points(axes)


@pytest.mark.parametrize("command", ["run", "export", "sweep", "simulate"])
def test_a_part_that_fails_leaves_one_line_and_no_folder(command, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "law.py").write_text(LAW)
    (tmp_path / "m.toml").write_text(MISSION)
    more = {
        "run": ["--out", "a/b"],
        "export": ["--out", "a/b"],
        "sweep": [
            "--over",
            "run.duration_s=20,30",
            "--by",
            "monte-carlo",
            "--trials",
            "2",
            "--workers",
            "1",
            "--out",
            "a/b",
        ],
        "simulate": ["--log", "log.csv"],
    }
    code = cli.main([command, "m.toml", *more[command], "--json"])
    told = capsys.readouterr()
    assert code == (2 if command == "export" else 3)
    assert told.out == "" and told.err.removeprefix("hello\n").count("\n") == 1 and "law.py:Plain" in told.err
    assert {path.name for path in tmp_path.iterdir()} <= {"law.py", "m.toml", "__pycache__"}


ACTING = """
import os, sys
import numpy as np

class Acting:
    def __init__(self, act):
        self.act = act

    def start(self, shape):
        return np.zeros((*shape, 1))

    def command(self, belief, reference, memory):
        exec(self.act)
        return np.zeros((len(belief.q_IB), 3)), memory
"""
ACTS = {
    "os._exit(0)": "SystemExit: os._exit(0)",
    "sys.exit(0)": "SystemExit: 0",
    "sys.stdout.close()": "has closed standard output",
    "os.close(1) if os.path.exists('/proc/self/fd/1') else None": "has closed standard output",
    "sys.stdout = None": "has closed standard output",
    "np.cross = lambda a, b: a": "replaces numpy.cross",
    "np.linalg.norm = len": "replaces numpy.linalg.norm",
}


def acting(act, command, folder, repository):
    """Run a command on a mission whose law does something, in a process of its own."""
    (folder / "law.py").write_text(ACTING)
    law = f'{{ kind = "law.py:Acting", act = {json.dumps(act)} }}'
    (folder / "m.toml").write_text(MISSION.replace('"law.py:Plain"', law))
    words = [sys.executable, "-m", "gnc.scenarios", command[0], "m.toml", *command[1:], "--out", "a/b"]
    environment = os.environ | {"PYTHONPATH": str(repository)}
    return subprocess.run(words, cwd=folder, env=environment, capture_output=True, text=True, timeout=300)


@pytest.mark.parametrize("act", ACTS)
def test_a_law_that_ends_the_process_or_breaks_what_all_share_is_an_error_of_it(act, tmp_path, repository):
    done = acting(act, ["run", "--no-figures"], tmp_path, repository)
    assert done.returncode == 3 and done.stderr.count("\n") == 1 and ACTS[act] in done.stderr


@pytest.mark.parametrize("workers", ["1", "2"])
def test_a_law_that_ends_the_process_leaves_no_campaign(workers, tmp_path, repository):
    """It ended with exit 0, no word and no results."""
    done = acting("os._exit(0)", ["monte-carlo", "--workers", workers], tmp_path, repository)
    assert done.returncode == 3 and done.stderr.count("\n") == 1 and "law.py:Acting.command" in done.stderr
    assert not (tmp_path / "a").exists()


@pytest.mark.parametrize("act", ["raise ValueError('bad')", "os._exit(0)"])
@pytest.mark.parametrize("by", ["monte-carlo", "covariance"])
def test_a_part_that_fails_in_the_workers_of_a_sweep_is_named(act, by, tmp_path, repository):
    """By covariance it was bad input, without its name; a process that ended was a defect of gnc."""
    over = ["--over", "run.duration_s=20,30", "--by", by, "--trials", "2", "--workers", "2"]
    done = acting(act, ["sweep", *over], tmp_path, repository)
    assert done.returncode == 3 and done.stderr.count("\n") == 1 and "law.py:Acting.command" in done.stderr
    assert not (tmp_path / "a").exists()


@pytest.mark.parametrize("closed", [">&-", "2>&-"])
def test_a_stream_that_the_shell_has_closed_is_nothing_to_fail_for(closed, tmp_path, repository):
    words = f"exec {sys.executable} -m gnc.scenarios list {closed}"
    assert subprocess.run(words, shell=True, cwd=repository, check=False).returncode == 0


def test_an_error_of_a_part_in_a_worker_comes_home_as_one(tmp_path):
    spec = importlib.util.spec_from_file_location("law", tmp_path / "law.py")
    (tmp_path / "law.py").write_text(LAW)
    law = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(law)
    with pytest.raises(PartError, match="law.py:Plain.command: ValueError: bad") as caught:
        blaming(law.Plain().command, None, None, None)
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)


def test_json_stands_alone_on_standard_output(capsys):
    with display.json_alone():
        print("x" * 1_000_000)
        display.tell({"a": math.nan})
    told = capsys.readouterr()
    assert json.loads(told.out) == {"a": None} and len(told.err) == 1_000_001


def test_a_directory_is_tried_without_leaving_anything(tmp_path):
    run.try_directory(tmp_path / "a" / "b")
    assert not list(tmp_path.iterdir())
    (tmp_path / "a").write_text("mine")
    with pytest.raises(InputError, match="give a directory to write"):
        run.try_directory(tmp_path / "a" / "b")


def test_control_characters_of_the_input_do_not_reach_the_terminal(capsys):
    assert cli.main(["show", "pointing", "--set", "run.\x1b[31m=1"]) == 2
    assert "\x1b" not in capsys.readouterr().err


def test_a_step_of_infinite_length_is_bad_input(capsys):
    assert cli.main(["design", "lqr", "--inertia", "1,1,1", "--step-s", "inf"]) == 2
    assert capsys.readouterr().err.count("\n") == 1
