"""Attacks by hand that once gave a defect, a hang, a folder left behind or JSON that nobody can parse."""

import importlib.util
import json
import math
import os
import pickle
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from gnc import check
from gnc.config import override
from gnc.contract import guarded
from gnc.controllers.thruster_allocation import ThrusterAllocation
from gnc.draws import Draws
from gnc.errors import InputError, PartError
from gnc.export.component_files import measured
from gnc.scenarios import cli, display, run
from gnc.scenarios.covariance.analysis import blaming
from gnc.scenarios.missions.load import read
from gnc.scenarios.missions.mission import Mission
from gnc.scenarios.sweep.sweep import Axis, built, outcomes, points

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
        (np.zeros((2, 3), complex), "received an array of complex128"),
        (np.zeros((2, 3), object), "received an array of object"),
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


@pytest.mark.parametrize(
    "content", ["{}", '{"x": 9.0}', '{"outcome": {"x": 9.0}}', '{"sha256": null}', "null", "", "another point's"]
)
def test_a_point_of_a_sweep_that_was_not_measured_so_is_measured_again(content, tmp_path):
    """Any table was believed, an edited one and an empty one too."""
    missions = [override(read("pointing"), [f"run.seed={k}"]) for k in (1, 2)]
    measure = lambda mission: {"x": float(mission.run.seed), "y": math.nan}  # noqa: E731
    first = list(outcomes(missions, measure, "tag", tmp_path, 1))
    one, other = sorted((tmp_path / "points").iterdir())
    one.write_text(other.read_text() if "another" in content else content)
    again = list(outcomes(missions, measure, "tag", tmp_path, 1))
    assert [x["x"] for x in again] == [x["x"] for x in first] == [1.0, 2.0]
    asked = []
    assert [x["x"] for x in outcomes(missions, asked.append, "tag", tmp_path, 1)] == [1.0, 2.0] and not asked


@pytest.mark.parametrize(
    "part",
    ['sensors.wheels={kind="sun-sensor"}', 'loads.rate={kind="torque", size_Nm=1e-6}', 'sensors.rate={kind="gyro"}'],
)
def test_two_parts_that_would_be_given_the_same_random_numbers_are_refused(part):
    """A torque called `rate` pointed along the first rate of each trial, a sensor called `wheels` followed these."""
    with pytest.raises(InputError, match="is drawn twice"):
        override(read("pointing"), [f"craft.sat.{part}", "run.duration_s=1"]).fly(2)
    draws = Draws(1, np.arange(3))
    assert (draws.within("a ").normal("x") != draws.within("b ").normal("x")).all()
    with pytest.raises(InputError, match="'a x' is drawn twice"):
        draws.within("a ").stream("x", 1)


@pytest.mark.parametrize(("command", "figures"), [(["run"], True), (["monte-carlo", "--workers", "1"], False)])
def test_a_flight_that_loses_all_trials_leaves_its_metrics_and_figures(command, figures, tmp_path, capsys):
    """Figures of nothing but NaN ended in a traceback, and metrics.json was not there yet.

    A campaign draws distributions of what differs from trial to trial, and there none is left.
    """
    start = ["--set", "craft.sat.start.rate_deg_s=[1e300, 0, 0]", "--set", "run.duration_s=5"]
    words = [*command, "pointing", *start, "--trials", "2", "--out", str(tmp_path / "out"), "--json"]
    assert cli.main(words) == 1
    told = json.loads(capsys.readouterr().out)
    assert not told["ok"] and [entry["trial"] for entry in told["lost"]] == [0, 1]
    assert json.loads((tmp_path / "out" / "metrics.json").read_text())["lost"]
    assert bool([*(tmp_path / "out").glob("*.png")]) == figures


def test_a_sensor_with_its_sign_turned_shows_in_the_hints():
    """It settled 180 deg off with a NIS of 2.97, and nothing told of the recoveries."""
    turned = ["software.sat.sensors.sun_sensor={q_BS=[0, 0, 0, 1]}", "run.duration_s=600"]
    verdict = override(read("pointing"), turned).fly(2).verdict
    assert not verdict.ok and any("its filter recovered" in hint for hint in verdict.hints)


@pytest.mark.parametrize("name", ["success", "lost", "trial", "shadow"])
def test_a_requirement_is_not_called_like_a_column(name):
    """One called `success` had its value in `gnc run`, and the share of successes in `gnc monte-carlo`."""
    asked = f'requirements.{name}={{kind="statistic", signal="sat.pointing_error_deg", at_most=1}}'
    with pytest.raises(InputError, match=f"requirements.{name}: the tables have a column of that name"):
        override(read("pointing"), [asked])
    assert "lost" in override(read("pointing"), ['requirements.lost={kind="lost"}']).requirements


@pytest.mark.parametrize("statistic", ["mean", "final"])
def test_time_itself_is_a_signal_that_can_be_asked_for(statistic):
    """It was no such signal, and the line did not say whose."""
    asked = f'requirements.x={{kind="statistic", signal="t", statistic="{statistic}", at_most=1}}'
    mission = override(read("pointing"), [asked, "run.duration_s=1", "run.record_s=1"])
    assert mission.fly(1).verdict.metrics["x"] == {"mean": 0.5, "final": 1.0}[statistic]


@pytest.mark.parametrize("over", ["run.seed=,", "run.seed=1,,2", "run.duration_s=1::3"])
def test_an_empty_value_of_a_sweep_is_no_value(over):
    """It was the default, measured as if it had been given."""
    with pytest.raises(InputError, match="one of the values is empty"):
        Axis.of(over, read("pointing"))


def test_whole_numbers_can_be_swept():
    mission = read("pointing")
    axis = Axis.of("run.seed=1:3:3", mission)
    assert [one.run.seed for one in built(mission, [axis], points([axis]))] == [1, 2, 3]


@pytest.mark.parametrize("name", ["nowhere/x", "", "x y"])
def test_a_mission_without_a_name_or_place_is_not_begun(name, tmp_path, capsys, monkeypatch):
    """A schema was left, or a file called `.toml`."""
    monkeypatch.chdir(tmp_path)
    assert cli.main(["new", name]) == 2 and "is no name of a mission" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("text", ["t,a,b\n", "t,a,b"])
def test_a_log_without_rows_is_told_as_such(text, tmp_path, capsys):
    (tmp_path / "log.csv").write_text(text)
    assert cli.main(["replay", str(tmp_path / "log.csv"), "--inspect", "--out", str(tmp_path / "out")]) == 2
    assert "give " in capsys.readouterr().err and not (tmp_path / "out").exists()


def test_a_table_is_not_exported_into_a_folder_that_is_not_there(tmp_path, capsys):
    """It was told after all trials had flown."""
    words = ["--export", str(tmp_path / "none" / "x.csv"), "--out", str(tmp_path / "out"), "--workers", "1"]
    assert cli.main(["monte-carlo", "pointing", "--trials", "2", "--set", "run.duration_s=1", *words]) == 2
    assert "none is no directory; make it" in capsys.readouterr().err and not (tmp_path / "out").exists()


def test_where_nothing_is_asked_no_trial_is_a_success():
    """The table said success 1.0000."""
    mission = override(read("pointing"), ["requirements={}", "run.duration_s=1"])
    assert not mission.fly(2).verdict.success.any()


@pytest.mark.parametrize("setting", ["rate_hz=1e-300", "latency_s=1e300", "rate_hz=1e300"])
def test_times_of_more_steps_than_can_be_counted_are_bad_input(setting):
    mission = override(read("pointing"), [f"craft.sat.sensors.sun_sensor.{setting}", "run.duration_s=1"])
    with pytest.raises(InputError, match="is not a whole number of truth steps"):
        mission.fly(1)


@pytest.mark.parametrize("edges", ["[1, 2, -3]", "[0, 1, 1]"])
def test_the_edges_of_a_box_are_positive(edges):
    with pytest.raises(InputError, match="size_m = .*: give 3 numbers > 0"):
        override(read("pointing"), [f"craft.sat.size_m={edges}"])


@pytest.mark.parametrize(
    ("mission", "setting", "says"),
    [
        (
            "pointing",
            'dispersions.d={kind="discrete", key="craft.sat.J_kgm2"}',
            "choices is missing; give a list of length >= 1",
        ),
        (
            "pointing",
            'dispersions.d={kind="normal", key="craft.sat.J_kgm2"}',
            "give exactly one of sigma, sigma_percent",
        ),
        ("pointing", 'software.sat.modes.nadir.law={kind="lqr", K=[[1, 2, 3]]}', "give 3 rows of 6 numbers, not 1 x 3"),
        ("pointing", "craft.sat.size_m=[1, 2]", "craft.sat.size_m = .*: give 3 numbers > 0, not 2"),
        ("servicing", "craft.servicer.bodies.forearm.damping=-1", "forearm.damping = -1: give a number >= 0"),
    ],
)
def test_messages_that_confused_say_what_would_be_right(mission, setting, says):
    with pytest.raises(InputError, match=says):
        override(read(mission), [setting])


def test_the_table_of_attacks_names_tests_that_exist(repository):
    text = (repository / "tests" / "trust.md").read_text()
    files = re.findall(r"`((?:fuzz|gnc|scenarios|estimators)/[\w/]+\.py)`", text)
    names = " ".join(path.read_text() for path in (repository / "tests").rglob("test_*.py"))
    tests = " ".join(re.findall(r"def (test_\w+)", names))
    words = re.findall(r"\b[a-z0-9]+(?:_[a-z0-9]+)+\b", re.sub(r"`[^`]*`", "", text))
    assert len(files) > 25 and all((repository / "tests" / file).is_file() for file in files)
    assert len(words) > 30 and not [word for word in words if word not in tests]


@pytest.mark.parametrize(
    ("key", "sigma", "says"),
    [
        ("craft.sat.J_kgm2", 1e-3, "not symmetric"),
        ("craft.sat.sensors.magnetometer.sigma_deg", 5.0, "give a number >= 0"),
    ],
)
def test_a_value_drawn_for_a_trial_is_held_to_what_its_field_may_be(key, sigma, says):
    """An inertia whose elements were dispersed one by one flew, though it was not symmetric."""
    mission = override(
        read("pointing"), [f'dispersions.a={{kind="normal", key="{key}", sigma={sigma}}}', "run.duration_s=1"]
    )
    with pytest.raises(InputError, match=rf"{key}: .*{says}.*\(drawn for trial \d+\)"):
        mission.fly(50)


@pytest.mark.parametrize("size", [1e-14, 1e8])
def test_thrusters_of_any_size_are_allocated(size):
    """The tolerances of the linear programme are absolute: where thrusters push little it has no solution."""
    arms = np.concatenate([np.eye(3), -np.eye(3)])
    wrenches = np.array([[*np.cross(r, f), *f] for r in arms for f in arms if abs(r @ f) < 0.5])
    unit, scaled = (ThrusterAllocation(wrenches_B=k * wrenches) for k in (1.0, size))
    wanted = np.array([0.1, -0.2, 0.3, 0.2, 0.1, -0.1])
    u, reached = scaled.allocate(size * wanted)
    assert np.allclose(u @ (size * wrenches), size * wanted, rtol=1e-9, atol=0.0) and reached == 1.0
    assert np.isclose(u.sum(), unit.allocate(wanted)[0].sum(), rtol=1e-6)


@pytest.mark.skipif(shutil.which("gcc") is None, reason="gcc is not installed")
def test_sizes_are_measured_wherever_the_source_lies(tmp_path, monkeypatch):
    """`gnc export pointing --out flight_code` ended in a defect: gcc ran elsewhere."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "c").mkdir()
    (tmp_path / "c" / "one.c").write_text("double twice(double x);\ndouble twice(double x) { return 2.0 * x; }\n")
    assert measured(Path("c", "one.c"), ["gcc"])["twice"][0] > 0


def test_an_argument_of_an_own_part_is_set_beside_its_kind(tmp_path):
    """`--set ...law.gain=2` was an unknown key, though the file takes it there."""
    (tmp_path / "law.py").write_text("class Law:\n    def __init__(self, gain=1.0):\n        self.gain = gain\n")
    law = "software.sat.modes.nadir.law"
    mission = override(read("pointing"), [f'{law}={{kind="{tmp_path / "law.py"}:Law", gain=3}}'])
    assert override(mission, [f"{law}.gain=2"]).software["sat"].modes["nadir"].law.component.arguments == {"gain": 2}


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
import atexit, os, sys, threading
import numpy as np

class Acting:
    def __init__(self, act):
        self.act = act

    def start(self, shape):
        return np.zeros((*shape, 1))

    def run(self, *what):
        threading.Thread(target=self.doing, args=what).start()

    def doing(self, what, *arguments):
        what(*arguments)

    def command(self, belief, reference, memory):
        at_the_end = lambda *given: atexit.register(*given)
        exec(self.act)
        return np.zeros((len(belief.q_IB), 3)), memory
"""
ACTS = {
    "os._exit(0)": "SystemExit: os._exit(0)",
    "sys.exit(0)": "SystemExit: 0",
    "at_the_end(os._exit, 0)": "atexit.register: gnc ends by itself",
    "sys.stdout.close()": "has closed standard output",
    "os.close(1) if os.path.exists('/proc/self/fd/1') else None": "has closed standard output",
    "sys.stdout = None": "has closed standard output",
    "np.cross = lambda a, b: a": "replaces numpy.cross",
    "os.chdir('/')": "changes the directory in which results are written",
    "np.linalg.norm = len": "replaces numpy.linalg.norm",
    "sys.modules.clear()": "takes out loaded modules",
    "self.run(__import__('time').sleep, 3600)": "leaves a thread running",
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


@pytest.mark.parametrize("kind", ["statistic", "trials", "lost"])
@pytest.mark.parametrize(
    ("when", "says"),
    [
        ("mode != 'misspelt'", "mode is never 'misspelt'; it is nadir"),
        ("t > 1 and not ('nowhere' == (sat.mode))", "sat.mode is never 'nowhere'; it is nadir"),
        ("mode", "is text; compare it with one"),
        ("mode < 'nadir'", "text is compared by == or != with a name"),
        ("'a' == 'b'", "text is compared by == or != with a name"),
    ],
)
def test_a_text_that_a_signal_never_says_is_refused_before_the_flight(kind, when, says):
    """A mode that is misspelt was always true behind !=, and a loss that never happens behind ==."""
    asked = {"statistic": 'signal="sat.nees", ', "trials": "at_most=0, ", "lost": ""}[kind]
    with pytest.raises(InputError, match=re.escape(says)):
        ready = []
        setting = f'requirements.x={{kind="{kind}", {asked}when="{when}"}}'
        override(read("pointing"), [setting]).fly(1, ready=lambda: ready.append(1))
    assert not ready


def test_a_guard_of_a_transition_does_not_compare_text():
    changes = {"modes": {"b": {}}, "transitions": [{"from": "nadir", "to": "b", "when": "rate_deg_s != 'x'"}]}
    mission = Mission.like("pointing", {"software": {"sat": changes}})
    with pytest.raises(InputError, match="software.sat.transitions.0: when = .*: software knows numbers only"):
        mission.fly(1)


PARTS = """
import numpy as np

class Sensor:
    noise_size = 3

    def measure(self, x, env, noise):
        return x.w_B + 1e-3 * noise, np.ones(len(noise))

    def predict(self, belief, env):
        return belief.w_B, np.hstack([np.zeros((3, 3)), np.eye(3)])[None], 1e-6 * np.eye(3)[None]

    def residual(self, z, z_predicted):
        return (z - z_predicted)[..., :2]

class Pose:
    def at(self, t):
        return np.eye(8)[0], np.zeros(6), np.zeros(6)

class Attitude:
    def at(self, t):
        return np.eye(4)[0], np.zeros(3), np.zeros(3)

class Complex:
    def start(self, shape):
        return np.zeros((*shape, 1))

    def command(self, belief, reference, memory):
        return np.zeros((len(belief.q_IB), 3)), memory + 1j
"""


@pytest.mark.parametrize("answer", [None, (1,), (1, 2), ((np.ones(5),), ()), ((np.eye(4)[0],), np.ones(2, complex))])
def test_what_guidance_by_belief_returns_is_looked_at(answer):
    """That of guidance by time alone was."""

    class Guided:
        def guide(self, t, estimate, report, memory):
            return answer

    with pytest.raises(PartError, match="guidance.py:Guided.guide: .*expected"):
        guarded(Guided(), "guidance", "guidance.py:Guided").guide(0.0, None, None, ())


NADIR = "software.sat.modes.nadir"


@pytest.mark.parametrize(
    ("base", "setting", "says"),
    [
        ("pointing", 'craft.sat.sensors.x={kind="PARTS:Sensor"}', "residual: expected 3 numbers, as the rows of H"),
        ("pointing", f'{NADIR}.guidance={{kind="PARTS:Pose"}}', "a pose, 8 numbers, of a craft that only turns"),
        ("docking", 'software.chaser.modes.approach.guidance={kind="PARTS:Attitude"}', "follows a pose"),
        ("pointing", f'{NADIR}.law={{kind="PARTS:Complex"}}', "memory: expected arrays of real numbers"),
    ],
)
def test_parts_that_do_not_fit_together_are_told_in_a_line(base, setting, says, tmp_path):
    """Each was a defect of ours, the last a warning and numbers that had lost their imaginary part."""
    (tmp_path / "parts.py").write_text(PARTS)
    own = setting.replace("PARTS", f"{tmp_path}/parts.py")
    mission = override(read(base), ["requirements={}", "run.duration_s=2", own])
    with pytest.raises((InputError, PartError), match=says):
        mission.fly(2)
