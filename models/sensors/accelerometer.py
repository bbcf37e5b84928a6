"""Accelerometer: the specific force where it is mounted."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

import numpy as np

from gnc import check
from gnc.batch import batched
from gnc.config import NonNegative, Positive, Vector3
from gnc.draws import Draws
from gnc.linalg import cross
from gnc.models.parameters import limit, store
from gnc.models.sensors import mounting
from gnc.models.sensors.gyro import ROOT_HOUR
from gnc.models.sensors.interface import Measurement
from gnc.models.sensors.mounting import ALIGNED, ZERO
from gnc.models.sensors.part import ThreeAxisPart
from gnc.models.sensors.validity import all_below, reading

Array = Any


@dataclass(frozen=True, eq=False, kw_only=True)
class Accelerometer:
    """Reads z = D_SB (f_B + w' x p + w x (w x p)) + bias + noise, p its place, f_B the specific force of the origin.

    Specific force is acceleration less gravity: what falls freely and does not turn reads zero. The truth tells it as
    `felt_B` = [w', f_B], means over its last step, as a sensor has them that counts velocity.
    """

    rate_hz: float
    vrw: Array = 0.0  # (...) velocity random walk [m/s/sqrt(s)]
    bias: Array = ZERO  # (..., 3) sensor axes [m/s^2]
    scale: Array = ZERO  # (..., 3) error of the factor of each axis
    misalignment: Array = ZERO  # (..., 3) rotation vector, sensor axes [rad]
    q_BS: Array = ALIGNED  # (..., 4) nominal mounting
    point_B: Array = ZERO  # (3) from the body's origin [m]
    quantum: Array = 0.0  # (...) of its readings; 0: continuous [m/s^2]
    most: Array = np.inf  # (...) what an axis reads at most [m/s^2]
    D_SB: Array = field(init=False, repr=False)

    latency_s: ClassVar[float] = 0.0
    noise_size: ClassVar[int] = 3
    bias_size: ClassVar[int] = 0  # no filter of ours estimates it
    recorded: ClassVar[bool] = True  # its readings are told as they are, and no filter is corrected by them

    def __post_init__(self) -> None:
        """Validate once; the kernels do not."""
        q_BS, scale = mounting.store_mounting(self), check.vector("scale", self.scale, 3)
        vectors = {name: check.vector(name, getattr(self, name), 3) for name in ("bias", "point_B")}
        sizes = {name: check.non_negative(name, getattr(self, name)) for name in ("vrw", "quantum")}
        store(self, scale=scale, **vectors, **sizes, most=limit("most", self.most))
        store(self, D_SB=mounting.sensitivity(q_BS, scale))

    def measure(self, truth: Any, env: Any, noise: Array, bias: Array | None = None) -> Measurement:
        """Measure the specific force; `bias` replaces the parameter."""
        b, sigma = self.bias if bias is None else bias, self.vrw * np.sqrt(self.rate_hz)
        z, valid = _measure(truth.felt_B, truth.chi_B, self.point_B, self.D_SB, b, sigma, noise)
        return Measurement(mounting.read(z, self.most, self.quantum), valid != 0.0)


@batched("(6),(6),(3),(3,3),(3),(),(3)->(3),()")
def _measure(felt_B, chi_B, point_B, D_SB, bias, sigma, noise):
    """Return the reading, or zeros, and whether it is valid."""
    w_B = chi_B[:3]
    f_B = felt_B[3:] + cross(felt_B[:3], point_B) + cross(w_B, cross(w_B, point_B))
    z = D_SB @ f_B + bias + sigma * noise
    return reading(z, all_below(abs(z), np.inf))


class AccelerometerPart(ThreeAxisPart):
    """A three-axis accelerometer on a craft that moves; its readings are recorded, no filter uses them."""

    kind: Literal["accelerometer"] = "accelerometer"
    reads: ClassVar[str] = "m/s^2"
    feels: ClassVar[bool] = True
    point_m: Vector3 = (0.0, 0.0, 0.0)
    """Where it is, from the body's origin."""
    velocity_random_walk_m_s_rth: NonNegative = 0.01
    """White noise of the specific force, as the velocity it makes in an hour."""
    bias_m_s2: NonNegative = 1e-4
    """True bias of each axis, one sigma over the trials."""
    fixed_bias_m_s2: Vector3 = (0.0, 0.0, 0.0)
    """A bias that all trials have beside it, sensor axes."""
    range_m_s2: Positive | None = None
    """What an axis reads at most."""
    quantum_m_s2: NonNegative = 0.0
    """Step of its readings; 0: continuous."""
    shaping: ClassVar[frozenset[str]] = ThreeAxisPart.shaping | {"point_m"}

    def truth(self, name: str, draws: Draws) -> Accelerometer:
        """Return the accelerometer of each trial."""
        return dataclasses.replace(
            self.belief(),
            bias=draws.vector(f"{name} bias", self.bias_m_s2) + np.array(self.fixed_bias_m_s2),
            **self.errors(name, draws),
        )

    def belief(self) -> Accelerometer:
        """Return the accelerometer without bias, scale error and misalignment."""
        return Accelerometer(
            rate_hz=self.rate,
            q_BS=self.q_BS,
            point_B=np.array(self.point_m),
            vrw=np.asarray(self.velocity_random_walk_m_s_rth) / ROOT_HOUR,
            quantum=self.quantum_m_s2,
            most=np.inf if self.range_m_s2 is None else self.range_m_s2,
        )
