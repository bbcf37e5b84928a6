"""What a filter of pose and twist believes, how the covariance moves, and the charts of its corrections."""

import functools
from typing import NamedTuple

import numpy as np

from gnc import dual_quaternion
from gnc.batch import sized
from gnc.estimators.conserved_chart import Unknown, pose_retract
from gnc.estimators.corrections import Space
from gnc.estimators.kalman import with_walk
from gnc.lie import se3_right_jacobian
from gnc.linalg import block, identity, zeros
from gnc.notebook import of_belief
from gnc.typing import Array


class PoseBelief(NamedTuple):
    """Estimate and covariance of every trial, and a state that sensors predict from; NaN marks a lost trial."""

    dq_IB: Array  # (..., 8)
    chi_B: Array  # (..., 6) twist [w, v] of the reference point, body axes [rad/s, m/s]
    extras: Array  # (..., k) the extra states, one after the other
    C: Array  # (..., 12 + k, 12 + k) covariance of (dxi, dchi, extras)
    watch: Array  # (..., 24) how much the filter doubts itself, see `corrections`
    idle: Array  # (...) since the last measurement [s]
    recoveries: Array  # (...) how often the covariance was inflated

    def _repr_html_(self) -> str:
        return of_belief(self)


def lost(belief: PoseBelief) -> Array:
    """Tell which trials have no belief left."""
    return ~np.isfinite(belief.dq_IB[..., 0])


@sized(lambda k: f"({12 + k},{12 + k}),(12,12),(12,12),(12,{k}),({k}),()->({12 + k},{12 + k})")
def propagation_kernel(C, F, Q, B, walk, h, *, k):
    """Return the kernel that propagates the covariance of pose, twist and k extra states, F = [[F_12, B], [0, 1]]."""
    return with_walk(block([[F, B], [zeros(k, 12), identity(k)]]), C, Q, walk, h)


def _moved(chart, unknown, p, x, d, C, C_used, given):
    """Return the state (p, x) moved by d: p exp(dxi/2) and x + dx, or in the conserved chart; and the reset."""
    if chart == "conserved":
        return pose_retract(p, x, d, C_used, given[0], unknown)
    k = len(x)
    reset = block([[se3_right_jacobian(d[:6]), zeros(6, k)], [zeros(k, 6), identity(k)]])
    return dual_quaternion.normalize(dual_quaternion.mul(p, dual_quaternion.exp(d[:6]))), x + d[6:], reset


def _spread(C, given):
    """Return the traces of the covariances of angle, position, rate and velocity, or of whatever x begins with."""
    return [C[i, i] + C[i + 1, i + 1] + C[i + 2, i + 2] for i in range(0, 12, 3)]


@functools.cache
def pose_space(chart: str = "usual", unknown: Unknown = None) -> Space:
    """Return what kernels must know of pose filters: x = (chi, extras), given the inertia M."""
    return Space(
        8, 6, "(6,6)", ("M",),
        from_inertial=lambda p: dual_quaternion.adjoint(dual_quaternion.conj(p)),
        own=lambda H, n, given: H if H.shape[1] == n else np.concatenate([H, zeros(len(H), n - H.shape[1])], axis=1),
        blind=lambda H, C: 0.0,
        bent=lambda H, C: 0.0,
        move=functools.partial(_moved, chart, unknown),
        spread=_spread,
        limits=4,
    )  # fmt: skip
