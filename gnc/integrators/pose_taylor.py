"""The exact motion of a rigid body under a wrench that is constant in body axes, by its Taylor series.

About the centre of mass the rotation is that of `taylor`; the velocity u that the force adds, and the way d that it
adds, both in body axes, follow by the same recurrence, with h folded in:

    u' = u x w + f/m,   d' = d x w + u           what is free moves evenly, exactly

The errors (a, r, dP, u) of attitude, position, angular momentum and velocity about the centre, in body axes, move by

    a' = a x w + J^-1 dP,   dP' = dP x w + P x J^-1 dP,   u' = u x w - f/m x a,   r' = r x w + u

whose series give the exact F and G of (dxi, dchi). Dividing long steps is the caller's part: `count`.
"""

from __future__ import annotations

import math

import numpy as np

from gnc import dual_quaternion, quaternion, spatial
from gnc.batch import batched, maximum, where
from gnc.integrators import taylor
from gnc.integrators.taylor import ORDER, driven_series, end, slope_series
from gnc.linalg import block, identity, inv3, skew, zeros
from gnc.typing import Array

NIL, ONE = zeros(3, 3), identity(3)


def to_reference(chi_B: Array, M: Array) -> Array:
    """Return the matrix that takes (a, r, dP, u) about the centre of mass to (dxi, dchi) of the reference point."""
    _, r_g, J = spatial.parts(M)
    J_inverse, arm = inv3(J), skew(r_g)
    V = skew(spatial.shift_twist(chi_B, r_g)[3:])
    return block(
        [[ONE, NIL, NIL, NIL], [arm, ONE, NIL, NIL], [NIL, NIL, J_inverse, NIL], [V, NIL, arm @ J_inverse, ONE]]
    )


def to_centre(chi_B: Array, M: Array) -> Array:
    """Return the inverse of `to_reference`."""
    _, r_g, J = spatial.parts(M)
    arm = skew(r_g)
    V = skew(spatial.shift_twist(chi_B, r_g)[3:])
    return block([[ONE, NIL, NIL, NIL], [-arm, ONE, NIL, NIL], [NIL, NIL, J, NIL], [-V, NIL, -arm, ONE]])


def _rotation(chi_B, wrench_B, M, h):
    """Return mass, centre, inertia, specific force, and the series of momentum, h times the rate, and turn."""
    m, r_g, J = spatial.parts(M)
    tau, push = spatial.shift_wrench(wrench_B, r_g)[:3], wrench_B[3:] / m
    return m, r_g, J, push, taylor.motion(J @ chi_B[:3], tau, J, zeros(3), h, ORDER)


def _moved(dq_IB, chi_B, r_g, J, push, series, h):
    """Return pose and twist of the reference point at the end."""
    P, W, f = series
    thrown = driven_series(W, [h * push] + [zeros(3)] * ORDER, zeros(3))
    way = driven_series(W, [h * u for u in thrown], zeros(3))
    q_1 = quaternion.normalize(quaternion.mul(dq_IB[:4], end(f)))
    v_I = quaternion.rotate(dq_IB[:4], spatial.shift_twist(chi_B, r_g)[3:])
    centre = dual_quaternion.transform_point(dq_IB, r_g) + h * v_I + quaternion.rotate(q_1, end(way))
    u_1 = quaternion.inverse_rotate(q_1, v_I) + end(thrown)
    chi_1 = spatial.shift_twist(np.concatenate([inv3(J) @ end(P), u_1]), -r_g)
    return dual_quaternion.from_pose(q_1, centre - quaternion.rotate(q_1, r_g)), chi_1


def _translation(a, W, push, h):
    """Return the columns r and u at the end that the columns a cause."""
    u = driven_series(W, [(-h) * (skew(push) @ x) for x in a], NIL)
    return end(driven_series(W, [h * x for x in u], NIL)), end(u)


@batched("(8),(6),(6),(6,6),()->(8),(6),(12,12)")
def step_jacobian(dq_IB, chi_B, wrench_B, M, h):
    """Return pose and twist after h, and the exact F of (dxi, dchi)."""
    _, r_g, J, push, series = _rotation(chi_B, wrench_B, M, h)
    dq_1, chi_1 = _moved(dq_IB, chi_B, r_g, J, push, series, h)
    return dq_1, chi_1, to_reference(chi_1, M) @ _centre_jacobian(series, J, push, h) @ to_centre(chi_B, M)


def _centre_jacobian(series, J, push, h):
    """Return F of (a, r, dP, u)."""
    P, W, _ = series
    turned = driven_series(W, [NIL] * (ORDER + 1), ONE)
    a, dP = slope_series(P, W, J, h, ONE, NIL)
    (r_a, u_a), (r_P, u_P), C = _translation(turned, W, push, h), _translation(a, W, push, h), end(turned)
    return block([[C, NIL, end(a), NIL], [r_a, C, r_P, h * C], [NIL, NIL, end(dP), NIL], [u_a, NIL, u_P, C]])


@batched("(8),(6),(6),(6,6),()->(8),(6),(12,12),(12,6)")
def step_gains(dq_IB, chi_B, wrench_B, M, h):
    """Return the same and G, the exact derivative for the wrench."""
    m, r_g, J, push, series = _rotation(chi_B, wrench_B, M, h)
    dq_1, chi_1 = _moved(dq_IB, chi_B, r_g, J, push, series, h)
    P, W, _ = series
    a, dP = slope_series(P, W, J, h, NIL, h * ONE)
    r, u = _translation(a, W, push, h)
    thrown = driven_series(W, [(h / m) * ONE] + [NIL] * ORDER, NIL)
    way = end(driven_series(W, [h * x for x in thrown], NIL))
    about_centre = block([[end(a), NIL], [r, way], [end(dP), NIL], [u, end(thrown)]])
    back, shift = to_reference(chi_1, M), block([[ONE, -skew(r_g)], [NIL, ONE]])
    F = back @ _centre_jacobian(series, J, push, h) @ to_centre(chi_B, M)
    return dq_1, chi_1, F, back @ about_centre @ shift


@batched("(6),(12,12),(6),(6,6),()->()")
def count(chi_B, C, wrench_B, M, h):
    """Return in how many substeps a step keeps its truncation error small against C of (dxi, dchi); NaN if it is lost.

    As `taylor.count`, with the way that the force adds beside the turn.
    """
    m, r_g, J = spatial.parts(M)
    tau, P, none = spatial.shift_wrench(wrench_B, r_g)[:3], J @ chi_B[:3], zeros(3)
    x = taylor.angle(P, tau, J, none, none, h) * (1.0 / taylor.RADIUS)
    way = np.sqrt(wrench_B[3:] @ wrench_B[3:]) * (h * h) / m
    square = chi_B[:3] @ chi_B[:3]
    information = taylor.information
    known = maximum(information(C[:3, :3]), square * information(C[6:9, 6:9]))
    known = maximum(known, way * way * information(C[3:6, 3:6]))
    allowed = maximum(taylor.SMALL / np.sqrt(known), taylor.ROUND_OFF)
    n = x * np.sqrt(np.sqrt(np.sqrt(x / where(allowed > 0.0, allowed, taylor.ROUND_OFF))))
    n = maximum(-np.floor(-n), 1.0)
    return where(n <= taylor.MOST, n, math.nan)
