"""Linear covariance of a mission: typical flights until the answer stands, shares of sources, what was not linear.

    Var(y) = mean over flights of Var(y | draws) + Var over trials without noise of y

The first term is the noise of each instrument, carried linearly along typical flights. It grows and shrinks from flight
to flight as the filter itself believes; trials without noise are cheap and tell how large that is on average, so that

    Var(noise) = mean over flights of Var(y | draws) * mean over trials of b^2 / mean over flights of b^2

with b the sigma that the filter believes (a ratio estimator: a few flights do). The second term is divided by a linear
fit, y = m + beta theta + rest, to draws theta of exactly zero mean and unit covariance, so that shares add up.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from multiprocessing import get_context
from typing import Any

import numpy as np
from scipy.stats import t as student

from gnc.errors import InputError, blamed
from gnc.expression import parse
from gnc.scenarios.__main__ import ONE_THREAD
from gnc.scenarios.covariance.directions import TypicalFlight
from gnc.scenarios.covariance.propagate import LinearResult, Progress, linear_covariance
from gnc.scenarios.missions.dispersal import Group
from gnc.scenarios.missions.flight import group_flown, needed
from gnc.scenarios.missions.mission import Mission
from gnc.scenarios.missions.requirements.base import Judged, resolve
from gnc.scenarios.missions.requirements.statistic import StatisticPart
from gnc.typing import Array, Mask

LINEAR = 0.1  # of the total sigma, by which +-1 sigma of a draw may miss its linear prediction
STANDS = 0.02  # relative standard error of sigma at which no more flights are needed
LEAST, MOST = 4, 40  # flights
ONE_SIGMA = 0.8413447  # of the normal distribution: the probability to be less than 1 sigma above the mean
QUIET = 400  # trials without noise, at least four for every number that is drawn
SAMPLES = 60  # trials sampled about each flight
MIXED = 1_000_000  # values of a signal with noise, from which a percentile over trials and times is taken
NOT_LINEAR = "draws, not linear"


class Window:
    """Times that count for a requirement, and the signals that it is of."""

    def __init__(self, name: str, part: StatisticPart, mission: Mission, result: LinearResult) -> None:
        self.name, self.when, self.mission, self.modes = name, part.when, mission, result.modes
        self.times: Mask = self.counted(result.samples).mean(axis=0) > 0.5
        names = [n.removeprefix("largest ") for n in parse(part.signal).names]
        full = [resolve(n, result.samples.data_vars, mission.craft) for n in names]
        self.signals = [name for name in full if name in result.nominal]

    def counted(self, flown: Any) -> Mask:
        """Return which times (trials, times) of a dataset count: a trial may be in another mode than others."""
        shape = flown.sizes["trial"], flown.sizes["time"]
        values = Judged(self.mission, flown, self.modes, {}).value(parse(self.when)) if self.when else np.ones(shape)
        return np.broadcast_to(np.asarray(values, bool), shape)


@dataclass
class Quiet:
    """Trials without noise."""

    theta: Array  # (trials, drawn) what they were given, in sigma: of mean 0 and covariance 1
    signals: Any  # dataset
    misses: dict[str, Array]  # signal -> (times, drawn, size): squares of what +-1 sigma misses of its linear effect
    switched: list[str]  # what differs within 1 sigma of the nominal
    _fits: dict[str, tuple[Array, Array]] = field(default_factory=dict)

    def of(self, name: str) -> Array:
        """Return a signal (trials, times, size)."""
        values = np.asarray(self.signals[name].values, float)
        return values.reshape(*values.shape[:2], -1)

    def fit(self, name: str) -> tuple[Array, Array]:
        """Return the slopes (times, size, drawn) of a signal by least squares, and the rest (trials, times, size).

        Where a signal has no value in some trials, the rest is as much larger as they are fewer.
        """
        if name not in self._fits:
            y = self.of(name)
            y, share = y - mean(y), np.maximum(np.isfinite(y).mean(axis=0), 1e-9)
            y = np.nan_to_num(y)
            slopes = np.einsum("md,mti->tid", self.theta, y, optimize=True) / len(y) / share[:, :, None]
            rest = y - np.isfinite(self.of(name)) * np.einsum("tid,md->mti", slopes, self.theta, optimize=True)
            self._fits[name] = slopes, rest / np.sqrt(share)
        return self._fits[name]


def mean(y: Array) -> Array:
    """Return the mean over trials that have a value; NaN where none has."""
    with np.errstate(invalid="ignore"):
        return np.nansum(y, axis=0) / np.isfinite(y).sum(axis=0)


@dataclass
class Covariance:
    """What linear covariance says about a mission."""

    mission: Mission
    seed: int
    flights: list[LinearResult]
    quiet: Quiet
    linearity: dict[str, float] = field(
        default_factory=dict
    )  # by how much +-1 sigma of a draw misses, over total sigma

    @property
    def nonlinear(self) -> tuple[str, ...]:
        """Draws that are not linear within 1 sigma."""
        return tuple(name for name, miss in self.linearity.items() if miss > LINEAR)

    @property
    def time(self) -> Array:
        """Recorded times."""
        return self.flights[0].time

    @cached_property
    def signals(self) -> list[str]:
        """All signals with a finite covariance somewhere."""
        return [n for n, y in self.flights[0].nominal.items() if np.isfinite(y).any() and n in self.quiet.signals]

    def shares(self, signal: str, flights: Sequence[LinearResult] | None = None) -> dict[str, Array]:
        """Return the covariance (times, size, size) of a signal that each source is responsible for."""
        flights = flights or self.flights
        scale = self._believed_over(signal, flights) ** 0.5
        shares = {
            f"{name} noise": scale[:, :, None]
            * scale[:, None]
            * np.nan_to_num(mean(np.array([f.noise[signal][name] for f in flights])))
            for name in flights[0].noise.get(signal, ())
        }
        slopes, rest = self.quiet.fit(signal)
        for name, part in self.flights[0].parts.items():
            shares[name] = slopes[:, :, part] @ np.swapaxes(slopes[:, :, part], 1, 2)
        if self.flights[0].parts:
            shares[NOT_LINEAR] = np.einsum("mti,mtj->tij", rest, rest) / len(rest)
        return shares

    def _believed_over(self, signal: str, flights: Sequence[LinearResult]) -> Array:
        """Return the variance (times, size) believed in trials without noise, over that in flights."""
        companion = self.companion(signal)
        if not companion:
            return np.ones(self.flights[0].nominal[signal].shape)
        with np.errstate(all="ignore"):
            known = mean(np.square([f.nominal[companion] for f in flights]))
            ratio = mean(np.square(self.quiet.of(companion))) / known
        return np.where(np.isfinite(ratio), ratio, 1.0)

    def companion(self, signal: str) -> str:
        """Return what the filter believes of an error, or of another error of the craft in the same unit."""
        known, first = self.flights[0].sigma_of, self.flights[0].nominal
        kind = lambda name: (name.split(".")[0], name.rsplit("_", 1)[-1])  # noqa: E731 - craft, unit
        alike = [signal, *(s for s in known if kind(s) == kind(signal))]
        fitting = [known[s] for s in alike if "error" in signal and known.get(s, "") in first]
        return next((s for s in fitting if first[s].shape == first[signal].shape and s in self.quiet.signals), "")

    def sampled(self) -> Any:
        """Return trials without noise (dataset), each with sampled noise of a flight that is as large as believed."""
        rng, trials = np.random.default_rng([self.seed, 27]), len(self.quiet.theta)
        flight, sample = rng.integers(len(self.flights), size=trials), rng.integers(SAMPLES, size=trials)
        data, k = self.quiet.signals.copy(), np.arange(len(self.time))
        flight = self._in_the_same_mode(flight)
        for name in self.signals:
            values = np.array(data[name].values, float)
            noise = [f.samples[name].values - f.nominal[name].reshape(values.shape[1:]) for f in self.flights]
            changes = np.array(noise)[flight, sample[:, None], k].reshape(*values.shape[:2], -1)
            scaled = self._noise_over(name, flight) * changes
            data[name] = (data[name].dims, values + scaled.reshape(values.shape), data[name].attrs)
        return data

    def _noise_over(self, signal: str, flight: Any) -> Array:
        """Return how much larger (trials, times, size) noise is believed in trials than in flights (trials, times)."""
        companion = self.companion(signal)
        if not companion:
            return np.ones(1)
        with np.errstate(all="ignore"):
            known = np.array([f.nominal[companion] for f in self.flights])[flight, np.arange(len(self.time))]
            scale = self.quiet.of(companion) / known
        return np.where(np.isfinite(scale), scale, 1.0)

    def mixture(self, window: Window, signal: str) -> Array:
        """Return values (numbers, size) of a signal over trials and times that count, with all noise it may have there.

        Noise about a trial is Gaussian with the covariance of a flight, as large as believed: as many values of it as
        are wanted, where `sampled` has one course of it for each trial.
        """
        rng, y = np.random.default_rng([self.seed, 28]), self.quiet.of(signal)
        flight = self._in_the_same_mode(rng.integers(len(self.flights), size=len(y)))
        none = np.zeros((*y.shape[1:], y.shape[2]))
        noise = [sum(map(np.nan_to_num, f.noise.get(signal, {}).values()), start=none) for f in self.flights]
        values, vectors = np.linalg.eigh(np.array(noise))
        roots = vectors * np.sqrt(np.maximum(values, 0.0))[..., None, :]
        trial, k = np.nonzero(window.counted(self.quiet.signals) & np.isfinite(y).all(axis=2))
        times = max(1, MIXED // max(1, len(trial)))
        scale = np.broadcast_to(self._noise_over(signal, flight), y.shape)[trial, k]
        u = rng.standard_normal((len(trial), times, y.shape[2]))
        drawn = u @ np.swapaxes(roots[flight[trial, k], k], 1, 2)
        return (y[trial, k][:, None] + scale[:, None] * drawn).reshape(-1, y.shape[2])

    def _in_the_same_mode(self, first: Any) -> Any:
        """Return for trials and times the flight of each trial, or the next that is then in the modes of the trial."""
        quiet, wide = self.quiet.signals, np.broadcast_to(first[:, None], (len(first), len(self.time)))
        modes = [str(name) for name in quiet.data_vars if str(name).endswith(".mode")]
        order = (first[:, None] + np.arange(len(self.flights))) % len(self.flights)
        same = np.ones((len(first), len(self.flights), len(self.time)), bool)
        for name in modes:
            flown = np.array([f.samples[name].values[0] for f in self.flights])
            same &= quiet[name].values[:, None] == flown[order]
        return np.where(same.any(axis=1), np.take_along_axis(order, same.argmax(axis=1), axis=1), wide)

    def total(self, signal: str, flights: Sequence[LinearResult] | None = None) -> Array:
        """Return the covariance (times, size, size) of a signal."""
        return np.sum(list(self.shares(signal, flights).values()), axis=0)

    def mean(self, signal: str) -> Array:
        """Return the mean (times, size) of a signal."""
        return mean(self.quiet.of(signal))

    def believed(self, signal: str) -> Array | None:
        """Return the sigma (times, size) that the filter believes a signal to have, RMS over trials without noise."""
        companion = self.flights[0].sigma_of.get(signal, "")
        return np.sqrt(mean(np.square(self.quiet.of(companion)))) if companion in self.signals else None

    @cached_property
    def windows(self) -> dict[str, Window]:
        """The times that count, by requirement."""
        windows = {}
        for name, part in self.mission.requirements.items():
            if isinstance(part, StatisticPart):
                window = Window(name, part, self.mission, self.flights[0])
                if window.signals and window.times.any():
                    windows[name] = window
        return windows

    @property
    def errors(self) -> Iterator[tuple[Window, str]]:
        """Give every window with every error signal that is asked for in it."""
        for window in self.windows.values():
            yield from ((window, s) for s in window.signals if "error" in s and s in self.signals)

    def within(self, window: Window, signal: str) -> Covariance:
        """Return what is said about a signal by the trials and flights that count, at every time of a window."""
        counted, flights = window.counted(self.quiet.signals), []
        if counted[:, window.times].all():
            return self
        names, signals = [s for s in (signal, self.companion(signal)) if s], self.quiet.signals.copy()
        for flight in self.flights:
            out = np.where(window.counted(flight.samples).mean(axis=0) > 0.5, 0.0, np.nan)[:, None, None]
            noise = {signal: {i: c + out for i, c in flight.noise.get(signal, {}).items()}}
            nominal = {s: flight.nominal[s] + out[:, 0] for s in names}
            flights.append(replace(flight, noise=flight.noise | noise, nominal=flight.nominal | nominal))
        for name in names:
            y = self.quiet.of(name) + np.where(counted, 0.0, np.nan)[:, :, None]
            signals[name] = signals[name].dims, y.reshape(signals[name].shape), signals[name].attrs
        return replace(self, flights=flights, quiet=replace(self.quiet, signals=signals, _fits={}))

    def budget(self, signal: str, times: Mask) -> dict[str, float]:
        """Return the share of every source in the variance of a signal over some times, in per cent."""
        parts = {name: float(np.trace(c[times].mean(axis=0))) for name, c in self.shares(signal).items()}
        total = sum(parts.values())
        return {name: 100.0 * value / total if total > 0.0 else 0.0 for name, value in parts.items()}

    def standard_error(self) -> float:
        """Return the largest relative error of a sigma over a window."""
        return max((float(self.errors_over(*one).max()) for one in self.errors), default=0.0)

    def errors_over(self, window: Window, signal: str) -> Array:
        """Return the relative error of each sigma over a window: of flights, by leaving one out, and of trials.

        Few flights may be alike by chance: their spread counts as that of Student's distribution. A sigma of less than
        a thousandth of another is none.
        """
        own, n = self.within(window, signal), len(self.flights)
        few = float(student.ppf(ONE_SIGMA, n - 1)) if n > 1 else 1.0
        left = [own.flights[:i] + own.flights[i + 1 :] for i in range(n)] if n > 1 else [own.flights]
        sigmas = np.sqrt([np.diagonal(own.total(signal, f)[window.times].mean(axis=0)) for f in left])
        middle, large = sigmas.mean(axis=0), sigmas.mean(axis=0) > 1e-3 * sigmas.max()
        spread = few * np.sqrt((n - 1.0) / n * np.square(sigmas - middle).sum(axis=0))
        rest = np.square(own.quiet.fit(signal)[1][:, window.times]).mean(axis=1)
        trials = rest.std(axis=0) / np.sqrt(len(rest)) / 2.0
        some = np.where(large, middle, np.inf)
        return np.hypot(spread / some, trials / some**2)


def quiet_trials(mission: Mission, result: LinearResult, seed: int) -> Quiet:
    """Fly +-1 sigma of each number without noise, and trials with all of them drawn."""
    count, flight = len(result.theta), TypicalFlight(mission, result.trial, seed)
    theta = np.random.default_rng([seed, 26]).standard_normal((max(QUIET, 4 * count), count))
    theta -= theta.mean(axis=0)
    theta = theta @ np.linalg.inv(np.linalg.cholesky(theta.T @ theta / len(theta))).T
    moves = np.vstack([np.zeros((1, count)), np.eye(count), -np.eye(count), theta - result.theta])
    prepared = flight.moved(moves)
    kept = {*needed(mission, prepared), *result.sigma_of.values(), *(s for s in prepared.signals if "error" in s)}
    group = Group(mission, mission, np.arange(len(moves)), {})
    flown = group_flown(mission, seed, group, prepared, None, frozenset(kept & prepared.signals.keys())).dataset()
    misses, switched, tried = {}, list[str](), 1 + 2 * count
    for name, signal in prepared.signals.items():
        if signal.shared or name not in flown:
            continue
        y = np.asarray(flown[name].values[:tried], float).reshape(tried, len(result.time), -1)
        if signal.labels or name.endswith(".refused"):
            if (first := (y != y[:1]).any(axis=(0, 2))).any():
                since = f"from {result.time[np.argmax(first)]:g} s on"
                switched.append(f"{name} differs within 1 sigma of the nominal, {since}")
        elif name in result.slopes:
            up, down = y[1 : 1 + count] - y[:1], y[1 + count :] - y[:1]
            odd = 0.5 * (up - down) - np.moveaxis(result.slopes[name], 2, 0)
            misses[name] = np.swapaxes(np.square(odd) + np.square(0.5 * (up + down)), 0, 1)
    own = flown.isel(trial=slice(tried, None)).assign_coords(trial=np.arange(len(theta)))
    return Quiet(theta, own, misses, switched)


def _linearity(lincov: Covariance) -> dict[str, float]:
    """Return by how much each draw misses its prediction, over the total sigma, in the worst window."""
    index = dict.fromkeys(lincov.flights[0].parts, 0.0)
    for window, signal in lincov.errors:
        sigma = np.sqrt(np.trace(lincov.within(window, signal).total(signal)[window.times].mean(axis=0)))
        for name, part in lincov.flights[0].parts.items():
            miss = np.sqrt(np.nansum(lincov.quiet.misses[signal][window.times][:, part], axis=(1, 2)).mean())
            index[name] = max(index[name], float(miss / sigma) if sigma > 0.0 else 0.0)
    return index


def _one(mission: Mission, seed: int, trial: int, progress: Progress | None = None) -> LinearResult:
    """Return a flight; derivatives by what is drawn are those of the first."""
    return linear_covariance(mission, trial, seed, SAMPLES, trial == 0, progress)


@contextmanager
def mapping(workers: int) -> Iterator[Callable[..., Any]]:
    """Give a `map` that works in processes whose BLAS has one thread, or in this one."""
    if workers < 1:
        yield map
        return
    before = {name: os.environ.get(name) for name in ONE_THREAD}
    os.environ.update(dict.fromkeys(ONE_THREAD, "1"))
    try:
        with ProcessPoolExecutor(workers, get_context("spawn")) as pool:
            yield lambda job, *more: pool.map(partial(blaming, job), *more)
    except BrokenProcessPool:
        raise InputError("workers: one has died, perhaps for want of memory; lower the number of workers") from None
    finally:
        for name, value in before.items():
            os.environ.pop(name) if value is None else os.environ.update({name: value})


def blaming(job: Callable[..., Any], *arguments: Any) -> Any:
    """Do a job, and say whose an error was: an exception forgets that on its way from a worker."""
    try:
        return job(*arguments)
    except (Exception, SystemExit) as error:
        raise blamed(error) from None


def covariance(
    mission: Mission, seed: int | None = None, most: int = MOST, workers: int = 2, progress: Progress | None = None
) -> Covariance:
    """Carry covariances along typical flights, as many as it takes until the answer stands, or the most allowed.

    Whoever looks at the progress sees the ticks of the first flight, in this process, and then flights.
    """
    seed, least = mission.run.seed if seed is None else seed, min(most, LEAST)
    with mapping(workers) as mapped:
        if progress is None:
            (first,) = mapped(partial(_one, mission, seed), [0])
        else:
            first = _one(mission, seed, 0, lambda tick, ticks: progress(tick, least * ticks))
        lincov = Covariance(mission, seed, [first], quiet_trials(mission, first, seed))
        lincov.linearity = _linearity(lincov)
        while first.parts and len(lincov.flights) < most:
            known = len(lincov.flights)
            for flight in mapped(
                partial(_one, mission, seed), range(known, min(most, max(least, known + workers, known + 1)))
            ):
                lincov.flights.append(flight)
                if progress is not None:
                    progress(len(lincov.flights), max(least, len(lincov.flights)))
            if lincov.standard_error() <= STANDS:
                break
    return lincov
