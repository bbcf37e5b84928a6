"""What is random about a trial before it flies, from (seed, trial, name) and nothing else."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from gnc import noise, quaternion
from gnc.batch import batched
from gnc.errors import InputError
from gnc.linalg import array, identity

Array = Any


def column(x: Any) -> Array:
    """Return a number, or one per trial, so that it multiplies vectors."""
    return np.asarray(x, float)[..., None]


@dataclass(frozen=True)
class Draws:
    """The draws of some trials; scales are numbers, or one per trial where they are dispersed.

    Names begin with `prefix`, which tells the draws of several craft apart. `drawn` collects what each trial was given,
    by name, for the table of trials.
    """

    seed: int
    trials: Array  # (n,) their numbers
    prefix: str = ""
    drawn: dict[str, Array] = field(default_factory=dict, repr=False, compare=False)
    _names: set[str] = field(default_factory=set, repr=False, compare=False)

    def within(self, prefix: str) -> Draws:
        """Return the same draws under names that begin with a prefix."""
        return replace(self, prefix=f"{self.prefix}{prefix}")

    def normal(self, name: str, shape: int | tuple[int, ...] = ()) -> Array:
        """Return standard normal numbers (n, *shape)."""
        return self._noted(name, self._normal(name, shape))

    def stream(self, name: str, size: int) -> noise.Stream:
        """Return standard normal numbers as the flight needs them."""
        return noise.Stream(self.seed, self.trials, self._once(name), size)

    def direction(self, name: str) -> Array:
        """Return unit vectors, uniform on the sphere."""
        return self._noted(name, _unit(self._normal(name, 3)))

    def vector(self, name: str, sigma: Any, size: int = 3) -> Array:
        """Return normal vectors of this standard deviation about each axis."""
        values = column(sigma) * self._normal(name, size)
        return self._noted(name, values) if np.any(sigma) else values

    def near(self, name: str, q: Array, sigma_deg: Any) -> Array:
        """Return attitudes about q, turned by a rotation vector normal about each axis."""
        return quaternion.mul(q, quaternion.exp(self.vector(name, np.radians(sigma_deg))))

    def inertia(self, name: str, J: Array, percent: Any) -> Array:
        """Return inertias about J that bodies can have, moments and axes off by about so many per cent.

        The matrix S = tr(J)/2 1 - J of second moments is positive definite for bodies only; it becomes A S A^T with A
        normal about unity.
        """
        values = _deformed(J, np.eye(3) + 0.005 * column(column(percent)) * self._normal(name, (3, 3)))
        return self._noted(name, values) if np.any(percent) else values

    def _normal(self, name: str, shape: int | tuple[int, ...]) -> Array:
        return noise.normal(self.seed, self.trials, self._once(name), shape)

    def _once(self, name: str) -> str:
        """The whole name; of two parts that draw by one name the second would be given the first one's numbers."""
        name = f"{self.prefix}{name}"
        if name in self._names:
            raise InputError(f"{name!r} is drawn twice, and would be the same; give the part of that name another one")
        self._names.add(name)
        return name

    def _noted(self, name: str, values: Array) -> Array:
        """Keep what the trials were given."""
        self.drawn[f"{self.prefix}{name}"] = values
        return values


@batched("(3)->(3)")
def _unit(v):
    return v / np.sqrt(v @ v)


@batched("(3,3),(3,3)->(3,3)")
def _deformed(J, A):
    """Return the inertia of a body stretched by A."""
    S = A @ ((0.5 * (J[0, 0] + J[1, 1] + J[2, 2])) * identity(3) - J) @ A.T
    S = 0.5 * (S + S.T)
    return array((S[0, 0] + S[1, 1] + S[2, 2]) * identity(3) - S)
