"""Thrusters that are on or off."""

from __future__ import annotations

import functools
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from gnc import check
from gnc.batch import Kernel, batched, maximum, minimum, where
from gnc.linalg import array, cross
from gnc.models.parameters import each, store, unit_vectors

Array = Any


class ThrusterState(NamedTuple):
    """What the thrusters have spent."""

    impulse: Array  # (..., n) delivered by each so far [N s]; over g Isp it is the propellant's mass


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
    wrenches_B: Array = field(init=False, repr=False)  # (..., n, 6) of each at full thrust, for allocation

    def __post_init__(self) -> None:
        """Validate once; the kernels do not."""
        directions_B = unit_vectors("directions_B", self.directions_B)
        n = directions_B.shape[-2]
        store(
            self,
            directions_B=directions_B,
            positions_B=check.finite("positions_B", self.positions_B, (n, 3)),
            thrust=each("thrust", self.thrust, n, "positive"),
            minimum_on_s=each("minimum_on_s", self.minimum_on_s, n, "non-negative"),
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

    def apply(self, command: Array, state: ThrusterState, h: Array) -> tuple[Array, ThrusterState]:
        """Return the average wrench over h, body axes, and the impulse spent; the command is the fraction on."""
        valves = self.wrenches_B, self.thrust, self.minimum_on_s
        wrench_B, impulse = _fire(self.count)(command, state.impulse, *valves, h)
        return wrench_B, ThrusterState(impulse)


@batched("(3),(3),()->(6)")
def _wrench(position_B, direction_B, thrust):
    force_B = thrust * direction_B
    return np.concatenate([cross(position_B, force_B), force_B])


@functools.cache
def _fire(n: int) -> Kernel:
    """Return the kernel of n thrusters."""

    @batched(f"({n}),({n}),({n},6),({n}),({n}),()->(6),({n})")
    def fire(command, impulse, wrenches_B, thrust, minimum_on_s, h):
        """Return the average wrench and the impulse spent by the end."""
        wanted = minimum(maximum(command, 0.0), 1.0)
        on = array([where(x * h < least, 0.0, x) for x, least in zip(wanted, minimum_on_s, strict=True)])
        return wrenches_B.T @ on, impulse + thrust * on * h

    return fire
