"""Covariance along one typical flight, by source, and samples of the linear flight through the true observers.

    S' = A S + D               how the state depends on what is drawn, numbers of unit variance
    C' = A C A^T + B B^T       for the noise of each instrument by itself
    X' = A X + B w             samples of noise, so that what is asked of a whole trial can be judged

A signal's derivative G is differenced from its observer, in steps of a hundredth of its own sigma.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from gnc.history import History, Signal
from gnc.linear_flight import Passage, Seen
from gnc.scenarios.covariance.directions import TypicalFlight
from gnc.scenarios.missions.build import Prepared
from gnc.scenarios.missions.mission import Mission
from gnc.trees import leaves, paths
from gnc.typing import Array

FINE = 1e-2  # of a number's sigma: the step by which observers are differenced
LEFT_OUT = (".used", ".refused", ".recoveries", ".mode", ".mode_time_s", ".q_IB", ".search")
Progress = Callable[[int, int], None]


@dataclass
class LinearResult:
    """What linear covariance says about one typical flight; arrays have the recorded times first."""

    trial: int
    theta: Array  # (drawn) what the flight was given, in sigma
    parts: dict[str, slice]  # draw -> its numbers
    time: Array
    nominal: dict[str, Any] = field(default_factory=dict)  # signal -> (times, size)
    slopes: dict[str, Any] = field(default_factory=dict)  # signal -> (times, size, drawn)
    noise: dict[str, dict[str, Any]] = field(default_factory=dict)  # signal -> instrument -> (times, size, size)
    samples: Any = None  # xarray Dataset of sampled trials
    modes: dict[str, list[str]] = field(default_factory=dict)
    beliefs: dict[str, Any] = field(default_factory=dict)  # filter -> its covariance (times, n, n); the prior first
    around: dict[str, Any] = field(default_factory=dict)  # surroundings and attitudes, (times, size)
    sigma_of: dict[str, str] = field(default_factory=dict)  # signal -> that of what the filter believes of it
    differenced: tuple[str, ...] = ()  # parts in Python
    kinks: bool = False


def judged_signals(prepared: Prepared) -> dict[str, Signal]:
    """Return the signals that are numbers which may differ between trials."""
    found = {name: s for name, s in prepared.signals.items() if not s.shared and not s.labels}
    return {name: s for name, s in found.items() if not name.endswith(LEFT_OUT)}


class _Observers:
    """The observers of a mission on many rows, and their derivatives."""

    def __init__(self, flight: TypicalFlight) -> None:
        self.flight, self.known = flight, dict[int, Prepared]()

    def values(self, seen: Seen, numbers: Array) -> dict[str, Array]:
        """Return all signals of moments (rows, numbers)."""
        if len(numbers) not in self.known:
            self.known[len(numbers)] = self.flight.alike(len(numbers))
        with np.errstate(all="ignore"):
            return self.known[len(numbers)].observer(seen.read(numbers))

    def slopes(
        self, seen: Seen, sigma: Array, names: Mapping[str, Signal]
    ) -> tuple[dict[str, Array], dict[str, Array], dict[str, Array]]:
        """Return values (size) of signals, their derivatives (size, numbers) by the moment, and the surroundings."""
        step = np.where(sigma > 0.0, np.maximum(FINE * sigma, 1e-8 * np.abs(seen.numbers)), 0.0)
        moved = np.flatnonzero(step > 0.0)
        numbers, count = np.tile(seen.numbers, (1 + 2 * len(seen.numbers), 1)), len(seen.numbers)
        numbers[1 + moved, moved] += step[moved]
        numbers[1 + count + moved, moved] -= step[moved]
        values, made, slopes = self.values(seen, numbers), {}, {}
        for name in names:
            y = np.asarray(values[name], float).reshape(len(numbers), -1)
            made[name], slopes[name] = y[0], np.zeros((y.shape[1], count))
            d = (y[1 + moved] - y[1 + count + moved]) / (2.0 * step[moved, None])
            slopes[name][:, moved] = np.where(np.isfinite(d), d, 0.0).T
        around: dict[str, Array] = {n: np.asarray(values[n], float) for n in ("sun_I", "B_I_T") if n in values}
        around |= {name: np.asarray(y)[0] for name, y in values.items() if name.endswith(".q_IB")}
        return made, slopes, around


@dataclass
class _Spreading:
    """Everything that is carried along a flight: S, C of each instrument, and samples X."""

    S: Array
    C: dict[str, Array]
    X: Array
    rng: np.random.Generator
    w: dict[str, Array] = field(default_factory=dict)  # noise of the present tick (size, samples)

    def draw(self, passage: Passage) -> None:
        self.w = {name: self.rng.standard_normal((B.shape[1], self.X.shape[1])) for name, B in passage.B.items()}

    def move(self, passage: Passage) -> None:
        """Go through a passage."""
        rows, columns, A = passage.rows, passage.columns, passage.A
        self.S[rows] = A @ self.S[columns] + passage.D
        new = A @ self.X[columns]
        for name, C in self.C.items():
            across = A @ C[columns]
            corner = across[:, columns] @ A.T
            C[rows] = across
            C[:, rows] = across.T
            if name in passage.B:
                corner += passage.B[name] @ passage.B[name].T
                new += passage.B[name] @ self.w[name]
            C[np.ix_(rows, rows)] = corner
        self.X[rows] = new


def linear_covariance(
    mission: Mission,
    trial: int,
    seed: int,
    samples: int = 0,
    varied: tuple[str, ...] | None = None,
    progress: Progress | None = None,
) -> LinearResult:
    """Carry the covariance of a mission along one of its trials.

    Samples vary the noise, and what is drawn by the names in `varied` (None: all); the rest stays that of the trial.
    """
    flight = TypicalFlight(mission, trial, seed)
    linear, plan, loop = flight.linear, flight.plan, flight.prepared.loop
    names, observers = judged_signals(flight.prepared), _Observers(flight)
    result = LinearResult(trial, plan.theta, dict(plan.parts), np.zeros(0), modes=dict(flight.prepared.modes))
    result.sigma_of = {name: signal.sigma for name, signal in names.items() if signal.sigma}
    n, rng = len(linear.numbers), np.random.default_rng([seed, trial, 25])
    change = np.zeros((plan.count, samples))
    for name, part in plan.parts.items():
        if varied is None or name in varied:
            change[part] = rng.standard_normal(change[part].shape) - plan.theta[part, None]
    spread = _Spreading(
        linear.start_slopes(), {name: np.zeros((n, n)) for name in flight.noises}, np.zeros((n, samples)), rng
    )
    history, times = History(flight.prepared.signals), []
    for passage in linear.passages(loop.records):
        spread.draw(passage)
        if passage.seen is not None:
            times.append(passage.k * loop.h)
            numbers = _observed(result, passage, spread, observers, names, change)
            if samples:
                history.record(times[-1], observers.values(passage.seen, numbers))
        spread.move(passage)
        if progress is not None:
            progress(min(passage.end, loop.steps), loop.steps)
    for told in (result.nominal, result.slopes, result.beliefs, result.around):
        told.update({name: np.array(rows) for name, rows in told.items()})
    result.noise = {s: {i: np.array(rows) for i, rows in by.items()} for s, by in result.noise.items()}
    result.time, result.differenced, result.kinks = np.array(times), tuple(sorted(linear.differenced)), linear.kinks
    if samples:
        result.samples = history.table(np.arange(samples)).dataset()
        for event in loop.events:
            result.samples[f"t_{event.name}"] = ("trial", np.full(samples, np.nan))
    return result


def _observed(
    result: LinearResult,
    passage: Passage,
    spread: _Spreading,
    observers: _Observers,
    names: Mapping[str, Signal],
    change: Array,
) -> Array:
    """Note covariances of all signals at a moment; return the numbers (samples, numbers) of the sampled moments."""
    seen, columns = passage.seen, passage.columns
    assert seen is not None
    T = seen.A @ spread.S[columns] + seen.D  # of the moment with respect to what is drawn
    factors = {}
    variance = np.square(T).sum(axis=1)
    for name, C in spread.C.items():
        part = C[np.ix_(columns, columns)]
        factors[name] = part, seen.B.get(name)
        variance += np.einsum("ij,jk,ik->i", seen.A, part, seen.A, optimize=True)
        if name in seen.B:
            variance += np.square(seen.B[name]).sum(axis=1)
    values, slopes, around = observers.slopes(seen, np.sqrt(np.maximum(variance, 0.0)), names)
    beliefs = _matrices(seen, seen.numbers)
    for told, what in ((result.around, around), (result.beliefs, beliefs)):
        for name, value in what.items():
            told.setdefault(name, []).append(value)
    for name, G in slopes.items():
        result.nominal.setdefault(name, []).append(values[name])
        result.slopes.setdefault(name, []).append(G @ T)
        GA = G @ seen.A
        for instrument, (part, B) in factors.items():
            covariance = GA @ part @ GA.T + (0.0 if B is None else (G @ B) @ (G @ B).T)
            result.noise.setdefault(name, {}).setdefault(instrument, []).append(covariance)
    moved = T @ change + seen.A @ spread.X[columns]
    for name, B in seen.B.items():
        moved += B @ spread.w[name]
    for places in _matrices(seen, np.arange(len(seen.numbers), dtype=float)).values():
        moved[places.astype(int).ravel()] = 0.0  # a filter's covariance moves by second order, and must stay one
    return seen.numbers + moved.T


def _matrices(seen: Seen, numbers: Array) -> dict[str, Array]:
    """Return the matrices (n, n) that beliefs hold, by their names, from the numbers of a moment."""
    belief = seen.read(numbers[None]).belief
    return {name: x[0] for name, x in zip(paths(belief), leaves(belief), strict=True) if np.ndim(x) == 3}
