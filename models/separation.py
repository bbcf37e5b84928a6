"""Bodies that part and bodies that join, with momentum conserved.

Parting changes no velocity: both parts keep the pose and the twist of the reference point they shared, and the 6x6
inertia is divided. Joining is a perfectly inelastic capture: one twist with the momentum of the two.
Source: DQVI section V.
"""

from __future__ import annotations

from dataclasses import replace

from gnc import check, dual_quaternion, spatial
from gnc.models.pose_body import PoseBody, PoseState


def split(body: PoseBody, part: PoseBody, *, allow_unphysical: bool = False) -> tuple[PoseBody, PoseBody]:
    """Divide a body into what remains and a part, both about the body's reference point and in its axes.

    Both fly on from the body's own state. A remainder that is no rigid body's is refused unless allowed: it means that
    the part cannot have been inside the body.
    """
    M = check.inertia6("what remains of M", spatial.split(body.M, part.M), allow_unphysical=allow_unphysical)
    return replace(body, M=M, allow_unphysical=allow_unphysical), part


def join(first: PoseBody, x_1: PoseState, second: PoseBody, x_2: PoseState) -> tuple[PoseBody, PoseState]:
    """Capture the second body by the first, as docking does: one body about the first's reference point, and its state.

    The relative motion stops at once; linear and angular momentum stay, energy falls.
    """
    dq_12 = dual_quaternion.mul(dual_quaternion.conj(x_1.dq_IB), x_2.dq_IB)
    M_2 = spatial.transform_inertia(dq_12, second.M)
    mu_2 = dual_quaternion.transform_wrench(dq_12, spatial.momentum(second.M, x_2.chi_B))
    M = spatial.combine(first.M, M_2)
    chi_B = spatial.momentum(spatial.inverse(M), spatial.momentum(first.M, x_1.chi_B) + mu_2)
    unphysical = first.allow_unphysical or second.allow_unphysical
    return replace(first, M=M, allow_unphysical=unphysical), PoseState(x_1.dq_IB, chi_B)
