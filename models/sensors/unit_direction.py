"""A direction whose readings have unit length: two numbers, across what is expected.

The length of such a reading is no measurement: with three components NIS would have three degrees of freedom where the
noise has two, gates and likelihoods would count a number that nobody measured.

    y = T(b) z,   T(b) two unit vectors across b = R_SB R_IB^T r_I,   H = T [b],   R = sigma^2 I
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any

import numpy as np

from gnc.batch import Kernel, batched, copysign
from gnc.linalg import array
from gnc.models.sensors.interface import Prediction
from gnc.models.sensors.sun_sensor import FineSunSensor
from gnc.models.sensors.vector_sensor import VectorSensor
from gnc.typing import Array


@dataclass(frozen=True, eq=False)
class UnitDirection:
    """What a filter expects of a `VectorSensor` or `FineSunSensor` whose readings are normalised."""

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


@functools.cache
def _seen(n: int) -> Kernel:
    """Return the kernel (b, H) -> T(b) H."""

    @batched(f"(3),(3,{n})->(2,{n})")
    def seen(b, H):
        return across(b) @ H

    return seen
