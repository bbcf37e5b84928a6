"""The pages that `gnc report` makes of real results."""

import base64
import gzip
import json
import shutil

import numpy as np
import pytest
import xarray

from gnc import config as configuration
from gnc import history
from gnc.scenarios import cli
from gnc.scenarios.missions import flight
from gnc.scenarios.missions.mission import Mission
from gnc.scenarios.report import covariance_page, results
from gnc.scenarios.report.flight_scene import scene
from gnc.scenarios.report.panels import Panels
from tests.scenarios.report.test_browser import MOVED_PIXELS, pixels_changed_by_play

SETTINGS = ("run.duration_s=40", "run.record_s=1", "requirements.lost.when=pointing_error_deg > 181")
STORY = [
    "Is the filter honest?", "What did the actuators do?", "Who causes the error?", "The flight",
    "How are the trials distributed?"
]  # fmt: skip
SHORT = [argument for setting in SETTINGS for argument in ("--set", setting)]


@pytest.fixture(scope="module")
def flown(tmp_path_factory):
    out = tmp_path_factory.mktemp("flown") / "run"
    cli.main(["run", "pointing", *SHORT, "--trials", "4", "--out", str(out)])
    return out


@pytest.fixture(scope="module")
def campaign(tmp_path_factory):
    out = tmp_path_factory.mktemp("campaign") / "mc"
    cli.main(["monte-carlo", "pointing", *SHORT, "--trials", "6", "--workers", "1", "--out", str(out)])
    return out


def content(path):
    text = path.read_text()
    start = text.index('<script type="application/json" id="page">') + len('<script type="application/json" id="page">')
    return json.loads(text[start : text.index("</script>", start)])


def numbers(folder, reference):
    """What the viewer reads at a reference."""
    text = (folder / "report.html").read_text()
    start = text.index('id="data">') + len('id="data">')
    data = gzip.decompress(base64.b64decode(text[start : text.index("</script>", start)]))
    return np.frombuffer(data, "<f4", reference["length"], reference["offset"])


def chapters(path, take=0):
    return {chapter["title"]: chapter for chapter in content(path)["takes"][take]["chapters"]}


def test_the_page_of_a_flight_tells_its_story(flown, capsys):
    assert cli.main(["report", str(flown), "--trial", "2"]) == 0
    page, told = content(flown / "report.html"), json.loads((flown / "metrics.json").read_text())
    story = chapters(flown / "report.html")
    assert page["title"] == "pointing" and page["takes"][0]["name"] == "trial 2"
    assert page["badge"]["ok"] == told["ok"]
    asked = story["The verdict"]["tables"][0]
    assert [row[0] for row in asked["rows"]] == [check["name"] for check in told["checks"]]
    assert page["configuration"] == (flown / "config.toml").read_text()
    assert story["The flight"]["scene"]["bodies"][0]["name"] == "sat"
    bounds = [bound["name"] for plot in story["Is it on target?"]["plots"] for bound in plot["bounds"]]
    assert "pointing p99.7 in sunlight [deg]" in bounds
    honest = [series["name"] for plot in story["Is the filter honest?"]["plots"] for series in plot["series"]]
    assert "3 sigma of the filter" in honest and "95 % band of an honest filter" in honest
    what = {table["title"]: table for table in story["What was flown"]["tables"]}
    assert ["run.duration_s", "5600.0", "40.0"] in what["What differs from pointing"]["rows"]


def test_the_share_of_trials_that_keep_a_bound_has_wilsons_interval(flown):
    cli.main(["report", str(flown)])
    rows = chapters(flown / "report.html")["The verdict"]["tables"][0]["rows"]
    books = next(row for row in rows if row[0] == "momentum bookkeeping")
    z2 = 1.959964**2  # all of n trials: from n / (n + z^2) to 1
    assert books[4] == "4 of 4" and float(books[5].split(" ")[0]) == pytest.approx(100 * 4 / (4 + z2), abs=0.06)


def test_the_plots_show_the_numbers_of_the_trial_asked_for(flown):
    flight = history.load(flown / "history.nc")
    seen = Panels(configuration.parse((flown / "config.toml").read_text(), Mission, "config.toml"), flight, 3)
    (shown,) = [plot for plot in seen.target() if plot.y_label == "pointing error [deg]"]
    length = np.linalg.norm(flight["sat.pointing_error_deg"].values, axis=-1)
    np.testing.assert_allclose(shown.series[1].y, length[3])
    np.testing.assert_allclose(shown.series[0].y, np.median(length, axis=0))
    error = next(plot for plot in seen.errors() if plot.title.endswith(": y"))
    np.testing.assert_array_equal(error.series[-1].y, flight["sat.knowledge_error_deg"].values[3, :, 1])
    np.testing.assert_allclose(error.series[0].upper, 3.0 * flight["sat.sigma_deg"].values[3, :, 1])


def test_the_boresight_that_is_wanted_is_the_one_that_the_error_leads_away_from(flown):
    flight = history.load(flown / "history.nc")
    mission = configuration.parse((flown / "config.toml").read_text(), Mission, "config.toml")
    real, wanted = (a.vector for a in scene(mission, flight, 1).arrows if a.name.startswith("boresight"))
    down = -flight["r_I_m"].values / np.linalg.norm(flight["r_I_m"].values, axis=-1, keepdims=True)
    np.testing.assert_allclose(wanted, down, atol=1e-6)  # pointing is at nadir
    assert np.abs(real - down).max() > 1e-3


def test_the_page_of_a_campaign_judges_all_trials_and_draws_the_worst_over_the_fans(campaign):
    assert cli.main(["report", str(campaign)]) == 0
    page, story = content(campaign / "report.html"), chapters(campaign / "report.html")
    assert page["badge"]["text"].endswith("by 6 trials") and page["badge"]["ok"] is not None
    assert page["takes"][0]["name"].startswith("trial ")
    names = [[series["name"] for series in plot["series"]] for plot in list(story.values())[1]["plots"]]
    trial = page["takes"][0]["name"].split(",")[0]
    assert len(names) >= 3 and all(trial in row for row in names if "mean of trials" not in row)


def test_the_page_of_a_campaign_shows_the_flights_of_its_worst_trials(campaign):
    assert cli.main(["report", str(campaign)]) == 0
    page = content(campaign / "report.html")
    names = [chapter["title"] for chapter in page["takes"][0]["chapters"]]
    assert names[2:7] == STORY and not page["notes"]
    mission = configuration.parse((campaign / "config.toml").read_text(), Mission, "config.toml")
    worst = int(page["takes"][0]["name"].split(",")[0].removeprefix("trial "))
    alone = flight.fly(mission, [worst]).recorded
    (body,) = chapters(campaign / "report.html")["The flight"]["scene"]["bodies"]
    np.testing.assert_array_equal(numbers(campaign, body["q"]), alone["sat.q_IB"].values[0].ravel().astype("<f4"))


def test_lost_trials_can_be_looked_at_before_the_worst(tmp_path):
    lost = "requirements.lost.when=pointing_error_deg > 1 and t > 2"
    settings = [word for setting in (*SETTINGS[:2], lost) for word in ("--set", setting)]
    cli.main(["run", "pointing", *settings, "--trials", "3", "--out", str(tmp_path / "run")])
    cli.main(["report", str(tmp_path / "run")])
    cli.main(["monte-carlo", "pointing", *settings, "--trials", "3", "--workers", "1", "--out", str(tmp_path / "mc")])
    cli.main(["report", str(tmp_path / "mc")])
    names = [[take["name"] for take in content(tmp_path / f / "report.html")["takes"]] for f in ("run", "mc")]
    assert [name.split(":")[0] for name in names[0][:2]] == ["trial 0, lost", "trial 1, lost"]
    assert [name.split(":")[0] for name in names[1][:2]] == ["trial 0, lost", "trial 1, lost"]


def test_trials_that_fly_otherwise_than_the_campaign_did_are_not_shown(campaign, tmp_path):
    folder = tmp_path / "other"
    shutil.copytree(campaign, folder)
    text = (folder / "config.toml").read_text()
    (folder / "config.toml").write_text(text.replace("sigma_nT = ", "sigma_nT = 1"))
    assert cli.main(["report", str(folder)]) == 0
    page, story = content(folder / "report.html"), chapters(folder / "report.html")
    assert "differs from the campaign" in page["notes"][0] and "The flight" not in story and "Is it on target?" in story


def test_an_error_budget_that_lies_beside_is_told(flown, tmp_path):
    folder = tmp_path / "with"
    shutil.copytree(flown, folder)
    t, axes = np.arange(5.0), ("time", "axis")
    found = {"sat.pointing_error_deg.sigma": (axes, np.tile([0.1, 0.2, 0.3], (5, 1)))}
    for source, variance in (("noise", 3.0), ("magnetometer bias", 7.0)):
        found[f"sat.pointing_error_deg.variance.{source}"] = (axes, np.full((5, 3), variance))
    found["sat.pointing_error_deg.believed"] = (axes, np.full((5, 3), 0.2))
    said = [[["requirements, predicted", ["requirement", "value"], [["sun", "0.5"]]]], ["not seen: gates"]]
    run = xarray.Dataset(found, {"time": t}, {"told": json.dumps(said)})
    history.save(run, folder / "covariance.nc")
    cli.main(["report", str(folder)])
    causes = chapters(folder / "report.html")["Who causes the error?"]
    (budget,) = [table for table in causes["tables"] if "budget" in table["title"]]
    assert budget["rows"] == [
        ["magnetometer bias", {"number": "70 %", "bar": 0.7}],
        ["noise", {"number": "30 %", "bar": 0.3}],
    ]
    (folder / "metrics.json").unlink()  # as gnc covariance leaves it, without a flight
    assert cli.main(["report", str(folder)]) == 0
    met, large, causes, unseen = chapters(folder / "report.html").values()
    assert met["tables"][0]["rows"][0][0] == "sun" and unseen["tables"][0]["rows"] == [["gates"]]
    styles = {series["name"]: series["style"] for series in large["plots"][0]["series"]}
    assert styles["x"] == "line" and styles["x, believed"] == "dashed"
    drawn = covariance_page.budgets(run)[1][0].series  # the sources lie on one another
    assert [(one.lower[0], one.upper[0]) for one in drawn] == [(0.0, pytest.approx(70.0)), (pytest.approx(70.0), 100.0)]


def test_a_page_prints_as_pdf_where_there_is_a_browser(flown, monkeypatch, capsys):
    monkeypatch.setattr(results.shutil, "which", lambda name: None)
    assert cli.main(["report", str(flown), "--pdf"]) == 2 and "no browser" in capsys.readouterr().err
    assert not (flown / "report.pdf").exists()
    assert cli.main(["report", str(flown), "--pdf", "--out", str(flown / "page.html")]) == 2


@pytest.mark.slow
def test_the_printed_page_is_a_pdf(flown):
    pytest.importorskip("selenium")
    if not any(map(results.shutil.which, results.BROWSERS)):
        pytest.skip("no browser is installed")
    assert cli.main(["report", str(flown), "--pdf"]) == 0
    assert (flown / "report.pdf").read_bytes().startswith(b"%PDF")


def test_a_folder_without_results_and_a_trial_that_was_not_flown_are_refused(flown, campaign, tmp_path, capsys):
    for arguments in ([str(tmp_path)], [str(flown), "--trial", "9"], [str(campaign), "--trial", "6"]):
        assert cli.main(["report", *arguments]) == 2
        assert capsys.readouterr().err.count("\n") == 1


def test_play_moves_the_body_of_a_real_flight(flown, browser, show):
    driver = show(browser, results.page(flown))
    assert pixels_changed_by_play(driver, 15.0) > MOVED_PIXELS
    assert driver.get_log("browser") == []
