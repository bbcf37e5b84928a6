"""When an orbit enters and leaves the Earth's shadow."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gnc import check
from gnc.errors import InputError
from gnc.models.environment import sun
from gnc.models.environment.orbit import Orbit

Array = NDArray[np.float64]

SEARCH_STEP_S = 20.0  # a shadow shorter than this may go unnoticed
TOLERANCE_S = 1e-6
EDGES = ("penumbra", "umbra", "cylinder")


class Crossings(NamedTuple):
    """The times at which a shadow is entered and left, in order; a shadow at the start has no entry here."""

    entries: Array  # [s]
    exits: Array  # [s]


def crossings(orbit: Orbit, t_start: float, t_end: float, edge: str = "penumbra") -> Crossings:
    """Return when an orbit crosses an edge of the Earth's shadow between two times after its epoch.

    The penumbra begins where the first bit of the Sun is hidden, the umbra where the last is; the cylinder is the
    shadow of a point-like Sun.
    """
    if edge not in EDGES:
        raise InputError(f"edge: {edge!r} is unknown; give one of {', '.join(EDGES)}")
    t_start, t_end = float(check.finite("t_start", t_start)), float(check.finite("t_end", t_end))
    if t_end <= t_start:
        raise InputError(f"t_end: {t_end:g} s is not after t_start, {t_start:g} s")
    t = np.linspace(t_start, t_end, 2 + int((t_end - t_start) / SEARCH_STEP_S))
    lit = clearance(orbit, t, edge) >= 0.0
    before = np.flatnonzero(lit[1:] != lit[:-1])
    times = _bisect(orbit, t[before], t[before + 1], edge)
    return Crossings(times[lit[before]], times[~lit[before]])


def clearance(orbit: Orbit, t: Array, edge: str) -> Array:
    """Return how far outside of an edge of the shadow the orbit is: a sine, or metres for the cylinder."""
    r_I, sun_I = orbit.at(t).r_I, sun.sun_position(orbit.epoch, t)
    if edge == "cylinder":
        return sun.outside_cylinder(r_I, sun_I)
    sun_radius, gap, _ = sun.discs(r_I, sun_I)
    return gap - sun_radius if edge == "penumbra" else gap + sun_radius


def _bisect(orbit: Orbit, low: Array, high: Array, edge: str) -> Array:
    """Halve all intervals at once until the crossings are known to the tolerance."""
    if not len(low):
        return low
    at_low = clearance(orbit, low, edge) >= 0.0
    while np.max(high - low) > TOLERANCE_S:
        middle = 0.5 * (low + high)
        same = (clearance(orbit, middle, edge) >= 0.0) == at_low
        low, high = np.where(same, middle, low), np.where(same, high, middle)
    return 0.5 * (low + high)
