"""Thrusters that are on or off."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from gnc import check
from gnc.batch import batched, maximum, minimum, sized, where
from gnc.history import Signal
from gnc.linalg import array, cross
from gnc.models.actuators.effector import Effector
from gnc.models.parameters import each, store, unit_vectors

Array = Any


@dataclass(frozen=True, eq=False, kw_only=True)
class Thrusters:
    """Thrusters that are on for a fraction of the control interval, at full thrust, and off for the rest.

    A pulse shorter than the valve can make is not made: the minimum impulse is thrust times minimum_on_s. The load is
    the average over the interval: the wrench about the body's origin [r x f, f] of the fractions that were flown.
    """

    positions_B: Array  # (..., n, 3) from the body's origin [m]
    directions_B: Array  # (..., n, 3) unit vectors of the force on the body
    thrust: Array  # (..., n), or one number for all [N]
    minimum_on_s: Array = 0.0  # (..., n), or one number for all [s]
    tank_B: Array = (0.0, 0.0, 0.0)  # (3) where their propellant is, from the body's origin [m]
    flow_kg_Ns: Array = 0.0  # (...) how much of it an impulse takes; 0: none
    wrenches_B: Array = field(init=False, repr=False)  # (..., n, 6) of each at full thrust, for allocation

    def __post_init__(self) -> None:
        directions_B = unit_vectors("directions_B", self.directions_B)
        n = directions_B.shape[-2]
        store(
            self,
            directions_B=directions_B,
            positions_B=check.finite("positions_B", self.positions_B, (n, 3)),
            thrust=each("thrust", self.thrust, n, "positive"),
            minimum_on_s=each("minimum_on_s", self.minimum_on_s, n, "non-negative"),
            tank_B=check.vector("tank_B", self.tank_B, 3),
            flow_kg_Ns=check.non_negative("flow_kg_Ns", self.flow_kg_Ns),
        )
        store(self, wrenches_B=_wrench(self.positions_B, self.directions_B, self.thrust))

    @property
    def count(self) -> int:
        """How many thrusters there are."""
        return self.directions_B.shape[-2]

    @property
    def minimum_impulse(self) -> Array:
        """The smallest impulse of each [N s]."""
        return self.thrust * self.minimum_on_s

    def apply(self, command: Array, impulse: Array, h: Array) -> tuple[Array, Array]:
        """Return the average wrench over h, body axes, and the impulse of each so far; the command is the fraction on.

        The impulse [N s] over g Isp is the propellant's mass.
        """
        return _fire(self.count)(command, impulse, self.wrenches_B, self.thrust, self.minimum_on_s, h)


@batched("(3),(3),()->(6)")
def _wrench(position_B, direction_B, thrust):
    force_B = thrust * direction_B
    return np.concatenate([cross(position_B, force_B), force_B])


@sized(lambda n: f"({n}),({n}),({n},6),({n}),({n}),()->(6),({n})")
def _fire(command, impulse, wrenches_B, thrust, minimum_on_s, h):
    """Return the average wrench and the impulse spent by the end."""
    fraction = minimum(maximum(command, 0.0), 1.0)
    on = array([where(x * h < least, 0.0, x) for x, least in zip(fraction, minimum_on_s, strict=True)])
    return wrenches_B.T @ on, impulse + thrust * on * h


class ThrusterSet(Effector):
    """Thrusters on a craft, with the impulse they have spent."""

    def __init__(self, thrusters: Thrusters) -> None:
        self.thrusters, self.size = thrusters, thrusters.count
        axis = ("thruster", tuple(str(k + 1) for k in range(thrusters.count)))
        self.signals = {  # type: ignore[misc]
            "on": Signal("1", "fraction of the time that each thruster is on", axis),
            "impulse_Ns": Signal("N s", "impulse of all thrusters so far"),
        }

    def most(self, sky: Any) -> Array:
        """Return that of all thrusters that help."""
        return np.maximum(self.thrusters.wrenches_B, 0.0).sum(axis=-2)

    def used_kg(self, before: Array, after: Array) -> Array:
        """Return the propellant (...) that a step took, by the states at its ends."""
        n = self.size
        return self.thrusters.flow_kg_Ns * _sum(n)(after[..., :n] - before[..., :n])

    def start(self, trials: int) -> Array:
        """Return the impulse of each so far: none."""
        return np.zeros((trials, self.size))

    def act(self, command: Array, state: Array, h: Array) -> tuple[Array, Array]:
        """Return the mean wrench over h, and the impulse spent by its end."""
        return self.thrusters.apply(command, state, h)

    def observe(self, command: Array, state: Array) -> Mapping[str, Array]:
        """Return the fractions and the impulse."""
        return {"on": command, "impulse_Ns": _sum(self.size)(state)}


class Modulation(NamedTuple):
    """How a wanted fraction of a control interval becomes pulses of a valve.

    "pulse-width": one pulse per interval; what is too small for the valve waits until there is enough, or is dropped.
    "schmitt": the valve opens for a whole interval where more than `on` is wanted, and stays so down to `off`.
    "pseudo-rate": the same of what is wanted less a lag of what was made, so that the mean is what is wanted.
    """

    kind: str = "pulse-width"
    waits: bool = True
    on: float = 0.5
    off: float = 0.25
    lag_s: float = 5.0


class PulsedThrusters(ThrusterSet):
    """Thrusters whose valves decide once per control interval, whatever the truth step.

    State: impulse, what waits [s] or the lag, fraction of this interval, time into it.
    """

    def __init__(self, thrusters: Thrusters, interval_s: float, modulation: Modulation) -> None:
        super().__init__(thrusters)
        self._interval_s, self._modulation = interval_s, modulation

    def start(self, trials: int) -> Array:
        """Return nothing spent, nothing that waits, at the begin of an interval."""
        return np.zeros((trials, 3 * self.size + 1))

    def act(self, command: Array, state: Array, h: Array) -> tuple[Array, Array]:
        """Return the mean wrench over h, and the state after it."""
        valves = self.thrusters.wrenches_B, self.thrusters.thrust, self.thrusters.minimum_on_s
        return _pulse(self.size, self._modulation)(command, state, *valves, self._interval_s, h)

    def made_of(self, command: Array, state: Array, h: float) -> Array:
        """Return the wrench of the fractions that this interval was given."""
        return _fire(self.size)(state[..., 2 * self.size : 3 * self.size], *self._ideal, h)[0]

    @property
    def _ideal(self) -> tuple[Array, ...]:
        """What thrusters without valves are fired with, beside the fractions."""
        nothing = np.zeros(self.size)
        return nothing, self.thrusters.wrenches_B, self.thrusters.thrust, nothing

    def observe(self, command: Array, state: Array) -> Mapping[str, Array]:
        """Return the fractions that are flown, and the impulse."""
        n = self.size
        return {"on": state[..., 2 * n : 3 * n], "impulse_Ns": _sum(n)(state[..., :n])}


def _decided(modulation: Modulation, fraction, waiting, before, least_s, interval_s):
    """Return the fraction of an interval that a valve is open, and what waits or the lag after it."""
    if modulation.kind == "pulse-width":
        time = fraction * interval_s + waiting
        open_s = where(time < least_s, 0.0, minimum(time, interval_s))
        return open_s / interval_s, float(modulation.waits) * (time - open_s)
    level = fraction - waiting if modulation.kind == "pseudo-rate" else fraction
    on = where(level > modulation.on, 1.0, where(level < modulation.off, 0.0, before))
    return on, waiting + (interval_s / (interval_s + modulation.lag_s)) * (on - waiting)


@sized(lambda n, modulation: f"({n}),({3 * n + 1}),({n},6),({n}),({n}),(),()->(6),({3 * n + 1})")
def _pulse(command, state, wrenches_B, thrust, minimum_on_s, interval_s, h, *, n, modulation):
    """Return the mean wrench, and impulse, what waits, fraction and clock by the end of h."""
    impulse, waiting, before, clock = state[:n], state[n : 2 * n], state[2 * n : 3 * n], state[3 * n]
    begins = clock < 0.5 * h
    fraction = minimum(maximum(command, 0.0), 1.0)
    each = zip(fraction, waiting, before, minimum_on_s, strict=True)
    decided = [_decided(modulation, *one, interval_s) for one in each]
    on = where(begins, array([x for x, _ in decided]), before)
    waiting = where(begins, array([x for _, x in decided]), waiting)
    later = clock + h
    after = where(later > interval_s - 0.5 * h, 0.0, later)
    return wrenches_B.T @ on, np.concatenate([impulse + thrust * on * h, waiting, on, np.stack([after])])


@sized(lambda n: f"({n})->()")
def _sum(x):
    """Return the sum, from the first on."""
    return sum(x[1:], x[0])
