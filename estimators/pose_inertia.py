"""The target's inertia among the states of a pose filter: the exact derivative of the step with respect to it.

The state is `inertia_states.Inertia`: a deviation dJ of the inertia about the centre of mass, in body axes, by six
numbers or by ratios, which are all that a free tumble shows. Mass and centre of mass stay as they are, so that only the
upper left block of M changes. As everywhere in `centre_motion`, the errors are (a, r, dP, u) about the centre of mass,
and D their derivative with respect to the numbers x of dJ; N(w) is that of J w:

    start       the twist is given, so that dP = N(w_0) dx
    drift       D <- F D + (A, 0, [P_1] A, 0),  A = -B (s 1 + [phi]) N(w): QVI at another J from a given momentum
    half kick   u <- u - (h/2) (force/m) x a: the force keeps to the body's axes; the torque changes no derivative
    end         dw = J^-1 (dP - N(w_1) dx), and the reference point's velocity with it: `centre_motion.to_reference`

DQVI with its filler is QVI about the centre of mass, in the same stages and substeps: for 'vi2' and 'vi4' the result is
the derivative of what was done, for 'rk4' and 'exact' that of 'vi4' (test_other_methods_take_the_slope_of_vi4).

Give the state a small `walk`, some 1e-3 of its first standard deviation in a second's root or less: over hundreds of
seconds without one, linearisation makes the filter too sure of how inertia and twist belong together
(test_with_a_small_walk_of_the_ratios_it_is_consistent_and_without_it_is_too_sure).
Source: QVI eqs. (37), (38), DQVI eq. (36).
"""

from __future__ import annotations

import functools
from collections.abc import Sequence

import numpy as np

from gnc import spatial
from gnc.batch import Kernel, batched
from gnc.estimators.centre_motion import NO_WHEELS, with_translation
from gnc.estimators.inertia_states import FORMS, momentum_slope
from gnc.estimators.pose_motion import FREE, TURN, substeps
from gnc.estimators.wrench_noise import taken
from gnc.integrators import qvi
from gnc.integrators.composition import SUZUKI4
from gnc.integrators.pose_taylor import to_reference
from gnc.linalg import array, identity, inv3, skew, zeros
from gnc.typing import Array

UNTURNED = (1.0, 0.0, 0.0, 0.0)


@batched("(6,6),(3,3)->(6,6)")
def deviated(M, dJ):
    """Return M of a body whose inertia about the centre of mass is off by dJ."""
    M = M.copy()
    M[:3, :3] = M[:3, :3] + dJ
    return M


def _kick(P_B, D, tau_B, push_B, h):
    """Return momentum and D after a torque and a specific force have acted over h."""
    return P_B + h * tau_B, np.concatenate([D[:9], D[9:] - (h * skew(push_B)) @ D[:3]])


def _drift(P_B, D, J, h, form):
    """Return momentum and D after a drift of QVI."""
    f, P_1, F = qvi.drift_jacobian(array(UNTURNED), P_B, J, array(NO_WHEELS.tolist()), h)
    s, phi = f[0], f[1:]
    w_B = inv3(J) @ (qvi.turn_slope(phi, s) @ P_B)  # P = (s 1 + [phi]) J w
    A = -(F[:3, 3:] @ ((s * identity(3) + skew(phi)) @ momentum_slope(form)(w_B)))
    nil = zeros(*A.shape)
    return P_1, with_translation(F, h) @ D + np.concatenate([A, nil, skew(P_1) @ A, nil])


@functools.cache
def _step_kernel(stages: Sequence[float], form: str) -> Kernel:
    """Return the kernel P, D, torque, specific force, J, h -> P, D of a composed step; made to be repeated."""
    k = FORMS[form].shape[1]

    @batched(f"(3),(12,{k}),(3),(3),(3,3),()->(3),(12,{k})")
    def step(P_B, D, tau_B, push_B, J, h):
        for c in stages:
            P_B, D = _kick(P_B, D, tau_B, push_B, (0.5 * c) * h)
            P_B, D = _drift(P_B, D, J, c * h, form)
            P_B, D = _kick(P_B, D, tau_B, push_B, (0.5 * c) * h)
        return P_B, D

    return step


@functools.cache
def _end_kernels(form: str) -> tuple[Kernel, Kernel]:
    """Return the kernels that lead to the centre of mass at the start of a step, and back at its end."""
    k = FORMS[form].shape[1]

    @batched(f"(6),(6),(6,6)->(3),(12,{k}),(3),(3),(3,3)")
    def start(chi_B, wrench_B, M):
        m, r_g, J = spatial.parts(M)
        nil = zeros(3, k)
        D = np.concatenate([nil, nil, momentum_slope(form)(chi_B[:3]), nil])
        return J @ chi_B[:3], D, spatial.shift_wrench(wrench_B, r_g)[:3], wrench_B[3:] / m, J

    @batched(f"(12,{k}),(6),(6,6)->(12,{k})")
    def end(D, chi_B, M):
        seen = D[6:9] - momentum_slope(form)(chi_B[:3])
        return to_reference(chi_B, M) @ np.concatenate([D[:6], seen, D[9:]])

    return start, end


def inertia_slope(
    form: str,
    method: str,
    chi_B: Array,
    chi_next: Array,
    wrench_B: Array | None,
    M: Array,
    h: Array,
    turn: float | None = TURN,
) -> Array:
    """Return d(dxi, dchi)/dx (..., 12, k) of `pose_motion.move` from one twist to another; NaN marks a lost trial."""
    wrench_B = FREE if wrench_B is None else wrench_B
    stages, like = ((1.0,), "vi2") if method == "vi2" else (SUZUKI4, "vi4")
    n = substeps(like, chi_B, wrench_B, M, h, TURN if method == "exact" else turn)
    counts = taken(n)
    start, end = _end_kernels(form)
    P_B, D, *given = start(chi_B, wrench_B, M)
    D = _step_kernel(stages, form).repeat(counts, P_B, D, *given, np.asarray(h) / n)[1]
    return end(D, chi_next, M)
