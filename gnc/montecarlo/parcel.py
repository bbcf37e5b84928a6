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
    flown_with = digest(_check(parcel))
    if parcel.twice in chunk:
        place = parcel.twice - chunk.start
        check_repeatable(parcel.flight, parcel.twice, {name: rows[place : place + 1] for name, rows in results.items()})
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
