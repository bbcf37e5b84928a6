"""The steps of the articulated-body recursion for one joint, as kernels.

Everything is in link frames, where the free directions S of a joint select components. With the link's rigid inertia
and the articulated inertias of what hangs on it (already in this frame) IA, and likewise the bias force pA:

    outward   v = X v_parent + S qd,  c = v x S qd,  p = v x* I v - w
    inward    U = IA S, D = S^T U, u = tau - S^T pA,  Ia = IA - U D^-1 U^T,  pa = pA + Ia c + U D^-1 u
    inward, prescribed qdd:                           Ia = IA,               pa = pA + IA (c + S qdd)
    forward   a' = X a_parent + c,  qdd = D^-1 (u - U^T a'),  a = a' + S qdd,  f = IA a + pA

a is the time derivative of the twist's components. Source: Featherstone, "Rigid Body Dynamics Algorithms", 2008,
sections 7.3 and 9.2; the unknowns are those of DQMB eq. (50).
"""

from __future__ import annotations

import functools

import numpy as np

from gnc import dual_quaternion, spatial
from gnc.batch import Kernel, batched
from gnc.linalg import array, cross, skew, solve
from gnc.models.multibody.joints import KINDS


def cross_twist(v, u):
    """Return v x u of two twists, the rate of change of u carried along with v. Source: DQMB Table 2."""
    return np.concatenate([cross(v[:3], u[:3]), cross(v[:3], u[3:]) + cross(v[3:], u[:3])])


def cross_wrench(v, f):
    """Return v x* f of a twist and a wrench or a momentum. Source: DQMB eq. (33)."""
    return np.concatenate([cross(v[:3], f[:3]) + cross(v[3:], f[3:]), cross(v[:3], f[3:])])


def rigid(link):
    """Return the 6x6 inertia of the ten numbers of a link (see `Tree.inertias`), its zeros free of cost."""
    m, S, (a, b, c, d, e, f) = link[0], skew(link[1:4]), link[4:]
    return np.concatenate(
        [
            np.concatenate([array([[a, b, c], [b, d, e], [c, e, f]]), S], axis=1),
            np.concatenate([-S, array([[m, 0.0, 0.0], [0.0, m, 0.0], [0.0, 0.0, m]])], axis=1),
        ]
    )


def _moved(free, values):
    """Return S times the values, as a twist."""
    twist = array([0.0] * 6)
    for i, value in zip(free, values, strict=True):
        twist[i] = value
    return twist


@batched("(6),(10),(6)->(6)")
def base_force(twist, link, wrench):
    """Return p = v x* I v - w of the base."""
    return cross_wrench(twist, rigid(link) @ twist) - wrench


@batched("(10),(6,6),(6),(6)->(6)")
def base_acceleration(link, hanging, p, p_hanging):
    """Solve IA a + pA = 0 for the free base."""
    return -solve(rigid(link) + hanging, p + p_hanging)


@functools.cache
def outward(kind: str) -> Kernel:
    """Return the kernel of the first pass of a kind of joint."""
    joint = KINDS[kind]
    free, coordinates = joint.free, len(joint.zero)

    @batched(f"(8),({coordinates}),({len(free)}),(6),(10),(6)->(8),(6),(6),(6)")
    def outward(offset, gamma, rate, twist_parent, link, wrench):
        """Return pose in the parent, twist, bias acceleration and bias force of a link."""
        dq = dual_quaternion.mul(offset, joint.pose(gamma))
        moved = _moved(free, rate)
        twist = dual_quaternion.transform_twist(dual_quaternion.conj(dq), twist_parent) + moved
        return dq, twist, cross_twist(twist, moved), cross_wrench(twist, rigid(link) @ twist) - wrench

    return outward


@functools.cache
def inward(kind: str, prescribed: bool) -> Kernel:
    """Return the kernel of the second pass of a kind of joint."""
    free = list(KINDS[kind].free)

    @batched(f"(10),(6,6),(6),(6),(6),(8),({len(free)})->(6,6),(6)")
    def inward(link, hanging, p, p_hanging, c, dq, drive):
        """Return articulated inertia and bias force as the parent feels them."""
        IA, pA = rigid(link) + hanging, p + p_hanging
        if prescribed:
            Ia, pa = IA, pA + IA @ (c + _moved(free, drive))
        else:
            U = IA[:, free]
            K = solve(U[free], np.concatenate([U.T, (drive - pA[free])[:, None]], axis=1))
            Ia = IA - U @ K[:, :6]
            pa = pA + Ia @ c + U @ K[:, 6]
        return spatial.transform_inertia(dq, Ia), dual_quaternion.transform_wrench(dq, pa)

    return inward


@functools.cache
def forward(kind: str, prescribed: bool) -> Kernel:
    """Return the kernel of the third pass of a kind of joint."""
    free = list(KINDS[kind].free)

    @batched(f"(10),(6,6),(6),(6),(6),(8),({len(free)}),(6)->(6),({len(free)}),(6)")
    def forward(link, hanging, p, p_hanging, c, dq, drive, a_parent):
        """Return acceleration of the link, of the joint, and the wrench from the parent on the link."""
        IA, pA = rigid(link) + hanging, p + p_hanging
        carried = dual_quaternion.transform_twist(dual_quaternion.conj(dq), a_parent) + c
        if prescribed:
            rate_dot = drive
        else:
            U = IA[:, free]
            rate_dot = solve(U[free], drive - pA[free] - U.T @ carried)
        a = carried + _moved(free, rate_dot)
        return a, rate_dot, IA @ a + pA

    return forward
