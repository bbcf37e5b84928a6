"""A turn from one attitude to another by the clock, shaped so that flexible modes are not left swinging.

The angle follows s(u) = 10 u^3 - 15 u^4 + 6 u^5, from rest to rest. A shaper of a mode of period T halves the command
and makes the second half T/2 later, so that what the first excites the second takes back; several modes do so one after
the other. Source: Singer and Seering, J. Dyn. Sys. Meas. Control 112 (1990) 76, without damping.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from gnc import quaternion
from gnc.batch import maximum, minimum, sized
from gnc.config import NonNegative, Positive, Quaternion
from gnc.controllers.guidance.base import GuidancePart, Plan
from gnc.controllers.reference import AttitudeReference
from gnc.models.known import Known
from gnc.typing import Array


def impulses(modes_hz: tuple[float, ...]) -> Array:
    """Return the delays [s] of equal shares of the command, which together leave no mode swinging."""
    delays = np.zeros(1)
    for frequency in modes_hz:
        delays = np.concatenate([delays, delays + 0.5 / frequency])
    return np.sort(delays)


class TurnPlan(Plan):
    """The turn, as a plan."""

    def __init__(self, q_from: Array, q_to: Array, start_s: float, time_s: float, delays: Array) -> None:
        turn = quaternion.log(quaternion.mul(quaternion.conj(q_from), q_to))
        self._numbers = q_from, turn, start_s, time_s, delays

    def at(self, t: Any) -> AttitudeReference:
        """Return the reference."""
        return AttitudeReference(*_turned(len(self._numbers[-1]))(*self._numbers, t))


@sized(lambda count: f"(4),(3),(),(),({count}),()->(4),(3),(3)")
def _turned(q_from, turn, start_s, time_s, delays, t, *, count):
    """Return attitude, rate and acceleration of the reference."""
    angle, rate, push = 0.0, 0.0, 0.0
    for delay in delays:
        u = minimum(maximum((t - start_s - delay) / time_s, 0.0), 1.0)
        angle = angle + u * u * u * (10.0 - u * (15.0 - 6.0 * u))
        rate = rate + 30.0 * u * u * (1.0 - u) * (1.0 - u)
        push = push + 60.0 * u * (1.0 - u) * (1.0 - 2.0 * u)
    share = 1.0 / count
    q_IR = quaternion.mul(q_from, quaternion.exp((share * angle) * turn))
    return q_IR, (share / time_s * rate) * turn, (share / (time_s * time_s) * push) * turn


class TurnPart(GuidancePart):
    """A turn from one inertial attitude to another by the clock, about one axis, shaped for flexible modes."""

    kind: Literal["turn"] = "turn"
    q_from: Quaternion = (1.0, 0.0, 0.0, 0.0)
    """The attitude before: takes reference components to inertial ones."""
    q_to: Quaternion
    """The attitude after."""
    start_s: NonNegative = 0.0
    time_s: Positive = 60.0
    """How long it takes, the shaper's delays not counted."""
    modes_hz: tuple[Positive, ...] = ()
    """Frequencies of modes that it must not excite."""

    def build(self, known: Known) -> TurnPlan:
        """Return the guidance."""
        ends = np.array(self.q_from), np.array(self.q_to)
        return TurnPlan(*ends, self.start_s, self.time_s, impulses(self.modes_hz))
