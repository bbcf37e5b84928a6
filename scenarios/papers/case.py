"""A paper's experiment as a function that returns numbers, judged by checks.

@case("qvi/fig1", title="Energy error of the variational integrator and of RK4")
def fig1(seed: int) -> Result:
    drift = ...
    return Result(metrics={"drift": drift}, checks=[at_most("energy drift", drift, 1e-9)], draw=...)
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:  # the command line must start without matplotlib
    from matplotlib.figure import Figure

CASES: dict[str, "Case"] = {}

Metric = float | int | str | Sequence[float]


@dataclass(frozen=True)
class Check:
    """A number beside the bound it has to keep; an interval is bounded by a pair."""

    name: str
    value: float
    bound: float | tuple[float, float]
    ok: bool
    relation: Literal["<=", ">=", "in"] = "<="


# A comparison with NaN is false, so a lost number fails its check.
def at_most(name: str, value: float, bound: float) -> Check:
    """A check that `value <= bound`."""
    return Check(name, float(value), float(bound), bool(value <= bound), "<=")


def at_least(name: str, value: float, bound: float) -> Check:
    """A check that `value >= bound`."""
    return Check(name, float(value), float(bound), bool(value >= bound), ">=")


def within(name: str, value: float, low: float, high: float) -> Check:
    """A check that `low <= value <= high`."""
    if not low <= high:
        raise ValueError(f"{name}: the interval from {low} to {high} is empty")
    return Check(name, float(value), (float(low), float(high)), bool(low <= value <= high), "in")


def close(name: str, value: float, expected: float, *, rel: float = 0.0, tol: float = 0.0) -> Check:
    """A check that `value` is within `rel` of `expected`, relative, or within `tol`, absolute, whichever is wider."""
    if not max(rel, tol) > 0:
        raise ValueError(f"{name}: give rel or tol; published numbers are rounded")
    half = max(rel * abs(expected), tol)
    return within(name, value, expected - half, expected + half)


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


def case(name: str, *, title: str) -> Callable[[Callable[[int], Result]], Callable[[int], Result]]:
    """Register the decorated function `(seed) -> Result` as the case `paper/figure`."""
    if not re.fullmatch(r"[a-z0-9_]+/[a-z0-9_]+", name):
        raise ValueError(f"case name {name!r}: expected paper/figure in lower-case letters, digits and _")
    if name in CASES:
        raise ValueError(f"case name {name!r} is taken")

    def register(run: Callable[[int], Result]) -> Callable[[int], Result]:
        CASES[name] = Case(name, title, run)
        return run

    return register
