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
            left, flying = list(reversed(chunks)), dict[str, range]()
            finished = distributed.as_completed()
            window = AHEAD * sum(client.nthreads().values())
            while left or flying:
                while left and len(flying) < window:
                    chunk = left.pop()
                    future = client.submit(_answer_alone, packed, chunk, pure=False)
                    flying[future.key] = chunk
                    finished.add(future)
                future = next(finished)
                chunk = flying.pop(future.key)
                try:
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
        raise InputError("engine: dask is not installed; install the extra, as in pip install 'gnc[cluster]'") from None
    return distributed


_one_at_a_time = threading.Lock()


def _answer_alone(packed: bytes, chunk: range) -> Reply:
    """Fly a chunk; threads of one worker take turns, since a flight need not be safe in several."""
    with _one_at_a_time:
        return answer_packed(packed, chunk)
