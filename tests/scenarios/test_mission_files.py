"""Missions as files and as Python: round trips, inheritance, schema, a satellite of one's own."""

import json
import os
import re
import subprocess
import sys
import textwrap
from pathlib import Path

import jsonschema
import numpy as np
import pytest

from gnc import Mission
from gnc.config import dump, parse
from gnc.errors import InputError
from gnc.estimators import Mekf
from gnc.models.states import AttitudeState
from gnc.parts import PACKAGES, kinds
from gnc.scenarios import cli
from gnc.scenarios.missions.catalogue import new, schema
from gnc.scenarios.missions.hints import doubts
from gnc.scenarios.missions.load import builtin, read, table_of
from tests.scenarios.flights import same_bits

ROOT = Path(__file__).parents[2]
SIX_UNITS = """
base = "pointing"
title = "6U with three wheels, torquers, a gyro's room, two trackers, a biased magnetometer, from a TLE"
remove = ["requirements.eclipse_p997_deg"]

[run]
duration_s = 300
trials = 3
record_s = 5

[environment.orbit]
kind = "tle"
lines = [
    "1 06251U 62025E   06176.82412014  .00008885  00000-0  12808-3 0  3985",
    "2 06251  58.0579  54.0425 0030035 139.1568 221.1854 15.56387291  6774",
]

[craft.sat]
J_kgm2 = [[0.08, 0.001, 0], [0.001, 0.12, 0], [0, 0, 0.15]]
J_error_percent = 3.0
size_m = [0.1, 0.2, 0.3]

[craft.sat.actuators.wheels]
axes = [[1, 0, 0], [0, 1, 0], [0, 0, 1]]
torque_limit_Nm = 2e-3
momentum_limit_Nms = 20e-3
start_Nms = 2e-3

[craft.sat.actuators.torquers]
kind = "magnetorquers"
dipole_limit_Am2 = 0.2

[craft.sat.sensors.magnetometer]
bias_nT = 50.0

[craft.sat.sensors.tracker_a]
kind = "star-tracker"
sun_exclusion_deg = 40.0

[craft.sat.sensors.tracker_b]
kind = "star-tracker"
q_BS = [0.7071067811865476, 0.7071067811865475, 0.0, 0.0]
sun_exclusion_deg = 40.0

[craft.sat.sensors.coarse]
kind = "coarse-sun-sensor"
sigma = 0.05

[software.sat.navigation]
torque_psd_Nm2s = 1e-11

[software.sat.modes.nadir]
unload = { by = "torquers", gain_per_s = 1e-3 }

[requirements.sun_p997_deg]
when = "t >= 200"
at_most = 0.9

[requirements.nees]
when = "t >= 200"
at_most = 30.0
"""


@pytest.mark.parametrize("name", sorted(builtin()))
def test_a_mission_written_as_toml_reads_back_to_the_same(name):
    mission = read(name)
    assert parse(dump(mission), Mission) == mission


@pytest.mark.parametrize("name", sorted(builtin()))
def test_the_schema_takes_every_built_in_file_and_its_complete_form(name):
    import tomllib

    validator = jsonschema.Draft202012Validator(schema())
    validator.validate(tomllib.loads(builtin()[name].read_text()))
    validator.validate(tomllib.loads(dump(read(name))))


def test_the_schema_refuses_what_the_program_refuses(capsys):
    validator = jsonschema.Draft202012Validator(schema())
    wrong = [{"run": {"trails": 3}}, {"craft": {"sat": {"J_error_percent": -1.0}}}, {"bse": "pointing"}]
    assert all(not validator.is_valid(table) for table in wrong)
    assert validator.is_valid({"base": "pointing", "software": {"sat": {"modes": {"nadir": {"law": "my.py:Law"}}}}})
    assert cli.main(["schema"]) == 0
    assert json.loads(capsys.readouterr().out) == json.loads(json.dumps(schema()))


def test_every_kind_of_every_slot_says_what_it_is():
    for slot in PACKAGES:
        assert kinds(slot)
        for name, part in kinds(slot).items():
            assert part.__doc__ and part.kind_name() == name


def test_a_file_says_only_what_differs_and_a_part_of_another_kind_keeps_nothing(tmp_path):
    (tmp_path / "first.toml").write_text('base = "pointing"\n[craft.sat]\nJ_error_percent = 7.0\n')
    text = 'base = "first.toml"\n[environment.orbit]\nkind = "kepler"\neccentricity = 0.01\n[run]\ntrials = 2\n'
    (tmp_path / "second.toml").write_text(text)
    mission = read(str(tmp_path / "second.toml"))
    assert mission.name == "second" and mission.run.trials == 2
    assert mission.craft["sat"].J_error_percent == 7.0
    assert mission.craft["sat"].sensors.keys() == {"magnetometer", "sun_sensor"}
    assert mission.environment.orbit.kind == "kepler" and mission.environment.orbit.raan_deg == 22.5


def test_what_the_base_has_can_be_left_out(tmp_path):
    path = tmp_path / "bare.toml"
    path.write_text('base = "pointing"\nremove = ["craft.sat.sensors.sun_sensor", "craft.sat.loads"]\n')
    sat = read(str(path)).craft["sat"]
    assert list(sat.sensors) == ["magnetometer"] and not sat.loads


def test_a_mission_in_python_is_the_mission_of_the_file(tmp_path):
    (tmp_path / "six.toml").write_text(SIX_UNITS)
    changes = table_of(str(tmp_path / "six.toml"))
    script = f"""
    from gnc import Mission
    from gnc.scenarios.missions.load import table_of

    mission = Mission.like({str(tmp_path / "six.toml")!r}, {{"run": {{"trials": 2}}}})
    """
    (tmp_path / "six_in_python.py").write_text(textwrap.dedent(script))
    mission = read(str(tmp_path / "six_in_python.py"))
    assert mission == Mission.like(str(tmp_path / "six.toml"), {"run": {"trials": 2}})
    assert changes["craft"]["sat"]["J_kgm2"][0][0] == 0.08


def test_a_satellite_of_ones_own_flies_from_a_file_alone(tmp_path, capsys):
    """What could not be said before: own wheels, torquers that unload, two trackers, photodiodes, a TLE."""
    (tmp_path / "six.toml").write_text(SIX_UNITS)
    out = tmp_path / "out"
    assert cli.main(["run", str(tmp_path / "six.toml"), "--out", str(out)]) == 0
    told = json.loads((out / "metrics.json").read_text())
    assert told["scenario"] == "six" and not told["lost"]
    assert {"sat.tracker_a", "sat.tracker_b", "sat.coarse"} <= set(told["measurements"])
    assert cli.main(["report", str(out)]) == 0
    capsys.readouterr()
    options = ["--workers", "1", "--chunk", "2", "--out", str(tmp_path / "mc")]
    assert cli.main(["monte-carlo", str(tmp_path / "six.toml"), *options]) == 0
    log, again = tmp_path / "flight.csv", tmp_path / "flight.toml"
    assert cli.main(["simulate", str(tmp_path / "six.toml"), "--log", str(log)]) == 0
    assert cli.main(["replay", str(log), "--config", str(again), "--out", str(tmp_path / "replay")]) == 0
    assert json.loads((tmp_path / "replay" / "metrics.json").read_text())["truth"]["rms_deg"] < 0.01


def test_the_same_in_python_with_its_parts_in_twenty_five_lines():
    from gnc.estimators.navigation.mekf import MekfPart
    from gnc.models.actuators.reaction_wheels import ReactionWheelsPart
    from gnc.models.craft.rigid import RigidPart, TurnStart
    from gnc.models.orbits.base import Kepler
    from gnc.models.sensors.star_tracker import StarTrackerPart
    from gnc.scenarios.missions.mission import Environment, Mode, Run, Software

    mission = Mission(
        name="mine",
        run=Run(duration_s=60.0, trials=3, record_s=5.0),
        environment=Environment(orbit=Kepler(eccentricity=0.01)),
        craft={
            "sat": RigidPart(
                J_kgm2=((0.08, 0.0, 0.0), (0.0, 0.12, 0.0), (0.0, 0.0, 0.15)),
                start=TurnStart(attitude_sigma_deg=2.0),
                actuators={"wheels": ReactionWheelsPart(start_Nms=1e-3)},
                sensors={"tracker": StarTrackerPart()},
            )
        },
        software={
            "sat": Software(
                navigation=MekfPart(torque_psd_Nm2s=1e-12),
                modes={"nadir": Mode(guidance="pointing", law="pd", to=("wheels",))},
            )
        },
        requirements={"pointing": {"signal": "pointing_error_deg", "when": "t > 50", "at_most": 1.0}},
    )
    flight = mission.fly()
    assert flight.verdict.ok, flight.verdict
    assert same_bits(flight.signals, mission.fly(trials=[1]).signals, 1)
    assert flight.worst("pointing", 1)[0] in (0, 1, 2) and flight.table["success"].values.all()
    assert parse(dump(mission), Mission) == mission


def test_a_module_without_a_mission_is_told_in_one_line(tmp_path):
    (tmp_path / "none.py").write_text("x = 3\n")
    with pytest.raises(InputError, match="give the module one mission"):
        read(str(tmp_path / "none.py"))


@pytest.mark.parametrize("base", builtin())
def test_what_new_writes_is_a_mission_of_any_base_also_with_its_comments_made_lines(base, tmp_path):
    text = new("mine", base)
    lines = [re.sub(r"^# (?=\[|[A-Za-z_]\w* = )", "", line) for line in text.splitlines()]
    for name, written in (("mine.toml", text), ("all.toml", "\n".join(lines))):
        (tmp_path / name).write_text(written)
        assert read(str(tmp_path / name)).requirements == read(base).requirements


def test_new_writes_a_file_that_flies_and_is_not_written_over(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert cli.main(["new", "mine", "--base", "attitude-only"]) == 0
    assert read("mine.toml").run.trials == 20
    assert cli.main(["new", "mine"]) == 2
    assert json.loads((tmp_path / "mission.schema.json").read_text())["title"] == "Mission"


def test_all_drawn_numbers_of_a_trial_are_its_own():
    flight = read("pointing", ["run.duration_s=10", "run.record_s=5"]).fly(trials=[4, 9])
    alone = read("pointing", ["run.duration_s=10", "run.record_s=5"]).fly(trials=[9])
    for name, values in flight.drawn.items():
        assert np.array_equal(values[1], alone.drawn[name][0]), name


@pytest.mark.parametrize(
    ("setting", "says"),
    [
        ("craft.sat.size_m=[100,200,300]", "kg/m^3"),
        ("craft.sat.J_kgm2=[[220,0,0],[0,190,0],[0,0,130]]", "kg/m^3"),
        ("craft.sat.mass_kg=1", "up to 3 is possible"),
        ("craft.sat.sensors.magnetometer.sigma_nT=1e-7", "sensors.magnetometer.sigma_nT: 1e-07 is hardly meant"),
        (
            "craft.sat.actuators.wheels.fixed_start_Nms=[0, 0, 0, -3e-9]",
            "fixed_start_Nms: 3e-09 is hardly meant",
        ),
        (
            "faults.f={kind='dead', part='sat.wheels', from_s=6000}",
            "faults.f: begins at 6000 s, the flight ends at 5600",
        ),
        ("software.sat.timeline=[{at_s=6000, mode='nadir'}]", "software.sat.timeline to nadir: begins at 6000 s"),
    ],
)
def test_an_inertia_that_does_not_fit_the_box_a_number_in_other_units_or_a_time_after_the_end_is_doubted(setting, says):
    assert says in doubts(read("pointing", [setting]))[0] and not doubts(read("pointing", ["craft.sat.mass_kg=20"]))


def test_a_file_that_adds_modes_before_those_of_its_base_starts_in_the_one_that_nothing_leads_to(tmp_path):
    (tmp_path / "mine.toml").write_text(
        'base = "pointing"\n[software.sat.modes.damp]\nlaw = "b-dot"\nto = ["wheels"]\n'
        '[[software.sat.transitions]]\nfrom = "damp"\nto = "nadir"\nwhen = "t > 5"\n'
    )
    mission = read(str(tmp_path / "mine.toml"))
    assert list(mission.software["sat"].modes) == ["damp", "nadir"] and mission.title == "based on pointing"
    safe = {"modes": {"safe": {}}, "transitions": [{"from": "*", "to": "safe", "when": "rate_deg_s > 5"}]}
    assert list(Mission.like("pointing", {"software": {"sat": safe}}).software["sat"].modes) == ["nadir", "safe"]
    by_name = Mission.like("pointing", {"software": {"sat": {"modes": {"nadir": {"unload": "torquers"}}}}})
    assert by_name.software["sat"].modes["nadir"].unload.by == "torquers"


def test_a_key_is_explained_in_a_mission_and_in_every_part_that_has_it(capsys):
    assert cli.main(["explain", "craft.sat.sensors.magnetometer.bias_nT", "--json"]) == 0
    (row,) = json.loads(capsys.readouterr().out)
    assert row["where"] == "craft.sat.sensors.magnetometer" and row["value"].startswith("a number")
    assert float(row["here"]) == read("pointing").craft["sat"].sensors["magnetometer"].bias_nT
    assert cli.main(["explain", "half_cone_deg", "--json"]) == 0
    assert len(json.loads(capsys.readouterr().out)) >= 2
    for key in ("craft.sat.sensors.magnetometer.bais_nT", "craft.nobody.J_kgm2", "craft.sat.sensors.magnetometer"):
        assert cli.main(["explain", key]) == 2
        assert capsys.readouterr().err.count("\n") == 1


def test_the_shell_completes_the_names_of_missions():
    asked = {"_GNC_COMPLETE": "complete_bash", "COMP_WORDS": "gnc run tumb", "COMP_CWORD": "2"}
    command = [sys.executable, "-c", "import sys; from gnc.scenarios.cli import main; sys.exit(main())"]
    done = subprocess.run(command, env=os.environ | asked, capture_output=True, text=True, cwd=ROOT)
    assert (done.returncode, done.stdout.split()) == (0, ["tumble-capture"])


def test_missions_parts_beliefs_and_verdicts_show_as_tables_whose_text_is_escaped():
    mission = Mission.like("attitude-only", {"title": "<script>alert(1)</script>", "run": {"duration_s": 10.0}})
    flight = mission.fly(trials=2)
    belief = Mekf(np.eye(3)).start(AttitudeState(np.eye(4)[0], np.zeros(3)), np.eye(6))
    for shown in (mission, mission.craft["body"].sensors["direction_1"], flight, flight.verdict, belief):
        html = shown._repr_html_()
        assert html.count("<table>") == html.count("</table>") == 1 and "<script>" not in html
        assert len(repr(shown)) < 2000
    sensor = mission.craft["body"].sensors["direction_1"]
    assert "<td" in sensor._repr_html_() and "Noise of each component, as an angle" in sensor._repr_html_()
    assert "sigma_deg=" not in repr(sensor) and "rate_hz=0.1" in repr(sensor)  # what is as always is not told
    assert "NEES" in flight._repr_html_() and "1 sigma" in belief._repr_html_()
    assert len(flight.plot("nees").axes) == 1 and len(flight.plot("knowledge_error_deg", trial=1).axes) == 3
    with pytest.raises(InputError, match="not among the trials flown"):
        flight.plot("nees", trial=7)
    assert flight.page()._repr_html_().startswith("<iframe srcdoc=")
