"""A user's own law, sensor and filter, named in a scenario file, fly in closed loop."""

import json
from pathlib import Path

import pytest

from gnc.scenarios import cli

PARTS = (Path(__file__).parent / "own" / "parts.py").read_text()
TOP = 'scenario = "pointing"\ntrials = 4\nduration_s = 600\n'
CRITERIA = "\n[criteria]\nsettle_s = 400\nsun_p997_deg = 3.0\nnees = 3.0  # of four trials\n"


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
    code, told = fly(TOP + 'controller = "parts.py:QuaternionFeedback"' + CRITERIA)
    assert code == 0, told


def test_a_law_with_arguments_and_a_rate(fly):
    law = '[controller]\nkind = "own"\nrate_hz = 2\n[controller.component]\nsource = "parts.py:QuaternionFeedback"\n'
    soft = fly(TOP + law + "arguments = {stiffness = 1e-3, damping = 3e-2}" + CRITERIA)
    stiff = fly(TOP + law + "arguments = {stiffness = 4e-3}" + CRITERIA)
    assert stiff[0] == 0 and soft[1]["metrics"]["sun_rms_deg"] > stiff[1]["metrics"]["sun_rms_deg"]


def test_a_sensor_replaces_the_sun_sensor_and_works_in_eclipse_too(fly):
    sensors = '[sensors]\nmagnetometer = {kind = "magnetometer"}\nhorizon = "parts.py:HorizonSensor"\n'
    code, told = fly(TOP + sensors + CRITERIA)
    assert code == 0, told


def test_a_filter_of_ones_own(fly):
    code, told = fly(TOP + 'filter = "parts.py:Complementary"' + CRITERIA)
    assert code == 0, told
    assert "nees" not in told["metrics"]


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ('controller = "parts.py:Nothing"', "no class Nothing"),
        ('controller = "else.py:Law"', "there is no file"),
        ('[controller]\nkind = "own"\ncomponent = {source = "parts.py:Complementary", arguments = {gian = 1}}', "gian"),
    ],
)
def test_a_component_that_cannot_be_used_gives_one_line(fly, line, says):
    code, told = fly(TOP + line)
    assert code == 2 and says in told and told.count("\n") == 1


def test_a_law_that_is_changed_after_the_flight_is_not_taken_for_the_same(fly, tmp_path, capsys):
    fly(TOP + 'controller = "parts.py:QuaternionFeedback"' + CRITERIA, "--set", "duration_s=2", "--set", "record_s=1")
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
        (tmp_path / "mine.toml").write_text(f'{TOP}controller = "laws.py:{name}"{CRITERIA}'.replace("600", "60"))
        cli.main(["run", str(tmp_path / "mine.toml"), "--out", str(tmp_path / name), "--json"])
        told[name] = json.loads(capsys.readouterr().out)
    assert told["Fast"]["metrics"] == told["Slow"]["metrics"] == told["Branching"]["metrics"]
    assert told["Fast"]["uncompiled"] == told["Slow"]["uncompiled"] == "" and "isnan" in told["Branching"]["uncompiled"]
    histories = [(tmp_path / name / "history.nc").read_bytes() for name in ("Fast", "Slow")]
    assert histories[0] == histories[1]


def test_why_a_loop_was_not_compiled_is_the_last_thing_a_person_reads(tmp_path, capsys):
    (tmp_path / "laws.py").write_text("import numpy as np\nfrom gnc import quaternion\n" + FAST)
    (tmp_path / "mine.toml").write_text(f'{TOP}controller = "laws.py:Branching"{CRITERIA}'.replace("600", "60"))
    cli.main(["run", str(tmp_path / "mine.toml"), "--out", str(tmp_path / "out")])
    assert "flown tick by tick, not compiled: TypeError: ufunc 'isnan'" in capsys.readouterr().out
