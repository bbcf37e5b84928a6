"""Truth at the times of the estimates: interpolated between its own stamps, nowhere across its gaps.

Attitude on the great circle, position and rate along straight lines; the mask of the score is the nearer one. Outside
of the truth's span, and between two stamps that are further apart than `gap_steps` of its usual steps, there is none
(NaN). The truth waits in a file until the estimates are written, so memory does not grow with the log.
"""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryFile
from typing import Any

import numpy as np

from gnc import quaternion
from gnc.scenarios.replay.stream import LogStream, Measurements

Array = Any

SHAPES = {"truth_q_IB": (4,), "truth_r_IB": (3,), "truth_w_B": (3,), "truth_turn": (), "truth_mask": ()}


class Track:
    """The truth of a log."""

    def __init__(self, stream: LogStream, folder: Path) -> None:
        self._stream, self._file = stream, TemporaryFile(dir=folder)  # noqa: SIM115 - as long as the session
        self._width, self._rows = 1 + stream.quantity.size, 0

    def add(self, m: Measurements) -> None:
        """Append measurements of the truth."""
        rows = np.concatenate([m.t[:, None], m.z], axis=1)[m.valid]
        self._file.write(rows.tobytes())
        self._rows += len(rows)

    def at(self, t: Array) -> dict[str, Array]:
        """Return attitude, position, rate, the size of the rate by attitude differences [rad/s], and the mask."""
        if self._rows < 2:
            return {name: np.full((len(t), *shape), np.nan) for name, shape in SHAPES.items()}
        self._file.flush()
        rows: Array = np.memmap(self._file, float, "r", shape=(self._rows, self._width))
        first, last = np.searchsorted(rows[:, 0], [t.min(), t.max()])
        rows = np.array(rows[max(min(first, self._rows - 1) - 1, 0) : last + 2])
        k = np.clip(np.searchsorted(rows[:, 0], t, side="right") - 1, 0, len(rows) - 2)
        start, step = rows[k, 0], rows[k + 1, 0] - rows[k, 0]
        u = (t - start) / step
        longest = self._stream.gap_steps * (self._stream.step_s or 0.0)
        good = (u == 0.0) | ((u > 0.0) & (u <= 1.0) & (step <= longest))
        a, b = rows[k, 1:], rows[k + 1, 1:]
        straight = a + u[:, None] * (b - a)
        turn = quaternion.angle_between(a[:, :4], b[:, :4]) / step
        parts = (quaternion.slerp(a[:, :4], b[:, :4], u), straight[:, 4:7], straight[:, 7:10], turn)
        columns = dict(zip(SHAPES, (*parts, np.where(straight[:, 10] >= 0.5, 1.0, 0.0)), strict=True))
        return {n: np.where(good.reshape(-1, *(1,) * (v.ndim - 1)), v, np.nan) for n, v in columns.items()}
