"""Fifty and more files that are wrong: one clear line, exit code 2, and no directory of results."""

import pytest

from gnc.scenarios import cli

# What is appended to `scenario = "pointing"` and a short flight, and what the line must say.
WRONG = [
    ("durations_s = 3", "did you mean duration_s?"),
    ("trials = 0", "trials"),
    ("trials = 2.5", "trials"),
    ('trials = "many"', "whole number"),
    ("seed = -1", "seed"),
    ("truth_step_s = 0", "truth_step_s"),
    ("truth_step_s = -0.1", "truth_step_s"),
    ("truth_step_s = nan", "truth_step_s"),
    ("truth_step_s = 0.7", "0.7"),
    ("duration_s = 1e9", "duration_s"),
    ("duration_s = 100\ntruth_step_s = 1e-6", "duration_s"),
    ("record_s = inf", "record_s"),
    ("record_s = 0.25", "record_s: 0.25 s is not a whole number of truth steps"),
    ("record_s = true", "record_s"),
    ('sampling = "random"', "latin-hypercube"),
    ("[orbit]\naltitude_km = 50", "altitude_km"),
    ("[orbit]\naltitude_km = 500000", "altitude_km"),
    ("[orbit]\naltitude = 500", "did you mean altitude_km?"),
    ("[orbit]\ninclination_deg = 190", "inclination_deg"),
    ('[orbit]\nepoch = "yesterday"', "epoch"),
    ("[orbit]\nepoch = 2025", "epoch"),
    ("[vehicle]\nJ_kgm2 = [1, 2, 3]", "J_kgm2"),
    ("[vehicle]\nJ_kgm2 = [[1, 0, 0], [0, 1, 0], [0, 0, 5]]", "J_kgm2"),
    ("[vehicle]\nJ_kgm2 = [[1, 0, 0], [0, 1, 0], [0, 0, -1]]", "J_kgm2"),
    ("[vehicle]\nJ_kgm2 = [[1, 0.2, 0], [0, 1, 0], [0, 0, 1]]", "J_kgm2"),
    ('[vehicle]\nJ_kgm2 = [["a", 0, 0], [0, 1, 0], [0, 0, 1]]', "J_kgm2"),
    ("[vehicle]\nJ_error_percent = 80", "J_error_percent"),
    ("[vehicle]\ndipole_Am2 = -0.1", "dipole_Am2"),
    ("[vehicle]\nsize_m = [0.1, 0.1]", "size_m"),
    ("[vehicle]\nsize_m = [0.1, 0.1, 0.0]", "size"),
    ('[vehicle]\ndrag = "no"', "true or false"),
    ("[vehicel]\ndrag = true", "did you mean vehicle?"),
    ("[wheels]\ntorque_limit_Nm = 0", "torque_limit_Nm"),
    ("[wheels]\nelevation_deg = 95", "elevation_deg"),
    ("[sensors]\nmagnetometer = 3", "magnetometer"),
    ('[sensors.sun]\nkind = "moon-sensor"', "sun-sensor"),
    ("[sensors.sun]\nrate_hz = 1", "kind is missing"),
    ('[sensors.sun]\nkind = "sun-sensor"\nrate_hz = 0', "rate_hz"),
    ('[sensors.sun]\nkind = "sun-sensor"\nrate_hz = 3', "sun: period: 0.333333 s is not a whole number"),
    ('[sensors.sun]\nkind = "sun-sensor"\nlatency_s = 0.05', "sun: latency_s: 0.05 s"),
    ('[sensors.sun]\nkind = "sun-sensor"\nrate = 1', "did you mean rate_hz?"),
    ('[sensors.sun]\nkind = "sun-sensor"\nsigma_deg = 0', "sigma_deg"),
    ('[sensors.sun]\nkind = "sun-sensor"\nhalf_cone_deg = 270', "half_cone_deg"),
    ('[sensors.sun]\nkind = "sun-sensor"\nq_BS = [1, 1, 0, 0]', "q_BS"),
    ('[sensors.m]\nkind = "magnetometer"\nsigma_deg = -1', "sigma_deg"),
    ('[sensors.s]\nkind = "own"', "component"),
    ('[sensors.s]\nkind = "own"\ncomponent = {source = "none.py:Sensor"}', "none.py"),
    ('[filter]\nkind = "ukf"', "mekf"),
    ('[filter]\nkind = "mekf"\nmethod = "euler"', "vi4"),
    ('[filter]\nkind = "mekf"\ntorque_psd = 1e-13', "did you mean torque_psd_Nm2s?"),
    ('[filter]\nkind = "mekf"\ntorque_psd_Nm2s = -1', "torque_psd_Nm2s"),
    ('[filter]\nkind = "mekf"\ngate_probability = 0.2', "gate_probability"),
    ('[controller]\nkind = "pid"', "pd"),
    ('[controller]\nkind = "pd"\nrate_hz = -1', "rate_hz"),
    ('[controller]\nkind = "pd"\nrate_hz = 7', "controller: period"),
    ('[controller]\nkind = "pd"\ndamping = 0', "damping"),
    ('controller = "my_law.py"', "names no class"),
    ('controller = "my_law.py:MyLaw"', "there is no file"),
    ("[guidance]\naxis_B = [0, 0]", "axis_B"),
    ("[guidance]\nroll_axis_B = [0, 0, 2]", "roll_axis_B"),
    ('[guidance]\nat = "moon"', "nadir"),
    ('[guidance]\nroll = "nadir"', "roll"),
    ("[start]\nattitude_deg = -3", "attitude_deg"),
    ("[criteria]\nsun_p997_deg = 0", "sun_p997_deg"),
    ('[dispersions.x]\nkind = "normal"\nkey = "vehicle.mass"\nsigma = 1', "mass"),
    ('[dispersions.x]\nkind = "gaussian"\nkey = "vehicle.dipole_Am2"\nsigma = 1', "kind"),
    ('[dispersions.x]\nkind = "normal"\nkey = "vehicle.dipole_Am2"', "sigma"),
    ('[dispersions.x]\nkind = "uniform"\nkey = "vehicle.dipole_Am2"\nlo = 2\nhi = 1', "lo"),
    ("[orbit\naltitude_km = 500", "expected ']'"),
    ("orbit = {altitude_km = }", "invalid value"),
    ("trials = 3\ntrials = 4", "twice"),
]


@pytest.mark.parametrize(("wrong", "says"), WRONG)
def test_a_malformed_file_gives_one_line_and_leaves_nothing(wrong, says, tmp_path, capsys):
    top, out = 'scenario = "pointing"\n', tmp_path / "results"
    if "trials" not in wrong:
        top += "trials = 1\n"
    if "duration" not in wrong:
        top += "duration_s = 2\n"
    if "record_s" not in wrong:
        top += "record_s = 1\n"
    path = tmp_path / "wrong.toml"
    path.write_text(top + wrong)
    assert cli.main(["run", str(path), "--out", str(out)]) == 2
    told = capsys.readouterr()
    assert told.out == "" and told.err.count("\n") == 1
    assert says in told.err
    assert not out.exists()


def test_there_are_fifty_of_them():
    assert len(WRONG) >= 50


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("", "scenario: is missing"),
        ("trials = 3", "scenario: is missing"),
        ('scenario = "pointng"', "did you mean pointing?"),
        ("\0", "binary"),
    ],
)
def test_a_file_that_names_no_scenario_is_refused(content, says, tmp_path, capsys):
    path = tmp_path / "wrong.toml"
    path.write_text(content)
    assert cli.main(["run", str(path)]) == 2
    assert says in capsys.readouterr().err
