"""The first attitude and position: given, or from the first measurements that tell them."""

from __future__ import annotations

from typing import Any

import numpy as np

from gnc import dual_quaternion, quaternion
from gnc.errors import InputError
from gnc.estimators.initialise import triad
from gnc.models.pose_body import PoseState
from gnc.models.sensors import FineSunSensor, Magnetometer, RelativePose, StarTracker, UnitDirection, VectorSensor
from gnc.models.states import AttitudeState
from gnc.scenarios.replay.config import Start
from gnc.scenarios.replay.filter_protocol import First

Array = Any

TOGETHER_S = 0.1  # two vectors this near in time are taken as simultaneous
OPEN = 10.0  # times its misalignment a first attitude is open: else what is told once would count as two witnesses
PARALLEL = 0.05  # sine of the angle below which two vectors do not tell an attitude


class Starter:
    """Looks at measurements until there is a first attitude, and a position where the filter needs one."""

    ungated_s = 0.0  # for which all measurements are let in

    def __init__(self, start: Start, needs_position: bool) -> None:
        self.start, self._needs_position = start, needs_position
        self.held: Any = None  # the last sample of what drives the filter
        self._vectors: dict[str, tuple[float, Array, Array, float]] = {}

    def given(self) -> First | None:
        """Return what the configuration states, if that is enough."""
        s = self.start
        C = np.diag([np.radians(s.sigma_attitude_deg) ** 2] * 3 + [s.sigma_position_m**2] * 3)
        if s.dq_IB is not None:
            q_IB, r_IB = dual_quaternion.to_pose(np.array(s.dq_IB))
            return First(q_IB, r_IB, C)
        if s.q_IB is None or (self._needs_position and s.r_IB is None):
            return None
        return First(np.array(s.q_IB), np.array(s.r_IB or (0.0, 0.0, 0.0)), C)

    def anew(self, before: Any, gap_s: float) -> Starter:
        """Return what looks for a start behind a gap."""
        raise NotImplementedError

    def kept(self, belief: Any) -> Any:
        """Return the belief with what is known from before."""
        return belief

    def look(self, name: str, t: float, sensor: Any, z: Array, env: Any) -> First | None:
        """Return the start that this measurement makes possible."""
        if isinstance(sensor, RelativePose):
            dq_IS = sensor.dq_BS if env is None else dual_quaternion.mul(env.dq_IB, sensor.dq_BS)
            x = PoseState(dual_quaternion.mul(dq_IS, z), np.zeros(6))
            q_IB, r_IB = dual_quaternion.to_pose(x.dq_IB)
            return First(q_IB, r_IB, sensor.predict(x, env).R)
        if self._needs_position:
            return None
        if isinstance(sensor, StarTracker):
            q_IB, R_BS = quaternion.mul(z, quaternion.conj(sensor.q_BS)), quaternion.to_matrix(sensor.q_BS)
            R = sensor.predict(AttitudeState(q_IB, np.zeros(3))).R + (OPEN * sensor.askew) ** 2 * np.eye(3)
            return First(q_IB, np.zeros(3), _padded(R_BS @ R @ R_BS.T))
        return self._triad(name, t, sensor, z, env)

    def _triad(self, name: str, t: float, sensor: Any, z: Array, env: Any) -> First | None:
        seen = _direction(sensor, z, env)
        if seen is None:
            return None
        self._vectors[name] = (t, *seen)
        for other, (when, b_2, r_2, sigma_2) in self._vectors.items():
            _, b_1, r_1, sigma_1 = self._vectors[name]
            if other == name or t - when > TOGETHER_S or np.linalg.norm(np.cross(r_1, r_2)) < PARALLEL:
                continue
            better = (b_1, b_2, r_1, r_2, sigma_1, sigma_2)
            worse = (b_2, b_1, r_2, r_1, sigma_2, sigma_1)
            q_IB, C = triad(*(better if sigma_1 <= sigma_2 else worse))
            return First(q_IB, np.zeros(3), _padded(C)) if np.isfinite(C).all() else None
        return None

    def failed(self) -> InputError:
        """Return the error for a log that tells no start."""
        what = "a pose; give start.q_IB and start.r_IB" if self._needs_position else "an attitude; give start.q_IB"
        return InputError(f"start: no measurement, nor two directions within {TOGETHER_S:g} s, tell {what}")


def _direction(sensor: Any, z: Array, env: Any) -> tuple[Array, Array, float] | None:
    """Return unit vectors in body and inertial axes, and the noise as an angle."""
    sensor = sensor.of if isinstance(sensor, UnitDirection) else sensor
    if isinstance(sensor, VectorSensor):
        return z / np.linalg.norm(z), sensor.r_I, _sigma(sensor)
    if isinstance(sensor, FineSunSensor):
        return sensor.in_body(z) / np.linalg.norm(z), env.sun_I, _sigma(sensor)
    if isinstance(sensor, Magnetometer):
        strength = float(np.linalg.norm(env.B_I))
        own = sensor.bias_sigma / strength, np.max(sensor.uneven)
        return (
            sensor.in_body(z) / np.linalg.norm(z),
            env.B_I / strength,
            _sigma(sensor, sensor.sigma_T / strength, *own),
        )
    return None


def _sigma(sensor: Any, noise: float = 0.0, *own: float) -> float:
    """Return the noise as an angle, with errors of its own that the filter has yet to find."""
    told = np.hypot(float(noise), float(np.radians(sensor.sigma_deg)))
    return float(np.hypot(told, OPEN * np.sqrt(sensor.askew**2 + sum(x**2 for x in own))))


def _padded(C: Array) -> Array:
    """Return the covariance of attitude and position from that of the attitude."""
    whole = np.eye(6)
    whole[:3, :3] = C
    return whole
