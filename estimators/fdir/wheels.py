"""Wheels that do not follow their commands are left out."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any, Literal

import numpy as np

from gnc.batch import Kernel, batched, maximum, minimum, where
from gnc.config import Positive
from gnc.errors import InputError
from gnc.estimators.fdir.base import Fdir, FdirPart
from gnc.models.actuators.reaction_wheels import WheelSet
from gnc.models.craft.base import Report
from gnc.models.known import Known
from gnc.typing import Array

NEAR_LIMIT = 0.98  # of its momentum limit, from which on a wheel need not follow


class WheelWatch(Fdir):
    """Compares the torque of each wheel by its tachometer with the commanded one, over every interval."""

    def __init__(self, name: str, place: int, wheels: WheelSet, tolerance: float, for_s: float) -> None:
        self._name, self._place, self._n = name, place, wheels.size
        self._limits = wheels.wheels.torque_limit, wheels.wheels.momentum_limit
        self._numbers = tolerance, for_s

    def start(self, trials: int) -> Array:
        """Return the memory: momentum as last told, time of disagreement, whether it is left out, of each wheel."""
        return np.concatenate([np.full((trials, self._n), np.nan), np.zeros((trials, 2 * self._n))], axis=-1)

    def telemetry(self, memory: Array, command: Mapping[str, Array], report: Report, t: Any, h: Any) -> Array:
        """Return the memory after an interval."""
        told = report.effectors[self._place]
        return _compared(self._n)(memory, command[self._name], told, *self._limits, *self._numbers, h)

    def excluded(self, memory: Array) -> Mapping[str, Array]:
        """Return which wheels are left out."""
        return {self._name: memory[..., 2 * self._n :]}


def _one(before, wrong_s, out, command, momentum, torque_limit, momentum_limit, tolerance, for_s, h):
    """Return the time of disagreement of a wheel, and whether it is left out."""
    asked = maximum(minimum(command, torque_limit), -torque_limit)
    off = abs((momentum - before) / h + asked) > tolerance * torque_limit
    free = maximum(abs(momentum), abs(before)) < NEAR_LIMIT * momentum_limit
    time = where(off & free, wrong_s + h, 0.0)
    return time, where(time > for_s, 1.0, out)


@functools.cache
def _compared(n: int) -> Kernel:
    """Return the kernel of n wheels."""

    @batched(f"({3 * n}),({n}),({n}),({n}),({n}),(),(),()->({3 * n})")
    def compared(memory, command, momentum, torque_limit, momentum_limit, tolerance, for_s, h):
        """Return momentum, time of disagreement, and what is left out, of each wheel."""
        of_wheel = *np.split(memory, 3), command, momentum, torque_limit, momentum_limit
        found = [_one(*(x[k] for x in of_wheel), tolerance, for_s, h) for k in range(n)]
        return np.concatenate([momentum, np.stack([x for x, _ in found]), np.stack([x for _, x in found])])

    return compared


class WheelsPart(FdirPart):
    """Leaves out, for good, a wheel whose tachometer says that it does not follow its commands."""

    kind: Literal["wheels"] = "wheels"
    wheels: str = "wheels"
    """The actuator that is watched."""
    tolerance: Positive = 0.02
    """By how much of its torque limit a wheel may be off."""
    for_s: Positive = 5.0
    """For so long without a break."""

    def build(self, known: Known) -> WheelWatch:
        """Return the watch."""
        wheels = known.effectors.get(self.wheels)
        if not isinstance(wheels, WheelSet):
            raise InputError(f"wheels = {self.wheels!r}: there are no wheels of that name")
        place = list(known.effectors).index(self.wheels)
        return WheelWatch(self.wheels, place, wheels, self.tolerance, self.for_s)
