"""Sensors that look from an observer at a target; one that measures its pose.

The state x is the target's (its `dq_IB` is dq_IT), and the environment is the observer's state, with a `dq_IB` of its
own; None puts the observer at the inertial origin. The sensor sits at dq_BS on the observer and looks along its z axis.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from gnc import check, dual_quaternion, quaternion
from gnc.batch import batched, maximum, minimum, where
from gnc.config import NonNegative, Positive, Vector3
from gnc.draws import Draws
from gnc.errors import InputError
from gnc.linalg import array, block, identity, zeros
from gnc.models.parameters import between, limit, store
from gnc.models.sensors.interface import Measurement, PlainSensor, Prediction, reading, within_cone
from gnc.models.sensors.part import MountedSensorPart

Array = Any

ALIGNED = (1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
NO_TWIST = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0)


@dataclass(frozen=True, eq=False, kw_only=True)
class RelativeSensor(PlainSensor):
    """The parameters that they share; the standard deviation of a position's components is max(floor, fraction range).

    Valid where the target is within range and the field of view, and the measurement does not drop out. An outlier is
    a valid measurement whose noise is larger by a factor. Drop-outs and outliers happen where a standard normal number
    of their own is below the quantile of their probability. `latency_s` is for the loop, which hands a measurement on
    later than it was taken.
    """

    rate_hz: float
    latency_s: float = 0.0
    sigma_m: Array = 0.01  # (...) floor [m]
    sigma_fraction: Array = 0.005  # (...) of the range
    half_cone_deg: Array = 180.0  # (...) half the field of view; 180 sees all around
    max_range_m: Array = np.inf  # (...)
    dropout: Array = 0.0  # (...) probability
    outlier: Array = 0.0  # (...) probability
    outlier_factor: Array = 20.0  # (...) of the noise
    sun_exclusion_deg: Array = 0.0  # (...) of the boresight
    max_shadow: Array = 1.0  # (...) hidden fraction of the Sun up to which the target is seen
    misalignment: Array = NO_TWIST  # (..., 6) [rotation vector, translation] from the nominal pose, sensor axes
    dq_BS: Array = ALIGNED  # (..., 8) nominal pose on the observer
    _dq_BS: Array = field(init=False, repr=False)  # real pose
    _chances: Array = field(init=False, repr=False)  # (..., 3) quantiles of drop-outs and outliers, factor of these
    _view: Array = field(init=False, repr=False)  # (..., 2) cosine of the half cone, range

    def __post_init__(self) -> None:
        store(
            self,
            rate_hz=float(check.positive("rate_hz", self.rate_hz)),
            latency_s=float(check.non_negative("latency_s", self.latency_s)),
            sigma_m=check.non_negative("sigma_m", self.sigma_m),
            sigma_fraction=check.non_negative("sigma_fraction", self.sigma_fraction),
            half_cone_deg=between("half_cone_deg", self.half_cone_deg, 0.0, 180.0),
            max_range_m=limit("max_range_m", self.max_range_m),
            dropout=between("dropout", self.dropout, 0.0, 1.0),
            outlier=between("outlier", self.outlier, 0.0, 1.0),
            outlier_factor=check.positive("outlier_factor", self.outlier_factor),
            sun_exclusion_deg=between("sun_exclusion_deg", self.sun_exclusion_deg, 0.0, 180.0),
            max_shadow=between("max_shadow", self.max_shadow, 0.0, 1.0),
            misalignment=check.vector("misalignment", self.misalignment, 6),
            dq_BS=unit_pose("dq_BS", self.dq_BS),
        )
        store(
            self,
            _dq_BS=dual_quaternion.mul(self.dq_BS, dual_quaternion.exp(self.misalignment)),
            _chances=stacked(_quantile(self.dropout), _quantile(self.outlier), self.outlier_factor),
            _view=stacked(np.cos(np.radians(self.half_cone_deg)), self.max_range_m),
        )

    def _sensor_pose(self, env: Any) -> Array:
        return self._dq_BS if env is None else dual_quaternion.mul(env.dq_IB, self._dq_BS)

    def _lit(self, dq_IS: Array, env: Any, valid: Array) -> Array:
        """Return 1 where a measurement is valid in this light; an observer without Sun looks in good light."""
        dark = np.any(self.max_shadow < 1.0) or np.any(self.sun_exclusion_deg > 0.0)
        if not dark or not hasattr(env, "sun_I"):
            return valid
        away = np.cos(np.radians(180.0 - self.sun_exclusion_deg))
        return _in_light(dq_IS, env.sun_I, env.shadow, self.max_shadow, away, valid)


def stacked(*numbers: Array) -> Array:
    """Return numbers (...) as one vector per trial."""
    return np.stack(np.broadcast_arrays(*numbers), axis=-1)


def unit_pose(name: str, dq: Any) -> Array:
    """Check a unit dual quaternion."""
    a = check.finite(name, dq, (8,))
    real, dual = check.unit_quaternion(name, a[..., :4]), a[..., 4:]
    off = np.abs((real * dual).sum(axis=-1))
    if np.any(off > 1e-6 * (1.0 + np.abs(dual).max(axis=-1))):
        raise InputError(f"{name}: real and dual part are not orthogonal (by {off.max():.2g}); use from_pose")
    return np.concatenate([real, dual], axis=-1)


def _quantile(probability: Array) -> Array:
    from scipy.special import ndtri  # costs more than all the rest of this package to import

    return ndtri(probability)


@batched("(8),(3),(),(),(),()->()")
def _in_light(dq_IS, sun_I, shadow, max_shadow, cosine, valid):
    """Return `valid` where the target is lit and the Sun is not in the picture."""
    away = within_cone(-quaternion.inverse_rotate(dq_IS[:4], sun_I), cosine) | (shadow >= 1.0)
    return where(away & (shadow <= max_shadow), valid, 0.0)


# Inside kernels


def position_sigma(r_S, noise):
    """Return max(floor, fraction |r|)."""
    floor, fraction = noise
    return maximum(floor, fraction * np.sqrt(r_S @ r_S))


def in_view(r_S, view):
    """Tell whether the target is within the field of view and the range."""
    cosine, max_range = view
    return within_cone(r_S, cosine) & (r_S @ r_S < max_range * max_range)


def luck(normal, chances):
    """Return the factor of the noise, large for an outlier, and whether the measurement does not drop out."""
    dropout, outlier, factor = chances
    return where(normal[0] < outlier, factor, 1.0), normal[1] >= dropout


# Their part of a mission

Probability = Annotated[float, Field(ge=0, lt=1)]


class RelativeSensorPart(MountedSensorPart):
    """What sensors of another craft have in common; they look along their z axis."""

    sees: str = "target"
    """The craft it looks at."""
    place_m: Vector3 = (0.0, 0.0, 0.0)
    """Where it sits on the own craft, from the body's origin."""
    sigma_m: Positive = 0.01
    """Noise of each component of the position at close range."""
    sigma_fraction: NonNegative = 0.005
    """The same as a fraction of the range, where that is more."""
    half_cone_deg: Annotated[float, Field(gt=0, le=180)] = 180.0
    """Half the field of view about the z axis; 180 sees all around."""
    max_range_m: Positive | None = None
    """Beyond it nothing is seen."""
    dropout: Probability = 0.05
    """Probability that there is no measurement."""
    outlier: Probability = 0.05
    """Probability that its noise is larger by a factor."""
    outlier_factor: Positive = 20.0
    """The factor."""
    needs_light: bool = False
    """Whether it sees nothing once half the Sun is hidden by the Earth; a lidar brings its own light."""
    sun_exclusion_deg: Annotated[float, Field(ge=0, le=180)] = 0.0
    """It sees nothing with the Sun nearer to its boresight than this."""
    misalignment_deg: NonNegative = 0.0
    """True misalignment about each axis, one sigma over the trials."""

    def _options(self) -> dict[str, Any]:
        """Return what all of them are built with."""
        same = ("latency_s", "sigma_m", "sigma_fraction", "half_cone_deg", "dropout", "outlier", "outlier_factor")
        reach = np.inf if self.max_range_m is None else self.max_range_m
        dq_BS = dual_quaternion.from_pose(np.array(self.q_BS), np.array(self.place_m))
        chosen = {key: getattr(self, key) for key in (*same, "sun_exclusion_deg")}
        chosen["max_shadow"] = 0.5 if self.needs_light else 1.0
        return {"rate_hz": self.rate, "max_range_m": reach, "dq_BS": dq_BS, **chosen}

    def truth(self, name: str, draws: Draws) -> Any:
        """Return the sensor of each trial, turned by what nobody knows."""
        if not np.any(np.asarray(self.misalignment_deg) > 0.0):
            return self.belief()
        turn = draws.vector(f"{name} misalignment", np.radians(self.misalignment_deg))
        return dataclasses.replace(self.belief(), misalignment=np.concatenate([turn, np.zeros_like(turn)], axis=-1))


@dataclass(frozen=True, eq=False, kw_only=True)
class RelativePose(RelativeSensor):
    """Reads z = dq_ST exp(noise/2), a dual quaternion, with dq_ST = dq_IS* dq_IT.

    The noise is a twist in target axes; to first order its parts are independent errors of attitude and position. The
    attitude's standard deviation about each axis rises with the range from near to far, and is constant outside. All
    noise is larger by 1 + aspect (1 - c)/2, c the cosine between the target's x axis and the way to the sensor.
    """

    near_m: Array = 5.0  # (...)
    far_m: Array = 50.0  # (...)
    sigma_near_deg: Array = 0.5  # (...)
    sigma_far_deg: Array = 3.0  # (...)
    aspect: Array = 0.0  # (...) by which share noise is larger where the target's x axis looks away
    _sigmas: Array = field(init=False, repr=False)  # (..., 7) floor, fraction, near, far, sigmas there, aspect [m, rad]

    noise_size: ClassVar[int] = 8  # attitude, position, outlier, drop-out
    H_bias: ClassVar[Array] = np.zeros((6, 0))

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("near_m", "far_m", "sigma_near_deg", "sigma_far_deg", "aspect"):
            store(self, **{name: check.non_negative(name, getattr(self, name))})
        if np.any(self.far_m <= self.near_m):
            raise InputError(f"far_m: {np.min(self.far_m):g} is not beyond near_m")
        sigmas = np.radians(self.sigma_near_deg), np.radians(self.sigma_far_deg)
        store(self, _sigmas=stacked(self.sigma_m, self.sigma_fraction, self.near_m, self.far_m, *sigmas, self.aspect))

    def measure(self, truth: Any, env: Any, noise: Array) -> Measurement:
        """Measure the pose of the target `truth` from the observer `env`."""
        parameters, dq_IS = (self._sigmas, self._view, self._chances), self._sensor_pose(env)
        z, valid = _measure(dq_IS, truth.dq_IB, *parameters, noise)
        return Measurement(z, self._lit(dq_IS, env, valid) != 0.0)

    def predict(self, x: Any, env: Any) -> Prediction:
        """Predict the measurement; H = [1, 0], and R belongs to the predicted range."""
        z, R = _predict(self._sensor_pose(env), x.dq_IB, self._sigmas)
        return Prediction(z, np.eye(6, 12), R)

    def placed(self, z: Array, env: Any) -> Array:
        """Return dq_IT as a measurement says."""
        return dual_quaternion.mul(self._sensor_pose(env), z)

    def residual(self, z: Array, z_predicted: Array) -> Array:
        """Return the twist of z_predicted* z, target axes; zero where z is not valid."""
        return _residual(z, z_predicted)


def _attitude_sigma(r_S, noise):
    """Return the standard deviation of the attitude, linear in the range between near and far."""
    near, far, sigma_near, sigma_far, _ = noise
    t = minimum(maximum((np.sqrt(r_S @ r_S) - near) / (far - near), 0.0), 1.0)
    return sigma_near + t * (sigma_far - sigma_near)


def _seen(dq_IS, dq_IT, sigmas):
    """Return the target's pose and position in the sensor, and the standard deviations of attitude and position."""
    dq_ST = dual_quaternion.mul(dual_quaternion.conj(dq_IS), dq_IT)
    r_S = dual_quaternion.to_pose(dq_ST)[1]
    facing = -(quaternion.rotate(dq_ST[:4], array([1.0, 0.0, 0.0])) @ r_S) / maximum(np.sqrt(r_S @ r_S), 1e-9)
    growth = 1.0 + 0.5 * sigmas[6] * (1.0 - facing)
    return dq_ST, r_S, growth * _attitude_sigma(r_S, sigmas[2:]), growth * position_sigma(r_S, sigmas[:2])


@batched("(8),(8),(7),(2),(3),(8)->(8),()")
def _measure(dq_IS, dq_IT, sigmas, view, chances, noise):
    dq_ST, r_S, rotation, translation = _seen(dq_IS, dq_IT, sigmas)
    factor, kept = luck(noise[6:], chances)
    twist = np.concatenate([(factor * rotation) * noise[:3], (factor * translation) * noise[3:6]])
    return reading(dual_quaternion.mul(dq_ST, dual_quaternion.exp(twist)), in_view(r_S, view) & kept)


@batched("(8),(8),(7)->(8),(6,6)")
def _predict(dq_IS, dq_IT, sigmas):
    dq_ST, _, rotation, translation = _seen(dq_IS, dq_IT, sigmas)
    one, nil = identity(3), zeros(3, 3)
    return dq_ST, block([[rotation * rotation * one, nil], [nil, translation * translation * one]])


@batched("(8),(8)->(6)")
def _residual(z, z_predicted):
    none = z @ z == 0.0
    difference = dual_quaternion.mul(dual_quaternion.conj(z_predicted), z)
    return dual_quaternion.log(where(none, array(list(ALIGNED)), difference))


class RelativePosePart(RelativeSensorPart):
    """A camera or lidar that measures the pose of another craft."""

    kind: Literal["relative-pose"] = "relative-pose"
    near_m: NonNegative = 5.0
    """Up to there the attitude is measured best."""
    far_m: Positive = 50.0
    """From there on it is measured worst."""
    sigma_near_deg: Positive = 0.5
    """Noise of the attitude about each axis, near."""
    sigma_far_deg: Positive = 3.0
    """The same, far."""
    aspect: NonNegative = 0.0
    """By which share all noise is larger where the target's x axis, that of its port say, looks away."""

    def belief(self) -> RelativePose:
        """Return the sensor without misalignment."""
        own = {key: getattr(self, key) for key in ("near_m", "far_m", "sigma_near_deg", "sigma_far_deg", "aspect")}
        return RelativePose(**self._options(), **own)
