"""Where chunks of trials fly: in this process, or in several of this machine.

An engine takes chunks (ranges of trial numbers) in order and yields what workers answer as it comes. At most two
chunks per worker are under way, so that memory does not grow with the campaign. Which engine flies a trial changes no
bit of it.
"""

from __future__ import annotations

import functools
import itertools
import multiprocessing
import os
import pickle
import signal
import sys
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from typing import ClassVar, Protocol

from gnc.errors import InputError
from gnc.montecarlo.parcel import Parcel, Reply, answer

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
