"""How long a user waits: importing, the first call of a kernel, cold and warm."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from benchmarks.timing import Row

FIRST_CALL = "import numpy as np, gnc.quaternion as q; q.mul(np.ones(4), np.ones(4))"
FIRST_STEP = (
    "import numpy as np; from gnc.integrators import qvi;"
    "qvi.drift_jacobian(np.array([1.0, 0, 0, 0]), np.ones(3), np.diag([1.0, 2, 3]), np.zeros(3), 0.1)"
)


def cpu_seconds(program: str, cache: Path) -> float:
    """Return the CPU time of a fresh Python that runs a program."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    environment = dict(os.environ, GNC_CACHE_DIR=str(cache))
    subprocess.run([sys.executable, "-c", program], env=environment, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def rows() -> Iterator[Row]:
    """Measure start-up, cold once and warm as the best of five."""
    numpy_alone = min(cpu_seconds("import numpy", Path()) for _ in range(5))
    for case, program in (("import gnc, quaternion product", FIRST_CALL), ("import gnc, QVI step with F", FIRST_STEP)):
        with tempfile.TemporaryDirectory() as folder:
            cold = cpu_seconds(program, Path(folder))
            warm = min(cpu_seconds(program, Path(folder)) for _ in range(5))
        yield Row(f"{case}: cold", "gnc", cold, "s CPU")
        yield Row(f"{case}: warm", "gnc", warm, "s CPU", "import numpy", numpy_alone / warm, "<= 1.5 s")
