"""Range and bearing of a target: a radar, or a camera with a rangefinder."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from gnc import check, dual_quaternion, quaternion
from gnc.batch import batched
from gnc.config import Positive
from gnc.linalg import array, block, identity, zeros
from gnc.models.parameters import store
from gnc.models.sensors.error_state import padded
from gnc.models.sensors.interface import Measurement, Prediction
from gnc.models.sensors.relative import RelativeSensor, RelativeSensorPart, in_view, luck, position_sigma, stacked
from gnc.models.sensors.validity import reading

Array = Any


@dataclass(frozen=True, eq=False, kw_only=True)
class RangeBearing(RelativeSensor):
    """Reads z = [|r|, x/|r|, y/|r|] + noise of r = r_ST, sensor axes: the range, and the sines across the boresight."""

    sigma_deg: Array = 0.1  # (...) of the bearing
    _sigmas: Array = field(init=False, repr=False)  # (..., 3) floor and fraction of the range, of the bearing [rad]

    noise_size: ClassVar[int] = 5  # range, bearing, outlier, drop-out
    bias_size: ClassVar[int] = 0
    H_bias: ClassVar[Array] = np.zeros((3, 0))

    def __post_init__(self) -> None:
        """Validate once; the kernels do not."""
        super().__post_init__()
        store(self, sigma_deg=check.non_negative("sigma_deg", self.sigma_deg))
        store(self, _sigmas=stacked(self.sigma_m, self.sigma_fraction, np.radians(self.sigma_deg)))

    def measure(self, truth: Any, env: Any, noise: Array) -> Measurement:
        """Measure the target `truth` from the observer `env`."""
        dq_IS = self._sensor_pose(env)
        z, valid = _measure(dq_IS, truth.dq_IB, self._sigmas, self._view, self._chances, noise)
        return Measurement(z, self._lit(dq_IS, env, valid) != 0.0)

    def predict(self, x: Any, env: Any) -> Prediction:
        """Predict the measurement; R belongs to the predicted range."""
        return Prediction(*_predict(self._sensor_pose(env), x.dq_IB, self._sigmas))

    def residual(self, z: Array, z_predicted: Array) -> Array:
        """Return the difference."""
        return z - z_predicted


def _seen(dq_IS, dq_IT, sigmas):
    """Return attitude and place of the target in sensor axes, what is read, and the standard deviations of that."""
    q_ST, r_S = dual_quaternion.to_pose(dual_quaternion.mul(dual_quaternion.conj(dq_IS), dq_IT))
    far = np.sqrt(r_S @ r_S)
    along = position_sigma(r_S, sigmas[:2])
    return q_ST, r_S, array([far, r_S[0] / far, r_S[1] / far]), array([along, sigmas[2], sigmas[2]])


@batched("(8),(8),(3),(2),(3),(5)->(3),()")
def _measure(dq_IS, dq_IT, sigmas, view, chances, noise):
    """Return the reading, or zeros, and whether it is valid."""
    _, r_S, z, sigma = _seen(dq_IS, dq_IT, sigmas)
    factor, kept = luck(noise[3:], chances)
    return reading(z + factor * sigma * noise[:3], in_view(r_S, view) & kept)


@batched("(8),(8),(3)->(3),(3,12),(3,3)")
def _predict(dq_IS, dq_IT, sigmas):
    """Return z, H and R: with u = r/|r|, d|r| = u.dr and d(u_x) = (e_x - u_x u).dr/|r|."""
    q_ST, r_S, z, sigma = _seen(dq_IS, dq_IT, sigmas)
    u, one = r_S / z[0], identity(3)
    slope = array([u, (one[0] - u[0] * u) / z[0], (one[1] - u[1] * u) / z[0]])
    H = block([[zeros(3, 3), slope @ quaternion.to_matrix(q_ST)]])
    return z, padded(H, 12), array([(sigma[i] * sigma[i]) * one[i] for i in range(3)])


class RangeBearingPart(RelativeSensorPart):
    """A radar, or a camera with a rangefinder: range and bearing of another craft, and nothing of its attitude."""

    kind: Literal["range-bearing"] = "range-bearing"
    reads: ClassVar[str] = "m and sines"
    half_cone_deg: Annotated[float, Field(gt=0, lt=90)] = 60.0
    """Half the field of view about the z axis."""
    sigma_deg: Positive = 0.1
    """Noise of the bearing; `sigma_m` and `sigma_fraction` are those of the range."""

    def belief(self) -> RangeBearing:
        """Return the sensor without misalignment."""
        return RangeBearing(**self._options(), sigma_deg=self.sigma_deg)
