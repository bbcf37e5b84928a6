"""Where chunks of trials fly: in this process, in several of this machine, or on a Dask cluster.

An engine takes chunks (ranges of trial numbers) in order and yields what workers answer as it comes. At most two
chunks per worker are under way, so that memory does not grow with the campaign. Which engine flies a trial changes no
bit of it.
"""

from __future__ import annotations

import functools
import itertools
import logging
import multiprocessing
import os
import pickle
import signal
import socket
import sys
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, CancelledError, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, Protocol

import numpy as np

from gnc.errors import DefectError, InputError, PartError
from gnc.montecarlo.flight import Flight, Results, fly
from gnc.montecarlo.identity import Software, difference, digest, software

PATIENCE = 10  # times in a row that workers may die without finishing anything
AHEAD = 2  # chunks under way per worker: one flies, one waits


class Engine(Protocol):
    """Flies chunks."""

    @property
    def workers(self) -> int:
        """How many chunks fly at the same time."""

    def fly(self, parcel: Parcel, chunks: Sequence[range]) -> Iterator[tuple[range, Reply]]:
        """Yield each chunk with the reply, in any order."""


@dataclass(frozen=True)
class InProcess:
    """One chunk after another, in this process."""

    workers: ClassVar[int] = 1

    def fly(self, parcel: Parcel, chunks: Sequence[range]) -> Iterator[tuple[range, Reply]]:
        """Yield each chunk with the reply, in order."""
        for chunk in chunks:
            yield chunk, answer(parcel, chunk)


@dataclass(frozen=True)
class LocalProcesses:
    """Worker processes of this machine; chunks of a worker that dies are flown again by a new one."""

    workers: int

    def fly(self, parcel: Parcel, chunks: Sequence[range]) -> Iterator[tuple[range, Reply]]:
        """Yield each chunk with the reply, in any order."""
        packed = pickle.dumps(parcel)
        left = dict.fromkeys(chunks)
        barren = 0
        while left:
            before = len(left)
            try:
                for chunk, reply in self._until_a_worker_dies(packed, list(left)):
                    del left[chunk]
                    yield chunk, reply
            except BrokenProcessPool:
                barren = barren + 1 if len(left) == before else 0
                refuse_barren(barren)

    def _until_a_worker_dies(self, packed: bytes, chunks: Sequence[range]) -> Iterator[tuple[range, Reply]]:
        waiting, flying = iter(chunks), dict[Future[Reply], range]()
        pool = ProcessPoolExecutor(self.workers, _context(), initializer=_begin)
        try:
            for chunk in itertools.islice(waiting, AHEAD * self.workers):
                flying[pool.submit(answer_packed, packed, chunk)] = chunk
            while flying:
                futures, _ = wait(flying, return_when=FIRST_COMPLETED)
                for future in futures:
                    chunk, reply = flying.pop(future), future.result()
                    for following in itertools.islice(waiting, 1):
                        flying[pool.submit(answer_packed, packed, following)] = following
                    yield chunk, reply
        finally:
            pool.shutdown(cancel_futures=True)


def _context() -> multiprocessing.context.BaseContext:
    """How workers begin: with all that the driver has loaded and traced, unless its other threads may hold locks."""
    alone = sys.platform == "linux" and threading.active_count() == 1
    return multiprocessing.get_context("fork" if alone else "spawn")


def refuse_barren(times: int) -> None:
    """Give up when workers died too many times in a row without finishing a chunk."""
    if times >= PATIENCE:
        raise InputError(
            f"workers: died {times} times in a row without finishing a chunk, perhaps for want of memory; "
            "lower the chunk size or the number of workers, and resume"
        )


def answer_packed(packed: bytes, chunk: range) -> Reply:
    """Fly a chunk in a worker."""
    return answer(_unpacked(packed), chunk)


@functools.lru_cache(maxsize=1)
def _unpacked(packed: bytes) -> Parcel:
    """The parcel, kept from chunk to chunk with whatever its flight has built."""
    return pickle.loads(packed)


def _begin() -> None:
    """Let a worker end at once, and silently, with Ctrl-C or with the driver, however that ends."""
    for ending in (signal.SIGINT, signal.SIGTERM):
        signal.signal(ending, signal.SIG_DFL)
    threading.Thread(target=_end_with_the_driver, daemon=True).start()


def _end_with_the_driver() -> None:
    driver = multiprocessing.parent_process()
    assert driver is not None
    driver.join()
    os._exit(1)


CONNECT_S = 10
WAIT_S, DESERTED = 10, 6  # a look at the workers, and how many looks in a row may find none


@dataclass(frozen=True)
class Dask:
    """A cluster of `workers` processes of this machine, or whatever the scheduler at `address` has.

    With an address, `workers` is only what the chunk size is chosen for.
    """

    workers: int = 2
    address: str | None = None

    def fly(self, parcel: Parcel, chunks: Sequence[range]) -> Iterator[tuple[range, Reply]]:
        """Yield each chunk with the reply, in any order; chunks of a worker that dies are flown again."""
        distributed = _distributed()
        packed, barren = pickle.dumps(parcel), 0
        with self._client(distributed) as client:
            left, flying = list(reversed(chunks)), dict[Any, range]()
            window = AHEAD * sum(client.nthreads().values())
            while left or flying:
                while left and len(flying) < window:
                    chunk = left.pop()
                    flying[client.submit(_answer_alone, packed, chunk, pure=False)] = chunk
                try:
                    future = _first_done(distributed, client, list(flying))
                    chunk = flying.pop(future)
                    reply = future.result()
                except distributed.scheduler.KilledWorker:
                    left.append(chunk)
                    barren += 1
                    refuse_barren(barren)
                    continue
                except CancelledError:
                    raise InputError(
                        "address: lost the connection to the Dask scheduler; resume when it is back"
                    ) from None
                except (ImportError, AttributeError) as error:  # what a worker says that cannot read the parcel
                    raise InputError(f"workers: one has other software: {error}; give all the same") from None
                barren = 0
                yield chunk, reply

    @contextmanager
    def _client(self, distributed: Any) -> Iterator[Any]:
        if self.address is None:
            with (
                distributed.LocalCluster(
                    n_workers=self.workers,
                    threads_per_worker=1,
                    processes=True,
                    dashboard_address=None,
                    silence_logs=logging.CRITICAL,
                ) as cluster,
                distributed.Client(cluster) as client,
            ):
                yield client
            return
        try:
            client = distributed.Client(self.address, timeout=CONNECT_S)
        except (OSError, ValueError) as error:
            raise InputError(f"address: no Dask scheduler answers at {self.address!r} ({error})") from None
        with client:
            if not client.nthreads():
                raise InputError(f"address: the scheduler at {self.address!r} has no workers; start some")
            yield client


def _distributed() -> Any:
    try:
        import distributed
    except ImportError:
        raise InputError("engine: Dask is not installed: pip install distributed") from None
    return distributed


def _first_done(distributed: Any, client: Any, futures: list[Any]) -> Any:
    """Wait for a chunk, as long as there are workers who may fly it."""
    deserted = 0
    while deserted < DESERTED:
        try:
            return next(iter(distributed.wait(futures, WAIT_S, "FIRST_COMPLETED").done))
        except (TimeoutError, distributed.TimeoutError):
            deserted = 0 if client.nthreads() else deserted + 1
    raise InputError(f"workers: none for {DESERTED * WAIT_S} s; start some, and resume")


_one_at_a_time = threading.Lock()


def _answer_alone(packed: bytes, chunk: range) -> Reply:
    """Fly a chunk; threads of one worker take turns, since a flight need not be safe in several."""
    with _one_at_a_time:
        return answer_packed(packed, chunk)


class Parcel(NamedTuple):
    """What a worker needs; picklable."""

    flight: Flight
    software: Software  # of the driver
    twice: int  # the trial that is flown again by itself, to see whether flights can be repeated
    alone: Results | None = None  # of that trial, if the driver has flown it so


class Reply(NamedTuple):
    """What a worker answers."""

    results: Results
    software: str  # digest of what the worker flew with


def answer(parcel: Parcel, chunk: range) -> Reply:
    """Fly a chunk, if the software of this process is that of the driver before and after."""
    _check(parcel)
    results = fly(parcel.flight, np.arange(chunk.start, chunk.stop))
    flown_with = digest(_check(parcel))
    if parcel.twice in chunk:
        place = parcel.twice - chunk.start
        beside = {name: rows[place : place + 1] for name, rows in results.items()}
        if parcel.alone is None or _differing(beside, parcel.alone):
            check_repeatable(parcel.flight, parcel.twice, beside)
    return Reply(results, flown_with)


def results_of(reply: Reply, parcel: Parcel) -> Results:
    """The results of a reply; InputError if the worker does not say that it flew with the driver's software."""
    if getattr(reply, "software", None) != digest(parcel.software):
        raise InputError("workers: one does not fly with the software of this process; give all the same")
    return reply.results


def check_repeatable(flight: Flight, trial: int, beside: Results) -> None:
    """Fly one trial by itself; an error if that does not give the bits that it had beside others.

    Flown by itself once more it tells what is to blame: chance, or the trials that flew beside it.
    """
    alone = fly(flight, np.array([trial]))
    differing, how = _differing(beside, alone), "alone"
    if differing and (by_chance := _differing(alone, fly(flight, np.array([trial])))):
        differing, how = by_chance, "again"
    if not differing:
        return
    message = f"not repeatable: {differing[0]} of trial {trial} differs when it is flown {how}"
    own = getattr(flight, "sources", ()) or not type(flight).__module__.startswith("gnc.")
    if own:
        remedy = "draw random numbers from gnc.noise by seed and trial, not from np.random, and keep no state in a part"
        raise PartError(_part(flight), "fly", f"{message}; {remedy}")
    raise DefectError(message, type(flight).__module__)


def _check(parcel: Parcel) -> Software:
    """The software of this process; InputError if it is not the driver's."""
    here = software(parcel.flight)
    if mismatch := difference(parcel.software, here):
        place = f"a worker on {socket.gethostname()}"
        raise InputError(f"workers: {place} has other software: {mismatch}; give it the same, and start it anew")
    return here


def _differing(one: Results, other: Results) -> list[str]:
    """Return the names of results that have other bits."""
    return [name for name in sorted(one.keys() | other.keys()) if not _same(one.get(name), other.get(name))]


def _same(a: np.ndarray | None, b: np.ndarray | None) -> bool:
    if a is None or b is None or a.dtype.kind == "U":  # text has another width beside longer text
        return a is not None and b is not None and a.tolist() == b.tolist()
    return (a.shape, a.tobytes()) == (b.shape, b.tobytes())


def _part(flight: Flight) -> str:
    return ", ".join(str(source) for source in getattr(flight, "sources", ())) or type(flight).__name__
