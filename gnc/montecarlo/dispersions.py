"""What is random in a trial: the kinds of dispersion a scenario file may ask for.

    [dispersions.mass]
    kind = "normal"
    key = "vehicle.mass_kg"
    sigma_percent = 2.0

A kind says how many uniform numbers it needs for nominal values (`dimension`) and turns them, one row per trial, into
values of its fields (`values`). The centre is the nominal value unless the dispersion states its own.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, FiniteFloat, model_validator

from gnc import check
from gnc.batch import batched
from gnc.errors import InputError
from gnc.integrators.principal import principal
from gnc.linalg import array
from gnc.quaternion import exp, from_two_vectors, mul, rotate, to_matrix
from gnc.typing import Array

Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]
Numbers = FiniteFloat | list[FiniteFloat]
Sizes = Positive | list[Positive]


class _Kind(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class _OfOneField(_Kind):
    key: str

    @property
    def keys(self) -> tuple[str, ...]:
        """The fields dispersed."""
        return (self.key,)

    def dimension(self, nominal: Sequence[Array]) -> int:
        """How many uniform numbers a trial needs: one for each number of the field."""
        return nominal[0].size


def _one_of(section: BaseModel, *choices: tuple[str, ...]) -> None:
    """Refuse anything but exactly one of the choices of fields that belong together."""
    stated = {name for choice in choices for name in choice if getattr(section, name) is not None}
    if stated not in [set(choice) for choice in choices]:
        raise ValueError(f"give exactly one of {', '.join(' and '.join(choice) for choice in choices)}")


class Normal(_OfOneField):
    """Normal about the centre, each number of an array by itself."""

    kind: Literal["normal"]
    sigma: Sizes | None = None
    sigma_percent: Sizes | None = None  # of the centre
    mean: Numbers | None = None

    @model_validator(mode="after")
    def _complete(self) -> Normal:
        _one_of(self, ("sigma",), ("sigma_percent",))
        return self

    def values(self, u: Array, nominal: Sequence[Array]) -> list[Array]:
        """Values of the field, (trials, *its shape)."""
        centre = broadcast("mean", self.mean, nominal[0])
        sigma = broadcast("sigma", self.sigma, centre)
        if self.sigma_percent is not None:
            sigma = _percent("sigma_percent", self.sigma_percent, centre)
        return [centre + sigma * standard_normal(u).reshape(-1, *centre.shape)]


class Uniform(_OfOneField):
    """Uniform from `lo` to `hi`, or within plus or minus something about the nominal value."""

    kind: Literal["uniform"]
    lo: Numbers | None = None
    hi: Numbers | None = None
    plus_minus: Sizes | None = None
    plus_minus_percent: Sizes | None = None  # of the nominal value

    @model_validator(mode="after")
    def _complete(self) -> Uniform:
        _one_of(self, ("lo", "hi"), ("plus_minus",), ("plus_minus_percent",))
        if self.lo is not None and not np.all(np.asarray(self.lo) < np.asarray(self.hi)):
            raise ValueError(f"lo = {self.lo} is not below hi = {self.hi}")
        return self

    def values(self, u: Array, nominal: Sequence[Array]) -> list[Array]:
        """Values of the field, (trials, *its shape)."""
        centre = nominal[0]
        if self.lo is not None:
            lo, hi = broadcast("lo", self.lo, centre), broadcast("hi", self.hi, centre)
        else:
            half = broadcast("plus_minus", self.plus_minus, centre)
            if self.plus_minus_percent is not None:
                half = _percent("plus_minus_percent", self.plus_minus_percent, centre)
            lo, hi = centre - half, centre + half
        return [lo + (hi - lo) * u.reshape(-1, *centre.shape)]


class LogNormal(_OfOneField):
    """The median times exp(sigma z): never changes sign. `sigma` is that of the logarithm, about the relative one."""

    kind: Literal["log-normal"]
    sigma: Sizes
    median: Numbers | None = None

    def values(self, u: Array, nominal: Sequence[Array]) -> list[Array]:
        """Values of the field, (trials, *its shape)."""
        median = broadcast("median", self.median, nominal[0])
        _not_zero("log-normal", median)
        z = standard_normal(u).reshape(-1, *median.shape)
        return [median * exponential(broadcast("sigma", self.sigma, median) * z)]


class Discrete(_OfOneField):
    """One of several values, or of several arrays for a field that is one; equally likely unless stated."""

    kind: Literal["discrete"]
    choices: list[Any] = Field(min_length=1)
    probabilities: list[Positive] | None = None

    @model_validator(mode="after")
    def _complete(self) -> Discrete:
        p = self.probabilities
        if p is not None and (len(p) != len(self.choices) or abs(sum(p) - 1.0) > 1e-9):
            raise ValueError("probabilities: give one for each choice, with sum 1")
        return self

    def dimension(self, nominal: Sequence[Array]) -> int:
        """One uniform number chooses."""
        return 1

    def values(self, u: Array, nominal: Sequence[Array]) -> list[Array]:
        """Values of the field, (trials, *its shape)."""
        options = check.finite("choices", self.choices, nominal[0].shape)
        if options.shape != (len(self.choices), *nominal[0].shape):
            raise InputError(f"choices: expected a list of {nominal[0].shape or 'numbers'}, got {options.shape}")
        chances = self.probabilities or [1.0 / len(options)] * len(options)
        which = np.searchsorted(np.cumsum(chances)[:-1], u[:, 0], side="right")
        return [options[which]]


class Correlated(_Kind):
    """Several single numbers, jointly normal with a covariance, about their nominal values."""

    kind: Literal["correlated"]
    keys: tuple[str, ...] = Field(min_length=1)
    covariance: list[list[FiniteFloat]]
    mean: list[FiniteFloat] | None = None

    def dimension(self, nominal: Sequence[Array]) -> int:
        """One uniform number for each key."""
        return len(self.keys)

    def values(self, u: Array, nominal: Sequence[Array]) -> list[Array]:
        """Values of each field, (trials,)."""
        for key, value in zip(self.keys, nominal, strict=True):
            if value.ndim:
                raise InputError(f"{key}: an array of shape {value.shape}; name its elements, as in {key}[0]")
        centre = broadcast("mean", self.mean, np.array(nominal))
        L = cholesky(check.covariance("covariance", self.covariance, len(centre)))
        z = standard_normal(u)
        return [centre[i] + sum(L[i, j] * z[:, j] for j in range(i + 1)) for i in range(len(centre))]


class Direction(_OfOneField):
    """A vector of the nominal length, uniform within a cone about the nominal direction, or on the whole sphere."""

    kind: Literal["direction"]
    cone_deg: Annotated[float, Field(gt=0, le=180)] = 180.0
    axis: list[FiniteFloat] | None = None

    def dimension(self, nominal: Sequence[Array]) -> int:
        """Height and azimuth."""
        return 2

    def values(self, u: Array, nominal: Sequence[Array]) -> list[Array]:
        """Values of the field, (trials, 3)."""
        nominal_vector = check.vector(self.key, nominal[0], 3)
        axis = nominal_vector if self.axis is None else check.vector("axis", self.axis, 3)
        if not axis.any():
            raise InputError("axis: a zero vector has no direction; state `axis`")
        return [in_cone(u, axis, np.radians(self.cone_deg))]


class Attitude(_OfOneField):
    """A quaternion, uniform on all attitudes, or the nominal turned by normal angles `sigma_deg` about body axes."""

    kind: Literal["attitude"]
    sigma_deg: Sizes | None = None

    def dimension(self, nominal: Sequence[Array]) -> int:
        """Three numbers make an attitude."""
        return 3

    def values(self, u: Array, nominal: Sequence[Array]) -> list[Array]:
        """Values of the field, (trials, 4)."""
        q = check.unit_quaternion(self.key, nominal[0])
        if self.sigma_deg is None:
            return [any_attitude(u)]
        sigma_rad = np.radians(broadcast("sigma_deg", self.sigma_deg, np.zeros(3)))
        return [turned(q, sigma_rad * standard_normal(u))]


class Inertia(_OfOneField):
    """An inertia matrix that stays one of a rigid body: second moments of mass scaled, principal axes turned.

    Second moments d (J_1 = d_2 + d_3 and so on round) are multiplied by exp(s z): positive, so that the triangle
    inequality always holds. s is such that the relative standard deviations of the three principal moments have the
    root mean square `sigma_percent`, to first order. `tilt_deg` is the standard deviation of the turn about each axis.
    """

    kind: Literal["inertia"]
    sigma_percent: Annotated[float, Field(ge=0, le=50)]
    tilt_deg: Annotated[float, Field(ge=0, le=180)] = 0.0

    def dimension(self, nominal: Sequence[Array]) -> int:
        """Three second moments and three angles."""
        return 6

    def values(self, u: Array, nominal: Sequence[Array]) -> list[Array]:
        """Values of the field, (trials, 3, 3)."""
        moments, axes = principal(check.inertia(self.key, nominal[0]))
        d = np.maximum(0.5 * moments.sum() - moments, 0.0)  # of a plate one is zero, up to round-off
        shares = [(d[j] ** 2 + d[k] ** 2) / (d[j] + d[k]) ** 2 for j, k in ((1, 2), (2, 0), (0, 1))]
        s = 0.01 * self.sigma_percent / np.sqrt(sum(shares) / 3.0)
        z = standard_normal(u)
        phi = np.radians(self.tilt_deg) * z[:, 3:]
        return [inertia(d * exponential(s * z[:, :3]), axes, phi)]


def _percent(name: str, percent: Any, centre: Array) -> Array:
    _not_zero(name, centre)
    return 0.01 * broadcast(name, percent, centre) * np.abs(centre)


def _not_zero(name: str, centre: Array) -> None:
    if not np.all(centre):
        raise InputError(f"{name}: the value dispersed is zero, so it would not change; give an absolute size")


Dispersion = Annotated[
    Normal | Uniform | LogNormal | Discrete | Correlated | Direction | Attitude | Inertia, Field(discriminator="kind")
]
Dispersions = dict[str, Dispersion]  # the table [dispersions] of a scenario file, name by name


LEAST, MOST = (
    2.0**-54,
    1.0 - 2.0**-53,
)  # half the least number drawn and the greatest below 1: normal numbers stay finite


def standard_normal(u: Array) -> Array:
    """Standard normal numbers from uniform ones, by the inverse of the distribution function."""
    from scipy.special import ndtri  # here: takes as long to load as a short flight

    return ndtri(np.clip(u, LEAST, MOST))


def exponential(x: Array) -> Array:
    """Exp of each number by itself: NumPy's own may differ in the last bit with the place in the array."""
    return np.array([math.exp(value) for value in x.ravel()]).reshape(x.shape)


def cholesky(C: Array) -> Array:
    """L with C = L L^T of a positive semi-definite matrix; written out, since LAPACK's last bits depend on the machine.

    A pivot lost in round-off is zero, and its column with it: that number is a combination of those before.
    """
    n = len(C)
    L = np.zeros_like(C)
    for j in range(n):
        pivot = C[j, j] - sum(L[j, k] ** 2 for k in range(j))
        if pivot <= 1e-14 * C[j, j]:
            continue
        L[j, j] = math.sqrt(pivot)
        for i in range(j + 1, n):
            L[i, j] = (C[i, j] - sum(L[i, k] * L[j, k] for k in range(j))) / L[j, j]
    return L


def broadcast(name: str, value: Any, like: Array) -> Array:
    """One number for all, or one for each: an array of the shape of `like`, which also stands in for None."""
    numbers = like if value is None else np.asarray(value, dtype=np.float64)
    if numbers.shape not in ((), like.shape):
        raise InputError(f"{name}: {numbers.shape} numbers for a field of {like.shape or 'one number'}")
    return np.broadcast_to(numbers, like.shape)


@batched("(2),(3),()->(3)")
def in_cone(u, axis, cone_rad):
    """Return a direction uniform on the cap within `cone_rad` of `axis`, as long as the axis; pi is the sphere.

    The height 1 - cos(angle) is uniform (Archimedes), here 2 sin^2(angle/2), which does not cancel in a narrow cone.
    """
    half = np.sin(0.5 * cone_rad)
    fall = 2.0 * u[0] * half * half
    side, azimuth = np.sqrt(fall * (2.0 - fall)), 2.0 * math.pi * u[1]
    local = array([side * np.cos(azimuth), side * np.sin(azimuth), 1.0 - fall])
    return np.sqrt(axis @ axis) * rotate(from_two_vectors(array([0.0, 0.0, 1.0]), axis), local)


@batched("(3)->(4)")
def any_attitude(u):
    """Return an attitude uniform on SO(3). Source: Shoemake, "Uniform random rotations", Graphics Gems III, 1992."""
    a, b = np.sqrt(1.0 - u[0]), np.sqrt(u[0])
    s, t = 2.0 * math.pi * u[1], 2.0 * math.pi * u[2]
    return array([b * np.cos(t), a * np.sin(s), a * np.cos(s), b * np.sin(t)])


@batched("(4),(3)->(4)")
def turned(q_AB, phi_B):
    """Return an attitude turned by a rotation vector in body axes."""
    return mul(q_AB, exp(phi_B))


@batched("(3),(3,3),(3)->(3,3)")
def inertia(second, axes, phi):
    """Return the inertia of a body whose second moments of mass along its principal axes are `second` >= 0.

    J_1 = second_2 + second_3 and so on round: the triangle inequality holds because second moments are not negative.
    The axes (columns) are turned by the rotation vector `phi`.
    """
    A = to_matrix(exp(phi)) @ axes
    moments = array([second[1] + second[2], second[2] + second[0], second[0] + second[1]])
    J = array([[sum(A[i, k] * moments[k] * A[j, k] for k in range(3)) for j in range(3)] for i in range(3)])
    return 0.5 * (J + J.T)
