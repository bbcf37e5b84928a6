"""What the figures were measured on."""

from __future__ import annotations

import functools
import os
import platform
from pathlib import Path

import numpy as np

from benchmarks.timing import interleaved
from gnc.batch import batched


def description() -> str:
    """Say in one line what this machine is."""
    info = Path("/proc/cpuinfo")
    names = [line.split(":")[1].strip() for line in info.read_text().splitlines() if line.startswith("model name")]
    cpu = names[0] if names else platform.processor()
    software = f"{platform.system()}, Python {platform.python_version()}, NumPy {np.__version__}"
    return f"{cpu}, {os.cpu_count()} cores, {software}"


CHAINS, LENGTH, TRIALS = 16, 100, 1000


@batched("(16),()->(16)")
def _chains(x, a):
    """Multiply and add in chains that do not wait for each other."""
    for _ in range(LENGTH):
        x = x * a + x
    return x


@functools.cache
def operations_per_ns() -> float:
    """Measure how many SIMD additions and multiplications, not fused, one core does in a nanosecond."""
    x = np.full((TRIALS, CHAINS), 1e-3)
    best = interleaved({"chains": lambda: _chains(x, 1e-9)}, seconds=1.0)
    return 2 * CHAINS * LENGTH * TRIALS / best["chains"] * 1e-9
