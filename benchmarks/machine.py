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


CHAINS, LENGTH, TRIALS = (8, 12, 14, 24, 28), 300, 256  # as many chains as registers hold, and some room
BODY, TIMES = 8, 100  # a short stretch run often


def _chains(n: int, length: int) -> Kernel:
    @batched(f"({n}),()->({n})")
    def chains(x, a):
        """Multiply and add in chains that do not wait for each other."""
        for _ in range(length):
            x = x * a + x
        return x

    return chains


@functools.cache
def operations_per_ns() -> float:
    """Measure how many SIMD additions and multiplications, not fused, one core does in a nanosecond at best.

    The chains are written out, and looped over in short stretches: compilers may lay out the long code chain by chain,
    where every operation waits for the one before, and no processor fetches a short loop more slowly than it computes.
    """
    calls, counts = {}, {}
    for n in CHAINS:
        args = np.full((TRIALS, n), 1e-3), 1e-9
        for name, call, steps in (
            (f"{n} long", functools.partial(_chains(n, LENGTH), *args), LENGTH),
            (f"{n} looped", functools.partial(_chains(n, BODY).repeat, TIMES, *args), BODY * TIMES),
        ):
            calls[name], counts[name] = call, 2 * n * steps * TRIALS
    best = interleaved(calls, seconds=0.2)
    return max(counts[name] / seconds * 1e-9 for name, seconds in best.items())
