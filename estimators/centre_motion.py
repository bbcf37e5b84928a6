"""A free body moves evenly and turns about its centre of mass: pose, twist and their Jacobian from those of a rotation.

With `turned` any free rotation (q_IB, P_B, J, rho_B, h) -> q_IB, P_B, F of the errors (a, dP), the errors (a, r, dP, u)
of attitude, position of the centre of mass, angular momentum and inertial velocity, in body axes, move by

    a <- C a + B dP,   dP <- D dP,   r <- C (r + h u),   u <- C u                F = [[C, B], [0, D]]

which a change of the reference point makes F of (dxi, dchi). An exact rotation thus gives an exact motion, without any
limit on the step. DQVI with its filler is the same with the rotation of QVI.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gnc import dual_quaternion, quaternion, spatial
from gnc.batch import batched
from gnc.integrators import dqvi
from gnc.integrators.composition import ABA2
from gnc.integrators.pose_taylor import to_centre, to_reference
from gnc.integrators.table import attitude_method
from gnc.linalg import block, inv3, zeros
from gnc.typing import Array

NO_WHEELS = np.zeros(3)
NIL = zeros(3, 3)


def with_translation(F: Array, h: Array) -> Array:
    """Return F of (a, r, dP, u) after h from that of the rotation, of (a, dP)."""
    C, B, D = F[:3, :3], F[:3, 3:], F[3:, 3:]
    return block([[C, NIL, B, NIL], [NIL, C, NIL, h * C], [NIL, NIL, D, NIL], [NIL, NIL, NIL, C]])


@batched("(8),(6),(6,6)->(4),(3),(3,3)")
def _rotation(dq_IB, chi_B, M):
    """Return attitude, angular momentum and inertia about the centre of mass."""
    J = spatial.parts(M)[2]
    return dq_IB[:4], J @ chi_B[:3], J


@batched("(8),(6),(4),(3),(6,6),()->(8),(6)")
def _assembled(dq_IB, chi_B, q_1, P_1, M, h):
    """Return pose and twist after h from the rotation."""
    _, r_g, J = spatial.parts(M)
    v_I = quaternion.rotate(dq_IB[:4], spatial.shift_twist(chi_B, r_g)[3:])
    r_1 = dual_quaternion.transform_point(dq_IB, r_g) + h * v_I - quaternion.rotate(q_1, r_g)
    centre_1 = np.concatenate([inv3(J) @ P_1, quaternion.inverse_rotate(q_1, v_I)])
    return dual_quaternion.from_pose(q_1, r_1), spatial.shift_twist(centre_1, -r_g)


@batched("(6),(6),(6,6),(6,6),()->(12,12)")
def _jacobian(chi_B, chi_1, F, M, h):
    """Return F of (dxi, dchi) from that of the rotation."""
    return to_reference(chi_1, M) @ with_translation(F, h) @ to_centre(chi_B, M)


def drift(turned: Callable[..., Any], dq_IB: Array, chi_B: Array, M: Array, h: Array) -> tuple[Array, Array, Array]:
    """Return pose and twist of a free body after h, and F."""
    q_IB, P_B, J = _rotation(dq_IB, chi_B, M)
    q_1, P_1, F = turned(q_IB, P_B, J, NO_WHEELS, h)
    dq_1, chi_1 = _assembled(dq_IB, chi_B, q_1, P_1, M, h)
    return dq_1, chi_1, _jacobian(chi_B, chi_1, F, M, h)


def drift_mean(dq_IB: Array, chi_B: Array, M: Array, h: Array) -> tuple[Array, Array]:
    """Return pose and twist of a free body after h, by Taylor series: exact too, and quick where h is short."""
    q_IB, P_B, J = _rotation(dq_IB, chi_B, M)
    q_1, P_1 = attitude_method("taylor10").advance(1, q_IB, P_B, NO_WHEELS, J, NO_WHEELS, h)
    return _assembled(dq_IB, chi_B, q_1, P_1, M, h)


def step(
    turned: Callable[..., Any], dq_IB: Array, chi_B: Array, wrench_B: Array, M: Array, h: Array
) -> tuple[Array, Array, Array, Array]:
    """Return pose and twist after h under a constant wrench in body axes, F and G: drifts around two half kicks (ABA2).

    Of fourth order in the wrench if that is weak, see `composition.aba2`; exact without.
    """
    h, (first, middle, last) = np.asarray(h), ABA2
    dq_IB, chi_B, F_1 = drift(turned, dq_IB, chi_B, M, first * h)
    dq_IB, chi_B, F_2 = drift(turned, dq_IB, dqvi.kick(chi_B, wrench_B, M, h), M, middle * h)
    dq_IB, chi_B, F_3 = drift(turned, dq_IB, dqvi.kick(chi_B, wrench_B, M, h), M, last * h)
    return dq_IB, chi_B, *_chained(F_1, F_2, F_3, M, h)


@batched("(12,12),(12,12),(12,12),(6,6),()->(12,12),(12,6)")
def _chained(F_1, F_2, F_3, M, h):
    """Return F and G of three drifts with half a kick between each two."""
    half = spatial.inverse(M) * (0.5 * h)
    kicked = F_2[:, 6:] @ half + np.concatenate([zeros(6, 6), half])
    return F_3 @ (F_2 @ F_1), F_3 @ kicked
