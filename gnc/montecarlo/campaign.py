"""A Monte Carlo campaign in one call: fly, store, resume, stop early, summarise.

Chunks: a flight of n trials costs a fixed time plus n times a little, so large chunks are cheap per trial; but a chunk
has to fit into memory, and what is flown since the last finished chunk is lost in a crash. All workers have the same.

Early stop: the decision looks at trials 0 ... n-1 for n = 100, 200, ... only, in order, so it depends neither on
workers nor on chunks. When to stop then depends on the data, so that the interval no longer covers the truth exactly as
often as it states: `test_campaign.py` flies 2000 campaigns at p = 0.5 and 0.9, and at least 93 % cover where 95 % are
stated.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable, Collection, Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gnc.errors import InputError
from gnc.montecarlo import summary
from gnc.montecarlo.engines import Engine, InProcess, Parcel, results_of
from gnc.montecarlo.flight import LOST, SUCCESS, Flight, Results, fly
from gnc.montecarlo.identity import Manifest, software
from gnc.montecarlo.statistics import wilson
from gnc.montecarlo.store import Store, created, prepare, read_manifest, resumed, write_durably
from gnc.montecarlo.summary import Ensemble

if TYPE_CHECKING:
    from xarray import Dataset


TRIAL_LIMIT = 2**31  # trial numbers are 32-bit integers in the files


class Progress(NamedTuple):
    """How far a campaign is."""

    done: int  # trials, those of an earlier session included
    trials: int
    lost: int
    trials_per_s: float  # of this session
    left_s: float  # infinite before the first chunk


@dataclass(frozen=True)
class Campaign:
    """What a campaign found."""

    summary: dict[str, Any]  # JSON; nothing that depends on time or machine; also in metrics.json
    bands: Dataset  # percentiles over time; also in bands.nc
    table: Results  # one row per trial, for `export`
    timing: dict[str, float]
    damaged: list[str]  # a line for each file that was set aside on resuming


def run(
    flight: Flight,
    configuration: Mapping[str, Any],
    seed: int,
    trials: int,
    out: Path,
    *,
    resume: bool = False,
    engine: Engine | None = None,
    chunk_size: int | None = None,
    until_ci: float | None = None,
    consistency: Mapping[str, int] | None = None,
    times_s: Mapping[str, NDArray[np.float64]] | None = None,
    lowest: Collection[str] = (),
    confidence: float = 0.95,
    progress: Callable[[Progress], None] = lambda _: None,
) -> Campaign:
    """Fly a campaign into the directory `out`, or go on with the one in it.

    `configuration` and `seed` are what identifies the campaign; the flight must depend on nothing else. `until_ci`
    stops when the interval of the success probability is no wider (hi - lo). `consistency` names the time histories
    that are NEES or NIS, with their degrees of freedom; `times_s` gives histories their times. `lowest` names the
    metrics of which the lowest value is the worst.
    """
    engine = engine or InProcess()
    _check_trials(trials)
    stop = EarlyStop(until_ci, confidence)
    start = time.perf_counter()
    size, alone = _chunk_size(chunk_size, flight, trials, out, resume, engine.workers)
    manifest = Manifest.of(configuration, seed, trials, size, software(flight))
    with (resumed if resume else created)(out, manifest) as store:
        session = _Session(store, stop, progress)
        session.fly(flight, engine, alone)
        flown_s = time.perf_counter() - start
        store.keep_only([chunk for chunk in store.chunks() if chunk.start < session.needed])
        ensemble = Ensemble(store, session.needed)
        consistencies = {name: ensemble.consistency(name, n, confidence) for name, n in (consistency or {}).items()}
        numbers = {"seed": seed} | summary.summarize(ensemble, consistencies, confidence, lowest)
        bands = summary.bands(ensemble, consistencies, times_s)
        write_durably(out / "metrics.json", (json.dumps(numbers, indent=2) + "\n").encode())
        write_durably(out / "bands.nc", bytes(bands.to_netcdf(engine="scipy")))
        timing = {"fly_s": flown_s, "total_s": time.perf_counter() - start, "flown_trials": session.flown}
        return Campaign(numbers, bands, ensemble.table, timing, store.damaged)


class _Session:
    """One driver's share of a campaign."""

    def __init__(self, store: Store, stop: EarlyStop, progress: Callable[[Progress], None]) -> None:
        self.store, self.stop, self.progress = store, stop, progress
        self.flown = self.done = self.lost = 0
        self.start = time.perf_counter()

    @property
    def needed(self) -> int:
        """How many trials the campaign needs, as far as is known."""
        return self.store.manifest.trials if self.stop.stop is None else self.stop.stop

    def fly(self, flight: Flight, engine: Engine, alone: Mapping[int, Results]) -> None:
        """Fly what is missing, until the campaign is complete or may stop; some trials have flown alone already."""
        for chunk in sorted(self.store.paths, key=lambda chunk: chunk.start):
            self._count(chunk, self.store.read(chunk, [LOST, SUCCESS]))
        missing = [c for c in self.store.chunks() if c not in self.store.paths and c.start < self.needed]
        if not missing:
            return
        twice = missing[0][-1]  # the place among others may count
        parcel = Parcel(flight, self.store.manifest.software, twice, alone.get(twice))
        with closing(engine.fly(parcel, missing)) as finished:  # type: ignore[type-var]
            for chunk, reply in finished:
                results = results_of(reply, parcel)
                self.store.write(chunk, results)
                self.flown += len(chunk)
                self._count(chunk, results)
                if self.stop.stop is not None:
                    return

    def _count(self, chunk: range, results: Results) -> None:
        self.stop.add(chunk, results)
        self.done += len(chunk)
        self.lost += int((results[LOST] != "").sum())
        rate = self.flown / (time.perf_counter() - self.start)
        left = (self.store.manifest.trials - self.done) / rate if rate else float("inf")
        self.progress(Progress(self.done, self.store.manifest.trials, self.lost, rate, left))


def _chunk_size(
    chunk_size: int | None, flight: Flight, trials: int, out: Path, resume: bool, workers: int
) -> tuple[int, dict[int, Results]]:
    if chunk_size is not None and chunk_size < 1:
        raise InputError(f"chunk_size: {chunk_size} is not a number of trials; give 1 or more")
    if resume:
        return chunk_size or read_manifest(out).chunk_size, {}
    prepare(out)  # before a probe that takes time
    return (chunk_size, {}) if chunk_size else choose(flight, trials, workers)


def _check_trials(trials: int) -> None:
    if not 1 <= trials < TRIAL_LIMIT:
        raise InputError(f"trials: {trials} is not a number of trials; give 1 to {TRIAL_LIMIT - 1}")


MEMORY_BYTES = 2**29  # of one worker
CHUNK_S = 30.0
SHARE_S = 120.0  # one after another; a worker with less to do is not worth a second probe
PROBE = 64  # trials; a campaign with no more for each worker is not worth a probe
OVERHEAD = 4  # working memory of a flight as a multiple of its results, unless it states its own


def choose(flight: Flight, trials: int, workers: int) -> tuple[int, dict[int, Results]]:
    """The size of a chunk, which changes no result, and the results of the trial that was flown alone to find it.

    Trials flown together take no longer than one after another. Where that is too long to settle the size, so many
    are flown together; what they take longer than one is the time of the others.
    """
    share = math.ceil(trials / workers)
    if share <= PROBE:
        return share, {}
    last = share - 1  # of the first chunk, if that is a whole share
    alone_s, alone = _timed(flight, np.array([last]))
    limit = MEMORY_BYTES / _bytes_per_trial(flight, alone)
    if share * alone_s > SHARE_S:
        together_s, _ = _timed(flight, np.arange(PROBE))
        others_s = together_s - alone_s
        each_s = others_s / (PROBE - 1) if others_s > 0.0 else together_s / PROBE  # the first flight compiles
        limit = min(limit, max((CHUNK_S - min(alone_s, together_s)) / each_s, PROBE))
    return balanced(trials, workers, limit), {last: alone}


def balanced(trials: int, workers: int, limit: float) -> int:
    """The size at which every worker gets the same number of chunks, none above the limit."""
    rounds = math.ceil(trials / (workers * max(math.floor(limit), 1)))
    return math.ceil(trials / (workers * rounds))


def _timed(flight: Flight, trials: NDArray[np.int64]) -> tuple[float, Results]:
    start = time.perf_counter()
    results = fly(flight, trials)
    return time.perf_counter() - start, results


def _bytes_per_trial(flight: Flight, alone: Results) -> float:
    stated = getattr(flight, "bytes_per_trial", None)
    return stated or OVERHEAD * sum(values.nbytes for values in alone.values())


LOOK = 100  # trials between looks


class EarlyStop:
    """Watches chunks come in, in any order."""

    def __init__(self, width: float | None, confidence: float = 0.95) -> None:
        if width is not None and not 0.0 < width < 1.0:
            raise InputError(f"until_ci: {width!r} is not a width between 0 and 1")
        self.width, self.confidence = width, confidence
        self.stop: int | None = None  # how many trials suffice, once known
        self._waiting: dict[int, Results] = {}  # by the first trial of the chunk
        self._trials = self._successes = 0

    def add(self, chunk: range, results: Results) -> None:
        """Take the outcomes of a chunk."""
        if self.width is None:
            return
        self._waiting[chunk.start] = {name: results[name] for name in (LOST, SUCCESS) if name in results}
        while self.stop is None and self._trials in self._waiting:
            self._look(self._waiting.pop(self._trials))

    def _look(self, results: Results) -> None:
        if SUCCESS not in results and (results[LOST] == "").any():
            raise InputError("until_ci: this scenario has no criterion of success, so there is no interval to watch")
        outcomes = results.get(SUCCESS, [False] * len(results[LOST]))
        for outcome in outcomes:
            self._trials += 1
            self._successes += bool(outcome)
            if self._trials % LOOK == 0 and self._narrow():
                self.stop = self._trials
                return

    def _narrow(self) -> bool:
        interval = wilson(self._successes, self._trials, self.confidence)
        return interval.hi - interval.lo <= (self.width or 0.0)
