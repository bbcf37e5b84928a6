"""What a worker gets and what it answers: a flight with the software it needs, results with the software it had."""

from __future__ import annotations

import socket
from typing import NamedTuple

import numpy as np

from gnc.errors import DefectError, InputError, PartError
from gnc.montecarlo.flight import Flight, Results, fly
from gnc.montecarlo.identity import Software, software
from gnc.montecarlo.manifest import difference, digest


class Parcel(NamedTuple):
    """What a worker needs; picklable."""

    flight: Flight
    software: Software  # of the driver
    twice: int  # the trial that is flown twice, to see whether flights can be repeated


class Reply(NamedTuple):
    """What a worker answers."""

    results: Results
    software: str  # digest of what the worker flew with


def answer(parcel: Parcel, chunk: range) -> Reply:
    """Fly a chunk, if the software of this process is that of the driver before and after."""
    _check(parcel)
    alone = check_repeatable(parcel.flight, parcel.twice) if parcel.twice in chunk else None
    results = fly(parcel.flight, np.arange(chunk.start, chunk.stop))
    if alone is not None:
        row = chunk.index(parcel.twice)
        beside = {name: values[row : row + 1] for name, values in results.items()}
        _refuse_difference(parcel.flight, parcel.twice, alone, beside, "alone")
    return Reply(results, digest(_check(parcel)))


def results_of(reply: Reply, parcel: Parcel) -> Results:
    """The results of a reply; InputError if the worker does not say that it flew with the driver's software."""
    if getattr(reply, "software", None) != digest(parcel.software):
        raise InputError("workers: one does not fly with the software of this process; give all the same")
    return reply.results


def check_repeatable(flight: Flight, trial: int) -> Results:
    """Fly one trial twice and return its results; an error if that does not give the same bits."""
    first, second = (fly(flight, np.array([trial])) for _ in range(2))
    _refuse_difference(flight, trial, first, second, "again")
    return first


def _refuse_difference(flight: Flight, trial: int, first: Results, second: Results, how: str) -> None:
    """Refuse flights whose trials depend on anything but their numbers: on chance, or on those that fly beside them."""
    differing = [n for n in sorted(first.keys() | second.keys()) if not _same(first.get(n), second.get(n))]
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


def _same(a: np.ndarray | None, b: np.ndarray | None) -> bool:
    if a is None or b is None or a.dtype.kind == "U":  # text has another width beside longer text
        return a is not None and b is not None and a.tolist() == b.tolist()
    return (a.shape, a.tobytes()) == (b.shape, b.tobytes())


def _part(flight: Flight) -> str:
    return ", ".join(str(source) for source in getattr(flight, "sources", ())) or type(flight).__name__
