"""Fine sun sensor: the direction of the Sun."""

from __future__ import annotations

import dataclasses
import functools
from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from gnc import check, quaternion
from gnc.batch import Kernel, batched
from gnc.config import NonNegative, Positive
from gnc.draws import Draws
from gnc.linalg import identity, skew
from gnc.models.parameters import between, store
from gnc.models.sensors import mounting
from gnc.models.sensors.error_state import attitude, columns, padded
from gnc.models.sensors.interface import Measurement, Prediction
from gnc.models.sensors.mounting import ALIGNED, ZERO
from gnc.models.sensors.part import MountedSensorPart
from gnc.models.sensors.validity import reading, within_cone

Array = Any


@dataclass(frozen=True, eq=False, kw_only=True)
class FineSunSensor:
    """Reads z = R_SB R_IB^T sun_I + noise; valid in sunlight, with the Sun in the field of view about its z axis.

    The noise of each component is sigma_deg as an angle. The vector is not normalised: its length says nothing about
    the attitude, and unnormalised its three components have independent noise, which makes NIS chi-square.
    """

    rate_hz: float
    sigma_deg: Array  # (...) of each component
    misalignment: Array = ZERO  # (..., 3) rotation vector, sensor axes [rad]
    askew: Array = 0.0  # (...) what is believed of it, each axis [rad]: counts in what filters tell of themselves
    q_BS: Array = ALIGNED  # (..., 4) nominal mounting
    half_cone_deg: Array = 180.0  # (...) half the field of view; 180 sees all around
    max_shadow: Array = 0.5  # (...) hidden fraction of the Sun up to which it is seen
    R_SB: Array = field(init=False, repr=False)
    _sigma: Array = field(init=False, repr=False)  # [rad]
    _R: Array = field(init=False, repr=False)
    _cosine: Array = field(init=False, repr=False)

    latency_s: ClassVar[float] = 0.0
    noise_size: ClassVar[int] = 3
    bias_size: ClassVar[int] = 0
    H_bias: ClassVar[Array] = np.zeros((3, 0))

    def __post_init__(self) -> None:
        """Validate once; the kernels do not."""
        q_BS = mounting.store_mounting(self)
        sigma_deg = check.non_negative("sigma_deg", self.sigma_deg)
        half_cone_deg = between("half_cone_deg", self.half_cone_deg, 0.0, 180.0)
        store(self, askew=check.non_negative("askew", self.askew))
        store(self, sigma_deg=sigma_deg, half_cone_deg=half_cone_deg, _cosine=np.cos(np.radians(half_cone_deg)))
        store(self, max_shadow=between("max_shadow", self.max_shadow, 0.0, 1.0))
        store(self, R_SB=mounting.sensitivity(q_BS, np.zeros(3)), _sigma=np.radians(sigma_deg))
        store(self, _R=self._sigma[..., None, None] ** 2 * np.eye(3))

    def aim(self, env: Any) -> tuple[Array, Array]:
        """Return the direction that is measured, inertial axes, and how much of its source is hidden."""
        return env.sun_I, env.shadow

    def measure(self, truth: Any, env: Any, noise: Array) -> Measurement:
        """Measure the direction."""
        aim_I, shadow = self.aim(env)
        masks = shadow, self.max_shadow, self._cosine
        z, valid = _measure(attitude(truth), aim_I, self.R_SB, self._sigma, *masks, noise)
        return Measurement(z, valid != 0.0)

    def predict(self, x: Any, env: Any) -> Prediction:
        """Predict the measurement; H = [R_SB [s_B], 0]."""
        z, H = _predict(columns(x))(attitude(x), self.aim(env)[0], self.R_SB)
        return Prediction(z, H, self._R)

    def expected(self, n: int, env: Any) -> tuple[Kernel, tuple[Array, ...]]:
        """Return `predict` as a kernel (q_IB, *arguments) -> z, H, R over n error states, and its arguments."""
        return _expected(n), (self.aim(env)[0], self.R_SB, self._sigma)

    def residual(self, z: Array, z_predicted: Array) -> Array:
        """Return the difference."""
        return z - z_predicted

    def in_body(self, z: Array) -> Array:
        """Return the direction in body axes that gives this measurement."""
        return mounting.in_body(z, self.R_SB, np.zeros(3))


@batched("(4),(3),(3,3),(),(),(),(),(3)->(3),()")
def _measure(q_IB, sun_I, R_SB, sigma, shadow, max_shadow, cosine, noise):
    """Return the reading, or zeros, and whether it is valid."""
    s_S = R_SB @ quaternion.inverse_rotate(q_IB, sun_I)
    return reading(s_S + sigma * noise, within_cone(s_S, cosine) & (shadow <= max_shadow))


@functools.cache
def _predict(n: int) -> Kernel:
    """Return the kernel for an error state of n numbers."""

    @batched(f"(4),(3),(3,3)->(3),(3,{n})")
    def predict(q_IB, sun_I, R_SB):
        """Return z and H."""
        s_B = quaternion.inverse_rotate(q_IB, sun_I)
        return R_SB @ s_B, padded(R_SB @ skew(s_B), n)

    return predict


@functools.cache
def _expected(n: int) -> Kernel:
    """Return the same kernel with R among its results."""

    @batched(f"(4),(3),(3,3),()->(3),(3,{n}),(3,3)")
    def expected(q_IB, sun_I, R_SB, sigma):
        return *_predict(n)(q_IB, sun_I, R_SB), (sigma * sigma) * identity(3)

    return expected


class SunSensorPart(MountedSensorPart):
    """A fine sun sensor; sees nothing in the shadow of the Earth."""

    kind: Literal["sun-sensor"] = "sun-sensor"
    sensor: ClassVar[type[FineSunSensor]] = FineSunSensor
    needs_orbit: ClassVar[bool] = True
    sigma_deg: Positive = 1.0
    """Noise of each component."""
    misalignment_deg: NonNegative = 0.0
    """True misalignment about each axis, one sigma over the trials."""
    half_cone_deg: Annotated[float, Field(gt=0, le=180)] = 180.0
    """Half the field of view about its z axis; 180 sees all around."""

    def truth(self, name: str, draws: Draws) -> FineSunSensor:
        """Return the sensor of each trial."""
        misalignment = draws.vector(f"{name} misalignment", np.radians(self.misalignment_deg))
        return dataclasses.replace(self.belief(), misalignment=misalignment)

    def belief(self) -> FineSunSensor:
        """Return the sensor without misalignment."""
        askew = np.radians(self.misalignment_deg)
        seen = {"sigma_deg": self.sigma_deg, "half_cone_deg": self.half_cone_deg}
        return self.sensor(rate_hz=self.rate, q_BS=self.q_BS, askew=askew, **seen)
