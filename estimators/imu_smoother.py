"""Smoothing of the IMU filter over a whole log with flat memory.

The filter leaves its state at the begin of every chunk of rows. From the last chunk to the first, the filter runs over
the chunk once more, notes its blocks, and the Bryson-Frazier recursion goes back through them (`imu_backward.go_back`).
With `lag` chunks of look-ahead, the recursion begins so many chunks behind the one that is smoothed.

The filter needs its models over seconds, the way back over the whole log, and there two of them are too sure (`TIES`):
the bias of a gyro that moves is another than at rest (0.06 to 0.09 deg/s on three logs), and no magnet stays as it is.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from gnc.estimators import imu_layout as k
from gnc.estimators.imu_filter import Chunk, ImuFilter, empty_trace, flown
from gnc.estimators.imu_layout import State, Told
from gnc.typing import Array

TIES = {"shift": float(np.radians(0.1)), "loose": 0.1}  # settings of a filter whose way back is asked for


def smoothed(
    imu: ImuFilter, rows: Array, starts: Sequence[tuple[Chunk, State]], lag: int | None = None
) -> Iterator[tuple[Chunk, Told]]:
    """Go back over chunks with the states before them; each with what is told of it, smoothed."""
    shapes = (k.N,), (k.N, k.N), (k.SHOWN,), (k.SHOWN, k.SHOWN)
    memory = [np.zeros(shape) for shape in shapes]  # of what follows: lam and Lam, dx and W of the last block
    for i in range(len(starts) - 1, -1, -1):
        if lag is not None:
            _forget(memory)
            for j in range(min(i + lag, len(starts) - 1), i, -1):
                _gone_back(imu, rows, *starts[j], memory)
        yield starts[i][0], _gone_back(imu, rows, *starts[i], memory)


def _forget(memory: list[Array]) -> None:
    """Know nothing of what follows."""
    for part in memory:
        part[:] = 0.0


def _gone_back(imu: ImuFilter, rows: Array, chunk: Chunk, before: State, memory: list[Array]) -> Told:
    """Run a chunk forwards from the state before it, then backwards, and return it smoothed."""
    from gnc.estimators.imu_backward import go_back

    trace, state = empty_trace(chunk.end - chunk.start), State(*(part.copy() for part in before))
    told = flown(imu, rows, chunk, state, trace)
    go_back(trace, *memory, told)
    if chunk.fresh:  # what follows a gap does not tell the attitude before it
        _forget(memory)
    return told
