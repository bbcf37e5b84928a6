"""A Monte Carlo campaign in one call: fly, store, resume, stop early, summarise."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Collection, Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gnc.errors import InputError
from gnc.montecarlo import chunk_size as sizes
from gnc.montecarlo import summary
from gnc.montecarlo.early_stop import EarlyStop
from gnc.montecarlo.engines import Engine, InProcess
from gnc.montecarlo.ensemble import Ensemble
from gnc.montecarlo.flight import LOST, SUCCESS, Flight, Results
from gnc.montecarlo.identity import software
from gnc.montecarlo.manifest import Manifest
from gnc.montecarlo.parcel import Parcel, results_of
from gnc.montecarlo.store import Store, created, prepare, read_manifest, resumed, write_durably

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
    size = _chunk_size(chunk_size, flight, trials, out, resume, engine.workers)
    manifest = Manifest.of(configuration, seed, trials, size, software(flight))
    with (resumed if resume else created)(out, manifest) as store:
        session = _Session(store, stop, progress)
        session.fly(flight, engine)
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

    def fly(self, flight: Flight, engine: Engine) -> None:
        """Fly what is missing, until the campaign is complete or may stop."""
        for chunk in sorted(self.store.paths, key=lambda chunk: chunk.start):
            self._count(chunk, self.store.read(chunk, [LOST, SUCCESS]))
        missing = [c for c in self.store.chunks() if c not in self.store.paths and c.start < self.needed]
        if not missing:
            return
        parcel = Parcel(flight, self.store.manifest.software, twice=missing[0][-1])  # the place among others may count
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


def _chunk_size(chunk_size: int | None, flight: Flight, trials: int, out: Path, resume: bool, workers: int) -> int:
    if chunk_size is not None and chunk_size < 1:
        raise InputError(f"chunk_size: {chunk_size} is not a number of trials; give 1 or more")
    if resume:
        return chunk_size or read_manifest(out).chunk_size
    prepare(out)  # before a probe that takes time
    return chunk_size or sizes.choose(flight, trials, workers)


def _check_trials(trials: int) -> None:
    if not 1 <= trials < TRIAL_LIMIT:
        raise InputError(f"trials: {trials} is not a number of trials; give 1 to {TRIAL_LIMIT - 1}")
