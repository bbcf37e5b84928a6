"""Three-axis magnetometer."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

import numpy as np

from gnc import check, quaternion
from gnc.batch import Kernel, batched, sized
from gnc.config import NonNegative, Vector3
from gnc.draws import Draws
from gnc.linalg import identity, skew
from gnc.models.parameters import each, limit, store
from gnc.models.sensors.interface import (
    ALIGNED,
    ZERO,
    BiasedSensor,
    Measurement,
    Prediction,
    all_below,
    attitude,
    columns,
    in_body,
    padded,
    reading,
    sensitivity,
    store_mounting,
)
from gnc.models.sensors.part import ThreeAxisPart

Array = Any
SYMMETRIC = np.array([[0, 3, 4], [3, 1, 5], [4, 5, 2]])  # places of the six numbers of a symmetric matrix


@dataclass(frozen=True, eq=False, kw_only=True)
class Magnetometer(BiasedSensor):
    """Reads z = D_SB R_IB^T B_I + bias + noise in tesla; not valid where an axis is beyond its range.

    The noise of each axis is sigma_T and, root sum square, sigma_deg as an angle at the strength of the field.
    """

    rate_hz: float
    sigma_T: Array = 0.0  # (...) [T]
    sigma_deg: Array = 0.0  # (...) angle by which the noise of one axis turns the field
    bias: Array = ZERO  # (..., 3) sensor axes [T]
    bias_sigma: Array = 0.0  # (...) what is believed of it, each axis [T]: for filters
    bias_walk: Array = 0.0  # (...) by which it wanders [T/sqrt(s)]: for filters
    scale: Array = ZERO  # (..., 3) error of the factor of each axis
    misalignment: Array = ZERO  # (..., 3) rotation vector, sensor axes [rad]
    askew: Array = 0.0  # (...) what is believed of it, each axis [rad]: for filters
    uneven: Array = 0.0  # (..., 6) what is believed of scale and soft iron, xx, yy, zz, xy, xz, yz: for filters
    q_BS: Array = ALIGNED  # (..., 4) nominal mounting
    range_T: Array = np.inf  # (...) of each axis [T]
    soft_iron: Array = (ZERO, ZERO, ZERO)  # (..., 3, 3) what iron on board makes of the field, sensor axes
    D_SB: Array = field(init=False, repr=False)
    _sigma: Array = field(init=False, repr=False)  # [rad]

    def __post_init__(self) -> None:
        q_BS, scale = store_mounting(self), check.vector("scale", self.scale, 3)
        store(
            self,
            sigma_T=check.non_negative("sigma_T", self.sigma_T),
            sigma_deg=check.non_negative("sigma_deg", self.sigma_deg),
            bias=check.vector("bias", self.bias, 3),
            bias_sigma=check.non_negative("bias_sigma", self.bias_sigma),
            bias_walk=check.non_negative("bias_walk", self.bias_walk),
            askew=check.non_negative("askew", self.askew),
            uneven=each("uneven", self.uneven, 6, "non-negative"),
            scale=scale,
            range_T=limit("range_T", self.range_T),
            D_SB=_softened(sensitivity(q_BS, scale), check.finite("soft_iron", self.soft_iron, (3, 3))),
        )
        store(self, _sigma=np.radians(self.sigma_deg))

    def measure(self, truth: Any, env: Any, noise: Array, bias: Array | None = None) -> Measurement:
        """Measure the field; `bias` replaces the parameter where it changes in time."""
        b = self.bias if bias is None else bias
        sigmas = self.sigma_T, self._sigma
        z, valid = _measure(attitude(truth), env.B_I, self.D_SB, b, *sigmas, self.range_T, noise)
        return Measurement(z, valid != 0.0)

    def predict(self, x: Any, env: Any, bias: Array | None = None) -> Prediction:
        """Predict the measurement; H = [D_SB [b_B], 0]."""
        b = self.bias if bias is None else bias
        return Prediction(*_predict(columns(x))(attitude(x), env.B_I, self.D_SB, b, self.sigma_T, self._sigma))

    def expected(self, n: int, env: Any) -> tuple[Kernel, tuple[Array, ...]]:
        """Return `predict` as a kernel (q_IB, *arguments) -> z, H, R over n error states, and its arguments."""
        return _predict(n), (env.B_I, self.D_SB, self.bias, self.sigma_T, self._sigma)

    def in_body(self, z: Array, bias: Array | None = None) -> Array:
        """Return the field in body axes that gives this measurement."""
        return in_body(z, self.D_SB, self.bias if bias is None else bias)


@batched("(3,3),(3,3)->(3,3)")
def _softened(D_SB, soft):
    """Return (1 + soft) D_SB."""
    return D_SB + soft @ D_SB


def _variance(B_I, sigma_T, sigma):
    return sigma_T * sigma_T + (sigma * sigma) * (B_I @ B_I)


@batched("(4),(3),(3,3),(3),(),(),(),(3)->(3),()")
def _measure(q_IB, B_I, D_SB, bias, sigma_T, sigma, range_T, noise):
    z = D_SB @ quaternion.inverse_rotate(q_IB, B_I) + bias + np.sqrt(_variance(B_I, sigma_T, sigma)) * noise
    return reading(z, all_below(abs(z), range_T))


@sized(lambda n: f"(4),(3),(3,3),(3),(),()->(3),(3,{n}),(3,3)")
def _predict(q_IB, B_I, D_SB, bias, sigma_T, sigma, *, n):
    b_B = quaternion.inverse_rotate(q_IB, B_I)
    H = padded(D_SB @ skew(b_B), n)
    return D_SB @ b_B + bias, H, _variance(B_I, sigma_T, sigma) * identity(3)


class MagnetometerPart(ThreeAxisPart):
    """A three-axis magnetometer."""

    kind: Literal["magnetometer"] = "magnetometer"
    reads: ClassVar[str] = "T"
    needs_orbit: ClassVar[bool] = True
    sigma_deg: NonNegative = 1.0
    """Noise of each axis, as an angle at the strength of the field."""
    sigma_nT: NonNegative = 0.0
    """Noise of each axis beside that."""
    bias_nT: NonNegative = 0.0
    """True bias of each axis, one sigma over the trials, as filters know: they estimate it."""
    fixed_bias_nT: Vector3 = (0.0, 0.0, 0.0)
    """A bias that all trials have beside it, sensor axes."""
    soft_iron_percent: NonNegative = 0.0
    """What iron on board makes of the field: each entry of a symmetric matrix, one sigma over the trials; the bias is
    hard iron."""
    interference_nT_Am2: NonNegative = 0.0
    """What each torquer adds to the reading of its axis per A m^2, if torquers are on while it reads."""

    def truth(self, name: str, draws: Draws) -> Magnetometer:
        """Return the magnetometer of each trial."""
        bias = draws.vector(f"{name} bias", 1e-9 * np.asarray(self.bias_nT)) + 1e-9 * np.asarray(self.fixed_bias_nT)
        return dataclasses.replace(
            self.belief(),
            bias=bias,
            **self.errors(name, draws),
            soft_iron=draws.vector(f"{name} soft iron", 0.01 * np.asarray(self.soft_iron_percent), 6)[..., SYMMETRIC],
        )

    def belief(self) -> Magnetometer:
        """Return the magnetometer without bias and misalignment."""
        noise = {"sigma_deg": self.sigma_deg, "sigma_T": 1e-9 * np.asarray(self.sigma_nT)}
        noise["bias_sigma"] = 1e-9 * np.asarray(self.bias_nT)
        noise["askew"], soft = np.radians(self.misalignment_deg), 0.01 * np.asarray(self.soft_iron_percent)
        noise["uneven"] = np.array([np.hypot(0.01 * np.asarray(self.scale_percent), soft)] * 3 + [soft] * 3)
        return Magnetometer(rate_hz=self.rate, q_BS=self.q_BS, **noise)
