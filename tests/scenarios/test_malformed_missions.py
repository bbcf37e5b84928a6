"""Sixty and more files that are wrong: one clear line with the whole path of the key, exit code 2, nothing written."""

import pytest

from gnc.scenarios import cli

# What is appended to `base = "pointing"` and a short flight, and what the line must say.
WRONG = [
    ("runs = 3", "did you mean run?"),
    ("[run]\ntrials = 0", "run.trials"),
    ("[run]\ntrials = 2.5", "run.trials"),
    ('[run]\ntrials = "many"', "whole number"),
    ("[run]\nseed = -1", "run.seed"),
    ("[run]\nseed = 2147483648", "run.seed"),
    ("[run]\ntruth_step_s = 0", "run.truth_step_s"),
    ("[run]\ntruth_step_s = nan", "run.truth_step_s"),
    ("[run]\ntruth_step_s = 0.7", "0.7"),
    ("[run]\nduration_s = 1e9", "run"),
    ("[run]\nduration_s = 100\ntruth_step_s = 1e-6", "duration_s"),
    ("[run]\nrecord_s = inf", "run.record_s"),
    ("[run]\nrecord_s = 0.25", "record_s: 0.25 s is not a whole number of truth steps"),
    ("[run]\nrecord_s = true", "run.record_s"),
    ('[run]\nsampling = "random"', "latin-hypercube"),
    ("[run]\ndurations_s = 3", "did you mean duration_s?"),
    ("[environment.orbit]\naltitude_km = 50", "environment.orbit.altitude_km"),
    ("[environment.orbit]\naltitude_km = 5e9", "environment.orbit.altitude_km"),
    ("[environment.orbit]\naltitude = 500", "did you mean altitude_km?"),
    ("[environment.orbit]\ninclination_deg = 190", "inclination_deg"),
    ('[environment.orbit]\nepoch = "yesterday"', "environment.orbit: epoch"),
    ('[environment.orbit]\nkind = "square"', "circular"),
    ('[environment.orbit]\nkind = "tle"\nlines = ["1 x", "2 y"]', "environment.orbit: line1"),
    ('[environment.orbit]\nkind = "tle"', "environment.orbit.lines is missing"),
    ('[environment.orbit]\nkind = "free"', "needs an orbit"),
    ('[environment.orbit]\nkind = "kepler"\neccentricity = 1.2', "environment.orbit.eccentricity"),
    ('[environment.orbit]\nkind = "kepler"\neccentricity = 0.5', "perigee"),
    ("[craft.sat]\nJ_kgm2 = [1, 2, 3]", "craft.sat.J_kgm2"),
    ("[craft.sat]\nJ_kgm2 = [[1, 0, 0], [0, 1, 0], [0, 0, 5]]", "craft.sat.J_kgm2"),
    ("[craft.sat]\nJ_kgm2 = [[1, 0.2, 0], [0, 1, 0], [0, 0, 1]]", "craft.sat.J_kgm2"),
    ('[craft.sat]\nJ_kgm2 = [["a", 0, 0], [0, 1, 0], [0, 0, 1]]', "craft.sat.J_kgm2"),
    ("[craft.sat]\nJ_error_percent = 80", "craft.sat.J_error_percent"),
    ("[craft.sat]\nmas_kg = 8", "craft.sat.mas_kg"),
    ('[craft.sat]\nkind = "blob"', "craft.sat.kind"),
    ("[craft.sat.loads.dipole]\nsize_Am2 = -0.1", "craft.sat.loads.dipole.size_Am2"),
    ("[craft.sat.loads.drag]\nsize_m = [0.1, 0.1]", "craft.sat.loads.drag.size_m"),
    ("[craft.sat.loads.drag]\nsize_m = [0.1, 0.1, 0.0]", "size"),
    ("[craft.sat.actuators.wheels]\ntorque_limit_Nm = 0", "craft.sat.actuators.wheels.torque_limit_Nm"),
    ("[craft.sat.actuators.wheels]\nelevation_deg = 95", "elevation_deg"),
    ("[craft.sat.actuators.wheels]\nstart_Nms = 5", "cannot start beyond momentum_limit_Nms"),
    ("[craft.sat.sensors.sun_sensor]\nrate_hz = 0.0333333333", "30.00000003 s is not a whole number of truth steps"),
    (
        "[software.sat.modes.nadir]\nlaw = {kind = 'lqr', K = [[1, 2, 3], [4, 5, 6]]}",
        "give 3 rows of 6 numbers, not 2",
    ),
    (
        '[software.sat.modes.nadir]\nguidance = "inertial-pose"',
        "'pd': follows an attitude, and guidance = 'inertial-pose'",
    ),
    ("[craft.sat.actuators.wheels]\naxes = [[1, 0, 0], [0, 1, 0]]", "axes"),
    ("[craft.sat.actuators.wheels]\naxes = [[1, 0, 0], [0, 1, 0], [0, 0, 0]]", "craft.sat.actuators.wheels"),
    ('[craft.sat.actuators.jets]\nkind = "thrusters"\ndirections = [[1.0, 0, 0]]', "one of each for every thruster"),
    ("[craft.sat.sensors]\nmagnetometer = 3", "craft.sat.sensors.magnetometer"),
    ('[craft.sat.sensors.sun]\nkind = "moon-sensor"', "sun-sensor"),
    ("[craft.sat.sensors.sun]\nrate_hz = 1", "craft.sat.sensors.sun.kind is missing"),
    ('[craft.sat.sensors.sun]\nkind = "sun-sensor"\nrate_hz = 0', "craft.sat.sensors.sun.rate_hz"),
    ('[craft.sat.sensors.sun]\nkind = "sun-sensor"\nrate_hz = 3', "sat.sun: period: 0.333333333333 s is not a whole"),
    ('[craft.sat.sensors.sun]\nkind = "sun-sensor"\nrate_hz = 1\nperiod_s = 1', "keep one"),
    ('[craft.sat.sensors.sun]\nkind = "sun-sensor"\nlatency_s = 0.05', "sat.sun: latency_s: 0.05 s"),
    ('[craft.sat.sensors.sun]\nkind = "sun-sensor"\nrate = 1', "did you mean rate_hz?"),
    ('[craft.sat.sensors.sun]\nkind = "sun-sensor"\nsigma_deg = 0', "craft.sat.sensors.sun.sigma_deg"),
    ('[craft.sat.sensors.sun]\nkind = "sun-sensor"\nq_BS = [1, 1, 0, 0]', "craft.sat.sensors.sun.q_BS"),
    ('[craft.sat.sensors.s]\nkind = "own"', "component"),
    ('[craft.sat.sensors.s]\nkind = "none.py:Sensor"', "none.py"),
    ('[software.sat.navigation]\nkind = "ukf"', "mekf"),
    ('[software.sat.navigation]\nmethod = "euler"', "vi4"),
    ("[software.sat.navigation]\ntorque_psd = 1e-13", "did you mean torque_psd_Nm2s?"),
    ("[software.sat.navigation]\ngate_probability = 0.2", "software.sat.navigation.gate_probability"),
    ('[software.sat.navigation]\nof = "target"', "there is no such craft"),
    ("[software.sat]\nrate_hz = 7", "controller: period"),
    ("[software.sat.sensors.magnetometer]\nsigma = 1.0", "software.sat.sensors.magnetometer.sigma"),
    ("[software.sat.sensors.gyro]\nbias_deg_s = 1.0", "software.sat.sensors.gyro"),
    ("[software.moon]\nrate_hz = 1.0", "software.moon"),
    ('[software.sat.modes.nadir]\nlaw = "pdd"', "pd"),
    ('[software.sat.modes.nadir]\nlaw = { kind = "pd", damping = 0 }', "software.sat.modes.nadir.law.damping"),
    ('[software.sat.modes.nadir]\nlaw = "my_law.py:MyLaw"', "there is no file"),
    ('[software.sat.modes.nadir]\nto = ["wings"]', "there is no actuator 'wings'"),
    ('[software.sat.modes.nadir]\nguidance = { at = "moon" }', "nadir"),
    ('[software.sat.modes.nadir]\nguidance = { roll = "nadir" }', "software.sat.modes.nadir: roll"),
    ("[software.sat.modes.nadir]\nguidance = { roll_axis_B = [0, 0, 2] }", "roll_axis_B"),
    ("[software.sat.modes.nadir]\nunload = {}", "unload.by"),
    ('[[software.sat.transitions]]\nfrom = "nadir"\nto = "sun"\nwhen = "t > 1"', "there is no mode 'sun'"),
    ('[software.sat.modes."*"]\nlaw = "none"', "'*' stands for any mode"),
    ('[[software.sat.transitions]]\nfrom = "nadir"\nto = "nadir"\nwhen = "import os"', "when"),
    (
        '[[software.sat.transitions]]\nfrom = "nadir"\nto = "nadir"\nwhen = "sigma > 1"',
        "sigma is not known",
    ),
    ('[requirements.x]\nsignal = "sat.pointng_error_deg"', "did you mean sat.pointing_error_deg?"),
    ('[requirements.x]\nsignal = "nees"\nstatistic = "median"', "p50"),
    (
        '[faults.x]\npart = "sat.wheels"\nwhich = [7]\nkind = "dead"',
        "the fault of sat.wheels, kind = 'dead': which = [7]: there are 4",
    ),
    (
        '[craft.other]\nkind = "pose"\n[craft.sat.sensors.radar]\nkind = "relative-position"\nsees = "other"',
        "craft.sat.sensors.radar: looks at other, and the filter is of sat: list it under software.sat.unused",
    ),
    ('[requirements.x]\nsignal = "nees"\nwhen = "t >"', "requirements.x"),
    ("[requirements.x]\nsignal = \"__import__('os')\"", "requirements.x"),
    ('[requirements.x]\nsignal = "nees"\nat_most = 1.0\nat_least = 2.0', "nothing can keep both"),
    ('[dispersions.x]\nkind = "normal"\nkey = "craft.sat.mass"\nsigma = 1', "mass"),
    ('[dispersions.x]\nkind = "gaussian"\nkey = "craft.sat.J_error_percent"\nsigma = 1', "kind"),
    ('[dispersions.x]\nkind = "normal"\nkey = "craft.sat.J_error_percent"', "sigma"),
    ('[dispersions.x]\nkind = "uniform"\nkey = "craft.sat.J_error_percent"\nlo = 2\nhi = 1', "lo"),
    ('remove = ["craft.sat.sensors.moon"]', "craft.sat.sensors.moon"),
    ("[environment.orbit\naltitude_km = 500", "expected ']'"),
    ("environment = {orbit = }", "invalid value"),
    ("[run]\ntrials = 3\ntrials = 4", "twice"),
]


@pytest.mark.parametrize(("wrong", "says"), WRONG)
def test_a_malformed_file_gives_one_line_and_leaves_nothing(wrong, says, tmp_path, capsys):
    path, out = tmp_path / "wrong.toml", tmp_path / "results"
    short = "" if "[run]" in wrong else "\n[run]\ntrials = 1\nduration_s = 2\nrecord_s = 1\n"
    first = wrong.startswith(("remove", "runs", "environment"))
    path.write_text('base = "pointing"\n' + (wrong + short if first else short + wrong))
    assert cli.main(["run", str(path), "--out", str(out)]) == 2
    told = capsys.readouterr()
    assert told.out == "" and told.err.count("\n") == 1
    assert says in told.err
    assert not out.exists()


def test_there_are_sixty_of_them():
    assert len(WRONG) >= 60


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("", "craft is missing"),
        ("[run]\ntrials = 3", "craft is missing"),
        ('base = "pointng"', "did you mean pointing?"),
        ("base = 3", "base"),
        ('base = "itself.toml"', "round in circles"),
        ("[craft]", "nobody flies"),
        ("\0", "binary"),
    ],
)
def test_a_file_that_is_no_mission_is_refused(content, says, tmp_path, capsys):
    path = tmp_path / "itself.toml"
    path.write_text(content)
    assert cli.main(["run", str(path)]) == 2
    assert says in capsys.readouterr().err
