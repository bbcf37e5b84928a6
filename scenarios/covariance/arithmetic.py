"""What another arithmetic of flight software changes in a mission: flown, and predicted by linear covariance.

In single precision, or with fewer iterations, every step of the software misses that in double precision by some d_k.

    flown       the same trials with both: the difference of every signal
    predicted   E' = A E + d_k      along a flight without noise, with d_k as it was measured in some trials

d_k is measured while the software in double precision flies: the other is put where it is before every step
(`gnc.export.aboard.Beside`). The command of a step acts from the next tick of the truth on.
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from gnc.export.aboard import Beside, Library
from gnc.export.component import Component
from gnc.flying import Flying, State
from gnc.linear_flight import LinearFlight
from gnc.scenarios.covariance.directions import TypicalFlight
from gnc.scenarios.covariance.propagate import Observers, judged_signals
from gnc.scenarios.missions.build import Prepared
from gnc.scenarios.missions.flight import fly
from gnc.scenarios.missions.flight_code import FlightCode, export
from gnc.scenarios.missions.mission import Mission
from gnc.trees import mapped
from gnc.typing import Array

if TYPE_CHECKING:
    from xarray import DataArray

MEASURED = 8  # trials in which the misses of all steps are measured
UNCODED = 2.0  # codes begin here, since tests among the numbers come back as 0 and 1


class Difference(NamedTuple):
    """What the other arithmetic changes in a signal; RMS over times and trials, vectors by their length."""

    signal: str
    unit: str
    rms: float  # of the signal, in double precision
    difference: float  # RMS
    largest: float
    predicted: float  # RMS, by linear covariance


def compared(mission: Mission, folder: Path, trials: int, seed: int) -> dict[str, Any]:
    """Fly trials by exported flight code and by Python, and predict what is between them; say who was lost."""
    other = FlightCode(str(folder))
    double, single = fly(mission, trials, seed), fly(mission, trials, seed, flight_code=other)
    predicted = _predicted(mission, seed, *_misses(mission, folder, min(trials, MEASURED), seed))
    rows = [_difference(name, double.signals[name], single.signals[name], error) for name, error in predicted.items()]
    lost = {"double precision": sorted(double.verdict.lost), "flight code": sorted(single.verdict.lost)}
    return {"trials": trials, "seed": seed, "lost": lost, "differences": [row._asdict() for row in rows]}


def _difference(name: str, double: DataArray, single: DataArray, predicted: float) -> Difference:
    first, second = np.asarray(double.values, float), np.asarray(single.values, float)
    apart = np.where(np.isnan(first) == np.isnan(second), second - first, np.inf)  # known in one of them only
    largest = float(np.nanmax(_lengths(apart), initial=0.0))
    return Difference(name, double.attrs.get("units", ""), _rms(first), _rms(apart), largest, predicted)


def _lengths(values: Array) -> Array:
    """Return numbers (times, trials, ...) as one for each time and trial: the length of a vector."""
    return np.sqrt(np.square(values).reshape(*values.shape[:2], -1).sum(axis=2))


def _rms(values: Array) -> float:
    lengths = _lengths(values)
    return float(np.sqrt(np.nanmean(np.square(lengths)))) if not np.isnan(lengths).all() else float("nan")


def _misses(mission: Mission, folder: Path, trials: int, seed: int) -> tuple[Component, dict[int, Array]]:
    """Return by how much the steps of exported software miss those in double precision, in flights of the latter."""
    other = FlightCode(str(folder)).component(mission)
    with tempfile.TemporaryDirectory() as place:
        export(mission, None, Path(place), tables=False, sizes=False)
        component = FlightCode(place).component(mission)
        sizes = sum(component.size(key) for key in ("command", "belief", "memory"))
        carrier = Beside(Library(Path(place), component), Library(folder, other), sizes)
        fly(mission, trials, seed, flight_code=FlightCode(place, carrier=carrier))
    return component, carrier.misses


def _predicted(mission: Mission, seed: int, component: Component, misses: Mapping[int, Array]) -> dict[str, float]:
    """Return the RMS of what the misses make of each signal."""
    flight = TypicalFlight(mission, 0, seed, by_draws=False)
    loop, linear, observers = flight.prepared.loop, replace(flight.linear, by_all=True), Observers(flight)
    samples, names = (
        len(next(iter(misses.values()))),
        [n for n in judged_signals(flight.prepared) if not n.endswith("_gap")],
    )
    E, places, sums = np.zeros((0, samples)), np.zeros(0, int), dict[str, list[Array]]()
    for passage in linear.passages(loop.records):
        if len(E) == 0:
            E, places = np.zeros((len(linear.numbers), samples)), _places(linear, flight.prepared, component)
        before = E[passage.columns]
        if passage.seen is not None:
            numbers = passage.seen.numbers + np.vstack(
                [np.zeros(len(passage.seen.numbers)), (passage.seen.A @ before).T]
            )
            values = observers.values(passage.seen, numbers)
            for name in names:
                y = np.asarray(values[name], float).reshape(1 + samples, -1)
                sums.setdefault(name, []).append(np.square(y[1:] - y[0]).sum(axis=1))
        E[passage.rows] = passage.A @ before
        if passage.k in misses:
            E[places >= 0] += misses[passage.k][:, places[places >= 0]].T
    return {name: float(np.sqrt(np.nanmean(squares))) for name, squares in sums.items() if np.isfinite(squares).any()}


def _places(linear: LinearFlight, prepared: Prepared, component: Component) -> Array:
    """Return for each number of the linear flight which number of a step it is; -1 where it is none."""
    software, at, parts = component.software, UNCODED, []
    start = {"command": prepared.loop.controller.idle, "belief": prepared.belief, "memory": prepared.memory}
    for key, tree in start.items():
        struct, size = getattr(software, key), component.size(key)
        parts.append(struct.tree(np.tile(at + np.arange(float(size)), (linear.trials, 1)), tree))
        at += size
    command, belief, memory = parts
    silent = mapped(lambda leaf: 0.0 * leaf if isinstance(leaf, np.ndarray) else leaf, prepared.truth)
    coded = Flying(prepared.loop)
    coded.put(0, State(silent, belief, command, memory))
    nothing = np.zeros((linear.trials, len(linear.owner)))
    codes = linear.slots.pack(coded.state(), coded.waiting(), nothing)[0, linear.numbers]
    return np.where(codes >= UNCODED, codes - UNCODED, -1.0).astype(int)
