"""When a trial counts as lost, how many may be, and to how many something may happen."""

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from gnc.checks import Check, at_most
from gnc.expression import parse
from gnc.scenarios.missions.requirements.base import Finding, Judged, RequirementPart


class LostPart(RequirementPart):
    """Trials that are lost: those without numbers, and those for which a condition becomes true.

    Lost trials are left out of all statistics, and counted here.
    """

    kind: Literal["lost"] = "lost"
    first: ClassVar[bool] = True
    written: ClassVar[tuple[str, ...]] = ("when", "unless")
    when: str = ""
    """A condition that makes a trial lost when it is true at any recorded time."""
    unless: str = ""
    """A condition that must be true at the end, or the trial is lost."""
    reason: str = ""
    """Why, in words; by default the condition. What `unless` says is told with the guard that never came true."""
    at_most: Annotated[int, Field(ge=0)] = 0
    """How many trials may be lost."""

    def judge(self, name: str, judged: Judged) -> Finding:
        """Return which trials are lost."""
        finding, t = Finding(), judged.flight["time"].values
        if self.when:
            happens = judged.value(parse(self.when)).astype(bool)
            for i, (trial, row) in enumerate(zip(judged.trials.tolist(), happens, strict=True)):
                if row.any():
                    k = int(np.argmax(row))
                    finding.lost[trial] = f"{self.reason or self.when}, at {t[k]:g} s{judged.in_mode(i, k)}"
        if self.unless:
            ends = judged.value(parse(self.unless)).astype(bool)
            reason = self.reason if self.reason and not self.when else f"not {self.unless}"
            for i, (trial, row) in enumerate(zip(judged.trials.tolist(), ends, strict=True)):
                if not np.atleast_1d(row)[-1]:
                    finding.lost.setdefault(trial, f"{reason} at the end{judged.stuck(i)}")
        return finding

    def count(self, name: str, lost: int) -> Finding:
        """Return how many trials were lost, for whatever reason."""
        return Finding({name: float(lost)}, [at_most("lost trials", lost, self.at_most)])


class TrialsPart(RequirementPart):
    """The number of trials in which a condition is true at any recorded time; the condition makes no trial lost."""

    kind: Literal["trials"] = "trials"
    written: ClassVar[tuple[str, ...]] = ("when",)
    title: str = ""
    """What it is called in tables; by default its name."""
    when: str
    """The condition, on t, end, mode, eclipse and any signals."""
    at_most: Annotated[int, Field(ge=0)] | None = None
    """How many trials it may become true for; without a bound they are counted only."""

    def judge(self, name: str, judged: Judged) -> Finding:
        """Return how many trials there are, and which succeed."""
        happens = judged.value(parse(self.when)).astype(bool)
        struck = happens if happens.ndim == 1 else happens.any(axis=1)
        count = int(struck.sum())
        finding = Finding({name: float(count)}, per_trial={name: struck.astype(float)})
        if self.at_most is not None:
            finding.checks, finding.success = [at_most(self.title or name, count, self.at_most)], ~struck
        return finding

    def campaign(self, name: str, table: Mapping[str, Any], kept: Any) -> list[Check]:
        """Return how many trials of a campaign there are."""
        count = float(np.nansum(np.asarray(table[name], float)))
        return [] if self.at_most is None else [at_most(self.title or name, count, self.at_most)]
