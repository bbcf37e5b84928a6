"""A statistic of a signal against a bound."""

import re
from collections.abc import Callable, Mapping
from typing import Annotated, Any, ClassVar, Literal, Self

import numpy as np
from pydantic import AfterValidator, model_validator

from gnc.checks import Check, at_least, at_most, within
from gnc.errors import InputError
from gnc.expression import parse
from gnc.montecarlo.summary import TALLY
from gnc.scenarios.missions.requirements.base import ALWAYS, Finding, Judged, RequirementPart, no_data, resolve
from gnc.typing import Array, Mask

NAMED: dict[str, Callable[[Array], float]] = {
    "rms": lambda x: float(np.sqrt(np.mean(np.square(x)))),
    "mean": lambda x: float(np.mean(x)),
    "max": lambda x: float(np.max(x)),
    "min": lambda x: float(np.min(x)),
    "final": lambda x: float(np.max(x)),  # the last value of each trial; of all trials the largest
    "fraction": lambda x: float(np.mean(x != 0.0)),
}


def _known(text: str) -> str:
    if text not in NAMED and not re.fullmatch(r"p(100|\d{1,2}(\.\d+)?)", text):
        raise InputError(f"{text!r} is no statistic; give {', '.join(NAMED)} or a percentile such as p50, p95, p99.7")
    return text


def statistic(text: str) -> Callable[[Array], float]:
    """Return the statistic of a name."""
    return NAMED[text] if text in NAMED else lambda x: float(np.percentile(x, float(text[1:])))


class StatisticPart(RequirementPart):
    """A statistic of a signal, over all trials and times that count, against a bound; without a bound it is told only.

    A trial by itself succeeds if its own statistic keeps the bound.
    """

    kind: Literal["statistic"] = "statistic"
    written: ClassVar[tuple[str, ...]] = ("signal", "when")
    title: str = ""
    """What it is called in tables; by default its name."""
    signal: str
    """A signal, or arithmetic of signals; a vector counts by its length."""
    when: str = ""
    """The times that count: a condition on t, end, mode, eclipse and any signals; all if it is empty."""
    statistic: Annotated[str, AfterValidator(_known)] = "max"
    """rms, mean, max, min, final, fraction, or a percentile such as p99.7."""
    at_most: float | None = None
    at_least: float | None = None
    per_trial: bool = True
    """Whether a trial by itself fails by it; not so for what has a meaning over many trials only, such as NEES."""

    @model_validator(mode="after")
    def _can_be_kept(self) -> Self:
        if self.at_most is not None and self.at_least is not None and self.at_most < self.at_least:
            raise InputError(f"at_most = {self.at_most:g} is below at_least = {self.at_least:g}; nothing can keep both")
        return self

    def judge(self, name: str, judged: Judged) -> Finding:
        """Return the statistic, and whether it keeps its bound."""
        values, counted = self._counted(judged)
        counted = counted & np.isfinite(values)
        if self.statistic == "final":  # of each trial the last that counts
            counted &= np.cumsum(counted[:, ::-1], axis=1)[:, ::-1] == 1
        each = [v[w] for v, w in zip(values, counted, strict=True)]
        pooled = [v for v, kept in zip(each, judged.kept, strict=True) if kept]
        of = statistic(self.statistic)
        alone = np.array([of(v) if len(v) else np.nan for v in each])
        everything = np.concatenate(pooled) if pooled else np.zeros(0)
        never = values.shape[1] == 1 and any(not len(v) for v in pooled)  # what has no time never happened
        value = of(everything) if len(everything) and not never else float("nan")
        finding = Finding({name: value}, per_trial={name: alone})
        low = -np.inf if self.at_least is None else self.at_least
        beyond = (values > (np.inf if self.at_most is None else self.at_most)) | (values < low)
        tally = {"count": counted, "beyond": counted & beyond}
        finding.tally = {f"{name} {what}": number.sum(axis=1).astype(float) for what, number in tally.items()}
        if self.at_most is not None or self.at_least is not None:
            finding.checks = [self._check(self.title or name, value, self._note(judged))]
            finding.success = self._keeps(alone) if self.per_trial else None
        return finding

    def campaign(self, name: str, table: Mapping[str, Any], kept: Any) -> list[Check]:
        """Return the same statistic over all trials of a campaign; a percentile by the share beyond its bound."""
        if self.at_most is None and self.at_least is None:
            return []
        title, alone = self.title or name, np.asarray(table[name])[kept]
        count, beyond = (np.asarray(table[f"{TALLY}{name} {what}"])[kept] for what in ("count", "beyond"))
        good = np.isfinite(alone)
        if not good.any():
            return [self._check(title, float("nan"), "")]
        if self.statistic.startswith("p"):
            allowed = 1.0 - 0.01 * float(self.statistic[1:])
            edges = " or ".join(f"{edge:g}" for edge in (self.at_least, self.at_most) if edge is not None)
            note = f"value: share of time beyond {edges}"
            return [at_most(title, float(beyond.sum() / count.sum()), allowed, note)]
        if self.statistic in ("max", "final"):
            return [self._check(title, float(alone[good].max()), "")]
        if self.statistic == "min":
            return [self._check(title, float(alone[good].min()), "")]
        power = 2.0 if self.statistic == "rms" else 1.0
        mean = float(np.sum(alone[good] ** power * count[good]) / np.sum(count[good]))
        return [self._check(title, mean ** (1.0 / power), "")]

    def _counted(self, judged: Judged) -> tuple[Array, Array]:
        """Return the values (trials, times), and which of them count."""
        values = judged.value(parse(self.signal)).astype(float)
        counted = np.ones(values.shape, bool) if not self.when else judged.value(parse(self.when)).astype(bool)
        if values.ndim == 1:
            values, counted = values[:, None], counted if counted.ndim == 1 else np.ones_like(values, bool)
        if counted.ndim == 1:
            counted = np.broadcast_to(counted[:, None], values.shape)
        return values, counted

    def _check(self, title: str, value: float, note: str) -> Check:
        low, high = self.at_least, self.at_most
        if low is not None and high is not None:
            return no_data(title, (low, high)) if np.isnan(value) else within(title, value, low, high, note)
        check = at_most(title, value, high, note) if low is None else at_least(title, value, low, note)  # type: ignore[arg-type]
        return no_data(title, check.bound, check.relation) if np.isnan(value) else check

    def _keeps(self, alone: Array) -> Mask:
        """Tell which trials keep the bound by themselves; one without data does not."""
        good = np.isfinite(alone)
        if self.at_most is not None:
            good &= alone <= self.at_most
        if self.at_least is not None:
            good &= alone >= self.at_least
        return good

    def _note(self, judged: Judged) -> str:
        """Return the nominal value of the signal, if it has one: a NEES is 5.8 of 6."""
        names = parse(self.signal).names
        if self.statistic != "mean" or self.signal not in names:
            return ""
        full = resolve(self.signal, judged.flight.data_vars, judged.mission.craft)
        nominal = None if full in ALWAYS else judged.flight[full].attrs.get("nominal")
        return "" if nominal is None else f"nominal {nominal:g}"
