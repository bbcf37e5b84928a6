"""What a body feels of its own motion: a rate gyro with a wandering bias, and an accelerometer."""

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
from gnc.models.sensors.interface import (
    ALIGNED,
    ZERO,
    BiasedSensor,
    Measurement,
    PlainSensor,
    Prediction,
    all_below,
    in_body,
    over_rate,
    quantized,
    rate,
    reading,
    sensitivity,
    store_mounting,
)
from gnc.models.sensors.part import ThreeAxisPart

Array = Any
ROOT_HOUR = 60.0  # sqrt(3600 s)


@dataclass(frozen=True, eq=False, kw_only=True)
class Gyro(BiasedSensor):
    """Reads z = D_SB w_B + bias + noise in rad/s; not valid where an axis is beyond its range.

    White noise of density arw^2 sampled over 1/rate_hz has the standard deviation arw sqrt(rate_hz). The bias is a
    random walk: it is truth beside the body's state, moved by `advance_bias` and given to `measure`. Allan deviation:
    arw/sqrt(t) and bias_walk sqrt(t/3).

    Source: Farrenkopf, J. Guidance and Control 1 (1978) 282; IEEE Std 952-1997, annex C.
    """

    rate_hz: float
    arw: Array = 0.0  # (...) angular random walk [rad/sqrt(s)]
    bias_walk: Array = 0.0  # (...) rate random walk [rad/s/sqrt(s)]
    bias: Array = ZERO  # (..., 3) sensor axes, at the start [rad/s]
    bias_sigma: Array = 0.0  # (...) what is believed of it, each axis [rad/s]: for filters
    scale: Array = ZERO  # (..., 3) error of the factor of each axis
    misalignment: Array = ZERO  # (..., 3) rotation vector, sensor axes [rad]
    q_BS: Array = ALIGNED  # (..., 4) nominal mounting
    range_rad_s: Array = np.inf  # (...) of each axis
    quantum_rad_s: Array = 0.0  # (...) of its readings; 0: continuous
    saturation_rad_s: Array = np.inf  # (...) what an axis reads at most
    D_SB: Array = field(init=False, repr=False)
    _sigma: Array = field(init=False, repr=False)  # [rad/s]
    _R: Array = field(init=False, repr=False)

    def __post_init__(self) -> None:
        q_BS, scale = store_mounting(self), check.vector("scale", self.scale, 3)
        store(
            self,
            arw=check.non_negative("arw", self.arw),
            bias_walk=check.non_negative("bias_walk", self.bias_walk),
            bias=check.vector("bias", self.bias, 3),
            bias_sigma=check.non_negative("bias_sigma", self.bias_sigma),
            scale=scale,
            range_rad_s=limit("range_rad_s", self.range_rad_s),
            quantum_rad_s=check.non_negative("quantum_rad_s", self.quantum_rad_s),
            saturation_rad_s=limit("saturation_rad_s", self.saturation_rad_s),
            D_SB=sensitivity(q_BS, scale),
        )
        sigma = self.arw * np.sqrt(self.rate_hz)
        store(self, _sigma=sigma, _R=sigma[..., None, None] ** 2 * np.eye(3))

    def advance_bias(self, bias: Array, noise: Array, h: Array) -> Array:
        """Return the bias h later: bias + bias_walk sqrt(h) noise, the noise standard normal (..., 3)."""
        return _wandered(bias, self.bias_walk, noise, h)

    def measure(self, truth: Any, env: Any, noise: Array, bias: Array | None = None) -> Measurement:
        """Measure the rate; `bias` is the present one, the parameter if it does not wander."""
        b = self.bias if bias is None else bias
        z, valid = _measure(rate(truth), self.D_SB, b, self._sigma, self.range_rad_s, noise)
        return Measurement(quantized(z, self.saturation_rad_s, self.quantum_rad_s), valid != 0.0)

    def predict(self, x: Any, env: Any = None, bias: Array | None = None) -> Prediction:
        """Predict the measurement; H = [0, D_SB], and the environment does not matter."""
        z = _predict(rate(x), self.D_SB, self.bias if bias is None else bias)
        return Prediction(z, over_rate(self.D_SB, x), self._R)

    def in_body(self, z: Array, bias: Array | None = None) -> Array:
        """Return the body rate that gives this measurement, for filters that are driven by the gyro."""
        return in_body(z, self.D_SB, self.bias if bias is None else bias)


@batched("(3),(3,3),(3),(),(),(3)->(3),()")
def _measure(w_B, D_SB, bias, sigma, range_rad_s, noise):
    z = D_SB @ w_B + bias + sigma * noise
    return reading(z, all_below(abs(z), range_rad_s))


@batched("(3),(),(3),()->(3)")
def _wandered(bias, bias_walk, noise, h):
    return bias + (bias_walk * np.sqrt(h)) * noise


@batched("(3),(3,3),(3)->(3)")
def _predict(w_B, D_SB, bias):
    return D_SB @ w_B + bias


class GyroPart(ThreeAxisPart):
    """A three-axis gyro; its bias is constant, or wanders."""

    kind: Literal["gyro"] = "gyro"
    angle_random_walk_deg_rth: NonNegative = 0.1
    """White noise of the rate, as the angle it makes in an hour."""
    rate_random_walk_deg_s_rth: NonNegative = 0.0
    """Wander of the bias of each axis in an hour."""
    bias_deg_s: NonNegative = 0.01
    """True bias of each axis, one sigma over the trials, as filters know: they estimate it."""
    fixed_bias_deg_s: Vector3 = (0.0, 0.0, 0.0)
    """A bias that all trials have beside it, sensor axes."""
    range_deg_s: Positive | None = None
    """Beyond this rate of an axis it says nothing, or reads the range where it saturates."""
    saturates: bool = False
    """Whether an axis beyond its range reads the range."""
    quantum_deg_s: NonNegative = 0.0
    """Step of its readings; 0: continuous."""

    def truth(self, name: str, draws: Draws) -> Gyro:
        """Return the gyro of each trial."""
        bias = draws.vector(f"{name} bias", np.radians(self.bias_deg_s)) + np.radians(self.fixed_bias_deg_s)
        return dataclasses.replace(
            self.belief(),
            bias=bias,
            **self.errors(name, draws),
        )

    def belief(self) -> Gyro:
        """Return the gyro without bias, scale error and misalignment."""
        reach = np.inf if self.range_deg_s is None else np.radians(self.range_deg_s)
        return Gyro(
            rate_hz=self.rate,
            q_BS=self.q_BS,
            arw=np.radians(self.angle_random_walk_deg_rth) / ROOT_HOUR,
            bias_walk=np.radians(self.rate_random_walk_deg_s_rth) / ROOT_HOUR,
            bias_sigma=np.radians(self.bias_deg_s),
            quantum_rad_s=np.radians(self.quantum_deg_s),
            **{"saturation_rad_s" if self.saturates else "range_rad_s": reach},
        )


@dataclass(frozen=True, eq=False, kw_only=True)
class Accelerometer(PlainSensor):
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

    recorded: ClassVar[bool] = True  # its readings are told as they are, and no filter is corrected by them

    def __post_init__(self) -> None:
        q_BS, scale = store_mounting(self), check.vector("scale", self.scale, 3)
        vectors = {name: check.vector(name, getattr(self, name), 3) for name in ("bias", "point_B")}
        sizes = {name: check.non_negative(name, getattr(self, name)) for name in ("vrw", "quantum")}
        store(self, scale=scale, **vectors, **sizes, most=limit("most", self.most))
        store(self, D_SB=sensitivity(q_BS, scale))

    def measure(self, truth: Any, env: Any, noise: Array, bias: Array | None = None) -> Measurement:
        """Measure the specific force; `bias` replaces the parameter."""
        b, sigma = self.bias if bias is None else bias, self.vrw * np.sqrt(self.rate_hz)
        z, valid = _felt(truth.felt_B, truth.chi_B, self.point_B, self.D_SB, b, sigma, noise)
        return Measurement(quantized(z, self.most, self.quantum), valid != 0.0)


@batched("(6),(6),(3),(3,3),(3),(),(3)->(3),()")
def _felt(felt_B, chi_B, point_B, D_SB, bias, sigma, noise):
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
