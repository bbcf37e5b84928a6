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
    twice: int  # the trial that is flown again by itself, to see whether flights can be repeated


class Reply(NamedTuple):
    """What a worker answers."""

    results: Results
    software: str  # digest of what the worker flew with


def answer(parcel: Parcel, chunk: range) -> Reply:
    """Fly a chunk, if the software of this process is that of the driver before and after."""
    _check(parcel)
    results = fly(parcel.flight, np.arange(chunk.start, chunk.stop))
    if parcel.twice in chunk:
        place = parcel.twice - chunk.start
        check_repeatable(parcel.flight, parcel.twice, {name: rows[place : place + 1] for name, rows in results.items()})
    return Reply(results, digest(_check(parcel)))


def results_of(reply: Reply, parcel: Parcel) -> Results:
    """The results of a reply; InputError if the worker does not say that it flew with the driver's software."""
    if getattr(reply, "software", None) != digest(parcel.software):
        raise InputError("workers: one does not fly with the software of this process; give all the same")
    return reply.results


def check_repeatable(flight: Flight, trial: int, known: Results) -> None:
    """Fly one trial by itself; an error if that does not give the bits known, nor the same bits when it is done again.

    Trials of a user's part may depend on those beside them.
    """
    first = fly(flight, np.array([trial]))
    if not _differing(known, first):
        return
    differing = _differing(first, fly(flight, np.array([trial])))
    if not differing:
        return
    message = f"not repeatable: {differing[0]} of trial {trial} differs when it is flown again"
    own = getattr(flight, "sources", ()) or not type(flight).__module__.startswith("gnc.")
    if own:
        remedy = "draw random numbers from gnc.noise by seed and trial, not from np.random, and keep no state in a part"
        raise PartError(_part(flight), "fly", f"{message}; {remedy}")
    raise DefectError(message, type(flight).__module__)


def _check(parcel: Parcel) -> Software:
    """The software of this process; InputError if it is not the driver's."""
    here = software(parcel.flight)
    if found := difference(parcel.software, here):
        place = f"a worker on {socket.gethostname()}"
        raise InputError(f"workers: {place} has other software: {found}; give it the same, and start it anew")
    return here


def _differing(one: Results, other: Results) -> list[str]:
    return [name for name in sorted(one.keys() | other.keys()) if not _same(one.get(name), other.get(name))]


def _same(a: np.ndarray | None, b: np.ndarray | None) -> bool:
    return a is not None and b is not None and (a.shape, a.tobytes()) == (b.shape, b.tobytes())


def _part(flight: Flight) -> str:
    return ", ".join(str(source) for source in getattr(flight, "sources", ())) or type(flight).__name__
