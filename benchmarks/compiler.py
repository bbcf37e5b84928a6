"""What modes and faults cost a compiled flight, in which calls that no trial of a tile needs are skipped (`when`).

The mission BUSY is `pointing` with five modes and three faults, of which every trial has its own at its own time.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

from benchmarks.timing import Row, interleaved
from gnc.scenarios.missions.flight import fly
from gnc.scenarios.missions.load import read

MODES, TRIALS = 5, 1000
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
