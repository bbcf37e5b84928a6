"""All sensors in one table, none of them perfect, and random worlds to measure in."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from gnc import dual_quaternion, quaternion
from gnc.models.environment.table import Environment
from gnc.models.pose_body import PoseState
from gnc.models.sensors import (
    CoarseSunSensor,
    FineSunSensor,
    Gnss,
    Gyro,
    HorizonSensor,
    Magnetometer,
    RangeBearing,
    RelativePose,
    RelativePosition,
    StarTracker,
)
from gnc.models.states import AttitudeState

Array = Any

Q_BS = np.array([0.5, -0.5, 0.5, 0.5])
POSE_BS = dual_quaternion.from_pose(Q_BS, np.array([0.3, -0.2, 0.5]))
TILT = np.array([0.01, -0.02, 0.03])
SCALE = np.array([0.02, -0.01, 0.03])
NORMALS = np.array([[0.6, 0.8, 0.0], [0.0, -0.6, 0.8], [-0.8, 0.0, -0.6], [0.0, 1.0, 0.0], [0.36, 0.48, 0.8]])

MAGNETOMETER = Magnetometer(
    rate_hz=2.0,
    sigma_T=1e-7,
    sigma_deg=0.5,
    bias=[1e-6, -2e-6, 5e-7],
    scale=SCALE,
    misalignment=TILT,
    q_BS=Q_BS,
    range_T=1e-4,
)
FINE = FineSunSensor(rate_hz=1.0, sigma_deg=0.3, misalignment=TILT, q_BS=Q_BS)
COARSE = CoarseSunSensor(rate_hz=1.0, sigma=0.02, normals_B=NORMALS, scale=0.05 * NORMALS[:, 0], bias=0.01)
HORIZON = HorizonSensor(rate_hz=1.0, sigma_deg=0.3, misalignment=TILT, q_BS=Q_BS)
GNSS = Gnss(rate_hz=1.0, sigma_m=3.0, sigma_m_s=0.1, bias=[1.0, -2.0, 0.5], antenna_B=[0.3, -0.2, 0.5])
RADAR = RangeBearing(rate_hz=1.0, sigma_deg=0.5, misalignment=[*TILT, 0.02, 0.01, -0.03], dq_BS=POSE_BS)
STARS = StarTracker(rate_hz=4.0, sigma_arcsec=[10.0, 12.0, 80.0], misalignment=TILT, q_BS=Q_BS)
GYRO = Gyro(
    rate_hz=10.0, arw=1e-4, bias_walk=1e-5, bias=[0.01, -0.02, 0.005], scale=SCALE, misalignment=TILT, q_BS=Q_BS
)
POSE = RelativePose(rate_hz=1.0, misalignment=[*TILT, 0.02, 0.01, -0.03], dq_BS=POSE_BS)
POSITION = RelativePosition(rate_hz=1.0, bias=[0.1, -0.2, 0.3], misalignment=[*TILT, 0.02, 0.01, -0.03], dq_BS=POSE_BS)


@dataclass(frozen=True)
class Case:
    """A sensor and the kind of state it is asked about: "attitude", "pose", or "target", a pose seen by an observer."""

    sensor: Any
    kind: str

    def __str__(self) -> str:
        return f"{type(self.sensor).__name__}-{self.kind}"

    def world(self, shape: tuple[int, ...] = (), seed: int = 0) -> tuple[Any, Any]:
        """Return a random state and environment in which all is valid."""
        rng = np.random.default_rng(seed)
        if self.kind == "target":
            return pose_state(rng, shape, 30.0), pose_state(rng, shape, 3.0)
        x = attitude_state(rng, shape) if self.kind == "attitude" else pose_state(rng, shape, 10.0)
        far = np.full((*shape, 3), 7e6)
        field = 4e-5 * unit(rng, shape)
        return x, Environment(far, far / 1e3, field, unit(rng, shape), np.zeros(shape))


CASES = [
    *(
        Case(sensor, kind)
        for sensor in (MAGNETOMETER, FINE, COARSE, HORIZON, STARS, GYRO, GNSS)
        for kind in ("attitude", "pose")
    ),
    *(Case(sensor, "target") for sensor in (POSE, POSITION, RADAR)),
]


def unit(rng: np.random.Generator, shape: tuple[int, ...], n: int = 3) -> Array:
    v = rng.standard_normal((*shape, n))
    return v / np.linalg.norm(v, axis=-1, keepdims=True)


def attitude_state(rng: np.random.Generator, shape: tuple[int, ...]) -> AttitudeState:
    return AttitudeState(unit(rng, shape, 4), 0.1 * rng.standard_normal((*shape, 3)))


def pose_state(rng: np.random.Generator, shape: tuple[int, ...], size: float) -> PoseState:
    dq = dual_quaternion.from_pose(unit(rng, shape, 4), size * rng.standard_normal((*shape, 3)))
    return PoseState(dq, 0.1 * rng.standard_normal((*shape, 6)))


def moved(x: Any, error: Array) -> Any:
    """Return the state off by an error (..., 6) or (..., 12), as filters define it."""
    if isinstance(x, PoseState):
        step = dual_quaternion.exp(error[..., :6])
        return PoseState(dual_quaternion.mul(x.dq_IB, step), x.chi_B + error[..., 6:])
    return AttitudeState(quaternion.mul(x.q_IB, quaternion.exp(error[..., :3])), x.w_B + error[..., 3:])


def noise(sensor: Any, shape: tuple[int, ...] = (), seed: int = 1) -> Array:
    return np.random.default_rng(seed).standard_normal((*shape, sensor.noise_size))
