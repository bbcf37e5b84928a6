"""Sensors of a direction: of the Sun, of the Earth's centre, and of one that is fixed in inertial space."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from gnc import check, quaternion
from gnc.batch import Kernel, batched, copysign, sized
from gnc.config import NonNegative, Positive, Vector3
from gnc.draws import Draws
from gnc.linalg import array, identity, skew
from gnc.models.parameters import between, store, unit_vectors
from gnc.models.sensors.interface import (
    ALIGNED,
    ZERO,
    Measurement,
    PlainSensor,
    Prediction,
    all_below,
    attitude,
    columns,
    in_body,
    padded,
    reading,
    sensitivity,
    store_mounting,
    within_cone,
)
from gnc.models.sensors.part import MountedSensorPart, SensorPart

Array = Any


@dataclass(frozen=True, eq=False, kw_only=True)
class FineSunSensor(PlainSensor):
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
    _cosine: Array = field(init=False, repr=False)

    def __post_init__(self) -> None:
        q_BS = store_mounting(self)
        sigma_deg = check.non_negative("sigma_deg", self.sigma_deg)
        half_cone_deg = between("half_cone_deg", self.half_cone_deg, 0.0, 180.0)
        store(self, askew=check.non_negative("askew", self.askew))
        store(self, sigma_deg=sigma_deg, half_cone_deg=half_cone_deg, _cosine=np.cos(np.radians(half_cone_deg)))
        store(self, max_shadow=between("max_shadow", self.max_shadow, 0.0, 1.0))
        store(self, R_SB=sensitivity(q_BS, np.zeros(3)), _sigma=np.radians(sigma_deg))

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
        return Prediction(*_expected(columns(x))(attitude(x), self.aim(env)[0], self.R_SB, self._sigma))

    def expected(self, n: int, env: Any) -> tuple[Kernel, tuple[Array, ...]]:
        """Return `predict` as a kernel (q_IB, *arguments) -> z, H, R over n error states, and its arguments."""
        return _expected(n), (self.aim(env)[0], self.R_SB, self._sigma)

    def in_body(self, z: Array) -> Array:
        """Return the direction in body axes that gives this measurement."""
        return in_body(z, self.R_SB, np.zeros(3))


@batched("(4),(3),(3,3),(),(),(),(),(3)->(3),()")
def _measure(q_IB, sun_I, R_SB, sigma, shadow, max_shadow, cosine, noise):
    s_S = R_SB @ quaternion.inverse_rotate(q_IB, sun_I)
    return reading(s_S + sigma * noise, within_cone(s_S, cosine) & (shadow <= max_shadow))


@sized(lambda n: f"(4),(3),(3,3),()->(3),(3,{n}),(3,3)")
def _expected(q_IB, sun_I, R_SB, sigma, *, n):
    s_B = quaternion.inverse_rotate(q_IB, sun_I)
    return R_SB @ s_B, padded(R_SB @ skew(s_B), n), (sigma * sigma) * identity(3)


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


class HorizonSensor(FineSunSensor):
    """Reads z = R_SB R_IB^T down_I + noise, down_I the unit vector to the centre of the Earth; day and night."""

    def aim(self, env: Any) -> tuple[Array, Array]:
        """Return the direction that is measured, and that nothing hides it."""
        return down(env.r_I), np.array(0.0)


@batched("(3)->(3)")
def down(r_I):
    """Return the unit vector to the centre of the Earth."""
    return -r_I / np.sqrt(r_I @ r_I)


class HorizonSensorPart(SunSensorPart):
    """A horizon sensor, which measures the direction of the Earth's centre, day and night."""

    kind: Literal["horizon-sensor"] = "horizon-sensor"  # type: ignore[assignment]
    sensor: ClassVar[type[FineSunSensor]] = HorizonSensor
    sigma_deg: Positive = 0.1
    """Noise of each component; the unevenness of the horizon counts as misalignment."""


@dataclass(frozen=True, eq=False, kw_only=True)
class VectorSensor(PlainSensor):
    """Reads z = R_IB^T r_I + noise of a unit vector r_I; sees it always, and needs no environment.

    The noise of each component is sigma_deg as an angle; z is not normalised, which keeps NIS chi-square.
    """

    rate_hz: float
    r_I: Array  # (..., 3) unit vector
    sigma_deg: Array  # (...) of each component
    askew: Array = 0.0  # (...) what is believed of its misalignment, each axis [rad]: for filters
    _sigma: Array = field(init=False, repr=False)  # [rad]

    def __post_init__(self) -> None:
        sigma_deg = check.non_negative("sigma_deg", self.sigma_deg)
        r_I = unit_vectors("r_I", np.asarray(self.r_I)[..., None, :])[..., 0, :]
        store(self, rate_hz=float(check.positive("rate_hz", self.rate_hz)), r_I=r_I, sigma_deg=sigma_deg)
        store(self, askew=check.non_negative("askew", self.askew))
        store(self, _sigma=np.radians(sigma_deg))

    def measure(self, truth: Any, env: Any, noise: Array) -> Measurement:
        """Measure the direction."""
        z, valid = _measure_fixed(attitude(truth), self.r_I, self._sigma, noise)
        return Measurement(z, valid != 0.0)

    def predict(self, x: Any, env: Any = None) -> Prediction:
        """Predict the measurement; H = [[b_B], 0]."""
        return Prediction(*_expected_fixed(columns(x))(attitude(x), self.r_I, self._sigma))

    def expected(self, n: int, env: Any = None) -> tuple[Kernel, tuple[Array, ...]]:
        """Return `predict` as a kernel (q_IB, *arguments) -> z, H, R over n error states, and its arguments."""
        return _expected_fixed(n), (self.r_I, self._sigma)

    def in_body(self, z: Array) -> Array:
        """Return the direction in body axes that gives this measurement."""
        return np.asarray(z)


@batched("(4),(3),(),(3)->(3),()")
def _measure_fixed(q_IB, r_I, sigma, noise):
    """Return the reading; that of a lost trial is zero and not valid."""
    z = quaternion.inverse_rotate(q_IB, r_I) + sigma * noise
    return reading(z, all_below(abs(z), np.inf))


@sized(lambda n: f"(4),(3),()->(3),(3,{n}),(3,3)")
def _expected_fixed(q_IB, r_I, sigma, *, n):
    b_B = quaternion.inverse_rotate(q_IB, r_I)
    return b_B, padded(skew(b_B), n), (sigma * sigma) * identity(3)


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


@dataclass(frozen=True, eq=False)
class UnitDirection:
    """What a filter expects of a `VectorSensor` or `FineSunSensor` whose readings are normalised.

    The length of such a reading is no measurement: with three components NIS would have three degrees of freedom where
    the noise has two, gates and likelihoods would count a number that nobody measured. So two numbers count, across
    what is expected:

        y = T(b) z,   T(b) two unit vectors across b = R_SB R_IB^T r_I,   H = T [b],   R = sigma^2 I
    """

    of: VectorSensor | FineSunSensor

    @property
    def R(self) -> Array:
        """Covariance (..., 2, 2) of the noise across the direction."""
        return np.radians(self.of.sigma_deg)[..., None, None] ** 2 * np.eye(2)

    @property
    def askew(self) -> Array:
        """What is believed of the misalignment about each axis [rad]."""
        return self.of.askew

    def predict(self, x: Any, env: Any = None) -> Prediction:
        """Predict the direction; H of its two components."""
        return self.seen(self.of.predict(x, env))

    def seen(self, whole: Prediction) -> Prediction:
        """Return what is seen of a prediction of three components."""
        return Prediction(whole.z, _seen(whole.H.shape[-1])(whole.z, whole.H), self.R)

    def residual(self, z: Array, z_predicted: Array) -> Array:
        """Return the components of z across what was predicted."""
        return _residual(z, z_predicted)


def across(b: Array) -> Array:
    """Return two unit vectors (2, 3) across a unit vector b, inside kernels.

    Source: Duff et al. (2017), Building an Orthonormal Basis, Revisited, J. Computer Graphics Techniques 6 (1).
    """
    x, y, z = b
    sign = copysign(1.0, z)
    a = -1.0 / (sign + z)
    return array([[1.0 + sign * x * x * a, sign * x * y * a, -sign * x], [x * y * a, sign + y * y * a, -y]])


@batched("(3),(3)->(2)")
def _residual(z, b):
    return across(b) @ z


@sized(lambda n: f"(3),(3,{n})->(2,{n})")
def _seen(b, H):
    return across(b) @ H
