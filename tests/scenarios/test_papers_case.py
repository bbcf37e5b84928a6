"""Paper cases: checks that judge, a registry that finds, a runner that writes whole figures."""

import math
from pathlib import Path

import pytest

from gnc.checks import Check, at_least, at_most, bound_text, close, within
from gnc.errors import InputError
from gnc.scenarios import papers
from gnc.scenarios.papers.case import Result, case
from gnc.scenarios.plots import save_figure
from gnc.scenarios.reproduce import reproduce


@pytest.mark.parametrize(
    ("made", "ok", "text"),
    [
        (at_most("x", 1.0, 1.0), True, "<= 1"),
        (at_most("x", 1.1, 1.0), False, "<= 1"),
        (at_least("x", 1.0, 1.0), True, ">= 1"),
        (at_least("x", 0.9, 1.0), False, ">= 1"),
        (within("x", 2.0, 2.0, 3.0), True, "2 .. 3"),
        (within("x", 3.1, 2.0, 3.0), False, "2 .. 3"),
        (close("x", 1.9, 2.0, rel=0.1), True, "1.8 .. 2.2"),
        (close("x", 2.3, 2.0, rel=0.1), False, "1.8 .. 2.2"),
        (close("x", -1.9, -2.0, rel=0.1), True, "-2.2 .. -1.8"),
        (close("x", 0.05, 0.0, tol=0.1), True, "-0.1 .. 0.1"),
        (close("x", 2.05, 2.0, rel=0.01, tol=0.1), True, "1.9 .. 2.1"),
    ],
)
def test_a_check_holds_up_to_its_bound_and_no_further(made: Check, ok: bool, text: str) -> None:
    assert made.ok is ok
    assert bound_text(made) == text


def test_a_lost_number_fails_every_check() -> None:
    lost = math.nan
    checks = [at_most("x", lost, 1), at_least("x", lost, 1), within("x", lost, 0, 1), close("x", lost, 1, rel=1)]
    assert [check.ok for check in checks] == [False] * 4


def test_a_check_that_could_not_be_met_or_could_not_fail_is_refused() -> None:
    with pytest.raises(ValueError, match="empty"):
        within("x", 1.0, 3.0, 2.0)
    with pytest.raises(ValueError, match="give rel or tol"):
        close("x", 1.0, 1.0)
    with pytest.raises(ValueError, match="at least one"):
        Result(metrics={"x": 1.0}, checks=[])


def test_a_result_is_ok_when_all_its_checks_are() -> None:
    good, bad = at_most("x", 0, 1), at_most("x", 2, 1)
    assert Result({}, [good, good]).ok
    assert not Result({}, [good, bad]).ok


@pytest.mark.parametrize("name", ["fig1", "qvi/", "/fig1", "QVI/fig1", "qvi/fig1/a", "qvi/../../x", "qvi/fig 1"])
def test_a_case_is_named_paper_and_figure(name: str) -> None:
    with pytest.raises(ValueError, match="expected paper/figure"):
        case(name, title="")


def test_a_name_is_given_once(example_cases: None) -> None:
    with pytest.raises(ValueError, match="taken"):
        case("example/good", title="")


def test_a_case_is_found_by_its_name_and_by_its_paper(example_cases: None) -> None:
    assert [c.name for c in papers.find("example/good")] == ["example/good"]
    assert [c.name for c in papers.find("example")] == ["example/bad", "example/good"]
    assert {"example/bad", "example/good"} <= {c.name for c in papers.cases()}


def test_an_unknown_case_suggests_a_known_one(example_cases: None) -> None:
    with pytest.raises(InputError, match="unknown case 'example/god'; did you mean 'example/good'?"):
        papers.find("example/god")
    with pytest.raises(InputError, match="unknown case 'example/'"):
        papers.find("example/")


def test_every_case_in_a_papers_module_carries_its_name() -> None:
    for found in papers.cases():
        assert found.run.__module__.startswith(f"gnc.scenarios.papers.{found.paper}")


def test_a_figure_is_named_after_its_case(example_cases: None, tmp_path: Path) -> None:
    (good,) = papers.find("example/good")
    result, files = reproduce(good, 3, tmp_path / "new" / "folder")
    assert result.metrics["seed"] == 3
    assert files == [tmp_path / "new" / "folder" / "example_good.png"]
    assert files[0].read_bytes().startswith(b"\x89PNG")


def test_figures_go_to_a_folder_of_the_case_by_default(
    example_cases: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (good,) = papers.find("example/good")
    assert reproduce(good, 0, None)[1] == [Path("out/reproduce/example/good/example_good.png")]
    assert (tmp_path / "out/reproduce/example/good/example_good.png").exists()


def test_a_case_that_draws_nothing_writes_nothing(example_cases: None, tmp_path: Path) -> None:
    (bad,) = papers.find("example/bad")
    assert reproduce(bad, 0, tmp_path)[1] == []
    assert list(tmp_path.iterdir()) == []


def test_a_drawing_that_breaks_leaves_no_file(tmp_path: Path) -> None:
    def draw(figure) -> None:
        raise RuntimeError("broken")

    with pytest.raises(RuntimeError, match="broken"):
        save_figure(draw, tmp_path / "a.png")
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_cannot_be_made_is_bad_input(example_cases: None, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    (good,) = papers.find("example/good")
    with pytest.raises(InputError, match="--out .*file"):
        reproduce(good, 0, tmp_path / "file")
