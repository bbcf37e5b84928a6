"""Truth at the times of the estimates: interpolated between its own stamps, nowhere across its gaps.

Attitude on the great circle, position and rate along straight lines; the mask of the score is the nearer one. Outside
of the truth's span, and between two stamps that are further apart than `gap_steps` of its usual steps, there is none
(NaN).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gnc import quaternion
from gnc.scenarios.replay.stream import Measurements, Stream

Array = Any

SHAPES = {"truth_q_IB": (4,), "truth_r_IB": (3,), "truth_w_B": (3,), "truth_turn": (), "truth_mask": ()}


class Track:
    """The part of the truth that estimates still ask for."""

    def __init__(self, stream: Stream) -> None:
        self._stream = stream
        self._t, self._z = np.zeros(0), np.zeros((0, stream.quantity.size))

    def add(self, m: Measurements) -> None:
        """Append measurements of the truth."""
        self._t = np.concatenate([self._t, m.t[m.valid]])
        self._z = np.concatenate([self._z, m.z[m.valid]])

    def known_until(self, until: float) -> float:
        """Return the time up to which nothing can change any more, if nothing earlier than `until` will follow."""
        last = self._t[-1] if len(self._t) else -np.inf
        return max(last, until - self._longest())

    def forget(self, t: float) -> None:
        """Let go of what is before the last stamp at or before t; two stamps stay, so that the last time has both."""
        keep = max(min(int(np.searchsorted(self._t, t, side="right")) - 1, len(self._t) - 2), 0)
        self._t, self._z = self._t[keep:], self._z[keep:]

    def at(self, t: Array) -> dict[str, Array]:
        """Return attitude, position, rate and the size of the rate by attitude differences [rad/s]."""
        if len(self._t) < 2:
            return {name: np.full((len(t), *shape), np.nan) for name, shape in SHAPES.items()}
        k = np.clip(np.searchsorted(self._t, t, side="right") - 1, 0, len(self._t) - 2)
        start, step = self._t[k], self._t[k + 1] - self._t[k]
        u = (t - start) / step
        good = (u == 0.0) | ((u > 0.0) & (u <= 1.0) & (step <= self._longest()))
        a, b = self._z[k], self._z[k + 1]
        straight = a + u[:, None] * (b - a)
        q = quaternion.slerp(a[:, :4], b[:, :4], u)
        turn = quaternion.angle_between(a[:, :4], b[:, :4]) / step
        found = {"truth_q_IB": q, "truth_r_IB": straight[:, 4:7], "truth_w_B": straight[:, 7:10], "truth_turn": turn}
        found["truth_mask"] = np.where(straight[:, 10] >= 0.5, 1.0, 0.0)
        return {n: np.where(good.reshape(-1, *(1,) * (v.ndim - 1)), v, np.nan) for n, v in found.items()}

    def _longest(self) -> float:
        return self._stream.gap_steps * (self._stream.step_s or 0.0)
