"""How long a user waits: importing, the first call of a kernel, the command line; cold and warm."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from benchmarks.timing import Row

FIRST_CALL = "import numpy as np, gnc.quaternion as q; q.mul(np.ones(4), np.ones(4))"
FIRST_STEP = (
    "import numpy as np; from gnc.integrators import qvi;"
    "qvi.drift_jacobian(np.array([1.0, 0, 0, 0]), np.ones(3), np.diag([1.0, 2, 3]), np.zeros(3), 0.1)"
)
GNC = ("-m", "gnc.scenarios")
FLY = (*GNC, "run", "pointing", "--trials", "1", "--set", "run.duration_s=60", "--out")
USUAL = "import numpy, scipy.linalg, matplotlib.pyplot, xarray"  # what a script of the trade loads
RAN = (0, 1)  # exit codes; so short a flight may fail its checks


def cpu_seconds(arguments: Sequence[str], cache: Path) -> float:
    """Return the CPU time of a fresh Python with these arguments."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    environment = dict(os.environ, GNC_CACHE_DIR=str(cache))
    run = subprocess.run([sys.executable, *arguments], env=environment, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if run.returncode not in RAN:
        raise RuntimeError(f"{' '.join(arguments)}: exit code {run.returncode}")
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def cold_and_warm(arguments: Sequence[str]) -> tuple[float, float]:
    """Return the CPU time with an empty cache of kernels, and the best of five with a full one."""
    with tempfile.TemporaryDirectory() as folder:
        cold = cpu_seconds(arguments, Path(folder))
        return cold, min(cpu_seconds(arguments, Path(folder)) for _ in range(5))


def rows() -> Iterator[Row]:
    """Measure start-up."""
    numpy_alone = min(cpu_seconds(("-c", "import numpy"), Path()) for _ in range(5))
    with tempfile.TemporaryDirectory() as out:
        cases = (
            ("import gnc, quaternion product", ("-c", FIRST_CALL), "", "<= 1.5 s"),
            ("import gnc, QVI step with F", ("-c", FIRST_STEP), "", "<= 1.5 s"),
            ("gnc --help", (*GNC, "--help"), "", "<= 1.5 s"),
            ("gnc list", (*GNC, "list"), "", "<= 1.5 s"),
        )
        for case, arguments, cold_target, warm_target in cases:
            cold, warm = cold_and_warm(arguments)
            yield Row(f"{case}: cold", "gnc", cold, "s CPU", target=cold_target)
            yield Row(f"{case}: warm", "gnc", warm, "s CPU", "import numpy", numpy_alone / warm, warm_target)
        yield from _flights(out)


def _flights(out: str) -> Iterator[Row]:
    """Measure a flight of 60 s beside the imports of any script, in turns."""
    with tempfile.TemporaryDirectory() as folder:
        cache, flights = Path(folder), {"no figures": (*FLY, out, "--no-figures"), "figures": (*FLY, out)}
        cold = cpu_seconds(flights["figures"], cache)
        calls = {"usual": ("-c", USUAL), **flights}
        rounds = [{name: cpu_seconds(call, cache) for name, call in calls.items()} for _ in range(5)]
        usual, bare, drawn = (min(one[name] for one in rounds) for name in calls)
    for case, seconds, target in (
        ("warm, no figures", bare, "<= 1.3 times as long"),
        ("warm, figures", drawn, "<= 2.2 times as long"),
        ("cold, figures", cold, "<= 6 times as long"),
    ):
        yield Row(f"gnc run pointing, 600 steps: {case}", "gnc", seconds, "s CPU", USUAL, usual / seconds, target)
