"""Closed loops beside Basilisk: attitude feedback alone and with a filter, and the scenarios `pointing`, `rendezvous`.

The peer is Basilisk's example `scenarioAttitudeFeedback` (see `basilisk`), which integrates by RK4: vi4 is of the same
order, and so is our own "rk4", the cheapest where nothing but a flight of minutes is asked for; "taylor10" is exact
here, but for rounding. Both fly in the same turns; trajectories are compared before anything is timed. Our loops are
compiled (`gnc.compiled_loop`), and beside that flown tick by tick from Python, which gives the same bits.
"""

from __future__ import annotations

import functools
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from benchmarks import attitude_loop, fresh
from benchmarks.attitude_loop import DURATION_S, H_S, SIGMA_0, STEPS, W_0, J, K, P
from benchmarks.peers import peer
from benchmarks.timing import Row, interleaved
from gnc import quaternion

MANY, FEW = 1000, 100
ONE_S, MANY_S = 60.0, 6.0  # simulated time of one call, for one trial and for many
COMPARED_S = 60.0  # here the body is still turning; after 10 minutes it rests in all programs
FRESH = 5  # trials that Basilisk builds and flies, of which the fastest counts
WORKERS = 2

basilisk = peer("benchmarks.basilisk", "closed_loop")
Calls = dict[str, Callable[[], object]]


def rows() -> Iterator[Row]:
    """Measure all loops."""
    if basilisk is not None:
        yield from _agreement()
    yield from _one()
    yield from _own_law()
    yield from _many()
    yield from _scenarios()


def _peer_loop() -> Any:
    return basilisk.attitude_feedback(J, SIGMA_0, W_0, float(K), float(P), H_S)


def _agreement() -> Iterator[Row]:
    """Compare where the programs are while the body turns."""
    theirs = _peer_loop()
    theirs.run(COMPARED_S)
    for method, bound in (("vi2", 1e-5), ("vi4", 1e-10), ("taylor10", 1e-10), ("rk4", 1e-10)):
        ours = attitude_loop.perfect(1, COMPARED_S, method).fly().q_IB[0]
        apart = float(quaternion.angle_between(ours, theirs.q_IB))
        case = f"attitude at {COMPARED_S:g} s, {method}: apart from Basilisk's"
        yield Row(case, "gnc", apart, "rad", target=f"< {bound:g} rad")


def _loops(trials: int, seconds: float) -> Calls:
    """Return our loops by name."""
    kinds = {"attitude feedback": attitude_loop.perfect, "the same on MEKF": attitude_loop.with_filter}
    return {
        f"{name}, {method}{'' if compiled else ', tick by tick'}": make(trials, seconds, method, compiled).fly
        for name, make in kinds.items()
        for method in ("vi2", "vi4", *(("taylor10", "rk4") if "MEKF" not in name else ("default",)))
        for compiled in (True, False)
    }


def _per_step(calls: Calls, seconds: float) -> tuple[dict[str, float], float | None]:
    """Return the time of a step of our loops [s], and of Basilisk's, whose calls are long enough to hide their own."""
    if basilisk is not None:
        theirs = _peer_loop()
        calls["Basilisk"] = lambda: theirs.run(ONE_S)
    best = interleaved(calls)
    known = best.pop("Basilisk", None)
    return {name: H_S * t / seconds for name, t in best.items()}, None if known is None else H_S * known / ONE_S


def _one() -> Iterator[Row]:
    """One run: time per step."""
    ours, theirs = _per_step(_loops(1, ONE_S), ONE_S)
    if theirs is not None:
        yield Row("Basilisk's attitude feedback, no filter, N = 1", "Basilisk", 1e6 * theirs, "us per step")
    for name, step in ours.items():
        target = ">= 4x" if name == "the same on MEKF, default" else ""
        yield Row(f"{name}, N = 1", "gnc", 1e6 * step, "us per step", *_ratio(theirs, step), target)


def _own_law() -> Iterator[Row]:
    """A user's law in plain NumPy on the MEKF: the time of everything but the law itself."""
    calls: Calls = {}
    for method in ("vi4", "default"):
        ready = attitude_loop.with_filter(1, ONE_S, method)
        law = attitude_loop.PlainFeedback(ready.loop.controller.law.read)
        loop = replace(ready.loop, controller=replace(ready.loop.controller, law=law))
        flown = loop.fly(ready.truth, ready.belief, None)
        assert flown.uncompiled.startswith("controller"), flown.uncompiled
        calls[method] = functools.partial(loop.fly, ready.truth, ready.belief, None)
    calls["law"] = lambda: law.command(flown.belief, None, 0.0, None)
    ours, theirs = _per_step(calls, ONE_S)
    own = ours.pop("law") * ONE_S / H_S  # of one call
    for method, step in ours.items():
        case = f"the same on MEKF, {method}, law in plain NumPy, its own time set aside, N = 1"
        yield Row(case, "gnc", 1e6 * (step - own), "us per step", *_ratio(theirs, step - own), ">= 1.3x")


def _many() -> Iterator[Row]:
    """A thousand trials on one core, beside the step rate of one run of Basilisk, without what building it takes."""
    ours, theirs = _per_step(_loops(MANY, MANY_S), MANY_S)
    unit = "thousand trial-steps/s"
    if theirs is not None:
        yield Row("Basilisk, one run", "Basilisk", 1e-3 / theirs, unit)
        yield Row("Basilisk, a trial built and flown", "Basilisk", 1e-3 * STEPS / _fresh_trial(), unit)
    for name, step in ours.items():
        each, target = step / MANY, "" if "MEKF" in name or "tick" in name else ">= 90x"
        target = ">= 40x" if name == "the same on MEKF, default" else target
        yield Row(f"{name}, N = {MANY}", "gnc", 1e-3 / each, unit, *_ratio(theirs, each), target)


def _ratio(theirs: float | None, ours: float) -> tuple[str, float | None]:
    return ("", None) if theirs is None else ("Basilisk, no filter", theirs / ours)


def _fresh_trial() -> float:
    """Return the time in which Basilisk builds and flies a trial [s]; its own controller sleeps 1 s more."""
    times = []
    for _ in range(FRESH):
        start = time.perf_counter()
        _peer_loop().run(DURATION_S)
        times.append(time.perf_counter() - start)
    return min(times)


@functools.cache
def by_workers(trials: int) -> list[fresh.Cost]:
    """Fly a whole campaign of `pointing`, an orbit each, in one process and by workers, their start included.

    The two take turns, unless the campaign is long, and the faster of each counts.
    """
    jobs = [("campaign", "pointing", trials, n, MANY // WORKERS) for n in (1, WORKERS)]
    costs = [[fresh.once(*job) for job in jobs] for _ in range(2 if trials <= MANY else 1)]
    return [min(one, key=lambda cost: cost.seconds) for one in zip(*costs, strict=True)]


def _scenarios() -> Iterator[Row]:
    """Campaigns in processes of their own."""
    unit = "thousand trial-steps/s"
    for trials in (MANY, 3 * MANY):  # three seconds in which workers start count less in the longer one
        one, two = by_workers(trials)
        case, gain = f"pointing, {trials} trials", one.seconds / two.seconds
        yield Row(f"{case}, 1 process", "gnc", 1e-3 * one.rate, unit)
        yield Row(f"{case}, {WORKERS} workers", "gnc", 1e-3 * two.rate, unit, "1 process", gain, ">= 1.8x")
        yield Row(f"{case}: peak memory", "gnc", one.peak_MB, "MB")
    met = fresh.measured("campaign", "rendezvous", FEW, 1, FEW)
    yield Row(f"rendezvous, {FEW} trials, 1 process", "gnc", FEW / met.seconds, "trials/s")
    yield Row(f"rendezvous, {FEW} trials, 1 process", "gnc", 1e-3 * met.rate, unit)
    yield Row(f"rendezvous, {FEW} trials: peak memory", "gnc", met.peak_MB, "MB")
