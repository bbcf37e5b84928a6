"""The navigation of one craft in the loop, with what all filters share.

That is: counts of measurements, the last field, what guards ask of sensors, faults of readings that depend on earlier
ones, what is left out, and the restart of a filter.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from gnc.batch import as_numbers, batched, chosen, maximum, sized, where
from gnc.errors import InputError
from gnc.estimators.fdir.base import Fdir
from gnc.history import Signal
from gnc.models.craft.base import Report
from gnc.models.faults.base import SensorFault, within
from gnc.models.sensors import Magnetometer
from gnc.models.sensors.interface import Measurement
from gnc.typing import Array

Window = tuple[Array, Array]  # from when to when [s], numbers or one per trial


class Belief(NamedTuple):
    """What a filter believes, and what was told to it."""

    filter: Any
    counts: tuple[Array, ...]  # (trials, 2) of each sensor: measurements that were used, and that were refused
    B_B: Array  # (trials, 3) field as last measured, NaN before [T]
    latest: tuple[Array, ...] = ()  # (trials, 3) of each watched sensor: valid, when last, last NIS over its size
    faults: tuple[Array, ...] = ()  # (trials, numbers) memory of each fault of a reading
    watches: tuple[Any, ...] = ()  # memory of each watch
    readings: tuple[Array, ...] = ()  # (trials, m) of each sensor that is recorded, the last valid one, NaN before


@dataclass(frozen=True, eq=False)
class Trouble:
    """The faults between a craft and its filter, and the response of flight software."""

    readings: Sequence[tuple[str, SensorFault]] = ()  # faults that remember, each with the sensor's name
    told: Sequence[tuple[str, Array | None, Window]] = ()  # part, its members that fail, when software knows
    resets: Sequence[Array] = ()  # when the filter forgets all [s]
    restarting: Sequence[int] = ()  # places of the modes that begin with it
    watches: Sequence[Fdir] = ()
    actuators: Sequence[str] = ()
    watched: Sequence[str] = ()  # sensors that guards ask about

    def parts(self) -> set[str]:
        """Return what may be left out."""
        names = {name for name, _, _ in self.told}
        for watch in self.watches:
            names |= set(watch.excluded(watch.start(1)))
        return names


@dataclass(frozen=True, eq=False)
class CraftNavigation:
    """A filter with the sensors of one craft; the sensors go by their names on the craft."""

    inner: Any
    sensors: Mapping[str, Any]
    trouble: Trouble = Trouble()
    first: Any = None  # what the filter believes before it has begun, if it may have to begin again
    names: list[str] = field(init=False)
    _field: str | None = field(init=False)
    _may_fail: set[str] = field(init=False)

    def __post_init__(self) -> None:
        """Look up what is asked for at every tick."""
        fields = [name for name, sensor in self.sensors.items() if isinstance(sensor, Magnetometer)]
        object.__setattr__(self, "names", list(self.sensors))
        object.__setattr__(self, "_field", fields[0] if fields else None)
        object.__setattr__(self, "_may_fail", self.trouble.parts())
        if (self.trouble.resets or self.trouble.restarting) and not hasattr(self.inner, "listens"):
            raise InputError('start.source: a filter that is restarted must search; give "search" or "tracker"')

    @property
    def signals(self) -> dict[str, Signal]:
        """What is told of belief and truth, and of each sensor."""
        signals = dict(self.inner.signals)
        for name in self.names:
            signals[f"{name}.used"] = Signal("1", f"{name}: measurements used so far")
            signals[f"{name}.refused"] = Signal("1", f"{name}: measurements that the gate refused so far")
        for name in self.recorded:
            signals[f"{name}.reading"] = Signal(
                "1", f"{name}: what it last said, in its own unit and axes", partial=True
            )
        for name in sorted(self._may_fail):
            signals[f"{name}.excluded"] = Signal("1", f"{name}: how many of its members flight software leaves out")
        return signals

    @property
    def recorded(self) -> list[str]:
        """The sensors whose readings are told as they are; no filter is corrected by them."""
        return [name for name, sensor in self.sensors.items() if getattr(sensor, "recorded", False)]

    def start(self, belief: Any, trials: int) -> Belief:
        """Return the belief before any measurement."""
        counts = tuple(np.zeros((trials, 2)) for _ in self.names)
        latest = tuple(np.tile([0.0, -np.inf, 0.0], (trials, 1)) for _ in self.trouble.watched)
        faults = tuple(fault.start(trials) for _, fault in self.trouble.readings)
        watches = tuple(watch.start(trials) for watch in self.trouble.watches)
        readings = tuple(np.full((trials, 3), np.nan) for _ in self.recorded)
        return Belief(belief, counts, np.full((trials, 3), np.nan), latest, faults, watches, readings)

    def predict(self, belief: Belief, command: Any, report: Report, t: Any, h: Any) -> Belief:
        """Move over h."""
        trouble, effectors = self.trouble, command.effectors
        for when in trouble.resets:
            belief = self._restarted(belief, within(when, t, t + h))
        for mode in trouble.restarting:
            belief = self._restarted(belief, _entered(command.mode, command.entered_s, t, float(mode)))
        if trouble.watches:
            commands = dict(zip(trouble.actuators, effectors, strict=True))
            memories = zip(trouble.watches, belief.watches, strict=True)
            belief = belief._replace(watches=tuple(w.telemetry(m, commands, report, t, h) for w, m in memories))
        return belief._replace(filter=self.inner.predict(belief.filter, effectors, report, t, h))

    def _restarted(self, belief: Belief, now: Array) -> Belief:
        """Return the belief with the filter at its beginning where `now` is 1, and what judges sensors by it too."""
        memories = zip(self.trouble.watches, belief.watches, strict=True)
        watches = tuple(chosen(now > 0.0, w.start(1)[0], m) if w.of_filter else m for w, m in memories)
        return belief._replace(filter=chosen(now > 0.0, self.first, belief.filter), watches=watches)

    def update(self, belief: Belief, name: str, measurement: Any, t: Any) -> tuple[Belief, Any]:
        """Correct with a measurement, and count it."""
        i = self.names.index(name)
        belief, z, said = self._failing(belief, name, measurement, t)
        valid = said if name not in self._may_fail else said * (1.0 - self.excluded(belief, t)[name])
        if name in self.recorded:
            k, readings = self.recorded.index(name), list(belief.readings)
            readings[k] = _latest(z, valid, readings[k])
            counts = (*belief.counts[:i], _counted(belief.counts[i], valid, valid), *belief.counts[i + 1 :])
            return self._watched(belief._replace(readings=tuple(readings), counts=counts), name, said, None, t), None
        heard = valid * self.inner.listens(belief.filter) if hasattr(self.inner, "listens") else valid
        if self.trouble.readings or self._may_fail:
            measurement = read(measurement, z, valid)
        filter_, innovation = self.inner.update(belief.filter, name, measurement, t)
        used = heard if innovation is None else as_numbers(innovation.used)
        counts = (*belief.counts[:i], _counted(belief.counts[i], heard, used), *belief.counts[i + 1 :])
        B_B = belief.B_B
        if name == self._field:
            B_B = _latest(self.sensors[name].in_body(z), valid, B_B)
        belief = belief._replace(filter=filter_, counts=counts, B_B=B_B)
        return self._watched(belief, name, said, innovation, t), innovation

    def _failing(self, belief: Belief, name: str, measurement: Any, t: Any) -> tuple[Belief, Array, Array]:
        """Return the belief with the memories of faults, and the reading after them."""
        z, valid, memories = measurement[0], as_numbers(measurement[1]), list(belief.faults)
        for k, (part, fault) in enumerate(self.trouble.readings):
            if part == name:
                z, valid, memories[k] = fault.change(z, valid, t, memories[k])
        return belief._replace(faults=tuple(memories)), z, valid

    def _watched(self, belief: Belief, name: str, valid: Array, innovation: Any, t: Any) -> Belief:
        """Return the belief after what watches and guards see of a measurement."""
        watches, latest = belief.watches, list(belief.latest)
        if innovation is not None:
            memories = zip(self.trouble.watches, watches, strict=True)
            watches = tuple(w.innovation(m, name, valid, innovation, t) for w, m in memories)
        if name in self.trouble.watched:
            k = list(self.trouble.watched).index(name)
            nis = 0.0 * valid if innovation is None else innovation.nis / float(np.shape(innovation.y)[-1])
            latest[k] = _noted(latest[k], valid, nis, t)
        return belief._replace(watches=watches, latest=tuple(latest))

    def excluded(self, belief: Belief, t: Any) -> dict[str, Array]:
        """Return what is left out now: (trials,) of a sensor, (trials, members) of an actuator; 1 where it is."""
        shares: dict[str, Array] = {}
        for name, members, window in self.trouble.told:
            out = (
                _one(within(t, *window), belief.B_B)
                if members is None
                else _members(len(members))(within(t, *window), members, belief.B_B)
            )
            shares[name] = shares[name] + out - shares[name] * out if name in shares else out
        for watch, memory in zip(self.trouble.watches, belief.watches, strict=True):
            for name, out in watch.excluded(memory).items():
                shares[name] = shares[name] + out - shares[name] * out if name in shares else out
        return shares

    def asked(self, name: str, belief: Belief, now: Array) -> Array:
        """Return what a guard asks of the filter or of a part: `sigma_deg`, or `tracker.age_s`."""
        if name == "sigma_deg":
            return _sigma_deg(_covariance(belief.filter)[..., :3, :3])
        part, _, word = name.partition(".")
        if word == "excluded":
            return _total(self.excluded(belief, now).get(part, 0.0 * now), now)
        valid, when, nis = (belief.latest[list(self.trouble.watched).index(part)][..., k] for k in range(3))
        return {"valid": valid, "age_s": now - when, "nis": nis}[word]

    def estimate(self, belief: Belief, report: Report) -> Any:
        """Return what guidance and laws are given."""
        estimate = self.inner.estimate(belief.filter, report)
        if report.joints is not None and hasattr(estimate, "joints"):
            estimate = estimate._replace(joints=report.joints)
        return estimate._replace(B_B=belief.B_B) if self._field and hasattr(estimate, "B_B") else estimate

    def observe(self, belief: Belief, truth: Any, t: float) -> dict[str, Array]:
        """Return the values of its signals."""
        values = dict(self.inner.observe(belief.filter, truth, t))
        for name, count in zip(self.names, belief.counts, strict=True):
            values |= {f"{name}.used": count[..., 0], f"{name}.refused": count[..., 1]}
        values |= {f"{name}.reading": z for name, z in zip(self.recorded, belief.readings, strict=True)}
        for name, out in (self.excluded(belief, t) if self._may_fail else {}).items():
            values[f"{name}.excluded"] = _total(out, belief.counts[0][..., 0] if belief.counts else out)
        return values


def read(measurement: Any, z: Array, valid: Array) -> Any:
    """Return a measurement with another reading, valid being 1 or 0."""
    if hasattr(measurement, "_fields"):
        return measurement._replace(z=z, valid=valid != 0.0)
    return Measurement(z, valid != 0.0)


def _covariance(belief: Any) -> Array:
    """Return the covariance of a filter, which some navigations hold inside another belief."""
    if hasattr(belief, "C"):
        return belief.C
    for inner in ("filter", "mekf"):
        if hasattr(belief, inner):
            return _covariance(getattr(belief, inner))
    raise InputError("sigma_deg: this filter tells no covariance")


def _total(out: Array, like: Array) -> Array:
    """Return how many members are left out, (trials,)."""
    extra = np.ndim(out) > np.ndim(like)
    return sum((out[..., k] for k in range(1, out.shape[-1])), out[..., 0]) if extra else out


@batched("(),(3)->()")
def _one(out, like):
    """Return whether a sensor is left out, once for every trial."""
    return where(like[0] == like[0], out, out)


@sized(lambda n: f"(),({n}),(3)->({n})")
def _members(out, members, like):
    """Return which members are left out, once for every trial."""
    return where(like[0] == like[0], out, out) * members


@batched("(3,3)->()")
def _sigma_deg(C):
    """Return the largest standard deviation of an attitude [deg]."""
    return np.sqrt(maximum(maximum(C[0, 0], C[1, 1]), C[2, 2])) * (180.0 / np.pi)


@batched("(),(),(),()->()")
def _entered(mode, entered_s, t, this):
    """Return 1 where this mode begins at t."""
    return where((mode == this) & (entered_s == t), 1.0, 0.0)


@batched("(3),(),(),()->(3)")
def _noted(before, valid, nis, t):
    """Return whether a measurement is valid, when one was last, and its NIS over its size."""
    there = valid > 0.0
    return np.stack([valid, where(there, t, before[1]), where(there, nis, before[2])])


@batched("(2),(),()->(2)")
def _counted(counts, valid, used):
    """Return the counts with one measurement more."""
    taken = where((valid > 0.0) & (used > 0.0), 1.0, 0.0)
    return counts + np.stack([taken, where(valid > 0.0, 1.0, 0.0) - taken])


@batched("(3),(),(3)->(3)")
def _latest(new, valid, old):
    """Return the new vector where it is valid."""
    return where(valid > 0.0, new, old)
