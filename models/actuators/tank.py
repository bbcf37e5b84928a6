"""Thrusters whose propellant comes to an end."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any

import numpy as np

from gnc.batch import Kernel, batched, maximum, where
from gnc.history import Signal
from gnc.models.actuators.thrusters import ThrusterSet

Array = Any
LEFT = Signal("kg", "propellant left")


class FedThrusters(ThrusterSet):
    """Thrusters on a tank: in the step in which it runs dry they make the share that is left, then nothing."""

    def __init__(self, inner: ThrusterSet, propellant_kg: Array) -> None:
        super().__init__(inner.thrusters)
        self._inner, self._kg = inner, propellant_kg
        self.signals = {**inner.signals, "propellant_kg": LEFT}  # type: ignore[misc]

    def paced(self, control_s: float) -> FedThrusters:
        """Return the thrusters for commands that come every so many seconds."""
        return FedThrusters(self._inner.paced(control_s), self._kg)  # type: ignore[arg-type]

    def start(self, trials: int) -> Array:
        """Return the state of the thrusters, which begins with the impulse of each."""
        return self._inner.start(trials)

    def act(self, command: Array, state: Array, h: Array) -> tuple[Array, Array]:
        """Return the mean wrench over h, and the state after it."""
        n = self.size
        wrench_B, after = self._inner.act(command, state, h)
        wrench_B, impulse = _share(n)(wrench_B, state[..., :n], after[..., :n], self.thrusters.flow_kg_Ns, self._kg)
        return wrench_B, np.concatenate([impulse, after[..., n:]], axis=-1)

    def made_of(self, command: Array, state: Array, h: float) -> Array:
        """Return what the valves have made, as flight software reckons it."""
        return self._inner.made_of(command, state, h)

    def observe(self, command: Array, state: Array) -> Mapping[str, Array]:
        """Return what the thrusters tell, and the propellant left."""
        left = self._kg - self.used_kg(0.0 * state, state)
        return {**self._inner.observe(command, state), "propellant_kg": np.maximum(left, 0.0)}


@functools.cache
def _share(n: int) -> Kernel:
    """Return the kernel of n thrusters on a tank."""

    @batched(f"(6),({n}),({n}),(),()->(6),({n})")
    def share(wrench_B, before, after, flow_kg_Ns, kg):
        """Return wrench and impulses of a step as far as the propellant lasts."""
        spent, left = after - before, kg - flow_kg_Ns * sum(before[1:], before[0])
        used = flow_kg_Ns * sum(spent[1:], spent[0])
        part = where(used > left, maximum(left, 0.0) / where(used > 0.0, used, 1.0), 1.0)
        return part * wrench_B, before + part * spent

    return share
