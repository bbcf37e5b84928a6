"""Sharing a wrench among thrusters that push one way only."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from gnc import check
from gnc.batch import python_part
from gnc.controllers import least_cost
from gnc.errors import InputError
from gnc.models.actuators import Thrusters
from gnc.models.parameters import each, store

Array = Any

METHODS = ("fuel", "least squares")


@dataclass(frozen=True, eq=False, kw_only=True)
class ThrusterAllocation:
    """The fractions 0 <= u <= 1 of the interval that n thrusters are on, so that sum u_k wrench_k is the wanted one.

    "fuel" minimises sum cost_k u_k: a linear programme, solved for each trial by the dual simplex method along the ray
    from zero to the wanted wrench (`least_cost`, kernels). A wrench beyond reach keeps its direction and is made as
    large as it can be; a direction that no thrusters make gives none at all. "least squares" minimises
    |weights (wrench - wanted)| over u >= 0 by Lawson and Hanson's active sets, and scales all by one factor where a
    fraction is above 1: for sets that cannot make every direction. Sources: Bodson, "Evaluation of optimization
    methods for control allocation", JGCD 25 (2002) 703; Lawson and Hanson, Solving Least Squares Problems, 1974.
    """

    wrenches_B: Array  # (n, 6) [torque, force] of each at full thrust, the same for all trials
    cost: Array = 1.0  # (n), or one number for all: what full thrust costs
    method: str = "fuel"
    rows: tuple[int, ...] = (0, 1, 2, 3, 4, 5)  # which of [torque, force] are wanted; the rest is left to itself
    weights: Array = 1.0  # (rows), or one number for all: what an error in each counts, for least squares
    _prepared: tuple[Array, ...] = field(init=False, repr=False)  # what the solver of the method takes

    def __post_init__(self) -> None:
        """Validate once, and prepare what all wrenches have in common."""
        n = np.shape(self.wrenches_B)[0] if np.ndim(self.wrenches_B) == 2 else 0
        wrenches_B = check.finite("wrenches_B", self.wrenches_B, (n, 6))
        check.one_of("method", self.method, METHODS)
        if not set(self.rows) <= set(range(6)):
            raise InputError(f"rows: expected some of 0 to 5, torque first, got {self.rows!r}")
        store(self, wrenches_B=wrenches_B, cost=each("cost", self.cost, n, "positive"))
        store(self, weights=each("weights", self.weights, len(self.rows), "positive"))
        A = self._columns
        if not np.all(np.any(A != 0.0, axis=0)):
            raise InputError("wrenches_B: a thruster adds nothing to the rows that are wanted; leave it out")
        store(self, _prepared=_for_cost(A, self.cost) if self.method == "fuel" else _for_squares(A, self.weights))

    @classmethod
    def of(cls, thrusters: Thrusters, **options: Any) -> ThrusterAllocation:
        """Allocate to thrusters as they are believed to be, at the cost of their impulse."""
        return cls(wrenches_B=thrusters.wrenches_B, cost=thrusters.thrust, **options)

    @property
    def _columns(self) -> Array:
        return np.ascontiguousarray(self.wrenches_B[:, list(self.rows)].T)

    def command(self, wrench_B: Array, out: Array | None = None) -> Array:
        """Return the fractions (..., n) for the wanted rows (..., m) of a wrench in body axes.

        Where thrusters are left out (`out` 1, (..., n)), the others do what they can by least squares.
        """
        if out is None:
            return self.allocate(wrench_B)[0]
        return python_part("thruster allocation", self._among, wrench_B, out)

    def _among(self, wrench_B: Array, out: Array) -> Array:
        """Return the fractions with some thrusters left out, each trial its own."""
        u, _ = self.allocate(wrench_B)
        out = np.broadcast_to(out, u.shape) > 0.0
        for left in np.unique(out[out.any(axis=-1)], axis=0):
            rows, there = (out == left).all(axis=-1), np.flatnonzero(~left)
            u[rows] = 0.0
            if len(there):
                others = replace(
                    self,
                    wrenches_B=self.wrenches_B[there],
                    cost=self.cost[there],
                    method="least squares",
                )
                u[np.ix_(np.flatnonzero(rows), there)] = others.allocate(np.asarray(wrench_B)[rows])[0]
        return u

    def allocate(self, wrench_B: Array) -> tuple[Array, Array]:
        """Return the fractions (..., n) and by which factor (...), 1 at most, the wrench had to be scaled."""
        if self.method == "fuel":
            return least_cost.solver(*self._prepared[0].shape)(wrench_B, *self._prepared)
        return python_part("thruster allocation", self._least_squares, wrench_B)

    def _least_squares(self, wrench_B: Array) -> tuple[Array, Array]:
        from gnc.controllers import least_squares  # numba is loaded when something fires

        A, H, length = self._prepared
        b = np.reshape(np.asarray(wrench_B, float), (-1, len(self.rows)))
        u = np.empty((len(b), len(length)))
        least_squares.solve(b * self.weights, A, H, u)
        u /= length
        scale = 1.0 / np.maximum(u.max(axis=-1), 1.0)
        leading = np.shape(wrench_B)[:-1]
        return (u * scale[:, None]).reshape(*leading, -1), scale.reshape(leading)


def _for_cost(A: Array, cost: Array) -> tuple[Array, ...]:
    """Return the columns and the basis that every climb begins with."""
    m, n = A.shape
    if np.linalg.matrix_rank(A) < m:
        raise InputError(f"wrenches_B: these {n} thrusters cannot make {m} independent loads; say which by rows=...")
    return A, *least_cost.optimal_basis(A, cost)


def _for_squares(A: Array, weights: Array) -> tuple[Array, ...]:
    """Return the weighted columns at unit length, their products, and their lengths."""
    A = A * weights[:, None]
    length = np.sqrt((A * A).sum(axis=0))
    return A / length, (A / length).T @ (A / length), length
