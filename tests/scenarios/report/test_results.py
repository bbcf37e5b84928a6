"""The pages that `gnc report` makes of real results."""

import json

import numpy as np
import pytest

from gnc import history
from gnc.scenarios import cli
from gnc.scenarios.report import results
from tests.scenarios.report.test_browser import MOVED_PIXELS, pixels_changed_by_play

SETTINGS = ("run.duration_s=40", "run.record_s=1", "requirements.lost.when=pointing_error_deg > 181")
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


def test_the_page_of_a_flight_has_its_checks_configuration_plots_and_scene(flown, capsys):
    assert cli.main(["report", str(flown), "--trial", "2"]) == 0
    page, told = content(flown / "report.html"), json.loads((flown / "metrics.json").read_text())
    assert page["title"] == "pointing" and "trial 2" in page["subtitle"]
    assert [row[0] for row in page["tables"][0]["rows"]] == [check["name"] for check in told["checks"]]
    assert page["configuration"] == (flown / "config.toml").read_text()
    assert page["scene"]["bodies"][0]["name"] == "sat"
    assert any("3 sigma" in [series["name"] for series in plot["series"]] for plot in page["plots"])


def test_the_plots_show_the_numbers_of_the_trial_asked_for(flown):
    flight = history.load(flown / "history.nc")
    made = {plot.y_label: plot for plot in results.plots(flight, 3)}
    shown = made["sat.pointing_error_deg [deg]"]
    assert [series.name for series in shown.series] == ["x", "y", "z"]
    assert np.array_equal(shown.series[1].y, flight["sat.pointing_error_deg"].values[3, :, 1])
    spread = made["sat.nees [1]"].series[0]
    np.testing.assert_allclose(spread.y, np.median(flight["sat.nees"].values, axis=0))


def test_the_page_of_a_campaign_has_bands_and_worst_trials(campaign):
    assert cli.main(["report", str(campaign)]) == 0
    page = content(campaign / "report.html")
    titles = [table["title"] for table in page["tables"]]
    assert "Success" in titles and any(title.startswith("Worst trials") for title in titles)
    assert len(page["plots"]) >= 3 and page["scene"] is None


def test_a_folder_without_results_and_a_trial_that_was_not_flown_are_refused(flown, campaign, tmp_path, capsys):
    for arguments in ([str(tmp_path)], [str(flown), "--trial", "9"], [str(campaign), "--trial", "1"]):
        assert cli.main(["report", *arguments]) == 2
        assert capsys.readouterr().err.count("\n") == 1


def test_play_moves_the_body_of_a_real_flight(flown, browser, show):
    driver = show(browser, results.page(flown))
    assert pixels_changed_by_play(driver, 15.0) > MOVED_PIXELS
    assert driver.get_log("browser") == []
