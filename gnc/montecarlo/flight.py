"""What a scenario gives the campaign: trial numbers in, arrays out.

Lost means physics: a trial is lost if the flight says why, and NaN then. An exception is no loss. It stops the chunk,
which is not kept, and ends the campaign; what was flown before stays.
"""

from __future__ import annotations

import multiprocessing
import threading
import time
from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from gnc.errors import InputError, PartError, blamed

Results = dict[str, np.ndarray]

LOST = "lost"  # (n,) text: why the trial is lost, "" if it flew
SUCCESS = "success"  # (n,) bool, if the scenario has a criterion
REASON_LENGTH = 200
SEARCH_S = 60.0  # in which the trial that raises is sought among those of a chunk


class Flight(Protocol):
    """A scenario ready to fly any of its trials; picklable, since worker processes get a copy.

    Optional attribute `bytes_per_trial`: the memory a trial needs while it flies, for the choice of the chunk size.
    Optional attribute `sources`: the files of users' parts, which belong to the identity of the campaign.
    """

    def fly(self, trials: NDArray[np.int64]) -> Results:
        """Fly trials by number: numbers (n,), time histories (n, T), `lost` (n,) and perhaps `success` (n,)."""


def fly(flight: Flight, trials: NDArray[np.int64]) -> Results:
    """Fly trials; an exception loses none of them, but ends the flight with whose error it is and in which trial."""
    try:
        return _tidy(flight, flight.fly(trials), len(trials))
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt) and _can_be_interrupted():
            raise
        raise _located(flight, trials, error) from error


def _can_be_interrupted() -> bool:
    """Whether Ctrl-C raises here; it ends worker processes at once, and threads never see it."""
    return multiprocessing.parent_process() is None and threading.current_thread() is threading.main_thread()


def _located(flight: Flight, trials: NDArray[np.int64], error: BaseException) -> Exception:
    """The error of the first trial that raises, sought by halving for a while."""
    give_up = time.monotonic() + SEARCH_S
    while len(trials) > 1 and not isinstance(error, MemoryError | OSError) and time.monotonic() < give_up:
        half = len(trials) // 2
        for part in (trials[:half], trials[half:]):
            try:
                _tidy(flight, flight.fly(part), len(part))
            except BaseException as narrower:
                trials, error = part, narrower
                break
        else:
            break  # none raises by itself
    place = f"trial {trials[0]}" if len(trials) == 1 else f"trials {trials[0]} to {trials[-1]}"
    return blamed(error, place)


def join(parts: Sequence[Results]) -> Results:
    """One after another; a lost trial that has no value of some name gets NaN, or False."""
    lengths = [len(part[LOST]) for part in parts]
    names = dict.fromkeys(name for part in parts for name in part)
    joined = {}
    for name in names:
        like = next(part[name] for part in parts if name in part)
        rows = [part.get(name, _nothing(n, like)) for part, n in zip(parts, lengths, strict=True)]
        if len({row.shape[1:] for row in rows}) > 1:
            raise InputError(f"{name}: trials return shapes {sorted({row.shape[1:] for row in rows})}; expected one")
        joined[name] = np.concatenate(rows)
    return joined


def _nothing(n: int, like: np.ndarray) -> np.ndarray:
    return np.full((n, *like.shape[1:]), False if like.dtype == bool else np.nan, dtype=like.dtype)


def _tidy(flight: Flight, results: Results, n: int) -> Results:
    """Results as text, bool or floating point, one row per trial; a lost trial has no success."""
    tidy = {name: np.asarray(values) for name, values in results.items()}
    tidy.setdefault(LOST, np.full(n, ""))
    for name, values in tidy.items():
        if values.shape[:1] != (n,):
            raise _refused(flight, f"{name} has shape {values.shape} for {n} trials")
        if (values.dtype.kind in "UO") != (name == LOST) or values.dtype.kind not in "UObiuf":
            raise _refused(flight, f"{name} is {values.dtype}; expected numbers, and text for lost only")
        if values.dtype.kind in "iu":
            tidy[name] = values.astype(np.float64)
    tidy[LOST] = np.array([str(reason)[:REASON_LENGTH] for reason in tidy[LOST]])
    if SUCCESS in tidy:
        tidy[SUCCESS] = tidy[SUCCESS].astype(bool) & (tidy[LOST] == "")
    return tidy


def _refused(flight: Flight, message: str) -> PartError:
    return PartError(type(flight).__name__, "fly", f"returned what cannot be kept: {message}")
