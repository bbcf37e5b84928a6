"""What a flight was worth, by the requirements of its mission."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from gnc.checks import Check, bound_text
from gnc.expression import parse
from gnc.notebook import table
from gnc.scenarios.missions.build import at
from gnc.scenarios.missions.hints import doubts, hints
from gnc.scenarios.missions.mission import Mission
from gnc.scenarios.missions.requirements.base import Comparison, Finding, Judged, resolve, without_numbers
from gnc.scenarios.missions.requirements.lost import LostPart
from gnc.typing import Array, Mask

if TYPE_CHECKING:
    from gnc.labelled import Signals

NOTHING = Check("requirements", float("nan"), 0.0, False, "<=", "none asks anything of the flight: nothing was judged")


@dataclass(repr=False)
class Verdict:
    """What a flight was worth."""

    per_trial: dict[str, Array] = field(default_factory=dict)  # (trials,) each; what Monte Carlo makes statistics of
    metrics: dict[str, float] = field(default_factory=dict)  # of all trials together
    checks: list[Check] = field(default_factory=list)
    lost: dict[int, str] = field(default_factory=dict)  # trial -> reason
    success: Mask = field(
        default_factory=lambda: np.zeros(0, bool)
    )  # (trials,) whether a trial by itself meets all that is asked
    over_time: dict[str, Array] = field(default_factory=dict)  # (trials, time) each, of which Monte Carlo draws bands
    comparison: Comparison | None = None
    tally: dict[str, Array] = field(default_factory=dict)  # (trials,) what a campaign is judged by
    measurements: dict[str, tuple[int, int, int]] = field(default_factory=dict)  # used, refused, missing, of a sensor
    hints: list[str] = field(default_factory=list)

    def __repr__(self) -> str:
        """The checks, line by line."""
        rows = [f"{'ok' if c.ok else 'FAILED':7}{c.name}: {c.value:.4g} {bound_text(c)} {c.note}" for c in self.checks]
        return "\n".join(row.rstrip() for row in rows)

    def _repr_html_(self) -> str:
        """The checks, for notebooks."""
        rows = [(c.name, float(c.value), bound_text(c), c.note, "met" if c.ok else "FAILED") for c in self.checks]
        return table("requirements", ("requirement", "value", "bound", "note", "result"), rows)

    @property
    def ok(self) -> bool:
        """Whether everything that is asked is met, and something is asked."""
        return bool(self.checks) and all(check.ok for check in self.checks)


def judge(
    mission: Mission,
    flight: Signals,
    modes: Mapping[str, Sequence[str]],
    fly: Callable[[Mapping[str, Any], frozenset[str]], Signals] | None = None,
) -> Verdict:
    """Judge a flight."""
    judged = Judged(mission, flight, modes, without_numbers(mission, flight, modes), fly)
    parts = sorted(mission.requirements.items(), key=lambda item: not item[1].first)
    verdict, success, asked = Verdict(), np.ones(flight.sizes["trial"], bool), False
    counted: list[tuple[str, LostPart]] = []
    for name, part in parts:
        with at(f"requirements.{name}"):
            finding = part.judge(name, judged)
        judged.lost |= {trial: reason for trial, reason in finding.lost.items() if trial not in judged.lost}
        if isinstance(part, LostPart):
            counted.append((name, part))
        _collect(verdict, finding)
        asked |= bool(finding.checks) and part.asks
        if finding.success is not None:
            success &= finding.success
    name, limit = counted[-1] if counted else ("lost", LostPart())
    tally = limit.count(name, len(judged.lost))
    verdict.metrics = {**tally.metrics, **verdict.metrics}
    verdict.lost, verdict.success = judged.lost, success & judged.kept & asked
    verdict.checks = [*tally.checks, *verdict.checks, *([] if asked else [NOTHING])]
    verdict.over_time = _over_time(mission, judged)
    verdict.measurements = _measurements(mission, flight)
    verdict.hints = doubts(mission) + hints(mission, flight, verdict.measurements, modes, judged.kept)
    return verdict


def judge_campaign(mission: Mission, table: Mapping[str, Array]) -> list[Check]:
    """Judge all trials of a campaign together, from the columns of its table: the same requirements as of a flight."""
    kept = np.asarray(table["lost"]) == ""
    limits = [part for part in mission.requirements.values() if isinstance(part, LostPart)]
    lost = (limits[-1] if limits else LostPart()).count("lost", int(np.sum(~kept))).checks
    found = [(part, part.campaign(name, table, kept)) for name, part in mission.requirements.items()]
    nothing = [] if any(part.asks for part, checks in found if checks) else [NOTHING]
    return [*lost, *(check for _, checks in found for check in checks), *nothing]


def lowest(mission: Mission) -> set[str]:
    """Return the metrics of which the lowest value is the worst: those that have a lower bound alone."""
    bounds = {k: (getattr(p, "at_least", None), getattr(p, "at_most", None)) for k, p in mission.requirements.items()}
    return {key for key, (low, high) in bounds.items() if low is not None and high is None}


def _collect(verdict: Verdict, finding: Finding) -> None:
    verdict.metrics |= finding.metrics
    verdict.checks += finding.checks
    verdict.per_trial |= finding.per_trial
    verdict.tally |= finding.tally
    verdict.comparison = finding.comparison or verdict.comparison


def _over_time(mission: Mission, judged: Judged) -> dict[str, Array]:
    """Return the histories (trials, time) of the signals that something is asked of."""
    histories = {}
    for part in mission.requirements.values():
        signal = getattr(part, "signal", None)
        if signal is None:
            continue
        values = judged.value(parse(signal))
        if values.ndim == 2 and values.shape[1] == judged.flight.sizes["time"]:
            plain = signal in parse(signal).names
            name = resolve(signal, judged.flight.data_vars, mission.craft) if plain else signal
            histories[name if len(name) < 60 else f"{name[:57]}..."] = np.asarray(values, float)
    return histories


def _measurements(mission: Mission, flight: Signals) -> dict[str, tuple[int, int, int]]:
    """Return how many measurements of each sensor were used, refused and missing, of all trials together."""
    counts = {}
    for craft, section in mission.craft.items():
        for key, part in section.sensors.items():
            name = f"{craft}.{key}"
            if f"{name}.used" not in flight:
                continue
            used, refused = (float(flight[f"{name}.{what}"].values[:, -1].sum()) for what in ("used", "refused"))
            if np.isnan(used + refused):  # software of others does not tell
                continue
            last = float(flight["time"].values[-1]) - part.first_s - part.latency_s
            due = (int(last / part.interval_s + 1e-9) + 1 if last >= 0.0 else 0) * flight.sizes["trial"]
            counts[name] = int(used), int(refused), max(int(due - used - refused), 0)
    return counts
