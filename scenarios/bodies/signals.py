"""What is recorded of a body under pose control."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from gnc import dual_quaternion
from gnc.batch import batched
from gnc.estimators import consistency
from gnc.estimators.pose_belief import PoseBelief
from gnc.history import Signal
from gnc.linalg import array

Array = Any
DEGREES = 180.0 / np.pi

POSE_SIGNALS = {
    "q_IB": Signal("1", "true attitude, body to inertial, scalar first"),
    "r_IB_m": Signal("m", "true position, inertial axes"),
    "attitude_error_deg": Signal("deg", "true attitude against the reference, rotation vector, body axes"),
    "position_error_m": Signal("m", "true position against the reference, body axes"),
    "knowledge_error_deg": Signal("deg", "true attitude against the estimate, rotation vector, body axes"),
    "knowledge_error_m": Signal("m", "true position against the estimate, body axes"),
    "sigma_deg": Signal("deg", "what the filter believes of its attitude error, one sigma, body axes"),
    "sigma_m": Signal("m", "what the filter believes of its position error, one sigma, body axes"),
    "nees": Signal("1", "normalised error of pose and twist, over its 12 dimensions"),
    "force_N": Signal("N", "commanded force, body axes"),
    "torque_Nm": Signal("N m", "commanded torque about the body's origin, body axes"),
    "momentum_gap": Signal("1", "momentum less start and impulses, over all that was handled"),
}


def pose_values(dq_IB: Array, chi_B: Array, belief: PoseBelief, dq_IR: Array, wrench_B: Array) -> Mapping[str, Any]:
    """Return the values of the pose signals, without the books."""
    attitude, position = _off(dq_IR, dq_IB)
    known, placed = _off(belief.dq_IB, dq_IB)
    error = np.concatenate([dual_quaternion.log(_between(belief.dq_IB, dq_IB)), chi_B - belief.chi_B], axis=-1)
    sigma = _sigma6(belief.C[..., :6, :6])
    q_IB, r_IB = dual_quaternion.to_pose(dq_IB)
    return {
        **{"q_IB": q_IB, "r_IB_m": r_IB, "attitude_error_deg": attitude, "position_error_m": position},
        **{"knowledge_error_deg": known, "knowledge_error_m": placed},
        **{"sigma_deg": DEGREES * sigma[..., :3], "sigma_m": sigma[..., 3:]},
        "nees": consistency.nees(error, belief.C[..., :12, :12]) / 12.0,
        **{"torque_Nm": wrench_B[..., :3], "force_N": wrench_B[..., 3:]},
    }


@batched("(8),(8)->(8)")
def _between(dq_from, dq_to):
    return dual_quaternion.mul(dual_quaternion.conj(dq_from), dq_to)


@batched("(8),(8)->(3),(3)")
def _off(dq_from, dq_to):
    """Return the rotation vector [deg] and the displacement [m] from one pose to another, axes of the second."""
    back = dual_quaternion.mul(dual_quaternion.conj(dq_to), dq_from)
    return -DEGREES * dual_quaternion.log(back)[:3], -dual_quaternion.to_pose(back)[1]


@batched("(6,6)->(6)")
def _sigma6(C):
    return array([np.sqrt(C[i, i]) for i in range(6)])
