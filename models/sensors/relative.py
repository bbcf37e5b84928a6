"""What sensors share that look from an observer at a target.

The state x is the target's (its `dq_IB` is dq_IT), and the environment is the observer's state, with a `dq_IB` of its
own; None puts the observer at the inertial origin. The sensor sits at dq_BS on the observer and looks along its z axis.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from typing import Annotated, Any

import numpy as np
from pydantic import Field

from gnc import check, dual_quaternion, quaternion
from gnc.batch import batched, maximum, where
from gnc.config import NonNegative, Positive, Vector3
from gnc.draws import Draws
from gnc.errors import InputError
from gnc.models.parameters import between, limit, store
from gnc.models.sensors.part import MountedSensorPart
from gnc.models.sensors.validity import within_cone

Array = Any

ALIGNED = (1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
NO_TWIST = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0)


@dataclass(frozen=True, eq=False, kw_only=True)
class RelativeSensor:
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
        """Validate once; the kernels do not."""
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
        """Return dq_IS."""
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
