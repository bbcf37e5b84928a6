"""Time and peak memory of a job in a process of its own: `python -m benchmarks.fresh JOB ARGUMENTS` prints them.

- `campaign SCENARIO TRIALS WORKERS CHUNK [KEY=VALUE ...]`: a Monte Carlo campaign, kernels loaded before
- `batch TRIALS STEPS`: the attitude loop, all trials in one batch
- `bodies B`: accelerations of 1000 trees of B bodies, once
"""

from __future__ import annotations

import functools
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

ROOT = Path(__file__).parent.parent
WARM = 20  # trials flown before the clock starts: more than the few for which some components have a way of their own


class Cost(NamedTuple):
    """What a job took."""

    seconds: float
    peak_MB: float  # of the process itself, without workers
    trial_steps: float  # of the truth, in all trials

    @property
    def rate(self) -> float:
        """Trial-steps per second."""
        return self.trial_steps / self.seconds


@functools.cache
def measured(*arguments: Any) -> Cost:
    """Run a job in a fresh process, if it has not been run."""
    return once(*arguments)


def once(*arguments: Any) -> Cost:
    """Run a job in a fresh process."""
    command = [sys.executable, "-m", "benchmarks.fresh", *map(str, arguments)]
    run = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, check=True)
    return Cost(**json.loads(run.stdout.splitlines()[-1]))


def campaign(name: str, trials: str, workers: str, chunk: str, *settings: str) -> tuple[float, float]:
    """Fly a campaign; the time is that of flying and storing, the workers' start included."""
    from gnc.scenarios import monte_carlo
    from gnc.scenarios.missions.load import read
    from gnc.scenarios.trials import MissionFlight

    mission = read(name, [f"run.trials={trials}", *settings])
    MissionFlight(mission, mission.run.seed).fly(np.arange(WARM))
    on = monte_carlo.engine("local", int(workers), None)
    with tempfile.TemporaryDirectory() as folder:
        flown = monte_carlo.run(mission, Path(folder) / "out", on=on, chunk_size=int(chunk)).campaign
    return flown.timing["fly_s"], int(trials) * round(mission.run.duration_s / mission.run.truth_step_s)


def batch(trials: str, steps: str) -> tuple[float, float]:
    """Fly the attitude loop of all trials at once."""
    from benchmarks import attitude_loop

    attitude_loop.perfect(WARM, attitude_loop.H_S).fly()
    ready = attitude_loop.perfect(int(trials), attitude_loop.H_S * int(steps))
    return min(_seconds(ready.fly) for _ in range(3)), int(trials) * int(steps)


def bodies(count: str) -> tuple[float, float]:
    """Compute the accelerations of a thousand trees, best of five."""
    from benchmarks.timing import interleaved
    from gnc.models.multibody.articulated import accelerations
    from tests.models.multibody import samples

    n = int(count)
    tree = samples.tree(1, "R" * (n - 1), list(range(n - 1)))
    x, effort = samples.state(1, tree, (1000,)), samples.loads(2, tree, (1000,))[0]
    best = interleaved({"gnc": lambda: accelerations(tree, x, effort)}, seconds=0.2)
    return best["gnc"], 1000


def _seconds(call: Callable[[], object]) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def peak_MB() -> float:
    """Return the most memory this process has had; getrusage would count what its parent had when it started it."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(float(line.split()[1]) for line in lines if line.startswith("VmHWM")) / 1024.0


JOBS: dict[str, Callable[..., tuple[float, float]]] = {"campaign": campaign, "batch": batch, "bodies": bodies}


def main(job: str, *arguments: str) -> None:
    """Do a job and print what it took."""
    seconds, trial_steps = JOBS[job](*arguments)
    print(json.dumps(Cost(seconds, peak_MB(), trial_steps)._asdict()))


if __name__ == "__main__":
    main(*sys.argv[1:])
