"""What a scenario gives the campaign: trial numbers in, arrays out, and no exception of one trial loses the others."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from gnc.errors import InputError

Results = dict[str, np.ndarray]

LOST = "lost"  # (n,) text: why the trial is lost, "" if it flew
SUCCESS = "success"  # (n,) bool, if the scenario has a criterion
REASON_LENGTH = 200


class Flight(Protocol):
    """A scenario ready to fly any of its trials; picklable, since worker processes get a copy.

    Optional attribute `bytes_per_trial`: the memory a trial needs while it flies, for the choice of the chunk size.
    """

    def fly(self, trials: NDArray[np.int64]) -> Results:
        """Fly trials by number: numbers (n,), time histories (n, T), `lost` (n,) and perhaps `success` (n,)."""


def fly(flight: Flight, trials: NDArray[np.int64]) -> Results:
    """Fly trials; those that raise are lost with the exception's line as reason, found by halving."""
    try:
        return _tidy(flight.fly(trials), len(trials))
    except Exception as error:
        if len(trials) == 1:
            return {LOST: np.array([_reason(error)])}
    half = len(trials) // 2
    return join([fly(flight, trials[:half]), fly(flight, trials[half:])])


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


def _tidy(results: Results, n: int) -> Results:
    """Results as text, bool or floating point, one row per trial; a lost trial has no success."""
    tidy = {name: np.asarray(values) for name, values in results.items()}
    tidy.setdefault(LOST, np.full(n, ""))
    for name, values in tidy.items():
        if values.shape[:1] != (n,):
            raise InputError(f"{name}: the flight returned shape {values.shape} for {n} trials")
        if (values.dtype.kind in "UO") != (name == LOST) or values.dtype.kind not in "UObiuf":
            raise InputError(f"{name}: the flight returned {values.dtype}; expected numbers, and text for lost only")
        if values.dtype.kind in "iu":
            tidy[name] = values.astype(np.float64)
    tidy[LOST] = np.array([str(reason)[:REASON_LENGTH] for reason in tidy[LOST]])
    if SUCCESS in tidy:
        tidy[SUCCESS] = tidy[SUCCESS].astype(bool) & (tidy[LOST] == "")
    return tidy


def _reason(error: Exception) -> str:
    lines = str(error).splitlines() or [""]
    kind = "" if isinstance(error, InputError) else f"{type(error).__name__}: "
    return f"{kind}{lines[0]}"[:REASON_LENGTH] or type(error).__name__
