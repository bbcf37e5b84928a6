"""What a filter that carries attitude and momentum believes, and its covariance in three sets of coordinates.

The error state is (a, dP, de): q = q^ exp(a/2), P = P^ + dP the total momentum in body axes, e = e^ + de the extra
states. Where J is among them, J = J^ + dJ with dJ w = N de, the momentum P = J w + rho gives

    dP = J dw + N de        rates,            dP = (d leading momentum/d phi) dphi        increments of QVI eq. (69)

so that the covariance is known in all of them, and each propagates what the others do
(test_momentum_rates_and_increments_propagate_the_same_covariance). M = [1, -N] below.
"""

from __future__ import annotations

import functools
from typing import NamedTuple

import numpy as np

from gnc import quaternion
from gnc.batch import Kernel, batched
from gnc.estimators.kalman import symmetric_product
from gnc.integrators.qvi import increment, leading_slope
from gnc.linalg import identity, inv3, skew, solve3, zeros
from gnc.notebook import of_belief
from gnc.typing import Array


class Belief(NamedTuple):
    """Estimate and covariance of every trial; a trial whose numbers are NaN is lost."""

    q_IB: Array  # (..., 4)
    P_B: Array  # (..., 3) total angular momentum J w + rho [kg m^2/s]
    rho_B: Array  # (..., 3) that of the wheels, known [kg m^2/s]
    extras: Array  # (..., k) the extra states, one after the other
    C: Array  # (..., 6 + k, 6 + k) covariance of (a, dP, extras)
    watch: Array  # (..., 9) how much the filter doubts itself, see `recovery`
    idle: Array  # (...) since the last measurement [s]
    recoveries: Array  # (...) how often the covariance was inflated, or the trial started anew

    def _repr_html_(self) -> str:
        return of_belief(self)


def lost(belief: Belief) -> Array:
    """Tell which trials have no belief left."""
    return ~np.isfinite(belief.q_IB[..., 0])


def _placed(n: int, rows: Array) -> Array:
    """Return the unit matrix of n rows with those of the momentum replaced; rows has n - 3 columns."""
    T = identity(n)
    T[3:6] = np.concatenate([zeros(3, 3), rows], axis=1)
    return T


@functools.cache
def to_rates(n: int) -> Kernel:
    """Return the kernel C, J, M -> covariance of (a, dw, extras)."""

    @batched(f"({n},{n}),(3,3),(3,{n - 3})->({n},{n})")
    def to_rates(C, J, M):
        return symmetric_product(_placed(n, solve3(J, M)), C)

    return to_rates


@functools.cache
def from_rates(n: int) -> Kernel:
    """Return the kernel C of (a, dw, extras), J, M -> covariance of (a, dP, extras)."""

    @batched(f"({n},{n}),(3,3),(3,{n - 3})->({n},{n})")
    def from_rates(C, J, M):
        return symmetric_product(_placed(n, np.concatenate([J, -M[:, 3:]], axis=1)), C)

    return from_rates


@batched("(6,6),(3),(3,3),(3),()->(6,6)")
def to_increments(C, P_B, J, rho_B, h):
    """Return the covariance of (a, dphi), phi the increment over h that starts with momentum P."""
    slope = leading_slope(increment(P_B, J, rho_B, h), J, rho_B, h)
    return symmetric_product(_placed(6, inv3(slope)), C)


@batched("(4),(3),(6,6),(4),(3)->(6),(6,6)")
def inertial_error(q_IB, P_B, C, q_true, P_true):
    """Return the error (a, l) and its covariance, l that of the momentum R P in inertial axes, written in body axes.

    For NEES: P_true = R(a)^T (P + l) is bent in (a, dP), and in (a, l) it is not. To first order l = dP - [P] a.
    """
    a = quaternion.log(quaternion.mul(quaternion.conj(q_IB), q_true))
    T = identity(6)
    T[3:, :3] = -skew(P_B)
    l_B = quaternion.rotate(quaternion.exp(a), P_true) - P_B
    return np.concatenate([a, l_B]), symmetric_product(T, C)
