"""What holds for every built-in mission: it runs, leaves results and a page, and a trial alone has the same bits."""

import json

import numpy as np
import pytest

from gnc import history
from gnc.scenarios import cli
from gnc.scenarios.missions.load import builtin, titles
from gnc.scenarios.report import results

DURATION_S = {"attitude-only": 60, "tumble-capture": 320, "separation": 140}  # of the short form; others 20 s


def fly(name, out, *arguments):
    settings = [
        f"run.duration_s={DURATION_S.get(name, 20)}",
        "run.record_s=2" if name not in DURATION_S else "run.record_s=10",
    ]
    given = [part for setting in settings for part in ("--set", setting)]
    return cli.main(["run", name, *given, "--out", str(out), "--seed", "3", "--json", *arguments])


@pytest.fixture(scope="module", params=sorted(builtin()))
def flown(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp(request.param)
    codes = fly(request.param, folder / "all", "--trials", "3"), fly(request.param, folder / "one", "--trial", "2")
    return request.param, folder, codes


def test_it_runs_and_tells_the_truth_by_its_exit_code(flown):
    _, folder, codes = flown
    for part, code in zip(("all", "one"), codes, strict=True):
        told = json.loads((folder / part / "metrics.json").read_text())
        assert code == (0 if all(check["ok"] for check in told["checks"]) else 1)
        assert told["checks"] and told["metrics"]
        assert list((folder / part).glob("*.png"))


def test_a_trial_alone_has_the_same_bits(flown):
    _, folder, _ = flown
    together = history.load(folder / "all" / "history.nc").sel(trial=[2])
    alone = history.load(folder / "one" / "history.nc")
    assert set(alone.data_vars) == set(together.data_vars)
    for name in alone.data_vars:
        assert np.array_equal(alone[name].values, together[name].values, equal_nan=True), name


def test_its_page_has_checks_plots_and_something_that_moves(flown):
    name, folder, _ = flown
    page = results.page(folder / "all", 1)
    chapters = [chapter for take in (page.takes or {"": page.chapters}).values() for chapter in take]
    assert page.title == name and any(c.plots for c in chapters) and any(t.rows for c in chapters for t in c.tables)
    assert any(c.scene is not None and c.scene.bodies for c in chapters)


def test_every_signal_has_a_unit_and_a_sentence(flown):
    flight = history.load(flown[1] / "all" / "history.nc")
    for name, signal in flight.data_vars.items():
        assert signal.attrs.get("units") and signal.attrs.get("long_name"), name


def test_its_title_and_story_say_what_it_shows(flown):
    from gnc.scenarios.missions.load import read

    assert len(titles()[flown[0]]) > 20 and len(read(flown[0]).story) > 100
