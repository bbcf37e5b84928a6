"""Coarse sun sensor: photodiodes on the faces of the body, whose currents go with the cosine of the Sun's angle."""

from __future__ import annotations

import dataclasses
import functools
import operator
from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from gnc import check, quaternion
from gnc.batch import maximum, sized, where
from gnc.config import NonNegative, Positive, Vector3
from gnc.draws import Draws
from gnc.linalg import array, cross, identity, solve3, zeros
from gnc.models.environment.constants import EARTH_RADIUS
from gnc.models.parameters import between, each, store, unit_vectors
from gnc.models.sensors.interface import Measurement, PlainSensor, Prediction, attitude, columns, padded, reading
from gnc.models.sensors.part import SensorPart

Array = Any

LIT_SIGMAS = 3.0  # of its noise, above which a photodiode counts as lit at first
RIDGE = 1e-9  # of the normal equations: components that no photodiode sees are zero
SIX_FACES = ((1.0, 0.0, 0.0), (-1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, -1.0, 0.0), (0.0, 0.0, 1.0), (0.0, 0.0, -1.0))


@dataclass(frozen=True, eq=False, kw_only=True)
class CoarseSunSensor(PlainSensor):
    """Reads, of every photodiode, z = (1 + scale)(1 - shadow) max(0, n_B . s_B) + bias + noise, full Sun being 1.

    The Earth, lit from above, adds albedo (R/r)^2 max(0, up . s) max(0, n . down) to each, which `predict` leaves out.
    Valid in sunlight, where at least one photodiode is lit. Misaligned photodiodes are given by their normals. An
    instrument that hands out the vector of cosines is a `FineSunSensor` with a large sigma.
    """

    rate_hz: float
    sigma: Array  # (...) of each photodiode
    normals_B: Array = SIX_FACES  # (..., cells, 3) unit vectors
    scale: Array = 0.0  # (..., cells) error of the factor of each, or one number for all
    bias: Array = 0.0  # (..., cells) dark current and light from the Earth, or one number for all
    bias_sigma: Array = 0.0  # (...) what is believed of it: for filters
    albedo: Array = 0.0  # (...) of the Earth, whose light flight software takes for the Sun's
    max_shadow: Array = 0.5  # (...) hidden fraction of the Sun up to which it is used
    _R: Array = field(init=False, repr=False)

    def __post_init__(self) -> None:
        normals_B = unit_vectors("normals_B", self.normals_B)
        cells, sigma = normals_B.shape[-2], check.non_negative("sigma", self.sigma)
        store(
            self,
            rate_hz=float(check.positive("rate_hz", self.rate_hz)),
            normals_B=normals_B,
            sigma=sigma,
            scale=each("scale", self.scale, cells),
            bias=each("bias", self.bias, cells),
            bias_sigma=check.non_negative("bias_sigma", self.bias_sigma),
            albedo=between("albedo", self.albedo, 0.0, 1.0),
            max_shadow=between("max_shadow", self.max_shadow, 0.0, 1.0),
            _R=sigma[..., None, None] ** 2 * np.eye(cells),
        )

    @property
    def noise_size(self) -> int:  # type: ignore[override]
        """One number per photodiode."""
        return self.normals_B.shape[-2]

    @property
    def bias_size(self) -> int:  # type: ignore[override]
        """One number per photodiode."""
        return self.noise_size

    @property
    def H_bias(self) -> Array:
        """The bias is added."""
        return np.eye(self.bias_size)

    def measure(self, truth: Any, env: Any, noise: Array, bias: Array | None = None) -> Measurement:
        """Measure the currents; `bias` replaces the parameter where it changes in time."""
        cells = self.normals_B, self.scale, self.bias if bias is None else bias
        if np.any(self.albedo > 0.0):
            lit = _earthlit(self.noise_size)(attitude(truth), env.sun_I, env.r_I, self.normals_B, self.albedo, cells[2])
            cells = *cells[:2], lit
        masks = env.shadow, self.max_shadow
        z, valid = _measure(self.noise_size)(attitude(truth), env.sun_I, *cells, self.sigma, *masks, noise)
        return Measurement(z, valid != 0.0)

    def predict(self, x: Any, env: Any, bias: Array | None = None) -> Prediction:
        """Predict the measurement; the row of H of a lit photodiode is (1 + scale)(1 - shadow) n_B^T [s_B]."""
        cells = self.normals_B, self.scale, self.bias if bias is None else bias
        z, H = _predict(self.noise_size, columns(x))(attitude(x), env.sun_I, *cells, env.shadow)
        return Prediction(z, H, self._R)

    def in_body(self, z: Array) -> Array:
        """Return the direction of the Sun by least squares over the photodiodes that are lit, body axes."""
        return _direction(self.noise_size)(z, self.normals_B, self.scale, self.bias, self.sigma)


def _factors(cosines, scale, shadow):
    """Return the currents as factors of the cosines: zero of a photodiode that is turned away from the Sun."""
    return array([where(c > 0.0, (1.0 + s) * (1.0 - shadow), 0.0) for c, s in zip(cosines, scale, strict=True)])


@sized(lambda cells: f"(4),(3),({cells},3),({cells}),({cells}),(),(),(),({cells})->({cells}),()")
def _measure(q_IB, sun_I, normals_B, scale, bias, sigma, shadow, max_shadow, noise):
    cosines = normals_B @ quaternion.inverse_rotate(q_IB, sun_I)
    lit = functools.reduce(operator.or_, [cosine > 0.0 for cosine in cosines])
    z = _factors(cosines, scale, shadow) * cosines + bias + sigma * noise
    return reading(z, lit & (shadow <= max_shadow))


def _least_squares(light, normals_B, lit):
    """Return the vector s of least squares n . s = light over the photodiodes that are lit."""
    N, b = RIDGE * identity(3), zeros(3)
    for cell, normal, there in zip(light, normals_B, lit, strict=True):
        counts = where(there, 1.0, 0.0)
        N, b = N + counts * np.outer(normal, normal), b + (counts * cell) * normal
    return solve3(N, b)


@sized(lambda cells: f"({cells}),({cells},3),({cells}),({cells}),()->(3)")
def _direction(z, normals_B, scale, bias, sigma):
    """Return the least squares; where fewer than three look apart, the direction among those that do.

    Noise may light a photodiode that looks away from the Sun: the first direction tells which ones do not.
    """
    light = (z - bias) / (1.0 + scale)
    s_B = _least_squares(light, normals_B, [cell > LIT_SIGMAS * sigma for cell in light])
    s_B = _least_squares(light, normals_B, [normal @ s_B > 0.0 for normal in normals_B])
    return s_B / np.sqrt(s_B @ s_B)


@sized(lambda cells: f"(4),(3),(3),({cells},3),(),({cells})->({cells})")
def _earthlit(q_IB, sun_I, r_I, normals_B, albedo, bias):
    """Return bias and light of an Earth whose lit side counts by the height of the Sun below the craft."""
    far = np.sqrt(r_I @ r_I)
    strength = albedo * (EARTH_RADIUS / far) ** 2 * maximum((r_I @ sun_I) / far, 0.0)
    return bias + strength * maximum(-(normals_B @ quaternion.inverse_rotate(q_IB, r_I)) / far, 0.0)


@sized(lambda cells, n: f"(4),(3),({cells},3),({cells}),({cells}),()->({cells}),({cells},{n})")
def _predict(q_IB, sun_I, normals_B, scale, bias, shadow, *, n):
    s_B = quaternion.inverse_rotate(q_IB, sun_I)
    cosines = normals_B @ s_B
    factors = _factors(cosines, scale, shadow)
    H = array([factor * cross(normal, s_B) for factor, normal in zip(factors, normals_B, strict=True)])
    return factors * cosines + bias, padded(H, n)


class CoarseSunSensorPart(SensorPart):
    """Photodiodes, by default one on each face of a box."""

    kind: Literal["coarse-sun-sensor"] = "coarse-sun-sensor"
    reads: ClassVar[str] = "parts of full Sun"
    needs_orbit: ClassVar[bool] = True
    sigma: Positive = 0.02
    """Noise of each photodiode; full Sun is 1."""
    normals: tuple[Vector3, ...] = SIX_FACES
    """Where each photodiode looks, unit vectors in body axes."""
    scale_percent: NonNegative = 0.0
    """Error of the factor of each, one sigma over the trials."""
    bias: NonNegative = 0.0
    """True bias of each, one sigma over the trials, as filters know: they estimate it."""
    albedo: Annotated[float, Field(ge=0, le=1)] = 0.0
    """Of the Earth, whose light each photodiode takes for the Sun's; flight software does not know it."""
    shaping: ClassVar[frozenset[str]] = SensorPart.shaping | {"normals"}

    def truth(self, name: str, draws: Draws) -> CoarseSunSensor:
        """Return the photodiodes of each trial."""
        cells = len(self.normals)
        return dataclasses.replace(
            self.belief(),
            scale=draws.vector(f"{name} scale", 0.01 * np.asarray(self.scale_percent), cells),
            bias=draws.vector(f"{name} bias", self.bias, cells),
            albedo=self.albedo,
        )

    def belief(self) -> CoarseSunSensor:
        """Return the photodiodes without their errors."""
        believed = {"sigma": self.sigma, "bias_sigma": self.bias}
        return CoarseSunSensor(rate_hz=self.rate, normals_B=np.array(self.normals), **believed)
