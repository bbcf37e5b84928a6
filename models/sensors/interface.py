"""What all sensors have in common; the package's docstring tells the rules.

Where attitude and rate are in a state, and where their errors are among the columns of H.

A state with the field `q_IB` has the error (a, dw), 6 columns; one with `dq_IB` has (dxi, dchi), 12 columns, whose
first three are the same rotation a, q = q^ exp(a/2).

How a sensor sits on the body: its axes S, and three axes that are neither straight nor equally long.

A sensor is mounted at q_BS and turned away from there by the rotation vector `misalignment` (in S): its real axes are
q_BS exp(misalignment/2). One that measures a vector v along three axes with factors 1 + scale reads D_SB v_B.
"""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple, Protocol

import numpy as np

from gnc import check, quaternion
from gnc.batch import batched, maximum, minimum, where
from gnc.linalg import array, block, solve3, zeros
from gnc.models.parameters import store

Array = Any


class Measurement(NamedTuple):
    """What a sensor says."""

    z: Array  # (..., size of z) finite always; zeros where not valid
    valid: Array  # (...) bool


class Sighting(NamedTuple):
    """What a sensor says of another craft, and from where: flight software knows the pose of its own craft."""

    z: Array
    valid: Array
    observer: Any  # state of the own craft when it was taken, with dq_IB


class Vantage(NamedTuple):
    """From where, and in what light, a sensor looks at another craft."""

    dq_IB: Array  # of the own craft
    chi_B: Array
    sun_I: Array
    shadow: Array


class Prediction(NamedTuple):
    """What a filter expects a sensor to say; H and R have the leading axes they need, which broadcast to those of z."""

    z: Array  # (..., size of z)
    H: Array  # (..., m, n) derivative of the residual with respect to the error state of x
    R: Array  # (..., m, m) covariance of the noise in the residual


class Sensor(Protocol):
    """What loops and filters ask of a sensor."""

    @property
    def rate_hz(self) -> float:
        """How often it measures."""

    @property
    def latency_s(self) -> float:
        """How old a measurement is when it arrives; the loop sees to that."""

    @property
    def noise_size(self) -> int:
        """How many standard normal numbers one measurement takes."""

    @property
    def bias_size(self) -> int:
        """How many numbers its bias has; 0 if a filter has none to estimate."""

    @property
    def H_bias(self) -> Array:
        """Derivative (..., m, bias_size) of the residual with respect to the bias."""

    def measure(self, truth: Any, env: Any, noise: Array) -> Measurement:
        """Measure the truth."""

    def predict(self, x: Any, env: Any) -> Prediction:
        """Predict the measurement at a state of the filter."""

    def residual(self, z: Array, z_predicted: Array) -> Array:
        """Return the difference (..., m) on the measurement's manifold."""


class PlainSensor:
    """What most sensors are unless they say otherwise: three numbers at once, no bias, the residual the difference."""

    latency_s: float = 0.0
    noise_size: ClassVar[int] = 3
    bias_size: ClassVar[int] = 0
    H_bias: ClassVar[Array] = np.zeros((3, 0))

    def residual(self, z: Array, z_predicted: Array) -> Array:
        """Return the difference."""
        return z - z_predicted


class BiasedSensor(PlainSensor):
    """The same with a bias on each number, which a filter may estimate."""

    bias_size: ClassVar[int] = 3
    H_bias: ClassVar[Array] = np.eye(3)


Number = Any  # a kernel's number, or test


def reading(z: Any, valid: Number) -> tuple[Any, Number]:
    """Return a kernel's results of a measurement, z or zeros, and 1 or 0; what is not finite is not valid."""
    valid = valid & all_below(abs(z), np.inf)
    return where(valid, z, 0.0), where(valid, 1.0, 0.0)


def all_below(values: Any, bound: Number) -> Number:
    """Tell whether all values are below the bound; infinite ones are not below infinity."""
    below = values[0] < bound
    for value in values[1:]:
        below = below & (value < bound)
    return below


def within_cone(direction: Any, cosine: Number) -> Number:
    """Tell whether a vector is within the cone about the z axis, the boresight of every sensor that has one."""
    return direction[2] >= cosine * np.sqrt(direction @ direction)


def has_pose(x: Any) -> bool:
    """Tell whether the state is one of pose and twist."""
    return hasattr(x, "dq_IB")


def attitude(x: Any) -> Array:
    """Return q_IB."""
    return np.asarray(x.dq_IB)[..., :4] if has_pose(x) else x.q_IB


def rate(x: Any) -> Array:
    """Return w_B."""
    return np.asarray(x.chi_B)[..., :3] if has_pose(x) else x.w_B


def columns(x: Any) -> int:
    """Return the size of the error state."""
    return 12 if has_pose(x) else 6


def over_attitude(H: Array, x: Any) -> Array:
    """Return H (..., m, n) over the error state from H (..., m, 3) over a."""
    return _placed(H, 0, columns(x))


def over_rate(H: Array, x: Any) -> Array:
    """Return H (..., m, n) over the error state from H (..., m, 3) over dw."""
    return _placed(H, 6 if has_pose(x) else 3, columns(x))


def _placed(H: Array, first: int, n: int) -> Array:
    whole = np.zeros((*H.shape[:-1], n))
    whole[..., first : first + H.shape[-1]] = H
    return whole


def padded(H: Array, n: int) -> Array:
    """Return H with n columns, in a kernel: there the zeros cost less than a second array does."""
    return block([[H, zeros(len(H), n - H.shape[-1])]])


ALIGNED = (1.0, 0.0, 0.0, 0.0)  # q_BS of a sensor whose axes are the body's
ZERO = (0.0, 0.0, 0.0)


def store_mounting(sensor: Any) -> Array:
    """Check the rate and the mounting of a sensor, from its __post_init__, and return its real q_BS."""
    q_BS = check.unit_quaternion("q_BS", sensor.q_BS)
    misalignment = check.vector("misalignment", sensor.misalignment, 3)
    store(sensor, rate_hz=float(check.positive("rate_hz", sensor.rate_hz)), q_BS=q_BS, misalignment=misalignment)
    return quaternion.mul(q_BS, quaternion.exp(misalignment))


@batched("(4),(3)->(3,3)")
def sensitivity(q_BS, scale):
    """Return D_SB = diag(1 + scale) R_SB."""
    R_SB = quaternion.to_matrix(q_BS).T
    return array([(1.0 + scale[i]) * R_SB[i] for i in range(3)])


def quantized(z: Array, most: Array, quantum: Array) -> Array:
    """Return a reading in whole quanta, and at most so large, if the sensor has either."""
    return _quantized(z, most, quantum) if np.any(np.isfinite(most)) or np.any(quantum > 0.0) else z


@batched("(3),(),()->(3)")
def _quantized(z, most, quantum):
    """Return a reading in whole quanta, and at most so large."""
    step = where(quantum > 0.0, quantum, 1.0)
    whole = where(quantum > 0.0, step * np.rint(z / step), z)
    return minimum(maximum(whole, -most), most)


@batched("(3),(3,3),(3)->(3)")
def in_body(z, D_SB, bias):
    """Return the body vector that reads z: D_SB^-1 (z - bias)."""
    return solve3(D_SB, z - bias)
