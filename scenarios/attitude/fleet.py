"""Several filters, each in a closed loop of its own, side by side: the same body, noise and law for all.

States of the truth have the leading axes (filters, trials), so that plant and law move all of them in one call; the
beliefs are a tuple, one entry per filter, each with the trials first.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from gnc.estimators.attitude_belief import Belief
from gnc.estimators.kalman import Innovation
from gnc.models.states import AttitudeState
from gnc.scenarios.attitude.navigation import MekfNavigation
from gnc.scenarios.attitude.satellite import Command, Report

Beliefs = tuple[Belief, ...]


@dataclass(frozen=True, eq=False)
class Fleet:
    """The navigation of all; the innovation is that of the first."""

    members: Sequence[MekfNavigation]

    def predict(self, belief: Beliefs, command: Command, report: Report, t: float, h: float) -> Beliefs:
        """Move every filter over h."""
        moved = enumerate(zip(self.members, belief, strict=True))
        return tuple(m.predict(b, one(command, i), one(report, i), t, h) for i, (m, b) in moved)

    def update(self, belief: Beliefs, name: str, measurement: Any, t: float) -> tuple[Beliefs, Innovation]:
        """Correct every filter with what its own body shows."""
        made = [
            m.update(b, name, one(measurement, i), t) for i, (m, b) in enumerate(zip(self.members, belief, strict=True))
        ]
        return tuple(b for b, _ in made), made[0][1]

    def state(self, belief: Beliefs) -> AttitudeState:
        """Return attitude and rate (filters, trials, ...)."""
        states = [m.mekf.state(b) for m, b in zip(self.members, belief, strict=True)]
        return AttitudeState(*(np.stack(parts) for parts in zip(*states, strict=True)))


def one(states: Any, i: int) -> Any:
    """Return the part of the filter at a place; what all share has no axis of filters."""
    return type(states)(*(part if np.ndim(part) < 2 else part[i] for part in states))
