"""What all sensors have in common; the package's docstring tells the rules."""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

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
