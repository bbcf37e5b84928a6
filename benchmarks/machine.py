"""What the figures were measured on."""

from __future__ import annotations

import functools
import os
import platform
from pathlib import Path

import numpy as np

from benchmarks.timing import interleaved
from gnc.batch import Kernel, batched


def description() -> str:
    """Say in one line what this machine is."""
    info = Path("/proc/cpuinfo")
    names = [line.split(":")[1].strip() for line in info.read_text().splitlines() if line.startswith("model name")]
    cpu = names[0] if names else platform.processor()
    software = f"{platform.system()}, Python {platform.python_version()}, NumPy {np.__version__}"
    return f"{cpu}, {os.cpu_count()} cores, {software}"


CHAINS, LENGTH, TRIALS = (8, 12, 14, 24, 28), 100, 1000  # as many chains as registers hold, and some room


def _chains(n: int) -> Kernel:
    @batched(f"({n}),()->({n})")
    def chains(x, a):
        """Multiply and add in chains that do not wait for each other."""
        for _ in range(LENGTH):
            x = x * a + x
        return x

    return chains


@functools.cache
def operations_per_ns() -> float:
    """Measure how many SIMD additions and multiplications, not fused, one core does in a nanosecond at best."""
    calls = {n: functools.partial(_chains(n), np.full((TRIALS, n), 1e-3), 1e-9) for n in CHAINS}
    best = interleaved({str(n): call for n, call in calls.items()}, seconds=0.3)
    return max(2 * n * LENGTH * TRIALS / best[str(n)] * 1e-9 for n in CHAINS)
