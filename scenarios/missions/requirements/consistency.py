"""Whether a filter is honest: its mean NEES in the exact band that an honest one keeps."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from gnc.checks import Check, within
from gnc.config import NonNegative
from gnc.errors import InputError
from gnc.estimators.consistency import mean_band
from gnc.expression import parse
from gnc.montecarlo.summary import TALLY
from gnc.scenarios.missions.requirements.base import ALWAYS, Finding, Judged, RequirementPart, no_data, resolve


class ConsistencyPart(RequirementPart):
    """The mean of a NEES over all trials and times that count, within the band that an honest filter keeps.

    Errors of one trial are not independent: the band is that of as many values as there are trials.
    """

    kind: Literal["consistency"] = "consistency"
    written: ClassVar[tuple[str, ...]] = ("when",)
    title: str = ""
    """What it is called in tables; by default its name."""
    signal: str = "nees"
    """A signal with a nominal value, its number of dimensions."""
    when: str = ""
    """The times that count; all if it is empty."""
    confidence: Annotated[float, Field(gt=0, lt=1)] = 0.99
    """With which the mean of an honest filter is in its exact band."""
    excess: NonNegative = 0.0
    """What is added to the top of that band, as a fraction of the nominal value."""

    def names(self) -> set[str]:
        """Return the signals that it needs."""
        return {self.signal} | super().names()

    def judge(self, name: str, judged: Judged) -> Finding:
        """Return the mean, and whether it is in its band."""
        full = resolve(self.signal, judged.flight.data_vars, judged.mission.craft)
        nominal = None if full in ALWAYS else judged.flight[full].attrs.get("nominal")
        if nominal is None:
            raise InputError(f"signal = {self.signal!r}: has no nominal value; give a NEES")
        values = judged.flight[full].values
        counted = judged.value(parse(self.when or "t >= 0")).astype(bool) & np.isfinite(values)
        own = np.array([v[w].mean() if w.any() else np.nan for v, w in zip(values, counted, strict=True)])
        finding = Finding(per_trial={name: own})
        finding.tally = {f"{name} count": counted.sum(axis=1).astype(float), f"{name} of": np.full(len(own), nominal)}
        counted = counted & judged.kept[:, None]
        finding.metrics = {name: float(values[counted].mean()) if counted.any() else float("nan")}
        finding.checks = [self._checked(name, finding.metrics[name], int(counted.any(axis=1).sum()), nominal)]
        return finding

    def campaign(self, name: str, table: Mapping[str, Any], kept: Any) -> list[Check]:
        """Return the mean over all trials of a campaign; its band is narrower, as there are more of them."""
        own, count, of = (
            np.asarray(table[key])[kept] for key in (name, *(f"{TALLY}{name} {w}" for w in ("count", "of")))
        )
        good = count > 0.0
        mean = float(np.sum(own[good] * count[good]) / count.sum()) if good.any() else float("nan")
        return [self._checked(name, mean, int(good.sum()), float(of[0]) if len(of) else 1.0)]

    def _checked(self, name: str, mean: float, trials: int, nominal: float) -> Check:
        band, title = mean_band(nominal, max(trials, 1), self.confidence), self.title or name
        low, high = float(band.lo), float(band.hi) + self.excess * nominal
        return within(title, mean, low, high, f"nominal {nominal:g}") if trials else no_data(title, (low, high))
