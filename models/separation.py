"""Bodies that part and bodies that join, with momentum conserved.

Parting changes no velocity: both parts keep the pose and the twist of the reference point they shared, and the 6x6
inertia is divided. Joining is a perfectly inelastic capture: one twist with the momentum of the two.
Source: DQVI section V.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from gnc import check, dual_quaternion, spatial
from gnc.batch import batched
from gnc.linalg import cross
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


@batched("(3),(3)->(6)")
def push(point_B, axis_B):
    """Return the wrench of a unit force along an axis at a point."""
    return np.concatenate([cross(point_B, axis_B), axis_B])


@batched("(6,6),(6,6),(3),(3),()->()")
def push_impulse(M_1, M_2, point_B, axis_B, energy_J):
    """Return the impulse that a spring's energy makes between two bodies: p^2/2 u.(M_1^-1 + M_2^-1) u = E."""
    u = push(point_B, axis_B)
    return np.sqrt(2.0 * energy_J / (u @ ((spatial.inverse(M_1) + spatial.inverse(M_2)) @ u)))


@batched("(6),(6,6),(6,6),(3),(3),()->(6),(6),(2)")
def pushed_apart(chi_B, M_1, M_2, point_B, axis_B, energy_J):
    """Return the twists of two bodies that a spring parts at once, and the relative errors of momentum and energy.

    All is about one origin, in the axes of the first; all of the spring's energy becomes motion.
    """
    size = lambda v: np.sqrt(v @ v)  # noqa: E731
    wrench = push_impulse(M_1, M_2, point_B, axis_B, energy_J) * push(point_B, axis_B)
    chi_1, chi_2 = chi_B - spatial.inverse(M_1) @ wrench, chi_B + spatial.inverse(M_2) @ wrench
    before, after = (M_1 + M_2) @ chi_B, M_1 @ chi_1 + M_2 @ chi_2
    energy = spatial.kinetic_energy(M_1, chi_1) + spatial.kinetic_energy(M_2, chi_2)
    gained = energy - spatial.kinetic_energy(M_1 + M_2, chi_B) - energy_J
    return chi_1, chi_2, np.stack([size(after - before) / (size(before) + size(wrench)), abs(gained) / energy])
