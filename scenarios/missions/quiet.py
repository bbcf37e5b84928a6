"""Until when flight software commands nothing, whatever happens.

A command is an event at which the belief is moved. Software that drifts through a mode without a law gives none, so
that its filter takes whole intervals of its sensors: 10 s at 0.1 Hz, however often commands are given later.
"""

from __future__ import annotations

import numpy as np

from gnc.expression import parse
from gnc.scenarios.missions.sections import Software, Transition


def quiet_until(software: Software, duration_s: float, h: float) -> float:
    """Return the time of the first command: 0 unless the first mode asks for nothing and ends by the clock; inf: never.

    A condition on anything but t, or one that must hold for a while, is looked at with every command, from 0 on.
    """
    name, mode = next(iter(software.modes.items()))
    ways = [one for one in software.ways if getattr(one, "from") in (name, "*") and one.to != name]
    by_clock = all(parse(way.when).names <= {"t"} and way.for_s == 0.0 for way in ways)
    if mode.law.kind_name() != "none" or mode.unload is not None or software.fdir or not by_clock:
        return 0.0
    rate_hz = min(software.rate_hz, 1.0 / h)  # the loop refuses what is faster
    t = np.arange(int(duration_s * rate_hz + 1e-9) + 1) / rate_hz
    return min((_first(way, t) for way in ways), default=float("inf"))


def _first(way: Transition, t: np.ndarray) -> float:
    """Return the first time at which a condition on t is true."""
    holds = np.broadcast_to(np.asarray(parse(way.when).value(lambda name: t), bool), t.shape)
    return float(t[np.argmax(holds)]) if holds.any() else float("inf")
