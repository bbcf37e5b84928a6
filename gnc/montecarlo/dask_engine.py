"""Chunks on a Dask cluster: one of this machine, or that of a scheduler's address."""

from __future__ import annotations

import logging
import pickle
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import CancelledError
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from gnc.errors import InputError
from gnc.montecarlo.engines import AHEAD, answer_packed, refuse_barren
from gnc.montecarlo.parcel import Parcel, Reply

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
