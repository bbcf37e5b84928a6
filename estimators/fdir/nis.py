"""Sensors that contradict the filter for too long are left out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Field

from gnc.batch import batched, where
from gnc.config import NonNegative, Positive
from gnc.errors import InputError
from gnc.estimators.fdir.base import Fdir, FdirPart
from gnc.models.known import Known
from gnc.models.sensors import Gyro
from gnc.typing import Array


class NisWatch(Fdir):
    """Counts measurements in a row whose NIS over their size is beyond a limit; within it, those counts go back."""

    of_filter = True

    def __init__(self, names: Sequence[str], limit: float, count: int, readmit: bool, from_s: float) -> None:
        self._names, self._numbers, self._from_s = list(names), (limit, float(count), float(readmit)), from_s

    def start(self, trials: int) -> Array:
        """Return nothing counted: of each sensor the bad ones in a row, and whether it is left out."""
        return np.zeros((trials, 2 * len(self._names)))

    def innovation(self, memory: Array, name: str, valid: Array, made: Any, t: Any) -> Array:
        """Return the counts after a measurement."""
        if name not in self._names:
            return memory
        i = 2 * self._names.index(name)
        nis = made.nis / float(np.shape(made.y)[-1])
        own = _counted(memory[..., i : i + 2], nis, valid, t, self._from_s, *self._numbers)
        return np.concatenate([memory[..., :i], own, memory[..., i + 2 :]], axis=-1)

    def excluded(self, memory: Array) -> Mapping[str, Array]:
        """Return which sensors are left out."""
        return {name: memory[..., 2 * i + 1] for i, name in enumerate(self._names)}


@batched("(2),(),(),(),(),(),(),()->(2)")
def _counted(own, nis, valid, t, from_s, limit, count, readmit):
    """Return how many in a row spoke against what the sensor is taken for, and whether it is left out."""
    out, agrees = own[1] > 0.0, nis <= limit
    against = (out & agrees & (readmit > 0.0)) | (~out & ~agrees)
    looked = (valid > 0.0) & (t >= from_s)
    row = where(looked, where(against, own[0] + 1.0, 0.0), own[0])
    turns = row >= count
    return np.stack([where(turns, 0.0, row), where(turns, 1.0 - own[1], own[1])])


class NisPart(FdirPart):
    """Leaves out a sensor that contradicts the filter several times in a row, until it agrees as often again."""

    kind: Literal["nis"] = "nis"
    sensors: tuple[str, ...] = ()
    """Those that are watched; by default all but gyros, which have no innovation."""
    limit: Positive = 9.0
    """Of the NIS over the size of the measurement, whose mean is 1."""
    count: Annotated[int, Field(ge=1)] = 5
    """How many in a row."""
    readmit: bool = True
    """Whether it is taken in again after as many that agree."""
    from_s: NonNegative = 120.0
    """Before that a filter may be wrong itself."""

    def build(self, known: Known) -> NisWatch:
        """Return the watch."""
        if unknown := set(self.sensors) - set(known.sensors):
            raise InputError(f"sensors: there is no {min(unknown)!r}; there are {', '.join(known.sensors) or 'none'}")
        names = self.sensors or [name for name, one in known.sensors.items() if not isinstance(one, Gyro)]
        return NisWatch(names, self.limit, self.count, self.readmit, self.from_s)
