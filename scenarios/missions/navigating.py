"""The navigation of one craft in the loop, with what all filters share: counts of measurements, the last field."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from gnc.batch import as_numbers, batched, where
from gnc.history import Signal
from gnc.models.craft.base import Report
from gnc.models.sensors import Magnetometer
from gnc.typing import Array


class Belief(NamedTuple):
    """What a filter believes, and what was told to it."""

    filter: Any
    counts: tuple[Array, ...]  # (trials, 2) of each sensor: measurements that were used, and that were refused
    B_B: Array  # (trials, 3) field as last measured, NaN before [T]


class CraftNavigation:
    """A filter with the sensors of one craft; the sensors go by their names on the craft."""

    def __init__(self, inner: Any, sensors: Mapping[str, Any]) -> None:
        self.inner, self.sensors, self.names = inner, sensors, list(sensors)
        fields = [name for name, sensor in sensors.items() if isinstance(sensor, Magnetometer)]
        self._field = fields[0] if fields else None

    @property
    def signals(self) -> dict[str, Signal]:
        """What is told of belief and truth, and of each sensor."""
        found = dict(self.inner.signals)
        for name in self.names:
            found[f"{name}.used"] = Signal("1", f"{name}: measurements used so far")
            found[f"{name}.refused"] = Signal("1", f"{name}: measurements that the gate refused so far")
        return found

    def start(self, belief: Any, trials: int) -> Belief:
        """Return the belief before any measurement."""
        counts = tuple(np.zeros((trials, 2)) for _ in self.names)
        return Belief(belief, counts, np.full((trials, 3), np.nan))

    def predict(self, belief: Belief, command: tuple[Array, ...], report: Report, t: Any, h: Any) -> Belief:
        """Move over h."""
        return belief._replace(filter=self.inner.predict(belief.filter, command, report, t, h))

    def update(self, belief: Belief, name: str, measurement: Any, t: Any) -> tuple[Belief, Any]:
        """Correct with a measurement, and count it."""
        i, valid = self.names.index(name), as_numbers(measurement[1])
        heard = valid * self.inner.listens(belief.filter) if hasattr(self.inner, "listens") else valid
        filter_, made = self.inner.update(belief.filter, name, measurement, t)
        used = heard if made is None else as_numbers(made.used)
        counts = (*belief.counts[:i], _counted(belief.counts[i], heard, used), *belief.counts[i + 1 :])
        B_B = belief.B_B
        if name == self._field:
            B_B = _latest(self.sensors[name].in_body(measurement[0]), valid, B_B)
        return Belief(filter_, counts, B_B), made

    def estimate(self, belief: Belief, report: Report) -> Any:
        """Return what guidance and laws are given."""
        estimate = self.inner.estimate(belief.filter, report)
        if report.joints is not None and hasattr(estimate, "joints"):
            estimate = estimate._replace(joints=report.joints)
        return estimate._replace(B_B=belief.B_B) if self._field and hasattr(estimate, "B_B") else estimate

    def observe(self, belief: Belief, truth: Any, t: float) -> dict[str, Array]:
        """Return the values of its signals."""
        found = dict(self.inner.observe(belief.filter, truth, t))
        for name, count in zip(self.names, belief.counts, strict=True):
            found |= {f"{name}.used": count[..., 0], f"{name}.refused": count[..., 1]}
        return found


@batched("(2),(),()->(2)")
def _counted(counts, valid, used):
    """Return the counts with one measurement more."""
    taken = where((valid > 0.0) & (used > 0.0), 1.0, 0.0)
    return counts + np.stack([taken, where(valid > 0.0, 1.0, 0.0) - taken])


@batched("(3),(),(3)->(3)")
def _latest(new, valid, old):
    """Return the new vector where it is valid."""
    return where(valid > 0.0, new, old)
