"""Steps under a user's torque or wrench: plain NumPy functions of (state, time), felt as kicks at the nodes.

A step is kick(h/2) - drift(h) - kick(h/2), of second order; composed symmetrically it is of fourth. The load of the
last kick may depend on the rate which that kick changes: it is then repeated until the two agree to the method's
order, which costs one evaluation more when the load depends on attitude and time only.

Trials may need different numbers of substeps. All walk together to the largest number and each stops at its own, with
its own step and clock, so that no trial's bits depend on its neighbours.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

State = Any  # a NamedTuple of arrays
Load = Callable[[Any, Any], Any]  # (state, time [s]) -> torque or wrench


class Splitting(NamedTuple):
    """The two halves of a splitting method, and how its steps are composed."""

    drift: Callable[[State, Any], State]  # (state, h)
    kick: Callable[[State, Any, Any], State]  # (state, load, h): the load acts for h/2
    stages: Sequence[float]  # fractions of h


def step(x: State, load: Load, t: Any, h: Any, method: Splitting, substeps: Any = 1) -> State:
    """Move over h from time t, in as many substeps as each trial needs; NaN substeps mark a lost trial."""
    h, t = np.asarray(h) / substeps, np.asarray(t, dtype=float)
    counts = np.where(np.isnan(substeps), 1.0, substeps)
    for k in range(int(counts.max(initial=0))):
        moved = _composed(x, load, t + k * h, h, method)
        x = moved if np.all(k < counts) else _where(k < counts, moved, x)
    return x


def _composed(x: State, load: Load, t: Any, h: Any, method: Splitting) -> State:
    """Take one step of the composed method."""
    passed = 0.0
    for fraction in method.stages:
        part = fraction * h
        x = method.drift(method.kick(x, load(x, t + passed * h), part), part)
        passed += fraction
        x = _last_kick(x, load, t + passed * h, part, method)
    return x


def _last_kick(x: State, load: Load, t: Any, h: Any, method: Splitting) -> State:
    """Kick with the load that acts after the kick."""
    value = np.asarray(load(x, t))
    for _ in range(2 if len(method.stages) == 1 else 4):
        kicked = method.kick(x, value, h)
        after = np.asarray(load(kicked, t))
        if np.array_equal(after, value, equal_nan=True):
            return kicked
        value = after
    return method.kick(x, value, h)


def _where(test: Any, new: State, old: State) -> State:
    """Choose between states trial by trial."""
    chosen = (np.where(np.expand_dims(test, -1), a, b) for a, b in zip(new, old, strict=True))
    return type(new)(*chosen)
