"""GNSS receiver: position and velocity."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

import numpy as np

from gnc import check, dual_quaternion, quaternion
from gnc.batch import batched
from gnc.config import NonNegative, Positive, Vector3
from gnc.draws import Draws
from gnc.linalg import block, skew, zeros
from gnc.models.parameters import store
from gnc.models.sensors.interface import BiasedSensor, Measurement, Prediction, all_below, has_pose, reading
from gnc.models.sensors.part import SensorPart

Array = Any


@dataclass(frozen=True, eq=False, kw_only=True)
class Gnss(BiasedSensor):
    """Reads z = [r_I, v_I] + [bias, 0] + noise of its antenna (metres, m/s, inertial axes), the orbit's taken off.

    Places of craft that move count from an origin on the orbit, and so does z, which is exact where both are large. A
    craft that only turns is at that origin.
    """

    rate_hz: float
    sigma_m: Array = 5.0  # (...) of each component of the position
    sigma_m_s: Array = 0.05  # (...) of each component of the velocity
    bias: Array = (0.0, 0.0, 0.0)  # (..., 3) of the position, inertial axes [m]
    bias_sigma: Array = 0.0  # (...) what is believed of it, each component [m]: for filters
    antenna_B: Array = (0.0, 0.0, 0.0)  # (3) from the body's origin [m]
    _sigma: Array = field(init=False, repr=False)  # (..., 6)

    noise_size: ClassVar[int] = 6
    H_bias: ClassVar[Array] = np.eye(6, 3)

    def __post_init__(self) -> None:
        sigmas = (check.non_negative(name, getattr(self, name)) for name in ("sigma_m", "sigma_m_s"))
        sigma = np.repeat(np.stack(np.broadcast_arrays(*sigmas), axis=-1), 3, axis=-1)
        vectors = {name: check.vector(name, getattr(self, name), 3) for name in ("bias", "antenna_B")}
        vectors["bias_sigma"] = check.non_negative("bias_sigma", self.bias_sigma)
        store(self, rate_hz=float(check.positive("rate_hz", self.rate_hz)), _sigma=sigma, **vectors)

    def measure(self, truth: Any, env: Any, noise: Array, bias: Array | None = None) -> Measurement:
        """Measure where the antenna is; `bias` replaces the parameter."""
        b = self.bias if bias is None else bias
        z, valid = _measure(*_pose(truth), self.antenna_B, b, self._sigma, noise)
        return Measurement(z, valid != 0.0)

    def predict(self, x: Any, env: Any, bias: Array | None = None) -> Prediction:
        """Predict the measurement."""
        b = self.bias if bias is None else bias
        z, H, R = _predict(*_pose(x), self.antenna_B, b, self._sigma)
        return Prediction(z, H if has_pose(x) else np.concatenate([H[..., :3], H[..., 6:9]], axis=-1), R)


def _pose(x: Any) -> tuple[Array, Array]:
    """Return pose and twist, those at the origin of a craft that only turns."""
    if has_pose(x):
        return x.dq_IB, x.chi_B
    return np.concatenate([x.q_IB, 0.0 * x.q_IB], axis=-1), np.concatenate([x.w_B, 0.0 * x.w_B], axis=-1)


def _antenna(dq_IB, chi_B, antenna_B):
    """Return position and velocity of the antenna, and the latter in body axes."""
    v_B = chi_B[3:] + np.cross(chi_B[:3], antenna_B)
    place = dual_quaternion.transform_point(dq_IB, antenna_B)
    return np.concatenate([place, quaternion.rotate(dq_IB[:4], v_B)]), v_B


@batched("(8),(6),(3),(3),(6),(6)->(6),()")
def _measure(dq_IB, chi_B, antenna_B, bias, sigma, noise):
    z = _antenna(dq_IB, chi_B, antenna_B)[0] + np.concatenate([bias, 0.0 * bias]) + sigma * noise
    return reading(z, all_below(abs(z), np.inf))


@batched("(8),(6),(3),(3),(6)->(6),(6,12),(6,6)")
def _predict(dq_IB, chi_B, antenna_B, bias, sigma):
    """Return z, H = R_IB [[-[c], 1, 0, 0], [-[v], 0, -[c], 1]] over (dxi, dchi), and R."""
    z, v_B = _antenna(dq_IB, chi_B, antenna_B)
    R_IB, nil = quaternion.to_matrix(dq_IB[:4]), zeros(3, 3)
    lever = -R_IB @ skew(antenna_B)
    H = block([[lever, R_IB, nil, nil], [-R_IB @ skew(v_B), nil, lever, R_IB]])
    variance = sigma * sigma
    R = block([[variance[0] * np.eye(3), nil], [nil, variance[3] * np.eye(3)]])
    return z + np.concatenate([bias, 0.0 * bias]), H, R


class GnssPart(SensorPart):
    """A GNSS receiver: position and velocity, inertial axes."""

    kind: Literal["gnss"] = "gnss"
    reads: ClassVar[str] = "m and m/s"
    needs_orbit: ClassVar[bool] = True
    sigma_m: Positive = 5.0
    """Noise of each component of the position."""
    sigma_m_s: Positive = 0.05
    """Noise of each component of the velocity."""
    bias_m: NonNegative = 0.0
    """True bias of each component of the position, one sigma over the trials, as filters know: they estimate it."""
    antenna_m: Vector3 = (0.0, 0.0, 0.0)
    """Where the antenna is, from the body's origin."""
    shaping: ClassVar[frozenset[str]] = SensorPart.shaping | {"antenna_m"}

    def truth(self, name: str, draws: Draws) -> Gnss:
        """Return the receiver of each trial."""
        return dataclasses.replace(self.belief(), bias=draws.vector(f"{name} bias", self.bias_m))

    def belief(self) -> Gnss:
        """Return the receiver without bias."""
        sigmas = {"sigma_m": self.sigma_m, "sigma_m_s": self.sigma_m_s, "bias_sigma": self.bias_m}
        return Gnss(rate_hz=self.rate, antenna_B=np.array(self.antenna_m), **sigmas)
