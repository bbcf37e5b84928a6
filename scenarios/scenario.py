"""What a scenario is: a typed configuration, how to build its loop, how to judge and draw what it flew."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple, Self

import numpy as np
from pydantic import Field, model_validator

from gnc.checks import Check
from gnc.config import Positive, Section
from gnc.errors import InputError
from gnc.history import CLOCK, History, Signal
from gnc.loop import Loop, Moment
from gnc.montecarlo.dispersions import Dispersion
from gnc.scenarios import dispersed

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from xarray import Dataset

    from gnc.scenarios.report.page import Scene

Draw = Callable[["Figure"], None]
MOST_INNOVATIONS = 600  # kept of each instrument
MOST_STEPS = 5_000_000  # of the truth, whose environment is tabulated for all of them: about a gigabyte


class ScenarioConfig(Section):
    """What every scenario file begins with."""

    scenario: str
    """Which of the built-in loops it is; `gnc list` tells."""
    seed: Annotated[int, Field(ge=0)] = 0
    """All random numbers of a trial come from the seed and the number of the trial."""
    trials: Annotated[int, Field(ge=1, le=1_000_000)] = 100
    """How many are flown."""
    duration_s: Positive
    truth_step_s: Positive = 0.1
    record_s: Positive = 10.0
    """How often signals are kept; a whole number of truth steps."""
    sampling: Literal["plain", "latin-hypercube", "sobol"] = "plain"
    """How dispersions are drawn."""
    dispersions: dict[str, Dispersion] = {}
    """Fields that vary over the trials beside what the scenario itself draws."""

    @model_validator(mode="after")
    def _can_be_flown(self) -> Self:
        steps = self.duration_s / self.truth_step_s
        if steps > MOST_STEPS:
            remedy = f"at most {MOST_STEPS:g}; fly shorter, or with a longer truth_step_s"
            raise InputError(f"duration_s = {self.duration_s:g} makes {steps:.3g} truth steps, {remedy}")
        return self


@dataclass(frozen=True)
class Prepared:
    """Some trials of a scenario, ready to fly."""

    loop: Loop
    truth: Any
    belief: Any
    memory: Any
    signals: Mapping[str, Signal]
    observe: Callable[[Moment], Mapping[str, Any]]  # what is recorded of a moment
    innovations: Mapping[str, Signal] = field(default_factory=dict)  # by signal; names begin with the instrument's
    observe_innovation: Callable[[str, Any], Mapping[str, Any]] | None = None


class Comparison(NamedTuple):
    """Metrics that read better side by side: one row per contestant."""

    title: str
    columns: Sequence[str]  # the first is that of the names
    rows: Mapping[str, Sequence[str]]  # name -> keys of its metrics


class Verdict(NamedTuple):
    """What a flight was worth."""

    per_trial: Mapping[str, Any]  # (trials,) each; what Monte Carlo makes statistics of
    metrics: Mapping[str, float]  # of all trials together
    checks: Sequence[Check]
    lost: Mapping[int, str]  # trial -> reason
    success: Any = None  # (trials,) bool: whether a trial by itself meets the criteria; None: whether it is not lost
    over_time: Mapping[str, Any] = {}  # (trials, time) each, of which Monte Carlo draws bands
    comparison: Comparison | None = None


@dataclass(frozen=True)
class Scenario:
    """A closed loop with a name."""

    name: str
    Config: type[ScenarioConfig]
    build: Callable[[Any, int, np.ndarray], Prepared]  # (configuration, seed, trial numbers)
    judge: Callable[[Any, Dataset], Verdict]
    figures: Callable[[Any, Dataset], Mapping[str, Draw]]  # by file name, without ending
    scene: Callable[[Any, Dataset, int], Scene] | None = None  # of the trial at that place
    judged: frozenset[str] | None = None  # the signals that `judge` needs; None: all
    dispersible: tuple[str, ...] = ()  # patterns of fields that `build` takes with one value per trial

    @property
    def title(self) -> str:
        """One sentence: the first line of its configuration's docstring."""
        return (self.Config.__doc__ or "").strip().splitlines()[0]


def record_times(config: ScenarioConfig) -> np.ndarray:
    """Return when signals are kept [s]: every so often, and at the end."""
    h = config.truth_step_s
    steps, every = round(config.duration_s / h), round(config.record_s / h)
    return h * np.unique([*range(0, steps + 1, every), steps])


def fly(
    scenario: Scenario,
    config: ScenarioConfig,
    seed: int,
    trials: np.ndarray,
    progress: Callable[[int, int], None] | None = None,
    only: frozenset[str] | None = None,
    ready: Callable[[], None] | None = None,
) -> Dataset:
    """Fly the trials of these numbers and return what was recorded, of `only` these signals if given.

    Trials fly together wherever their configurations differ only in fields that may hold one value per trial. `ready`
    is called once all is built, which is when bad input has shown itself.
    """
    from xarray import concat

    groups = dispersed.groups(config, scenario.dispersible, seed, np.asarray(trials))
    built = [(group.trials, scenario.build(group.config, seed, group.trials)) for group in groups]
    if ready is not None:
        ready()
    parts = []
    for i, (some, prepared) in enumerate(built):
        moved = None if progress is None else _part_of(progress, i, len(built))
        parts.append(_flown(scenario, seed, some, prepared, moved, only))
        if parts[-1].attrs["interrupted"]:
            break
    if len(parts) == 1:
        return parts[0]
    return concat(parts, "trial", data_vars="minimal", coords="minimal", compat="override").sortby("trial")


def _part_of(progress: Callable[[int, int], None], i: int, n: int) -> Callable[[int, int], None]:
    return lambda done, total: progress(i * total + done, n * total)


def _flown(
    scenario: Scenario,
    seed: int,
    trials: np.ndarray,
    prepared: Prepared,
    progress: Callable[[int, int], None] | None,
    only: frozenset[str] | None,
) -> Dataset:
    """Fly what was built and label what was recorded."""
    history = History({**prepared.signals, **prepared.innovations})
    keep = lambda values: {k: v for k, v in values.items() if only is None or k in only}  # noqa: E731
    record = lambda moment: history.record(moment.t, keep(prepared.observe(moment)))  # noqa: E731
    innovation = _thinned(prepared, history, keep) if keep(prepared.innovations) else None
    flown = prepared.loop.fly(prepared.truth, prepared.belief, prepared.memory, record, innovation, progress)
    note = {"scenario": scenario.name, "seed": seed, "interrupted": int(flown.ticks < prepared.loop.steps)}
    note["uncompiled"] = flown.uncompiled
    dataset = history.dataset(trials, **note)
    for name, when in flown.happened.items():
        about = {"units": "s", "long_name": f"when: {name}"}
        dataset[f"t_{name}"] = ("trial", np.broadcast_to(when, len(trials)).copy(), about)
    return dataset


def _thinned(prepared: Prepared, history: History, keep: Callable[[Any], Any]) -> Callable[[str, float, Any], None]:
    """Return the recorder of innovations, of which every so many are kept."""
    loop = prepared.loop
    every = {i.name: 1 + int(loop.duration_s / i.period_s) // MOST_INNOVATIONS for i in loop.instruments}
    seen = dict.fromkeys(every, 0)

    def record(name: str, t: float, made: Any) -> None:
        seen[name] += 1
        if (seen[name] - 1) % every[name] == 0 and prepared.observe_innovation is not None:
            values = keep(prepared.observe_innovation(name, made))
            if values:
                history.record(t, values, f"{CLOCK}_{name}")

    return record
