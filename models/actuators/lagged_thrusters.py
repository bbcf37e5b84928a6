"""Thrusters whose thrust rises and falls behind their valves."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any

import numpy as np

from gnc.batch import Kernel, batched, where
from gnc.linalg import array
from gnc.models.actuators.thrusters import ThrusterSet

Array = Any


class LaggedThrusters(ThrusterSet):
    """Thrusters whose thrust follows their valves as g' = (on - g)/tau, tau that of rise or of fall.

    Over a step the valve is open for a fraction, which counts as held; the mean of g over it is exact, so that impulse
    does not depend on the truth step. State: that of the valves, then g of each thruster.
    """

    def __init__(self, valves: ThrusterSet, rise_s: Array, fall_s: Array) -> None:
        super().__init__(valves.thrusters)
        self._valves, self._times = valves, (rise_s, fall_s)

    def paced(self, control_s: float) -> LaggedThrusters:
        """Return the thrusters for commands that come every so many seconds."""
        return LaggedThrusters(self._valves.paced(control_s), *self._times)  # type: ignore[arg-type]

    def start(self, trials: int) -> Array:
        """Return the valves' state, and no thrust."""
        return np.concatenate([self._valves.start(trials), np.zeros((trials, self.size))], axis=-1)

    def act(self, command: Array, state: Array, h: Array) -> tuple[Array, Array]:
        """Return the mean wrench over h, and the state after it."""
        n, own = self.size, self.thrusters
        before, level = state[..., :-n], state[..., -n:]
        _, after = self._valves.act(command, before, h)
        left = (np.exp(-h / np.maximum(tau, 1e-12)) for tau in self._times)
        valves, lags = (before[..., :n], after[..., :n], level), (*self._times, *left)
        wrench_B, spent, level = _lag(n)(*valves, own.wrenches_B, own.thrust, *lags, h)
        return wrench_B, np.concatenate([spent, after[..., n:], level], axis=-1)

    def made_of(self, command: Array, state: Array, h: float) -> Array:
        """Return what the valves have made, whatever the lag."""
        return self._valves.made_of(command, state[..., : -self.size], h)

    def observe(self, command: Array, state: Array) -> Mapping[str, Array]:
        """Return fractions, and the impulse."""
        return self._valves.observe(command, state[..., : -self.size])


@functools.cache
def _lag(n: int) -> Kernel:
    """Return the kernel of n thrusters that rise and fall."""

    @batched(f"({n}),({n}),({n}),({n},6),({n}),(),(),(),(),()->(6),({n}),({n})")
    def lag(before, after, level, wrenches_B, thrust, rise_s, fall_s, rise, fall, h):
        """Return the mean wrench, the impulse spent, and the thrust of each by the end of h.

        `rise` and `fall` are what is left after h of a difference between valve and thrust.
        """
        on = (after - before) / (thrust * h)  # by what ideal ones would have spent
        mean, end = [], []
        for u, g in zip(on, level, strict=True):
            rises = u > g
            tau, left = where(rises, rise_s, fall_s), where(rises, rise, fall)
            mean.append(u + (g - u) * (tau / h) * (1.0 - left))
            end.append(u + (g - u) * left)
        return wrenches_B.T @ array(mean), before + thrust * array(mean) * h, array(end)

    return lag
