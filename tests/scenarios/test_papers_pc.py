"""The cases of PC hold and draw."""

import pytest

from gnc.scenarios.papers import find
from gnc.scenarios.plots import save_figure

pytestmark = pytest.mark.jit


@pytest.mark.parametrize(
    "name", ["pc/free", "pc/bounce", "pc/friction", pytest.param("pc/pair", marks=pytest.mark.slow), "pc/scaling"]
)
def test_the_case_holds_and_draws_its_figure(name, tmp_path):
    (case,) = find(name)
    result = case.run(5)
    assert [check.name for check in result.checks if not check.ok] == []
    assert result.draw is not None
    save_figure(result.draw, tmp_path / "figure.png")
    assert (tmp_path / "figure.png").stat().st_size > 10_000
