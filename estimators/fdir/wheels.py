"""Wheels that do not follow their commands are left out."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Mapping
from typing import Any, Literal

import numpy as np

from gnc.batch import Kernel, batched, where
from gnc.config import Positive
from gnc.errors import InputError
from gnc.estimators.fdir.base import Fdir, FdirPart
from gnc.models.actuators.reaction_wheels import WheelSet
from gnc.models.craft.base import Report
from gnc.models.known import Known
from gnc.typing import Array


class WheelWatch(Fdir):
    """Compares the momentum of each wheel by its tachometer with what its command should have made of it.

    That is so with wheels at a limit holding the others back, and without, as those do that have failed.
    """

    def __init__(self, name: str, place: int, wheels: WheelSet, tolerance: float, for_s: float) -> None:
        self._name, self._place, self._wheels = name, place, wheels
        self._alone = WheelSet(dataclasses.replace(wheels.wheels, saturation="each"), 0.0)
        self._numbers = tolerance * wheels.wheels.torque_limit, for_s

    def start(self, trials: int) -> Array:
        """Return the memory: momentum as last told, time of disagreement, whether it is left out, of each wheel."""
        n = self._wheels.size
        return np.concatenate([np.full((trials, n), np.nan), np.zeros((trials, 2 * n))], axis=-1)

    def telemetry(self, memory: Array, command: Mapping[str, Array], report: Report, t: Any, h: Any) -> Array:
        """Return the memory after an interval."""
        n, u = self._wheels.size, command[self._name]
        expected = (wheels.act(u, memory[..., :n], h)[1] for wheels in (self._wheels, self._alone))
        return _compared(n)(memory, *expected, report.effectors[self._place], *self._numbers, h)

    def excluded(self, memory: Array) -> Mapping[str, Array]:
        """Return which wheels are left out."""
        return {self._name: memory[..., 2 * self._wheels.size :]}


@functools.cache
def _compared(n: int) -> Kernel:
    """Return the kernel of n wheels."""

    @batched(f"({3 * n}),({n}),({n}),({n}),({n}),(),()->({3 * n})")
    def compared(memory, expected, alone, momentum, tolerance, for_s, h):
        """Return momentum, time of disagreement, and what is left out, of each wheel."""
        wrong = [
            where((abs(m - e) > most * h) & (abs(m - f) > most * h), before + h, 0.0)
            for m, e, f, most, before in zip(momentum, expected, alone, tolerance, memory[n : 2 * n], strict=True)
        ]
        out = [where(time > for_s, 1.0, was) for time, was in zip(wrong, memory[2 * n :], strict=True)]
        return np.concatenate([momentum, np.stack(wrong), np.stack(out)])

    return compared


class WheelsPart(FdirPart):
    """Leaves out, for good, a wheel whose tachometer says that it does not follow its commands."""

    kind: Literal["wheels"] = "wheels"
    wheels: str = "wheels"
    """The actuator that is watched."""
    tolerance: Positive = 0.002
    """By how much of its torque limit a wheel may be off; more than what is not known of its friction."""
    for_s: Positive = 5.0
    """For so long without a break."""

    def build(self, known: Known) -> WheelWatch:
        """Return the watch."""
        wheels = known.effectors.get(self.wheels)
        if not isinstance(wheels, WheelSet):
            raise InputError(f"wheels = {self.wheels!r}: there are no wheels of that name")
        place = list(known.effectors).index(self.wheels)
        return WheelWatch(self.wheels, place, wheels, self.tolerance, self.for_s)
