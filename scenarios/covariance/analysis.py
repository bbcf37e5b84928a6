"""Linear covariance of a mission: typical flights until the answer stands, shares of sources, what was not linear.

    Var(y) = mean over flights of [ sum over linear sources ] + variance over flights of the nominal y

The first term has the noise of each instrument and each draw that passes the test of linearity; draws that fail it (a
start at 20 deg, wheels that turn the body's stiffness) differ between the flights and are the second term.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property, partial
from multiprocessing import get_context
from typing import Any

import numpy as np

from gnc.errors import InputError
from gnc.expression import parse
from gnc.scenarios.covariance.directions import TypicalFlight
from gnc.scenarios.covariance.propagate import LinearResult, Progress, linear_covariance
from gnc.scenarios.missions.mission import Mission
from gnc.scenarios.missions.requirements.base import Judged, resolve
from gnc.scenarios.missions.requirements.statistic import StatisticPart
from gnc.typing import Array, Mask

LINEAR = 0.1  # of the total sigma, by which +-1 sigma of a draw may miss its linear prediction
STANDS = 0.02  # relative standard error of sigma at which no more flights are needed
MOST = 40  # flights
SAMPLES = 60  # trials sampled about each flight
ONE_THREAD = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


class Window:
    """Times that count for a requirement, and the signals that it is of."""

    def __init__(self, name: str, part: StatisticPart, mission: Mission, result: LinearResult) -> None:
        self.name, self.when = name, part.when
        judged = Judged(mission, result.samples, result.modes, {})
        counted = np.ones((1, len(result.time)), bool) if not part.when else judged.value(parse(part.when)).astype(bool)
        self.times: Mask = np.broadcast_to(counted, (len(counted), len(result.time))).mean(axis=0) > 0.5
        names = [n.removeprefix("largest ") for n in parse(part.signal).names]
        full = [resolve(n, result.samples.data_vars, mission.craft) for n in names if n not in ("t", "end", "eclipse")]
        self.signals = [name for name in full if name in result.nominal]


@dataclass
class Covariance:
    """What linear covariance says about a mission."""

    mission: Mission
    seed: int
    flights: list[LinearResult]
    nonlinear: tuple[str, ...]  # draws that differ between flights
    linearity: dict[str, float]  # of every draw: by how much +-1 sigma misses its linear prediction, over total sigma
    unseen: list[str] = field(default_factory=list)

    @property
    def time(self) -> Array:
        """Recorded times."""
        return self.flights[0].time

    @cached_property
    def signals(self) -> list[str]:
        """All signals with a finite covariance somewhere."""
        return [name for name, y in self.flights[0].nominal.items() if np.isfinite(y).any()]

    def shares(self, signal: str, flights: Sequence[LinearResult] | None = None) -> dict[str, Array]:
        """Return the covariance (times, size, size) of a signal that each source is responsible for."""
        flights = flights or self.flights
        found: dict[str, Array] = {}
        for name in flights[0].noise[signal]:
            found[f"{name} noise"] = np.mean([f.noise[signal][name] for f in flights], axis=0)
        for name, part in flights[0].parts.items():
            if name not in self.nonlinear:
                slopes = [f.slopes[signal][:, :, part] for f in flights]
                found[name] = np.mean([s @ np.swapaxes(s, 1, 2) for s in slopes], axis=0)
        if self.nonlinear and len(flights) > 1:
            centred = np.array([self._centred(f, signal) for f in flights])
            centred -= centred.mean(axis=0)
            outer = np.einsum("fti,ftj->tij", centred, centred) / (len(flights) - 1)
            found[" + ".join(self.nonlinear)] = outer
        return found

    def _centred(self, flight: LinearResult, signal: str) -> Array:
        """Return a nominal signal as it would be without what is linear in it."""
        y = flight.nominal[signal].copy()
        for name, part in flight.parts.items():
            if name not in self.nonlinear:
                y -= flight.slopes[signal][:, :, part] @ flight.theta[part]
        return y

    @property
    def sampled(self) -> list[Any]:
        """The samples (datasets) of all flights about which what is not linear stays as flown."""
        own = [f.samples for f in self.flights[1:]] if self.nonlinear else []
        return own or [f.samples for f in self.flights]

    def total(self, signal: str, flights: Sequence[LinearResult] | None = None) -> Array:
        """Return the covariance (times, size, size) of a signal."""
        return np.sum(list(self.shares(signal, flights).values()), axis=0)

    def mean(self, signal: str) -> Array:
        """Return the mean (times, size) of a signal."""
        return np.mean([self._centred(f, signal) for f in self.flights], axis=0)

    def believed(self, signal: str) -> Array | None:
        """Return the sigma (times, size) that the filter believes a signal to have."""
        companion = self.flights[0].sigma_of.get(signal, "")
        known = [f.nominal[companion] for f in self.flights if companion in f.nominal]
        return np.mean(known, axis=0) if known else None

    @cached_property
    def windows(self) -> dict[str, Window]:
        """The times that count, by requirement."""
        found = {}
        for name, part in self.mission.requirements.items():
            if isinstance(part, StatisticPart):
                window = Window(name, part, self.mission, self.flights[0])
                if window.signals and window.times.any():
                    found[name] = window
        return found

    def budget(self, signal: str, times: Mask) -> dict[str, float]:
        """Return the share of every source in the variance of a signal over some times, in per cent."""
        parts = {name: float(np.trace(c[times].mean(axis=0))) for name, c in self.shares(signal).items()}
        total = sum(parts.values())
        return {name: 100.0 * value / total if total > 0.0 else 0.0 for name, value in parts.items()}

    def standard_error(self) -> float:
        """Return the largest relative error of a sigma over a window, by leaving one flight out after the other."""
        n, worst = len(self.flights), 0.0
        for window in self.windows.values():
            for signal in (s for s in window.signals if "error" in s):
                left = (
                    [self.flights[:i] + self.flights[i + 1 :] for i in range(n)]
                    if n > 2
                    else [[f] for f in self.flights]
                )
                sigmas = np.sqrt([np.trace(self.total(signal, f)[window.times].mean(axis=0)) for f in left])
                spread = np.sqrt((n - 1.0) / n * np.square(sigmas - sigmas.mean()).sum()) if n > 2 else sigmas.std()
                worst = max(worst, float(spread / sigmas.mean()) if sigmas.mean() > 0.0 else 0.0)
        return worst


def linearity(mission: Mission, result: LinearResult, seed: int) -> tuple[dict[str, Array], list[str]]:
    """Fly +-1 sigma of each number without noise; return the miss (times, ...) of every draw and what switched.

    The miss of a signal is the root of the summed squares of what is not odd, and not as the slope says.
    """
    count, flight = len(result.theta), TypicalFlight(mission, result.trial, seed)
    prepared = flight.moved(np.vstack([np.zeros((1, count)), np.eye(count), -np.eye(count)]))
    rows: dict[str, list[Array]] = {}

    def record(moment: Any) -> None:
        for name, value in prepared.observer(moment).items():
            rows.setdefault(name, []).append(np.asarray(value, float))

    prepared.loop.fly(prepared.truth, prepared.belief, prepared.memory, record)
    misses, switched = {}, []
    for name, signal in prepared.signals.items():
        if signal.shared:
            continue
        y = np.array(rows[name]).reshape(len(result.time), 1 + 2 * count, -1)
        if signal.labels or name.endswith(".refused"):
            if (first := (y != y[:, :1]).any(axis=(1, 2))).any():
                switched.append(
                    f"{name} differs within 1 sigma of the nominal, from {result.time[np.argmax(first)]:g} s on"
                )
        elif name in result.slopes:
            up, down = y[:, 1 : 1 + count] - y[:, :1], y[:, 1 + count :] - y[:, :1]
            odd = 0.5 * (up - down) - np.swapaxes(result.slopes[name], 1, 2)
            misses[name] = np.square(odd) + np.square(0.5 * (up + down))  # (times, drawn, size)
    return misses, switched


def _nonlinear(found: Covariance, misses: dict[str, Array]) -> dict[str, float]:
    """Return by how much each draw misses its prediction, over the total sigma, in the worst window."""
    index = dict.fromkeys(found.flights[0].parts, 0.0)
    for window in found.windows.values():
        for signal in (s for s in window.signals if "error" in s and s in misses):
            sigma = np.sqrt(np.trace(found.total(signal)[window.times].mean(axis=0)))
            for name, part in found.flights[0].parts.items():
                miss = np.sqrt(np.nansum(misses[signal][window.times][:, part], axis=(1, 2)).mean())
                index[name] = max(index[name], float(miss / sigma) if sigma > 0.0 else 0.0)
    return index


def _one(mission: Mission, seed: int, job: tuple[int, tuple[str, ...] | None]) -> LinearResult:
    return linear_covariance(mission, job[0], seed, SAMPLES, job[1])


@contextmanager
def _workers(count: int) -> Iterator[Callable[..., Any]]:
    """Give a `map` that works in processes whose BLAS has one thread, or in this one."""
    if count < 1:
        yield map
        return
    before = {name: os.environ.get(name) for name in ONE_THREAD}
    os.environ.update(dict.fromkeys(ONE_THREAD, "1"))
    try:
        with ProcessPoolExecutor(count, get_context("spawn")) as pool:
            yield pool.map
    finally:
        for name, value in before.items():
            os.environ.pop(name) if value is None else os.environ.update({name: value})


def refuse(mission: Mission) -> None:
    """Refuse what has no derivative."""
    for name, section in mission.craft.items():
        if section.kind_name() == "contact":
            raise InputError(
                f"craft.{name}: falls on the ground; an impact has no derivative with respect to what comes before it: "
                "use gnc monte-carlo"
            )


def covariance(
    mission: Mission, seed: int | None = None, most: int = MOST, workers: int = 2, progress: Progress | None = None
) -> Covariance:
    """Carry covariances along typical flights, as many as it takes until the answer stands, or the most allowed."""
    refuse(mission)
    seed = mission.run.seed if seed is None else seed
    with _workers(workers) as mapped:
        (first,) = mapped(partial(_one, mission, seed), [(0, None)])
        found = Covariance(mission, seed, [first], (), {})
        misses, found.unseen = linearity(mission, first, seed)
        found.linearity = _nonlinear(found, misses)
        found.nonlinear = tuple(name for name, miss in found.linearity.items() if miss > LINEAR)
        varied = tuple(name for name in first.parts if name not in found.nonlinear)
        least = 4 if found.nonlinear else 2
        most = max(most, least) if found.nonlinear else most
        while len(first.parts) and len(found.flights) < most:
            trials = range(len(found.flights), min(most, max(least, len(found.flights) + max(workers, 1))))
            for flight in mapped(partial(_one, mission, seed), [(trial, varied) for trial in trials]):
                found.flights.append(flight)
                if progress is not None:
                    progress(len(found.flights), most)
            if found.standard_error() <= STANDS:
                break
    return found
