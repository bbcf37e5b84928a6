"""Covariance along one typical flight, by source, and samples of the linear flight through the true observers.

    S' = A S + D               how the state depends on what is drawn, numbers of unit variance
    C' = A C A^T + B B^T       for the noise of each instrument by itself
    X' = A X + B w             samples of noise, so that what is asked of a whole trial can be judged

Where noise is a random walk, how far it has walked is part of the state.
A signal's derivative G is differenced from its observer, in steps of a hundredth of its own sigma.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
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
    signals = {name: s for name, s in prepared.signals.items() if not s.shared and not s.labels}
    return {name: s for name, s in signals.items() if not name.endswith(LEFT_OUT)}


class Observers:
    """The observers of a mission on many rows, and their derivatives."""

    def __init__(self, flight: TypicalFlight) -> None:
        self.flight, self.known, self.names = flight, dict[int, Prepared](), judged_signals(flight.prepared)
        self.places = dict[int, dict[str, Array]]()  # of matrices, by kinds of moments
        self.shared = {name for name, signal in flight.prepared.signals.items() if signal.shared}  # by all trials

    def values(self, seen: Seen, numbers: Array) -> dict[str, Array]:
        """Return all signals of moments (rows, numbers)."""
        if len(numbers) not in self.known:
            self.known[len(numbers)] = self.flight.alike(len(numbers))
        observer, moment = self.known[len(numbers)].observer, seen.read(numbers)
        with np.errstate(all="ignore"):
            return observer(moment) | observer.surroundings(moment.t)

    def matrices(self, seen: Seen) -> dict[str, Array]:
        """Return the places of the square matrices that beliefs hold in the numbers of a moment, by their names."""
        if seen.kind not in self.places:
            belief = seen.read(np.arange(len(seen.numbers), dtype=float)[None]).belief
            named = zip(paths(belief), leaves(belief), strict=True)
            square = {name: x[0].astype(int) for name, x in named if np.ndim(x) == 3 and x.shape[1] == x.shape[2]}
            self.places[seen.kind] = square
        return self.places[seen.kind]

    def slopes(self, seen: Seen, sigma: Array, moved: Array) -> tuple[dict[str, Array], dict[str, Array]]:
        """Return all signals of the moment and of samples about it, and their derivatives (size, numbers).

        The derivative is not taken by the numbers of a filter's covariance, which moves by second order.
        """
        step = np.where(sigma > 0.0, np.maximum(FINE * sigma, 1e-8 * np.abs(seen.numbers)), 0.0)
        for matrix in self.matrices(seen).values():
            moved[:, matrix] = step[matrix] = 0.0
        (free,) = np.nonzero(step)
        change, count = np.diag(step)[free], len(free)
        values = self.values(seen, seen.numbers + np.vstack([0.0 * step, change, -change, moved]))
        slopes = {}
        for name in self.names:
            y = np.asarray(values[name], float).reshape(1 + 2 * count + len(moved), -1)
            slopes[name] = np.zeros((y.shape[1], len(sigma)))
            d = (y[1 : 1 + count] - y[1 + count : 1 + 2 * count]) / (2.0 * step[free, None])
            slopes[name][:, free] = np.where(np.isfinite(d), d, 0.0).T
        kept = np.r_[0, 1 + 2 * count : 1 + 2 * count + len(moved)]
        return {n: y if n in self.shared else np.asarray(y)[kept] for n, y in values.items()}, slopes


class _Spreading:
    """Everything that is carried along a flight: S, C of each instrument, and samples X.

    Passages are composed until the next moment that is observed: dz = M (dz before, draws, noise of each tick).
    """

    def __init__(self, S: Array, noises: Iterable[str], samples: int, rng: np.random.Generator) -> None:
        (self.n, self.drawn), self.rng, self.X = S.shape, rng, np.zeros((len(S), samples))
        self.S, self.C = S, {name: np.zeros((self.n, self.n)) for name in noises}
        self.M = np.zeros((self.n, 2 * (self.n + self.drawn)))
        self._begin()

    def _begin(self) -> None:
        self.width, self.blocks = self.n + self.drawn, list[tuple[str, slice, Array]]()
        self.M[:, : self.width] = np.eye(self.n, self.width)

    def draw(self, passage: Passage) -> dict[str, Array]:
        """Return noise (size, samples) of every instrument that is due."""
        return {name: self.rng.standard_normal((B.shape[1], self.X.shape[1])) for name, B in passage.B.items()}

    def move(self, passage: Passage, noise: dict[str, Array]) -> None:
        """Go through a passage."""
        rows, width = passage.rows, self.width
        self.M[rows, :width] = passage.A @ self.M[passage.columns, :width]
        self.M[rows, self.n : self.n + self.drawn] += passage.D
        for name, B in passage.B.items():
            block = slice(self.width, self.width + B.shape[1])
            if block.stop > self.M.shape[1]:
                self.M = np.hstack([self.M, np.zeros_like(self.M)])
            self.M[:, block] = 0.0
            self.M[rows, block] = B
            self.blocks.append((name, block, noise[name]))
            self.width = block.stop

    def arrive(self) -> None:
        """Apply the passages since the last time."""
        Z, D = self.M[:, : self.n], self.M[:, self.n : self.n + self.drawn]
        self.S, self.X = Z @ self.S + D, Z @ self.X
        for name, C in self.C.items():
            own = [(block, w) for instrument, block, w in self.blocks if instrument == name]
            B = np.hstack([np.zeros((self.n, 0)), *(self.M[:, block] for block, _ in own)])
            self.C[name] = Z @ C @ Z.T + B @ B.T
            self.X += B @ np.vstack([np.zeros((0, self.X.shape[1])), *(w for _, w in own)])
        self._begin()


def linear_covariance(
    mission: Mission,
    trial: int,
    seed: int,
    samples: int = 0,
    draws: bool = True,
    progress: Progress | None = None,
) -> LinearResult:
    """Carry the covariance of a mission along one of its trials; without `draws` that of noise alone.

    Samples vary the noise; what is drawn stays that of the trial.
    """
    flight = TypicalFlight(mission, trial, seed, draws)
    linear, plan, loop = flight.linear, flight.plan, flight.prepared.loop
    linear.thorough = False
    observers, rng = Observers(flight), np.random.default_rng([seed, trial, 25])
    result = LinearResult(trial, plan.theta, dict(plan.parts), np.zeros(0), modes=dict(flight.prepared.modes))
    result.sigma_of = {name: signal.sigma for name, signal in observers.names.items() if signal.sigma}
    S, walks = linear.start_slopes(), flight.walks
    walked = np.zeros((sum(map(len, walks.values())), S.shape[1]))
    spread = _Spreading(np.vstack([S, walked]), flight.noises, samples, rng)
    history, times = History(flight.prepared.signals), []
    for passage in linear.passages(loop.records):
        passage = _with_walks(passage, walks, len(S)) if walks else passage
        noise = spread.draw(passage)
        if passage.seen is not None:
            times.append(passage.k * loop.h)
            spread.arrive()
            values = _observed(result, passage, spread, observers, noise)
            if samples:
                history.record(times[-1], values)
        spread.move(passage, noise)
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


def _with_walks(passage: Passage, walks: dict[str, Array], n: int) -> Passage:
    """Return a passage over the state and, from n on, the walks of the instruments that are due: w' = w + noise."""
    ends = np.cumsum([n, *map(len, walks.values())])
    due = {k: np.arange(*ends[i : i + 2]) for i, k in enumerate(walks) if k in passage.B}
    if not due:
        return passage
    state, moved = np.concatenate([*due.values()]), np.hstack([passage.B[k][:, walks[k]] for k in due])
    size, still = len(state), np.zeros((len(state), passage.A.shape[1]))
    fresh = {k: np.zeros((size, B.shape[1])) for k, B in passage.B.items()}
    for k, rows in due.items():
        fresh[k][np.searchsorted(state, rows), walks[k]] = 1.0
    seen = passage.seen
    if seen is not None:
        seen = seen._replace(A=np.hstack([seen.A, *(seen.B[k][:, walks[k]] for k in due)]))
    return passage._replace(
        rows=np.concatenate([passage.rows, state]),
        columns=np.concatenate([passage.columns, state]),
        A=np.block([[passage.A, moved], [still, np.eye(size)]]),
        D=np.vstack([passage.D, np.zeros((size, passage.D.shape[1]))]),
        B={k: np.vstack([B, fresh[k]]) for k, B in passage.B.items()},
        seen=seen,
    )


def _observed(
    result: LinearResult, passage: Passage, spread: _Spreading, observers: Observers, noise: dict[str, Array]
) -> dict[str, Array]:
    """Note covariances of all signals at a moment; return the signals of the sampled moments."""
    seen, columns = passage.seen, passage.columns
    assert seen is not None
    T = seen.A @ spread.S[columns] + seen.D  # of the moment with respect to what is drawn
    moved, variance = seen.A @ spread.X[columns], np.square(T).sum(axis=1)
    parts = {name: C[np.ix_(columns, columns)] for name, C in spread.C.items()}
    for part in parts.values():
        variance += np.sum((seen.A @ part) * seen.A, axis=1)
    for name, B in seen.B.items():
        variance, moved = variance + np.square(B).sum(axis=1), moved + B @ noise[name]
    values, slopes = observers.slopes(seen, np.sqrt(np.maximum(variance, 0.0)), moved.T)
    around: dict[str, Array] = {n: np.asarray(values[n], float) for n in ("sun_I", "B_I_T") if n in values}
    around |= {name: np.asarray(y)[0] for name, y in values.items() if name.endswith(".q_IB")}
    matrices = {name: seen.numbers[places] for name, places in observers.matrices(seen).items()}
    for told, what in ((result.around, around), (result.beliefs, matrices)):
        for name, value in what.items():
            told.setdefault(name, []).append(value)
    ends = np.cumsum([len(G) for G in slopes.values()])[:-1]
    one = np.vstack([*slopes.values()])
    GA, GB = one @ seen.A, {name: one @ B for name, B in seen.B.items()}
    noises = {name: (GA @ part @ GA.T) + (GB[name] @ GB[name].T if name in GB else 0.0) for name, part in parts.items()}
    for name, GT, own in zip(slopes, np.split(one @ T, ends), np.split(np.arange(len(one)), ends), strict=True):
        result.nominal.setdefault(name, []).append(np.ravel(np.asarray(values[name], float)[0]))
        result.slopes.setdefault(name, []).append(GT)
        for instrument, C in noises.items():
            result.noise.setdefault(name, {}).setdefault(instrument, []).append(C[own[0] : own[-1] + 1, own])
    return {n: y if n in observers.shared else y[1:] for n, y in values.items()}
