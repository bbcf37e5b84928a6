"""Paper cases that exist for a test only."""

from collections.abc import Iterator

import pytest

from gnc.checks import at_least, at_most
from gnc.scenarios.papers import case as registry
from gnc.scenarios.papers.case import Result, case


@pytest.fixture
def example_cases() -> Iterator[None]:
    """`example/good` holds its checks and draws; `example/bad` breaks one and draws nothing; there are no others."""
    others = dict(registry.CASES)
    registry.CASES.clear()

    def draw(figure) -> None:
        figure.subplots().plot([0, 1], [0, 1])

    @case("example/good", title="Checks that hold")
    def good(seed: int) -> Result:
        return Result({"drift": 1e-12, "seed": seed}, [at_most("drift", 1e-12, 1e-9)], draw)

    @case("example/bad", title="A check that fails")
    def bad(seed: int) -> Result:
        return Result({"rate": 2.0}, [at_least("rate", 2.0, 1.0), at_most("lost", float("nan"), 1.0)])

    yield
    del registry.CASES["example/good"], registry.CASES["example/bad"]
    registry.CASES.update(others)  # those that a test has loaded stay: a module registers its cases only once
