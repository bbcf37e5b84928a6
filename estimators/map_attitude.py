"""The best that can be had: the maximum a posteriori attitude from all measurements so far, as a reference in studies.

All measurements up to a time are held against the first attitude and momentum, carried to them by the process model:

    minimise  e_0 . C_0^-1 e_0 + sum_k r_k . R^-1 r_k,        e_0 on the group,   r_k = z_k - h(x_k(x_0))

by Gauss-Newton. Nothing is ever linearised at an estimate that is given up later, so that the covariance is right where
a recursive filter's is not; it costs a whole flight for every iteration. The horizon grows by half each time: the rate
is then known well enough for the next. Without process noise; torque and wheels may act if they are known.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from gnc import check, quaternion
from gnc.batch import Kernel, batched
from gnc.batch.layout import Layout
from gnc.estimators.kalman import factor, solve, symmetric_product
from gnc.estimators.process_model import Automatic
from gnc.lie import so3_right_jacobian_inverse
from gnc.linalg import block, identity, zeros
from gnc.models import rates
from gnc.models.parameters import store
from gnc.models.states import AttitudeState

Array = Any
Readings = Sequence[tuple[Any, Any]]  # (sensor, measurement) of an instant

ITERATIONS = 10
SMALL = 1e-6  # of the standard deviations: a correction that ends the iterations


class Estimate(NamedTuple):
    """Attitude and momentum at a time, with the covariance of (a, dP)."""

    q_IB: Array
    P_B: Array
    C: Array


@batched("(4),(3),(4),(3),(6,6)->(6,6),(6)")
def prior_terms(q_IB, P_B, q_prior, P_prior, information):
    """Return normal matrix and gradient of the prior at a first state."""
    a = quaternion.log(quaternion.mul(quaternion.conj(q_prior), q_IB))
    E = block([[so3_right_jacobian_inverse(a), zeros(3, 3)], [zeros(3, 3), identity(3)]])
    return symmetric_product(E.T, information), -(E.T @ (information @ np.concatenate([a, P_B - P_prior])))


@functools.cache
def adding_kernel(predict: Kernel) -> Kernel:
    """Return the kernel N, g, F, q, arguments, z, valid -> N, g that adds a measurement; q, arguments -> z, H, R."""
    m = predict.layout.outs[0][0]
    own = "".join(f"({','.join(map(str, core))})," for core in predict.layout.ins[1:])

    def add(N, g, F, q_IB, *more):
        *arguments, z, valid = more
        expected, H, R = predict(q_IB, *arguments)
        slope = H[:, :3] @ F[:3]
        weighted = solve(*factor(R)[:2], np.concatenate([slope, (z - expected).reshape(m, 1)], axis=1)) * valid
        return N + slope.T @ weighted[:, :6], g + slope.T @ weighted[:, 6]

    names = ("N", "g", "F", "q_IB", *predict.layout.names[1:], "z", "valid")
    return Kernel(add, Layout.parse(f"(6,6),(6),(6,6),(4),{own}({m}),()->(6,6),(6)", names))


@batched("(4),(3),(6)->(4),(3)")
def moved(q_IB, P_B, d):
    """Return the first state moved by d."""
    return quaternion.normalize(quaternion.mul(q_IB, quaternion.exp(d[:3]))), P_B + d[3:]


@batched("(6,6),(6,6)->(6,6)")
def product(A, B):
    """Return A B."""
    return A @ B


@dataclass(frozen=True, eq=False)
class MapAttitude:
    """Parameters of the problem: a body of inertia J, sampled every h."""

    J: Array  # (..., 3, 3)
    h: float
    tau_B: Array = (0.0, 0.0, 0.0)  # known, constant in body axes
    rho_B: Array = (0.0, 0.0, 0.0)
    process: Automatic = field(init=False, repr=False)

    def __post_init__(self) -> None:
        """Validate once."""
        store(self, J=check.inertia("J", self.J), tau_B=np.asarray(self.tau_B, float))
        store(self, rho_B=np.asarray(self.rho_B, float), process=Automatic(self.J))

    def estimates(
        self, x: AttitudeState, C: Array, readings: Sequence[Readings], times: Sequence[int]
    ) -> list[Estimate]:
        """Return the estimates at some times, given in samples and ascending; `readings[k]` came at (k + 1) h.

        x and C are what is known at the start, C over (a, dw).
        """
        T = np.zeros((*np.shape(self.J)[:-2], 6, 6))
        T[..., :3, :3], T[..., 3:, 3:] = np.eye(3), self.J
        C = np.asarray(T @ C @ np.swapaxes(T, -1, -2))
        prior = np.asarray(x.q_IB), rates.to_momentum(x.w_B, self.J, self.rho_B)
        first, horizon, results = prior, 1, []
        for time in times:
            while horizon < time:
                first, _ = self._solved(first, prior, C, readings[:horizon])
                horizon = max(horizon + 1, horizon * 3 // 2)
            horizon = time
            first, (q_IB, P_B, F, N) = self._solved(first, prior, C, readings[:time])
            results.append(Estimate(q_IB, P_B, F @ np.linalg.inv(N) @ np.swapaxes(F, -1, -2)))
        return results

    def _solved(self, first: Any, prior: Any, C: Array, readings: Sequence[Readings]) -> tuple[Any, Any]:
        """Return the first state that fits the measurements best, and where it leads to: state, F and N."""
        information = np.linalg.inv(C)
        for _ in range(ITERATIONS):
            *end, N, g = self._flown(first, prior, information, C, readings)
            d = np.linalg.solve(N, g[..., None])[..., 0]
            if not np.any(np.einsum("...i,...ij,...j->...", d, N, d) > SMALL**2):
                break
            first = moved(*first, d)
        return first, (*end, N)

    def _flown(self, first: Any, prior: Any, information: Array, C: Array, readings: Sequence[Readings]) -> Any:
        """Fly through all measurements; return the last state, F from the first, normal matrix and gradient."""
        (q_IB, P_B), F = first, np.eye(6)
        N, g = prior_terms(*first, *prior, information)
        given = self.tau_B, self.J, self.rho_B, self.rho_B, self.h
        for instant in readings:
            q_IB, P_B, F_step = self.process.transition(q_IB, P_B, C, *given)
            F = product(F_step, F)
            for sensor, (z, valid) in instant:
                kernel, arguments = sensor.expected(6, None)
                N, g = adding_kernel(kernel)(N, g, F, q_IB, *arguments, z, np.asarray(valid, float))
        return q_IB, P_B, F, N, g
