"""What compiled loops cost where they hold more than kernels: a law in plain NumPy, modes and faults.

The law in Python commands nothing, so that the rows show what calling it costs, not what it computes. Modes are five
steps of vi4, of which every trial needs one: `when` skips a call that no trial of a tile needs, `chosen` makes all.
The mission BUSY is `pointing` with five modes and three faults, of which every trial has its own at its own time.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import attitude_loop
from benchmarks.timing import Row, interleaved
from gnc.batch import chosen, when
from gnc.batch.program import Program, Recorder
from gnc.integrators import attitude_method
from gnc.scenarios.missions.flight import fly
from gnc.scenarios.missions.load import read
from gnc.typing import Array

MODES, TRIALS, STEPS = 5, 1000, 50
PLAIN = """
base = "pointing"
remove = ["requirements"]
run = { duration_s = 600.0 }
"""
BUSY = (
    PLAIN
    + """
[software.sat]
timeline = [
    { at_s = 100.0, mode = "ahead", from = "nadir" },
    { at_s = 300.0, mode = "sun", from = "ahead" },
]
transitions = [
    { from = "nadir", to = "damped", when = "rate_deg_s > 1.5", for_s = 2.0 },
    { from = "damped", to = "back", when = "rate_deg_s < 0.1", for_s = 10.0 },
]

[software.sat.modes.ahead]
guidance = { kind = "pointing", at = "velocity" }
law = "pd"
to = ["wheels"]
slew = { rate_deg_s = 1.0, acceleration_deg_s2 = 0.1 }

[software.sat.modes]
sun = { guidance = { kind = "pointing", at = "sun" }, law = "pid", to = ["wheels"] }
damped = { law = "rate-damping", to = ["wheels"] }
back = { guidance = { kind = "pointing", at = "nadir" }, law = "pid", to = ["wheels"] }

[faults]
field = { part = "sat.magnetometer", kind = "bias", size = [3e-7, 0.0, 0.0], from_s = 600.0 }
sun = { part = "sat.sun_sensor", kind = "dead", from_s = 600.0 }
wheel = { part = "sat.wheels", kind = "weak", which = [1], from_s = 600.0 }

[dispersions]
field = { kind = "uniform", key = "faults.field.from_s", plus_minus = 500.0 }
sun = { kind = "uniform", key = "faults.sun.from_s", plus_minus = 500.0 }
wheel = { kind = "uniform", key = "faults.wheel.from_s", plus_minus = 500.0 }
"""
)


def rows() -> Iterator[Row]:
    """Measure both."""
    for trials, seconds in ((1, 60.0), (TRIALS, 6.0)):
        yield from _own_law(trials, seconds)
    yield from _modes()
    yield from _busy()


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


def _busy() -> Iterator[Row]:
    """Fly the mission with and without its modes and faults, all of which must have acted in some trials."""
    with tempfile.TemporaryDirectory() as folder:
        missions = {}
        for name, text in (("one mode", PLAIN), ("five modes, three faults", BUSY)):
            path = Path(folder) / f"{len(missions)}.toml"
            path.write_text(text)
            missions[name] = read(str(path), [])
    flight = fly(missions["five modes, three faults"], 40)
    flown = [(flight.recorded["sat.mode"].values == k).any(axis=1).sum() for k in range(MODES)]
    starts = [flight.drawn[f"faults.{name}.from_s"] for name in ("field", "sun", "wheel")]
    assert min(flown) > 0 and all(0 < (start < 600.0).sum() < 40 for start in starts)
    calls = {name: lambda one=one: fly(one, TRIALS, judged_only=True) for name, one in missions.items()}
    best = interleaved(calls)
    for name, seconds in best.items():
        ratio = best["one mode"] / seconds
        target = ">= 0.8x" if "five" in name else ""
        yield Row(f"pointing for 600 s, {name}, N = {TRIALS}", "gnc", seconds, "s", "one mode", ratio, target)


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
