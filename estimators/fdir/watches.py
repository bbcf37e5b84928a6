"""Sensors that contradict the filter for too long, wheels that do not follow their commands, and a user's own watch."""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Field

from gnc.batch import batched, sized, where
from gnc.config import NonNegative, Positive
from gnc.contract import source_name
from gnc.errors import InputError, PartError
from gnc.estimators.fdir.base import Fdir, FdirPart
from gnc.models.actuators.reaction_wheels import WheelSet
from gnc.models.craft.base import Report
from gnc.models.known import Known
from gnc.models.sensors import Gyro
from gnc.parts import OwnPart
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


@sized(lambda n: f"({3 * n}),({n}),({n}),({n}),({n}),(),()->({3 * n})")
def _compared(memory, expected, alone, momentum, tolerance, for_s, h, *, n):
    """Return momentum, time of disagreement, and what is left out, of each wheel."""
    wrong = [
        where((abs(m - e) > most * h) & (abs(m - f) > most * h), before + h, 0.0)
        for m, e, f, most, before in zip(momentum, expected, alone, tolerance, memory[n : 2 * n], strict=True)
    ]
    out = [where(time > for_s, 1.0, was) for time, was in zip(wrong, memory[2 * n :], strict=True)]
    return np.concatenate([momentum, np.stack(wrong), np.stack(out)])


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


class OwnWatch(Fdir):
    """A user's class, which may leave methods out."""

    def __init__(self, own: Any) -> None:
        for name in ("start", "innovation", "telemetry", "excluded"):
            if hasattr(own, name):
                setattr(self, name, getattr(own, name))


class OwnFdir(OwnPart, FdirPart):
    """A watch of your own: a class with start(trials) -> memory and excluded(memory) -> {part: 1 where left out}.

    It sees by innovation(memory, name, valid, made, t) -> memory, telemetry(memory, command, report, t, h) -> memory.
    It is given J, sensors, actuators, sky, h, period_s, trials if its constructor asks for them by these names.
    """

    kind: Literal["own"] = "own"

    def build(self, known: Known) -> OwnWatch:
        """Return the watch."""
        own = self.made(**known.offered())
        sizes = {**dict.fromkeys(known.sensors, ()), **{name: (e.size,) for name, e in known.effectors.items()}}
        for name, out in own.excluded(own.start(known.trials)).items():
            wanted = (known.trials, *sizes[name]) if name in sizes else None
            if wanted != np.shape(out):
                expected = f"an array {wanted}" if wanted else f"one of {', '.join(sizes)}"
                told = f"expected {expected}, received {name} {np.shape(out)}"
                raise PartError(source_name(self.component.source), "excluded", told)
        return OwnWatch(own)
