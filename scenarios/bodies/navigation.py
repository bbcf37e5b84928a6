"""The dual-quaternion EKF as the loop's navigation."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from gnc import dual_quaternion
from gnc.estimators.dqekf import DqEkf
from gnc.estimators.kalman import Innovation
from gnc.estimators.pose_belief import PoseBelief
from gnc.models.pose_body import PoseState

Array = Any
CERTAIN = 1e-6  # [rad, m, rad/s, m/s] at least: a filter without any doubt at the start has nothing to correct


class Dark(NamedTuple):
    """What a star tracker asks of the sky: no Sun in sight."""

    dq_IB: Array = dual_quaternion.from_pose(np.array([1.0, 0, 0, 0]), np.zeros(3))  # of the beacon's observer
    sun_I: Array = np.array([0.0, 0.0, -1.0])
    shadow: Array = np.array(1.0)


@dataclass(frozen=True, eq=False)
class PoseNavigation:
    """A filter that knows the commanded wrench, and what else `load` tells it of a time."""

    dqekf: DqEkf
    sensors: Mapping[str, Any]  # as the filter believes them to be
    env: Any = None  # of all sensors
    load: Callable[[float], Array] | None = None  # time -> (6), or (trials, 6): known beside the command

    def predict(self, belief: PoseBelief, command: Array, report: Any, t: float, h: float) -> PoseBelief:
        """Move over h; a load is that of the middle."""
        wrench_B = getattr(command, "wrench_B", command)
        if self.load is not None:
            wrench_B = wrench_B + self.load(t + 0.5 * h)
        return self.dqekf.predict(belief, wrench_B, h)

    def update(self, belief: PoseBelief, name: str, measurement: Any, t: float) -> tuple[PoseBelief, Innovation]:
        """Correct with a measurement."""
        return self.dqekf.update(belief, self.sensors[name], measurement, self.env)


def start_belief(dqekf: DqEkf, dq_IR: Array, sigmas: Array, trials: int) -> PoseBelief:
    """Return the belief of being at a reference at rest, as well as the start is known (12 standard deviations)."""
    x = PoseState(np.broadcast_to(dq_IR, (trials, 8)), np.zeros((trials, 6)))
    return dqekf.start(x, np.diag(np.square(np.maximum(sigmas, CERTAIN))))
