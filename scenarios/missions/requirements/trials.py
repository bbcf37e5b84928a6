"""How many trials something may happen to."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from gnc.checks import Check, at_most
from gnc.expression import parse
from gnc.scenarios.missions.requirements.base import Finding, Judged, RequirementPart


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
