"""QVI section IX.B: a rigid body with a Kane damper, by our methods and by SciPy's."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from gnc import quaternion
from gnc.integrators import scipy_solvers
from gnc.models.damped_body import DampedBody, DampedState

Array = NDArray[Any]

J, J_D = np.diag([1.0, 2.0, 3.0]), 0.2
W0 = np.array([np.pi / 4, -np.pi / 5, np.pi / 6])
UNIT = np.array([1.0, 0, 0, 0])
START = DampedState(UNIT, W0, W0)  # the ball at rest in the body
H = 0.3


def body(C: float, order: int) -> DampedBody:
    """The body and its damper; order 1 is the paper's method."""
    return DampedBody(J, J_D, C, order=order)


def solve(
    method: str,
    C: float,
    t: Array,
    q_IB: Array = UNIT,
    rtol: float = scipy_solvers.RTOL,
    atol: float = scipy_solvers.ATOL,
) -> tuple[DampedState, int]:
    """The same run by one of SciPy's solvers, and the number of its steps."""
    parameters = (J, J_D, C, np.zeros(3), t)
    x = scipy_solvers.solve_damped(method, q_IB, J @ W0, J_D * W0, *parameters, rtol=rtol, atol=atol)
    state = DampedState(quaternion.normalize(x.q_IB), np.linalg.solve(J, x.P_B.T).T, x.P_D / J_D)
    return state, x.steps


def off_deg(q_IB: Array, truth_IB: Array) -> Array:
    """The attitude error."""
    return np.degrees(quaternion.angle_between(q_IB, truth_IB))
