"""Everything that the documentation shows as code runs."""

from pathlib import Path

import pytest

from tests.docs import pages

ROOT = Path(__file__).resolve().parents[2]
SLOW = {
    "cluster.md",
    "error_budget.md",
    "flight_code.md",
    "logs.md",
    "monte_carlo.md",
    "own_controller.md",
    "own_potential.md",
    "own_sensor_and_filter.md",
    "own_tree.md",
    "servicer.md",
}
SHOWN = [ROOT / "README.md", *sorted(path for path in (ROOT / "docs").rglob("*.md") if "api" not in path.parts)]


def with_code():
    for page in SHOWN:
        if pages.blocks(page):
            marks = [pytest.mark.slow] if page.name in SLOW else []
            yield pytest.param(page, id=str(page.relative_to(ROOT)), marks=marks)


@pytest.mark.parametrize("page", list(with_code()))
def test_what_the_page_shows_runs(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    pages.run(page, tmp_path)


def test_every_tutorial_has_something_to_run():
    tutorials = [path for path in (ROOT / "docs" / "tutorials").glob("*.md") if path.name != "index.md"]
    assert tutorials and all(pages.blocks(path) for path in tutorials)


def test_a_page_with_a_wrong_command_or_wrong_code_is_found_out(tmp_path):
    for wrong, error in (("```sh\nfalse\n```\n", AssertionError), ("```python\n1 / 0\n```\n", ZeroDivisionError)):
        page = tmp_path / "page.md"
        page.write_text(f"# Page\n\n{wrong}")
        with pytest.raises(error):
            pages.run(page, tmp_path)
