"""A paper's experiment as a function that returns numbers, judged by checks.

@case("qvi/fig1", title="Energy error of the variational integrator and of RK4")
def fig1(seed: int) -> Result:
    drift = ...
    return Result(metrics={"drift": drift}, checks=[at_most("energy drift", drift, 1e-9)], draw=...)
"""

import inspect
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gnc.checks import Check

if TYPE_CHECKING:  # the command line must start without matplotlib
    from matplotlib.figure import Figure

CASES: dict[str, "Case"] = {}

Metric = float | int | str | Sequence[float]


@dataclass(frozen=True)
class Result:
    """What a case found: numbers, the checks on them, and how to draw its figure."""

    metrics: Mapping[str, Metric]
    checks: Sequence[Check]
    draw: "Callable[[Figure], None] | None" = None

    def __post_init__(self) -> None:
        if not self.checks:
            raise ValueError("a case without a check cannot fail: give at least one")

    @property
    def ok(self) -> bool:
        """Whether every check holds."""
        return all(check.ok for check in self.checks)


@dataclass(frozen=True)
class Case:
    """A named experiment; `run(seed)` carries it out."""

    name: str
    title: str
    run: Callable[[int], Result]

    @property
    def paper(self) -> str:
        """The part of the name before the slash, which is also the module of the case."""
        return self.name.partition("/")[0]

    @property
    def source(self) -> str:
        """Where the experiment stands: what its code cites, or the paper's key and figure."""
        cited = re.search(r"Source: (.*)", (self.run.__doc__ or "") + (inspect.getmodule(self.run).__doc__ or ""))
        figure = self.name.partition("/")[2].replace("fig", "fig. ").replace("eq", "eq. ").replace("-", " ")
        return cited[1].strip(' "') if cited else f"{self.paper.upper()} {figure}"


def case(name: str, *, title: str) -> Callable[[Callable[[int], Result]], Callable[[int], Result]]:
    """Register the decorated function `(seed) -> Result` as the case `paper/figure`."""
    if not re.fullmatch(r"[a-z0-9_]+/[a-z0-9_-]+", name):
        raise ValueError(f"case name {name!r}: expected paper/figure in lower-case letters, digits, _ and -")
    if name in CASES:
        raise ValueError(f"case name {name!r} is taken")

    def register(run: Callable[[int], Result]) -> Callable[[int], Result]:
        CASES[name] = Case(name, title, run)
        return run

    return register
