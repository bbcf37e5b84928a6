"""A sensor of one direction that is fixed in inertial space, for studies of filters."""

from __future__ import annotations

import functools
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

import numpy as np

from gnc import check, quaternion
from gnc.batch import Kernel, batched
from gnc.config import Positive, Vector3
from gnc.linalg import identity, skew
from gnc.models.parameters import store, unit_vectors
from gnc.models.sensors.error_state import attitude, columns, padded
from gnc.models.sensors.interface import Measurement, Prediction
from gnc.models.sensors.part import SensorPart
from gnc.models.sensors.validity import all_below, reading

Array = Any


@dataclass(frozen=True, eq=False, kw_only=True)
class VectorSensor:
    """Reads z = R_IB^T r_I + noise of a unit vector r_I; sees it always, and needs no environment.

    The noise of each component is sigma_deg as an angle; z is not normalised, which keeps NIS chi-square.
    """

    rate_hz: float
    r_I: Array  # (..., 3) unit vector
    sigma_deg: Array  # (...) of each component
    askew: Array = 0.0  # (...) what is believed of its misalignment, each axis [rad]: for filters
    _sigma: Array = field(init=False, repr=False)  # [rad]
    _R: Array = field(init=False, repr=False)

    latency_s: ClassVar[float] = 0.0
    noise_size: ClassVar[int] = 3
    bias_size: ClassVar[int] = 0
    H_bias: ClassVar[Array] = np.zeros((3, 0))

    def __post_init__(self) -> None:
        """Validate once; the kernels do not."""
        sigma_deg = check.non_negative("sigma_deg", self.sigma_deg)
        r_I = unit_vectors("r_I", np.asarray(self.r_I)[..., None, :])[..., 0, :]
        store(self, rate_hz=float(check.positive("rate_hz", self.rate_hz)), r_I=r_I, sigma_deg=sigma_deg)
        store(self, askew=check.non_negative("askew", self.askew))
        store(self, _sigma=np.radians(sigma_deg), _R=np.radians(sigma_deg)[..., None, None] ** 2 * np.eye(3))

    def measure(self, truth: Any, env: Any, noise: Array) -> Measurement:
        """Measure the direction."""
        z, valid = _measure(attitude(truth), self.r_I, self._sigma, noise)
        return Measurement(z, valid != 0.0)

    def predict(self, x: Any, env: Any = None) -> Prediction:
        """Predict the measurement; H = [[b_B], 0]."""
        z, H = _predict(columns(x))(attitude(x), self.r_I)
        return Prediction(z, H, self._R)

    def expected(self, n: int, env: Any = None) -> tuple[Kernel, tuple[Array, ...]]:
        """Return `predict` as a kernel (q_IB, *arguments) -> z, H, R over n error states, and its arguments."""
        return _expected(n), (self.r_I, self._sigma)

    def residual(self, z: Array, z_predicted: Array) -> Array:
        """Return the difference."""
        return z - z_predicted

    def in_body(self, z: Array) -> Array:
        """Return the direction in body axes that gives this measurement."""
        return np.asarray(z)


@batched("(4),(3),(),(3)->(3),()")
def _measure(q_IB, r_I, sigma, noise):
    """Return the reading; that of a lost trial is zero and not valid."""
    z = quaternion.inverse_rotate(q_IB, r_I) + sigma * noise
    return reading(z, all_below(abs(z), np.inf))


@functools.cache
def _predict(n: int) -> Kernel:
    """Return the kernel for an error state of n numbers."""

    @batched(f"(4),(3)->(3),(3,{n})")
    def predict(q_IB, r_I):
        """Return z and H."""
        b_B = quaternion.inverse_rotate(q_IB, r_I)
        return b_B, padded(skew(b_B), n)

    return predict


@functools.cache
def _expected(n: int) -> Kernel:
    """Return the same kernel with R among its results."""

    @batched(f"(4),(3),()->(3),(3,{n}),(3,3)")
    def expected(q_IB, r_I, sigma):
        return *_predict(n)(q_IB, r_I), (sigma * sigma) * identity(3)

    return expected


class DirectionPart(SensorPart):
    """A sensor of a direction that is fixed in inertial space."""

    kind: Literal["direction"] = "direction"
    r_I: Vector3 = (1.0, 0.0, 0.0)
    """The direction, a unit vector."""
    sigma_deg: Positive = 1.0
    """Noise of each component, as an angle."""
    shaping: ClassVar[frozenset[str]] = SensorPart.shaping | {"r_I"}

    def belief(self) -> VectorSensor:
        """Return the sensor."""
        return VectorSensor(rate_hz=self.rate, r_I=np.array(self.r_I), sigma_deg=self.sigma_deg)
