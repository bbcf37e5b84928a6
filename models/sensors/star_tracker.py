"""Star tracker: the whole attitude."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Field

from gnc import check, quaternion
from gnc.batch import batched, maximum, minimum, where
from gnc.config import NonNegative, Positive
from gnc.draws import Draws
from gnc.errors import InputError
from gnc.linalg import array
from gnc.models.environment.constants import EARTH_RADIUS
from gnc.models.parameters import between, each, limit, store
from gnc.models.sensors.interface import (
    ALIGNED,
    ZERO,
    BiasedSensor,
    Measurement,
    Prediction,
    attitude,
    over_attitude,
    rate,
    reading,
    sensitivity,
    store_mounting,
    within_cone,
)
from gnc.models.sensors.part import MountedSensorPart

Array = Any

ARCSEC = np.pi / (180.0 * 3600.0)
NO_SUN = np.array([0.0, 0.0, -1.0]), np.array(1.0)


@dataclass(frozen=True, eq=False, kw_only=True)
class StarTracker(BiasedSensor):
    """Reads z = q_IS exp(noise/2), a quaternion, with q_IS = q_IB q_BS; its boresight is the z axis.

    The noise is a rotation vector in sensor axes, usually several times larger about the boresight than across. Not
    valid where the body turns too fast, or the Sun, unless the Earth hides it, the limb of the Earth or the Moon is
    nearer to the boresight than its exclusion angle.
    """

    rate_hz: float
    sigma_arcsec: Array  # (..., 3) about each of the sensor's axes, or one number for all
    misalignment: Array = ZERO  # (..., 3) rotation vector, sensor axes [rad]
    bias_sigma: Array = 0.0  # (...) what is believed of it, each axis [rad]: for filters, as a bias
    q_BS: Array = ALIGNED  # (..., 4) nominal mounting
    max_rate_deg_s: Array = np.inf  # (...)
    sun_exclusion_deg: Array = 0.0  # (...)
    earth_exclusion_deg: Array = -180.0  # (...) from the limb; -180: the Earth does no harm
    moon_exclusion_deg: Array = 0.0  # (...)
    _q_BS: Array = field(init=False, repr=False)  # real mounting
    _sigma: Array = field(init=False, repr=False)  # (..., 3) [rad]
    _limits: tuple[Array, Array] = field(init=False, repr=False)  # rate, cosine of the cone about -z for the Sun
    _H: Array = field(init=False, repr=False)  # over a
    _R: Array = field(init=False, repr=False)

    def __post_init__(self) -> None:
        q_BS = store_mounting(self)
        sigma = each("sigma_arcsec", self.sigma_arcsec, 3, "non-negative")
        store(
            self,
            sigma_arcsec=sigma,
            max_rate_deg_s=limit("max_rate_deg_s", self.max_rate_deg_s),
            sun_exclusion_deg=between("sun_exclusion_deg", self.sun_exclusion_deg, 0.0, 180.0),
            earth_exclusion_deg=between("earth_exclusion_deg", self.earth_exclusion_deg, -180.0, 180.0),
            moon_exclusion_deg=between("moon_exclusion_deg", self.moon_exclusion_deg, 0.0, 180.0),
            bias_sigma=check.non_negative("bias_sigma", self.bias_sigma),
            _q_BS=q_BS,
            _sigma=ARCSEC * sigma,
            _H=sensitivity(q_BS, np.zeros(3)),
        )
        clear = np.radians(180.0 - self.sun_exclusion_deg)
        store(self, _limits=(np.radians(self.max_rate_deg_s), np.cos(clear)))
        store(self, _R=self._sigma[..., None] ** 2 * np.eye(3))

    @property
    def askew(self) -> Array:
        """What is believed of the misalignment about each axis [rad]."""
        return self.bias_sigma

    @property
    def _blinded(self) -> bool:
        """Tell whether the Sun, the Earth or the Moon can blind it."""
        lit = np.any(self.sun_exclusion_deg > 0.0) or np.any(self.moon_exclusion_deg > 0.0)
        return bool(lit or np.any(self.earth_exclusion_deg > -180.0))

    def measure(self, truth: Any, env: Any, noise: Array, bias: Array | None = None) -> Measurement:
        """Measure the attitude; bias is a misalignment in place of the tracker's own."""
        if env is None and self._blinded:
            raise InputError("env: None; a tracker with exclusion angles needs sun_I, shadow, r_I and moon_I")
        motion, sun = (attitude(truth), rate(truth)), NO_SUN if env is None else (env.sun_I, env.shadow)
        z, valid = _measure(*motion, self._mounted(bias), self._sigma, *self._limits, *sun, noise)
        if np.any(self.earth_exclusion_deg > -180.0):
            valid = valid * _off_limb(z, env.r_I, np.radians(self.earth_exclusion_deg))
        if np.any(self.moon_exclusion_deg > 0.0):
            valid = valid * _off_moon(z, env.moon_I, np.cos(np.radians(self.moon_exclusion_deg)))
        return Measurement(_kept(z, valid), valid != 0.0)

    def predict(self, x: Any, env: Any = None, bias: Array | None = None) -> Prediction:
        """Predict the measurement; H = [R_SB, 0], and the environment does not matter."""
        return Prediction(quaternion.mul(attitude(x), self._mounted(bias)), over_attitude(self._H, x), self._R)

    def _mounted(self, misalignment: Array | None) -> Array:
        """Return the real mounting, or that with another misalignment."""
        return self._q_BS if misalignment is None else quaternion.mul(self.q_BS, quaternion.exp(misalignment))

    def residual(self, z: Array, z_predicted: Array) -> Array:
        """Return the rotation vector of z_predicted* z, sensor axes; zero where z is not valid."""
        return _residual(z, z_predicted)


@batched("(4),(3),(4),(3),(),(),(3),(),(3)->(4),()")
def _measure(q_IB, w_B, q_BS, sigma, max_rate, cosine, sun_I, shadow, noise):
    q_IS = quaternion.mul(q_IB, q_BS)
    away = within_cone(-quaternion.inverse_rotate(q_IS, sun_I), cosine) | (shadow >= 1.0)
    slow = w_B @ w_B < max_rate * max_rate
    return reading(quaternion.mul(q_IS, quaternion.exp(sigma * noise)), slow & away)


@batched("(4),(3),()->()")
def _off_limb(q_IS, r_I, exclusion):
    """Return 1 where the boresight is farther from the limb of the Earth than an angle."""
    radius = np.sqrt(r_I @ r_I)
    sine = minimum(EARTH_RADIUS / radius, 1.0)
    angle = maximum(np.arctan2(sine, np.sqrt(1.0 - sine * sine)) + exclusion, 0.0)  # from the Earth's centre
    down = -quaternion.inverse_rotate(q_IS, r_I)[2] / radius
    return where((down < np.cos(angle)) | (angle == 0.0), 1.0, 0.0)


@batched("(4),(3),()->()")
def _off_moon(q_IS, moon_I, cosine):
    """Return 1 where the boresight is farther from the Moon than an angle."""
    return where(quaternion.inverse_rotate(q_IS, moon_I)[2] < cosine, 1.0, 0.0)


@batched("(4),()->(4)")
def _kept(z, valid):
    """Return a reading where it is valid, else zeros."""
    return where(valid > 0.0, z, 0.0 * z)


@batched("(4),(4)->(3)")
def _residual(z, z_predicted):
    none = z @ z == 0.0
    return quaternion.log(where(none, array([1.0, 0.0, 0.0, 0.0]), quaternion.mul(quaternion.conj(z_predicted), z)))


class StarTrackerPart(MountedSensorPart):
    """A star tracker; its boresight is the z axis. Several heads are several trackers."""

    kind: Literal["star-tracker"] = "star-tracker"
    sigma_cross_arcsec: Positive = 10.0
    """Noise about the two axes across the boresight."""
    sigma_roll_arcsec: Positive = 60.0
    """Noise about the boresight."""
    misalignment_arcsec: NonNegative = 0.0
    """True misalignment about each axis, one sigma over the trials."""
    sun_exclusion_deg: Annotated[float, Field(ge=0, le=180)] = 0.0
    """It sees no stars with the Sun nearer to its boresight than this, unless the Earth hides the Sun."""
    earth_exclusion_deg: Annotated[float, Field(ge=0, le=90)] | None = None
    """The same from the limb of the Earth; none: the Earth does no harm."""
    moon_exclusion_deg: Annotated[float, Field(ge=0, le=180)] = 0.0
    """The same of the Moon."""
    max_rate_deg_s: Positive | None = None
    """Above this rate it sees no stars."""

    def truth(self, name: str, draws: Draws) -> StarTracker:
        """Return the tracker of each trial."""
        misalignment = draws.vector(f"{name} misalignment", ARCSEC * np.asarray(self.misalignment_arcsec))
        return dataclasses.replace(self.belief(), misalignment=misalignment)

    def belief(self) -> StarTracker:
        """Return the tracker without misalignment."""
        cross, roll = np.asarray(self.sigma_cross_arcsec), np.asarray(self.sigma_roll_arcsec)
        return StarTracker(
            rate_hz=self.rate,
            q_BS=self.q_BS,
            bias_sigma=ARCSEC * np.asarray(self.misalignment_arcsec),
            sigma_arcsec=np.stack(np.broadcast_arrays(cross, cross, roll), axis=-1),
            sun_exclusion_deg=self.sun_exclusion_deg,
            earth_exclusion_deg=-180.0 if self.earth_exclusion_deg is None else self.earth_exclusion_deg,
            moon_exclusion_deg=self.moon_exclusion_deg,
            max_rate_deg_s=np.inf if self.max_rate_deg_s is None else self.max_rate_deg_s,
        )
