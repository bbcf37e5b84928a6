"""What compiled loops cost where they hold more than kernels: a law in plain NumPy, and modes.

The law in Python commands nothing, so that the rows show what calling it costs, not what it computes. Modes are five
steps of vi4, of which every trial needs one: `when` skips a call that no trial of a tile needs, `chosen` makes all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from benchmarks import attitude_loop
from benchmarks.timing import Row, interleaved
from gnc.batch import chosen, when
from gnc.batch.program import Program, Recorder
from gnc.integrators import attitude_method

Array = Any
MODES, TRIALS, STEPS = 5, 1000, 50


def rows() -> Iterator[Row]:
    """Measure both."""
    for trials, seconds in ((1, 60.0), (TRIALS, 6.0)):
        yield from _own_law(trials, seconds)
    yield from _modes()


class _PlainLaw:
    """A law that cannot be recorded, since it asks for the time as a number."""

    def __init__(self, trials: int) -> None:
        self.nothing = np.zeros((trials, 3))

    def command(self, belief: Any, report: None, t: float, memory: None) -> tuple[Array, None]:
        """Return no torque."""
        float(t)
        return self.nothing, memory


def _own_law(trials: int, seconds: float) -> Iterator[Row]:
    ready = attitude_loop.with_filter(trials, seconds)
    own = replace(ready.loop, controller=replace(ready.loop.controller, law=_PlainLaw(trials)))
    loops = {"compiled": ready.loop, "law in Python": own, "tick by tick": replace(own, compiled=False)}
    calls = {name: lambda loop=loop: loop.fly(ready.truth, ready.belief, None) for name, loop in loops.items()}
    per_step = {name: 1e6 * t * attitude_loop.H_S / seconds for name, t in interleaved(calls).items()}
    for name, time in per_step.items():
        ratio = per_step["tick by tick"] / time
        yield Row(f"MEKF, {name}, N = {trials}", "gnc", time, "us per step", "tick by tick", ratio)


def _modes() -> Iterator[Row]:
    rng = np.random.default_rng(0)
    q, P = rng.normal(size=(TRIALS, 4)), 0.1 * rng.normal(size=(TRIALS, 3))
    modes = np.repeat(np.arange(float(MODES)), TRIALS // MODES)
    start = np.column_stack([q / np.linalg.norm(q, axis=1)[:, None], P, modes])
    programs = {"one mode": _program(None), "five modes by when": _program(when), "by chosen": _program(_always)}
    calls = {name: lambda one=one: one.run(start.copy(), [], STEPS) for name, one in programs.items()}
    best = {name: 1e9 * t / STEPS / TRIALS for name, t in interleaved(calls).items()}
    for name, time in best.items():
        target = ">= 0.8x" if "when" in name else ""
        yield Row(f"vi4, {name}", "gnc", time, "ns per trial-step", "one mode", best["one mode"] / time, target)


def _always(test: Any, function: Callable[..., Any], args: tuple[Any, ...], otherwise: Any) -> Any:
    return chosen(test, function(*args), otherwise)


def _program(select: Callable[..., Any] | None) -> Program:
    advance, nothing, J = attitude_method("vi4").advance, np.zeros(3), np.diag([1.0, 2.0, 3.0])
    recorder = Recorder(TRIALS)
    q, P, mode = recorder.state((4,)), recorder.state((3,)), recorder.state(())

    def step(q: Array, P: Array, number: int) -> Any:
        return advance(1, q, P + 1e-9 * number, nothing, J, nothing, 0.1)

    with recorder.recording():
        x: Any = q, P
        for number in range(MODES if select else 0):
            x = select(mode == float(number), step, (q, P, number), x) if select else x
        x = x if select else step(q, P, 0)
        return recorder.program([*x[0], *x[1], mode])
