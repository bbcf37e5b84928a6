"""How many trials fly together: as many as memory and time allow, the same for every worker.

A flight of n trials costs a fixed time plus n times a little, so large chunks are cheap per trial; but a chunk has to
fit into memory, and what is flown since the last finished chunk is lost in a crash.
"""

from __future__ import annotations

import math
import time

import numpy as np

from gnc.montecarlo.flight import Flight, Results, fly

MEMORY_BYTES = 2**29  # of one worker
CHUNK_S = 30.0
PROBE = 64  # trials; a campaign with no more for each worker is not worth a probe
OVERHEAD = 4  # working memory of a flight as a multiple of its results, unless it states its own


def choose(flight: Flight, trials: int, workers: int) -> int:
    """The size of a chunk, from two short flights; it changes no result."""
    share = math.ceil(trials / workers)
    if share <= PROBE:
        return share
    fly(flight, np.arange(1))  # compiles, tabulates
    alone_s, _ = _timed(flight, 1)
    together_s, results = _timed(flight, PROBE)
    each_s = max((together_s - alone_s) / (PROBE - 1), 1e-9)
    by_time = max((CHUNK_S - alone_s) / each_s, PROBE)
    return balanced(trials, workers, min(by_time, MEMORY_BYTES / _bytes_per_trial(flight, results)))


def balanced(trials: int, workers: int, limit: float) -> int:
    """The size at which every worker gets the same number of chunks, none above the limit."""
    rounds = math.ceil(trials / (workers * max(math.floor(limit), 1)))
    return math.ceil(trials / (workers * rounds))


def _timed(flight: Flight, n: int) -> tuple[float, Results]:
    start = time.perf_counter()
    results = fly(flight, np.arange(n))
    return time.perf_counter() - start, results


def _bytes_per_trial(flight: Flight, results: Results) -> float:
    stated = getattr(flight, "bytes_per_trial", None)
    return stated or OVERHEAD * sum(values.nbytes for values in results.values()) / PROBE
