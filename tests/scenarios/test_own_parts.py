"""A user's own parts, named in a mission's file, fly in closed loop; those that break their contract get one line."""

import json
import re
from pathlib import Path

import numpy as np
import pytest

from gnc import Mission, history
from gnc.errors import InputError
from gnc.scenarios import cli

PARTS = (Path(__file__).parent / "own" / "parts.py").read_text()
TOP = 'base = "pointing"\nremove = ["requirements.eclipse_p997_deg"]\n[run]\ntrials = 4\nduration_s = 600\n'
CRITERIA = """
[requirements.sun_p997_deg]
when = "t >= 400"
at_most = 3.0
[requirements.sun_rms_deg]
when = "t >= 400"
[requirements.nees]
when = "t >= 400"
at_most = 18.0  # of four trials
"""
LAW = "[software.sat.modes.nadir]\n"


@pytest.fixture
def fly(tmp_path, capsys):
    def run(text, *arguments):
        (tmp_path / "parts.py").write_text(PARTS)
        (tmp_path / "mine.toml").write_text(text)
        code = cli.main(["run", str(tmp_path / "mine.toml"), "--out", str(tmp_path / "out"), "--json", *arguments])
        told = capsys.readouterr()
        return code, json.loads(told.out) if told.out else told.err

    return run


def test_a_law_named_in_one_line(fly):
    code, told = fly(TOP + LAW + 'law = "parts.py:QuaternionFeedback"' + CRITERIA)
    assert code == 0, told


def test_a_law_with_arguments_and_a_rate(fly):
    law = '[software.sat]\nrate_hz = 2\n[software.sat.modes.nadir.law]\nkind = "parts.py:QuaternionFeedback"\n'
    soft = fly(TOP + law + "stiffness = 1e-3\ndamping = 3e-2" + CRITERIA)
    stiff = fly(TOP + law + "stiffness = 4e-3" + CRITERIA)
    assert stiff[0] == 0 and soft[1]["metrics"]["sun_rms_deg"] > stiff[1]["metrics"]["sun_rms_deg"]


PYTHON_MISSION = """
from gnc import Mission
from gnc.scenarios.missions.load import read

{parts}

short = {{"run": {{"duration_s": 20.0, "trials": 2}}}}
mission = Mission.like("pointing", short | {{"software": {{"sat": {{"modes": {{"nadir": {{"law": {law}}}}}}}}}}})
"""


def test_a_class_inside_a_python_mission_flies_and_belongs_to_the_identity_of_its_campaigns(tmp_path, capsys):
    from gnc.montecarlo.identity import software
    from gnc.scenarios.missions.load import read
    from gnc.scenarios.trials import MissionFlight

    path = tmp_path / "mine.py"
    path.write_text(PYTHON_MISSION.format(parts=PARTS, law='{"kind": QuaternionFeedback, "stiffness": 1e-3}'))
    mission = read(str(path))
    assert mission.name == "mine" and "mine.py" in software(MissionFlight(mission, 0))
    named = PYTHON_MISSION.format(parts="", law='{"kind": "parts.py:QuaternionFeedback", "stiffness": 1e-3}')
    (tmp_path / "parts.py").write_text(PARTS)
    (tmp_path / "other.py").write_text(named.replace("parts.py:", f"{tmp_path}/parts.py:"))
    same = read(str(tmp_path / "other.py")).fly(2).signals["sat.q_IB"].values
    assert np.array_equal(mission.fly(2).signals["sat.q_IB"].values, same)

    class Inside:
        pass

    with pytest.raises(InputError, match="write it at the top level of a file"):
        Mission.like("pointing", {"software": {"sat": {"modes": {"nadir": {"law": Inside}}}}})


def test_a_sensor_replaces_the_sun_sensor_and_works_in_eclipse_too(fly):
    without = TOP.replace('"]', '", "craft.sat.sensors.sun_sensor"]', 1)
    code, told = fly(without + '[craft.sat.sensors]\nhorizon = "parts.py:HorizonSensor"\n' + CRITERIA)
    assert code == 0, told


def test_a_sensor_whose_slope_has_the_wrong_sign_is_refused_with_the_column_and_both_numbers(fly, tmp_path):
    wrong = PARTS.replace("        return z, H, self.sigma**2", "        return z, -H, self.sigma**2")
    (tmp_path / "wrong.py").write_text(wrong)
    code, told = fly(TOP + '[craft.sat.sensors]\nhorizon = "wrong.py:HorizonSensor"\n')
    found = re.search(r"wrong.py:HorizonSensor.predict: H\[\d, \d\] is (\S+) at the start, .* there (\S+);", told)
    assert code == 3 and found and float(found[1]) == pytest.approx(-float(found[2]), rel=1e-3)


def test_a_filter_of_ones_own(fly):
    without = TOP.replace('"]', '", "requirements.nees"]', 1)
    bounds = CRITERIA.split("[requirements.nees]")[0]
    code, told = fly(without + '[software.sat]\nnavigation = "parts.py:Complementary"' + bounds)
    assert code == 0, told


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ('law = "parts.py:Nothing"', "no class Nothing"),
        ('law = "else.py:Law"', "there is no file"),
        ('law = {kind = "parts.py:QuaternionFeedback", gian = 1}', "gian"),
    ],
)
def test_a_component_that_cannot_be_used_gives_one_line(fly, line, says):
    code, told = fly(TOP + LAW + line)
    assert code == 2 and says in told and told.count("\n") == 1


EVERYWHERE = """
base = "pointing"
remove = ["requirements.eclipse_p997_deg", "craft.sat.sensors.sun_sensor"]
[run]
trials = 3
duration_s = 300
[environment.orbit]
kind = "everywhere.py:Orbit"
[craft.sat.loads.push]
kind = "everywhere.py:Push"
[craft.sat.actuators.jets]
kind = "everywhere.py:Jets"
gain = 0.9
[craft.sat.sensors.horizon]
kind = "parts.py:HorizonSensor"
rate_hz = 2.0
[software.sat]
navigation = "everywhere.py:Filter"
[software.sat.modes.nadir]
guidance = "everywhere.py:Nadir"
law = { kind = "parts.py:QuaternionFeedback", stiffness = 3e-3 }
to = ["jets"]
[requirements.sun_p997_deg]
when = "t >= 200"
at_most = 3.0
[requirements.nees]
signal = "knowledge_error_deg"
when = "t >= 200"
"""
PARTS_EVERYWHERE = """
import numpy as np
from gnc.controllers.pointing import Pointing
from gnc.estimators.mekf import Mekf


class Orbit:
    epoch = "2025-06-01T00:00:00"

    def at(self, t):
        t, a = np.asarray(t), 7.2e6
        n = np.sqrt(3.986e14 / a**3)
        c, s, zero = np.cos(n * t), np.sin(n * t), 0.0 * t
        return np.stack([a * c, a * s, zero], -1), np.stack([-a * n * s, a * n * c, zero], -1)


class Push:
    def torque(self, q_IB, env):
        return np.full((len(q_IB), 3), 1e-7)


class Filter:
    def __init__(self, J):
        self.inner = Mekf(J, torque_psd=1e-12)

    def start(self, x, C, rho_B):
        return self.inner.start(x, C, rho_B=rho_B)

    def state(self, belief):
        return self.inner.state(belief)

    def predict(self, belief, tau_B, h, rho_B, env):
        return self.inner.predict(belief, tau_B, h, rho_B, env)

    def update(self, belief, sensor, measurement, env, gated=True):
        return self.inner.update(belief, sensor, measurement, env, gated)


class Jets:
    def __init__(self, gain=1.0):
        self.gain = gain

    def apply(self, command, state, h):
        return self.gain * np.clip(command, -0.01, 0.01), state

    def share(self, wrench):
        return wrench[..., :3]


class Nadir:
    def __init__(self, sky):
        self.sky = sky
        self.pointing = Pointing(axis_B=(0.0, 0, 1), roll_axis_B=(0.0, 1, 0))

    def at(self, t):
        return tuple(self.pointing.reference(self.sky.at(t)))
"""


def test_own_parts_in_every_slot_of_one_mission(fly, tmp_path):
    (tmp_path / "everywhere.py").write_text(PARTS_EVERYWHERE)
    code, told = fly(EVERYWHERE)
    assert code == 0, told["checks"]
    counts = told["measurements"]["sat.horizon"]
    assert counts["used"] + counts["refused"] == 3 * 601


BROKEN = """
import numpy as np


class Law:
    def __init__(self, J):
        pass

    def command(self, estimate, reference, memory):
        {body}
"""


@pytest.mark.parametrize(
    ("body", "says"),
    [
        ("return np.zeros(3)", "law.py:Law.command: expected (demand, memory), received an array of float64"),
        ("return np.zeros((len(estimate.w_B), 2)), memory", "expected an array (trials, 3 or 6), received shape"),
        ("return np.full_like(estimate.w_B, np.nan), memory", "expected finite numbers, received NaN"),
        ("yield 1", "received a generator"),
        ("raise RuntimeError('boom')", "law.py:Law.command: RuntimeError: boom, line 10"),
        ("return 'left', memory", "received a str"),
    ],
)
def test_a_part_that_breaks_its_contract_gets_one_line_and_exit_code_three(fly, tmp_path, body, says):
    (tmp_path / "law.py").write_text(BROKEN.format(body=body))
    code, told = fly(TOP + LAW + 'law = "law.py:Law"')
    assert code == 3 and says in told and told.count("\n") == 1


def test_a_part_without_its_method_is_refused_when_it_is_built(fly, tmp_path):
    (tmp_path / "law.py").write_text("class Law:\n    pass\n")
    code, told = fly(TOP + LAW + 'law = "law.py:Law"')
    assert code == 3 and "law.py:Law.command: a law must have it" in told


def test_a_law_that_is_changed_after_the_flight_is_not_taken_for_the_same(fly, tmp_path, capsys):
    short = ["--set", "run.duration_s=2", "--set", "run.record_s=1"]
    fly(TOP + LAW + 'law = "parts.py:QuaternionFeedback"' + CRITERIA, *short)
    (tmp_path / "parts.py").write_text(PARTS + "\n# another\n")
    assert cli.main(["run", str(tmp_path / "out" / "config.toml"), "--out", str(tmp_path / "again")]) == 2
    assert "has changed" in capsys.readouterr().err


FAST = """
from gnc.batch import batched, where


@batched("(4),(3),(4),(3),(),()->(3)")
def torque(q_IB, w_B, q_IR, w_R, kp, kd):
    q = quaternion.mul(quaternion.conj(q_IR), q_IB)
    return -kp * where(q[0] < 0.0, -1.0, 1.0) * q[1:] - kd * (w_B - w_R)


class Fast:
    compilable = True

    def __init__(self, J):
        self.gains = np.array(4e-3), np.array(3e-2)

    def start(self, shape):
        return ()

    def command(self, belief, reference, memory):
        return torque(belief.q_IB, belief.w_B, reference.q_IR, reference.w_R, *self.gains), memory


class Slow(Fast):
    compilable = False


class Branching(Fast):
    def command(self, belief, reference, memory):
        tau_B, memory = super().command(belief, reference, memory)
        return np.where(np.isnan(tau_B), 0.0, tau_B), memory
"""


def test_a_law_that_may_be_compiled_gives_the_same_compiled_or_not(tmp_path, capsys):
    (tmp_path / "laws.py").write_text("import numpy as np\nfrom gnc import quaternion\n" + FAST)
    told = {}
    for name in ("Fast", "Slow", "Branching"):
        (tmp_path / "mine.toml").write_text(f'{TOP}{LAW}law = "laws.py:{name}"{CRITERIA}'.replace("600", "60"))
        cli.main(["run", str(tmp_path / "mine.toml"), "--out", str(tmp_path / name), "--json"])
        told[name] = json.loads(capsys.readouterr().out)
    assert told["Fast"]["metrics"] == told["Slow"]["metrics"] == told["Branching"]["metrics"]
    assert told["Fast"]["uncompiled"] == "" and told["Slow"]["uncompiled"].startswith("laws.py:Slow.command")
    fast, slow = (history.load(tmp_path / name / "history.nc") for name in ("Fast", "Slow"))
    assert all(np.array_equal(fast[name].values, slow[name].values, equal_nan=True) for name in fast.data_vars)


def test_why_a_loop_was_not_compiled_is_the_last_thing_a_person_reads(tmp_path, capsys):
    (tmp_path / "laws.py").write_text("import numpy as np\nfrom gnc import quaternion\n" + FAST)
    (tmp_path / "mine.toml").write_text(f'{TOP}{LAW}law = "laws.py:Slow"{CRITERIA}'.replace("600", "60"))
    cli.main(["run", str(tmp_path / "mine.toml"), "--out", str(tmp_path / "out")])
    assert "called from Python at every tick, not compiled: laws.py:Slow.command" in capsys.readouterr().out
