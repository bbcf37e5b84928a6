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
from gnc.scenarios.missions.doubts import doubts
from gnc.scenarios.missions.mission import Mission
from gnc.scenarios.missions.requirements.base import CLOCK, Comparison, Finding, Judged, resolve, without_numbers
from gnc.scenarios.missions.requirements.lost import LostPart
from gnc.typing import Array, Mask

if TYPE_CHECKING:
    from gnc.labelled import Signals

NOTHING = Check("requirements", float("nan"), 0.0, False, "<=", "none are stated: nothing was judged")
NIS_ALARM = 2.0  # factor by which the mean NIS of a sensor may be off before it is told
BUSY = 0.2  # share of the time that actuators may be at a limit before it is told
REFUSED = 0.2  # share of its measurements that a sensor may be refused before it is told


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
    verdict, success = Verdict(), np.ones(flight.sizes["trial"], bool)
    counted: list[tuple[str, LostPart]] = []
    for name, part in parts:
        with at(f"requirements.{name}"):
            finding = part.judge(name, judged)
        judged.lost |= {trial: reason for trial, reason in finding.lost.items() if trial not in judged.lost}
        if isinstance(part, LostPart):
            counted.append((name, part))
        _collect(verdict, finding)
        if finding.success is not None:
            success &= finding.success
    name, limit = counted[-1] if counted else ("lost", LostPart())
    tally = limit.count(name, len(judged.lost))
    verdict.metrics = {**tally.metrics, **verdict.metrics}
    verdict.lost, verdict.success = judged.lost, success & judged.kept & bool(verdict.checks)
    verdict.checks = [*tally.checks, *(verdict.checks or [NOTHING])]
    verdict.over_time = _over_time(mission, judged)
    verdict.measurements = _measurements(mission, flight)
    verdict.hints = doubts(mission) + _hints(verdict.measurements, flight) + _never_entered(mission, flight, modes)
    verdict.hints += _at_limits(mission, flight)
    return verdict


def judge_campaign(mission: Mission, table: Mapping[str, Array]) -> list[Check]:
    """Judge all trials of a campaign together, from the columns of its table: the same requirements as of a flight."""
    kept = np.asarray(table["lost"]) == ""
    limits = [part for part in mission.requirements.values() if isinstance(part, LostPart)]
    lost = (limits[-1] if limits else LostPart()).count("lost", int(np.sum(~kept))).checks
    found = [check for name, part in mission.requirements.items() for check in part.campaign(name, table, kept)]
    return [*lost, *found] if found else [*lost, NOTHING]


def _collect(verdict: Verdict, finding: Finding) -> None:
    verdict.metrics |= finding.metrics
    verdict.checks += finding.checks
    verdict.per_trial |= finding.per_trial
    verdict.tally |= finding.tally
    verdict.comparison = finding.comparison or verdict.comparison


def _over_time(mission: Mission, judged: Judged) -> dict[str, Array]:
    """Return the histories (trials, time) of the signals that something is asked of."""
    found = {}
    for part in mission.requirements.values():
        signal = getattr(part, "signal", None)
        if signal is None:
            continue
        values = judged.value(parse(signal))
        if values.ndim == 2 and values.shape[1] == judged.flight.sizes["time"]:
            plain = signal in parse(signal).names - CLOCK
            name = resolve(signal, judged.flight.data_vars, mission.craft) if plain else signal
            found[name if len(name) < 60 else f"{name[:57]}..."] = np.asarray(values, float)
    return found


def _measurements(mission: Mission, flight: Signals) -> dict[str, tuple[int, int, int]]:
    """Return how many measurements of each sensor were used, refused and missing, of all trials together."""
    found = {}
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
            found[name] = int(used), int(refused), max(int(due - used - refused), 0)
    return found


def _hints(measurements: Mapping[str, tuple[int, int, int]], flight: Signals) -> list[str]:
    """Say which sensors the gate shuts out or that never measured, whose noise is misjudged, and what was recovered."""
    told = []
    for name, (used, refused, _) in measurements.items():
        if shut := _shut_out(flight, name):
            told.append(
                f"{name}: the gate refused more than {100.0 * REFUSED:.0f} % of its measurements in {shut} of "
                f"{flight.sizes['trial']} trials; the filter is too sure of itself: more process noise "
                "(torque_psd_Nm2s), or a larger sigma under [software.*.sensors]"
            )
        elif used + refused == 0:
            told.append(f"{name}: never measured anything")
        elif (nis := _mean_nis(flight, name)) > NIS_ALARM or nis < 1.0 / NIS_ALARM:
            told.append(f"{name}: NIS alarm, mean {nis:.2g} of 1: its noise or that of the process is not as believed")
    return told + _recovered(flight) + _run_dry(flight)


def _at_limits(mission: Mission, flight: Signals) -> list[str]:
    """Say which wheels and thrusters were asked for all they can make, or more, for much of the time."""
    told = []
    for craft, section in mission.craft.items():
        for key, part in section.actuators.items():
            whole = part.kind_name() == "thrusters" and getattr(part, "modulation", "") == "pulse-width"
            limits = {"torque_Nm": getattr(part, "torque_limit_Nm", None), "on": 1.0 if whole else None}
            limits["momentum_Nms"] = getattr(part, "momentum_limit_Nms", None)
            for what, limit in limits.items():
                name = f"{craft}.{key}.{what}"
                if limit is None or name not in flight:
                    continue
                busy = np.mean(np.any(abs(flight[name].values) >= 0.999 * limit, axis=-1), axis=1) > BUSY
                if busy.any():
                    which = {"on": "thrust", "torque_Nm": "torque", "momentum_Nms": "momentum"}[what]
                    trials = f"in {int(busy.sum())} of {len(busy)} trials"
                    told.append(f"{craft}.{key}: at the limit of {which} for over {BUSY:.0%} of the time {trials}")
    return told


def _never_entered(mission: Mission, flight: Signals, modes: Mapping[str, Sequence[str]]) -> list[str]:
    """Name the modes of the file that no trial was in, nor in any of their legs, when signals were kept."""
    told = []
    for craft, names in modes.items():
        if len(names) > 1 and f"{craft}.mode" in flight:
            seen = np.unique(flight[f"{craft}.mode"].values)
            software = mission.software[craft]
            never = (name for name in software.modes if not set(software.places[name]) & set(seen))
            told += [f"{craft}: no trial was ever in mode {name}" for name in never]
    return told


def _run_dry(flight: Signals) -> list[str]:
    """Say which tanks were empty, in how many trials, and since when."""
    told = []
    for name in (str(key) for key in flight.data_vars if str(key).endswith(".propellant_kg")):
        empty = flight[name].values <= 1e-9  # rounding
        if empty.any():
            first = float(flight["time"].values[np.argmax(empty.any(axis=0))])
            trials = f"in {int(empty.any(axis=1).sum())} of {len(empty)} trials"
            told.append(f"{name.removesuffix('.propellant_kg')}: out of propellant {trials}, first at {first:g} s")
    return told


def _shut_out(flight: Signals, name: str) -> int:
    """Return in how many trials the gate shuts a sensor out."""
    used, refused = (flight[f"{name}.{what}"].values[:, -1] for what in ("used", "refused"))
    return int(np.sum(refused > REFUSED * (used + refused)))


def _mean_nis(flight: Signals, name: str) -> float:
    """Return the mean normalised innovation of a sensor over its dimension; 1 where none was kept."""
    if f"{name}.nis" not in flight:
        return 1.0
    values = flight[f"{name}.nis"].values
    return float(np.nanmean(values)) if np.isfinite(values).any() else 1.0


def _recovered(flight: Signals) -> list[str]:
    """Say how often filters had to recover: their models and the sensors contradict each other."""
    told = []
    for name in flight.data_vars:
        if not str(name).endswith(".recoveries"):
            continue
        count = np.nan_to_num(flight[name].values[:, -1])
        if count.sum() > 0.0:
            craft = str(name).removesuffix(".recoveries")
            told.append(f"{craft}: its filter recovered {int(count.sum())} times, in {int((count > 0.0).sum())} trials")
    return told
