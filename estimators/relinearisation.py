"""A prediction of the attitude filter that is linearised about a better state than the estimate.

While the rate is badly known and h is long, the motion is not linear over the errors: 0.5 deg/s over 20 s are 10 deg,
and the covariance of `predict` and `update` becomes too small for good. What was measured at the end tells a better
start; the motion is then taken from there, with its F, and carries the estimate as a deviation.

The deviation and the covariance move in the errors (a, l) of `attitude_belief.inertial_error`, l that of the momentum
in inertial axes, which a free body keeps. In (a, dP) the gain is small at 0.05 Hz, and trials are lost at 0.03 Hz.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from gnc import quaternion
from gnc.batch import batched
from gnc.estimators.attitude_belief import Belief
from gnc.estimators.kalman import Innovation, propagated, symmetric_product
from gnc.lie import so3_right_jacobian, so3_right_jacobian_inverse
from gnc.linalg import block, identity, skew, zeros

if TYPE_CHECKING:
    from gnc.estimators.mekf import Mekf

Array = Any
Readings = Sequence[tuple[Any, Any]]  # (sensor, measurement)


def advance(
    mekf: Mekf, belief: Belief, tau_B: Array, h: Array, readings: Readings, env: Any, iterations: int, gated: bool
) -> tuple[Belief, list[Innovation]]:
    """Predict over h and update; every iteration moves the result back by h and begins anew about that state.

    An iterated smoother of one interval.
    """
    predicted = mekf.predict(belief, tau_B, h)
    for _ in range(iterations):
        guess, _ = _updated(mekf, predicted, readings, env, gated)
        q_0, P_0, q_1, P_1, F, Q = mekf.flown_again(guess, tau_B, h)
        q_IB, P_B, C = relinearised(belief.q_IB, belief.P_B, belief.C, q_0, P_0, q_1, P_1, F, Q)
        predicted = predicted._replace(q_IB=q_IB, P_B=P_B, C=C)
    return _updated(mekf, predicted, readings, env, gated)


def _updated(mekf: Mekf, belief: Belief, readings: Readings, env: Any, gated: bool) -> tuple[Belief, list[Innovation]]:
    innovations = []
    for sensor, measurement in readings:
        belief, innovation = mekf.update(belief, sensor, measurement, env, gated)
        innovations.append(innovation)
    return belief, innovations


def _shear(S):
    """Return [[1, 0], [S, 1]]."""
    return block([[identity(3), zeros(3, 3)], [S, identity(3)]])


def _both(A, B):
    """Return A for the attitude beside B for the momentum."""
    return block([[A, zeros(3, 3)], [zeros(3, 3), B]])


@batched("(4),(3),(6,6),(4),(3),(4),(3),(6,6),(6,6)->(4),(3),(6,6)")
def relinearised(q_IB, P_B, C, q_about, P_about, q_1, P_1, F, Q):
    """Return the belief after a step that leads from the state `about` to (q_1, P_1), with F and Q of that step.

    q^ = q_about exp(a/2), R(a) P^ = P_about + l, then (a, l) <- F_l (a, l); the covariance is taken there by J_r(a)^-1
    and R(a), moved, and taken back at the end.
    """
    a = quaternion.log(quaternion.mul(quaternion.conj(q_about), q_IB))
    turn = quaternion.exp(a)
    deviation = np.concatenate([a, quaternion.rotate(turn, P_B) - P_about])
    to_inertial = _shear(-skew(P_1))
    F = to_inertial @ F @ _shear(skew(P_about))
    start = _both(so3_right_jacobian_inverse(a), quaternion.to_matrix(turn)) @ _shear(-skew(P_B))
    C = propagated(F @ start, C, 6) + symmetric_product(to_inertial, Q)
    deviation = F @ deviation
    a, turn = deviation[:3], quaternion.exp(deviation[:3])
    P_new = quaternion.inverse_rotate(turn, P_1 + deviation[3:])
    end = _shear(skew(P_new)) @ _both(so3_right_jacobian(a), quaternion.to_matrix(turn).T)
    return quaternion.normalize(quaternion.mul(q_1, turn)), P_new, symmetric_product(end, C)
