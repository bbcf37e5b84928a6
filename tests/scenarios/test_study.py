"""The sample-rate study, as a command and as numbers."""

import csv
import json

import numpy as np
import pytest

from gnc.scenarios.cli import main
from gnc.scenarios.study import attitude, filters, pose, sample_rate
from gnc.scenarios.study.sample_rate import Point


@pytest.fixture(scope="module")
def points():
    """Three rates, 100 trials: the strong filters, and the standard one beside them."""
    wanted = filters.chosen(["mekf-midpoint", "mekf-rk4", "mekf-vi4", "mekf-exact"], filters.ATTITUDE)
    return list(sample_rate.study(attitude.Tumble(), wanted, [1.0, 0.2, 0.1], 100, seed=0))


def of(points, name, rate):
    return next(p for p in points if p.filter == name and p.rate_hz == rate)


@pytest.mark.parametrize("name", ["mekf-rk4", "mekf-vi4", "mekf-exact"])
@pytest.mark.parametrize("rate", [1.0, 0.2, 0.1])
def test_exact_models_reach_the_bound_and_know_it_at_every_rate(points, name, rate):
    # The RMS of 100 trials scatters by about 3.5 % (some 4 independent squares each): 1.0 +- 0.1 is three sigma, false
    # alarm 0.3 % per point. The band of NEES is wider than its scatter over time and trials (95 % of one instant).
    p = of(points, name, rate)
    assert p.lost == 0
    assert abs(p.ratio - 1.0) < 0.1
    assert p.consistent


def test_the_standard_filter_loses_at_a_low_rate_even_when_tuned_in_its_favour(points):
    assert of(points, "mekf-midpoint", 0.2).rms_deg > 2.0 * of(points, "mekf-vi4", 0.2).rms_deg


def test_the_bound_is_that_of_the_published_setup(points):
    # spec: 0.186, 0.405, 0.555 deg, with reference vectors that are not given
    for rate, expected in ((1.0, 0.186), (0.2, 0.405), (0.1, 0.555)):
        assert of(points, "mekf-vi4", rate).bound_deg == pytest.approx(expected, rel=0.03)


def test_trials_do_not_depend_on_how_many_run():
    few = attitude.Tumble(duration_s=20.0).simulate(1.0, 3, seed=5)
    many = attitude.Tumble(duration_s=20.0).simulate(1.0, 9, seed=5)
    for a, b in zip(few.measured, many.measured, strict=True):
        assert all(np.array_equal(x[0], y[0][:3]) for x, y in zip(a, b, strict=True))
    assert np.array_equal(few.start.w_B, many.start.w_B[:3])


def test_outliers_and_drop_outs_lose_no_trial_of_200_and_cost_less_than_half():
    dirty = attitude.Tumble(outliers=0.1, drop_outs=0.3)
    wanted = filters.chosen(["mekf-vi4"], filters.ATTITUDE)
    (clean_point,) = sample_rate.study(attitude.Tumble(), wanted, [1.0], 200, seed=1)
    (dirty_point,) = sample_rate.study(dirty, wanted, [1.0], 200, seed=1)
    assert dirty_point.lost == 0
    assert dirty_point.rms_deg < 1.5 * clean_point.rms_deg


def test_the_believed_inertia_is_off_in_each_trial_by_what_was_asked_for_but_not_in_its_trace():
    problem = attitude.Tumble(inertia_error=0.02)
    believed = problem.believed_inertia(400, seed=3)
    np.testing.assert_allclose(np.trace(believed, axis1=1, axis2=2), 6.0, rtol=1e-14)
    # The mean moment is 2: 0.04 for each number, to 5 sigma of the standard deviation of 400, false alarm 3e-6.
    scatter = (believed - problem.inertia)[:, [0, 1, 0, 0, 1], [0, 1, 1, 2, 2]].std(axis=0)
    np.testing.assert_allclose(scatter, 0.04, rtol=5 / np.sqrt(2 * 400))


@pytest.mark.slow
def test_a_filter_that_looks_for_the_inertia_beats_one_that_believes_the_wrong_one_tuned_in_its_favour():
    # 100 trials, NEES (6) over trials and time: the band is that of one instant, 95 %.
    wanted = filters.chosen(["mekf-vi4", "mekf-inertia"], filters.ATTITUDE)
    wrong, found = sample_rate.study(attitude.Tumble(inertia_error=0.02), wanted, [0.2], 100, seed=0)
    assert wrong.psd > 0.0 and found.psd == 0.0
    assert found.lost == 0 and found.consistent
    assert wrong.rms_deg > 2.0 * found.rms_deg


def test_linearising_again_keeps_a_filter_honest_at_a_rate_where_it_is_too_sure():
    # NEES (6) of 200 trials scatters by 0.25 or less about 6.6, see test_relinearisation: 7.6 is four sigma.
    wanted = filters.chosen(["mekf-vi4", "mekf-iterated"], filters.ATTITUDE)
    once, again = sample_rate.study(attitude.Tumble(), wanted, [0.05], 200, seed=26)
    assert again.nees < 7.6 < once.nees
    assert again.rms_deg < once.rms_deg


@pytest.mark.parametrize("name", ["mekf-sigma", "map"])
def test_the_independent_checks_reach_the_bound_and_know_it(name):
    # 100 trials: RMS to three sigma, 0.1; the band of NEES is that of one instant, 95 %.
    (point,) = sample_rate.study(attitude.Tumble(), filters.chosen([name], filters.ATTITUDE), [0.1], 100, seed=0)
    assert point.lost == 0 and point.consistent and abs(point.ratio - 1.0) < 0.1
    assert point.nees_inertial == pytest.approx(point.nees, abs=0.3)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(501, 506))
def test_the_conserved_chart_is_in_its_band_and_at_the_bound_at_every_rate(seed):
    """Five seeds nothing was chosen on; with 6 rates each of 30 an honest filter is outside in 1.5 on average.

    Per seed, 3 or more of 6 outside has probability 0.2 %, 2 or more 3 % (rates share their first rates' errors).
    """
    wanted = filters.chosen(["mekf-conserved"], filters.ATTITUDE)
    rates = [10.0, 1.0, 0.5, 0.2, 0.1, 0.05]
    points = list(sample_rate.study(attitude.Tumble(), wanted, rates, 2000, seed=seed))
    assert sum(p.consistent for p in points) >= 4
    assert all(p.lost == 0 and p.ratio < 1.03 for p in points)


@pytest.mark.parametrize("name", ["dqekf-rk4", "dqekf-vi4", "dqekf-exact", "dqekf-conserved"])
def test_pose_filters_reach_the_bound_and_know_it(name):
    # As above: the RMS of 100 trials scatters by about 3.5 %, three sigma are 0.1.
    wanted = filters.chosen([name], filters.POSE)
    (point,) = sample_rate.study(pose.Target(duration_s=120.0), wanted, [1 / 3], 100, seed=0)
    assert point.lost == 0 and point.consistent
    assert abs(point.ratio - 1.0) < 0.1 and abs(point.ratio_m - 1.0) < 0.1


def point(name, rate, rms, lost=0, consistent=True):
    return Point(name, rate, rms, 0.1, rms / 0.1, 6.0, (5.0, 7.0), lost, 10, 0.0, 9.0 / rate, consistent)


def test_the_advice_names_the_lowest_rate_that_meets_the_accuracy_with_no_trial_lost():
    measured = [point("a", 1.0, 0.2), point("a", 0.5, 0.4), point("b", 0.5, 0.9), point("b", 0.1, 0.3, lost=1)]
    said = sample_rate.advice(measured, 0.5)
    assert "down to 0.5 Hz, 18 deg of turn per sample, by a (0.4 deg, NEES 6)" in said
    assert said.endswith("Advice: use a at 0.5 Hz.")
    doubtful = [point("a", 0.5, 0.4, consistent=False), point("map", 1.0, 0.1), point("b", 1.0, 0.2)]
    assert sample_rate.advice(doubtful, 0.5).endswith("Advice: use b at 1 Hz.")
    assert sample_rate.advice(measured, 0.1).startswith("No filter of these meets 0.1 deg RMS")


def test_the_command_prints_its_contract_and_writes_table_and_figure(tmp_path, capsys):
    arguments = [
        "study",
        "sample-rate",
        "--rates",
        "1",
        "--trials",
        "5",
        "--filters",
        "mekf-vi4",
        "--out",
        str(tmp_path),
    ]
    assert main([*arguments, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["study"] == "sample-rate" and "deg RMS" in found["advice"]
    keys = {"filter", "rate_hz", "rms_deg", "bound_deg", "ratio", "nees", "nees_band", "lost", "trials"}
    assert keys <= found["points"][0].keys()
    with (tmp_path / "sample_rate.csv").open() as file:
        (line,) = csv.DictReader(file)
    assert float(line["rms_deg"]) == found["points"][0]["rms_deg"]
    assert (tmp_path / "sample_rate.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--rates", "1,x"], "gnc: --rates: expected numbers with commas between, got '1,x'"),
        (["--rates", "0.007"], "gnc: --rates: 0.007 Hz does not divide 300 s into at least 4 whole samples"),
        (["--rates", "1e300"], "gnc: --rates: 1e+300 Hz does not divide 300 s into"),
        (["--filters", "kalman"], "gnc: --filters: 'kalman' is none of mekf-euler"),
        (["--problem", "orbit"], "gnc: --problem: 'orbit' is none of attitude, pose, damper, potential, tree"),
        (
            ["--problem", "pose", "--outliers", "0.1"],
            "gnc: --outliers, --drop-outs, --inertia-error, --inertia, --w0-deg-s, --vectors: for the",
        ),
        (["--filters", "mekf-inertia"], "gnc: --filters: mekf-inertia looks for an unknown inertia; say how wrong"),
        (["--trials", "0"], "gnc: --trials: expected a whole number > 0, got 0"),
    ],
)
def test_bad_input_is_one_line_and_writes_nothing(tmp_path, capsys, arguments, message):
    assert main(["study", "sample-rate", *arguments, "--out", str(tmp_path / "out")]) == 2
    captured = capsys.readouterr()
    assert captured.err.startswith(message) and captured.err.count("\n") == 1 and captured.out == ""
    assert not (tmp_path / "out").exists()


def test_a_study_that_loses_all_trials_draws_what_is_left(tmp_path, capsys):
    """A noise of 1e12 arc seconds: the figure had no band to draw, which was a defect."""
    few = ["--rates", "0.1", "--trials", "3", "--filters", "mekf-exact", "--sigma-arcsec", "1e12"]
    assert main(["study", "sample-rate", *few, "--out", str(tmp_path)]) == 0
    assert "3/3" in capsys.readouterr().out and (tmp_path / "sample_rate.png").is_file()


@pytest.mark.parametrize(
    ("command", "options", "cases"),
    [
        ("noise", ["--sigmas-arcsec", "3600,36", "--vectors", "1,0,0;0,0,2"], ['3600"', '36"']),
        (
            "duration",
            ["--durations-s", "20,40", "--inertia", "1,2,2.5,0.1,0,0", "--sigma-arcsec", "360"],
            ["20 s", "40 s"],
        ),
        ("bodies", ["--count", "2", "--duration-s", "20"], ["body 0", "body 1"]),
    ],
)
def test_grids_print_their_contract_and_write_table_and_figure(tmp_path, capsys, command, options, cases):
    more = ["--trials", "4", "--rates", "1", "--seed", "3", "--json", "--out", str(tmp_path)]
    more += ["--duration-s", "20"] if command == "noise" else []
    assert main(["study", command, *options, *more]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["study"] == command and "mekf-conserved: NEES in its 95 % band" in found["advice"]
    assert list(dict.fromkeys(p["case"] for p in found["points"])) == cases
    assert {p["filter"] for p in found["points"]} == {"mekf-exact", "mekf-conserved"}
    assert (tmp_path / f"{command}.csv").exists() and (tmp_path / f"{command}.png").stat().st_size > 1000


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--sigma-deg", "1", "--sigma-arcsec", "36"], "give one of them"),
        (["--sigma-deg", "0"], "expected a number > 0"),
        (["--inertia", "1,2"], "expected 3 or 6 numbers, got 2"),
        (["--inertia", "1,1,5"], "--inertia"),
        (["--vectors", "1,0,0;2,0,0"], "not parallel"),
        (["--w0-deg-s", "1,2"], "expected 3 numbers, got 2"),
        (["--problem", "pose", "--inertia", "1,2,2"], "for the attitude problem"),
    ],
)
def test_what_cannot_be_studied_is_refused_in_one_line(tmp_path, capsys, options, message):
    assert main(["study", "sample-rate", *options, "--out", str(tmp_path / "out")]) == 2
    assert message in capsys.readouterr().err
