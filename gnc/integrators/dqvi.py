"""The dual-quaternion variational integrator (DQVI), in the form with twists.

State: the pose dq_IB of the body's reference frame and the twist chi_B = [w, v] of its reference point, in body axes.
M is the inertia about that point, which need not be the centre of mass; `filler` is the body's mass, or 0 for the form
that DQVI prints (see `dqvi_equation`). A step is a half kick, a drift, a half kick:

    chi += (h/2) M^-1 wrench_k
    solve g(x) = (h/2) M chi;  p_{k+1} = p_k f(x);  M chi = -(2/h) g(-x)
    chi += (h/2) M^-1 wrench_{k+1}

It is symplectic, of second order, and exact in momentum; `step4` is of fourth order, `substeps` divides steps.
The error state is (dxi, dchi), p = p^ exp(dxi/2), dxi = [rotation, displacement] in body axes. h may be negative. With
the filler a solution exists for |w| h < 1 rad and is found up to 0.9 rad; otherwise the trial becomes NaN. The printed
form, filler 0, has no such limit: of random bodies at |w| h = 0.5 to 0.6 rad that move by a metre or so in a step, one
in ten is lost. For most of these there is no solution: the branch that begins at rest folds before it comes so far.
`damped_step` finds all that exist (test_damped_newton_finds_every_solution_on_the_branch_from_rest).

The fourth order is Suzuki's composition, symplectic as each of its stages is. Written out, the five stages would make
kernels that take long to compile, so that one stage is the kernel, which counts along, and `repeat` runs it. Jacobians
are the products of the stages' exact ones.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gnc import spatial
from gnc.batch import batched, where
from gnc.dual_quaternion import adjoint, conj, mul
from gnc.integrators.composition import SUZUKI4
from gnc.integrators.dqvi_equation import (
    DAMPED,
    increment,
    increment_jacobian,
    momentum_parts,
    momentum_slopes,
    solve,
    solve_blocks,
    with_newton,
)
from gnc.linalg import block, identity, zeros


@batched("(6),(6),(6,6),()->(6)")
def kick(chi_B, wrench_B, M, h):
    """Return the twist after half a step under a wrench, chi + (h/2) M^-1 wrench. Source: DQVI eqs. (27), (32).

    Errata: the right halves of eqs. (30), (31) have the conjugate of the pose in the wrong place, and eq. (34) lacks a
    minus sign (test_erratum_eqs_30b_31b_the_world_wrench_multiplies_the_pose_itself,
    test_erratum_eq_34_the_minus_sign_is_missing).
    """
    return chi_B + spatial.inverse(M) @ ((0.5 * h) * wrench_B)


def _increment(chi_B, M, filler, h):
    """Return the solution of g(x) = (h/2) M chi. Source: DQVI eqs. (47), (55)."""
    half = (0.5 * h) * chi_B
    return solve(M @ half, half, M, filler)


def _move(dq_IB, chi_B, x, M, filler, h):
    """Return pose and twist at the end of a drift of increment x.

    The twist takes the difference of the two momenta, -g(-x) - g(x), which loses less to round-off than -g(-x) itself.
    """
    _, even = momentum_parts(x, M, filler)
    turn = even * (-4.0 / where(h == 0.0, 1.0, h))  # a step of no length changes nothing
    return mul(dq_IB, increment(x)), chi_B + spatial.inverse(M) @ turn


@batched("(8),(6),(6,6),(),()->(8),(6)")
def drift(dq_IB, chi_B, M, filler, h):
    """Move a free body: energy exact for a rigid body with its filler, momentum exact. Source: DQVI eq. (36), tau = 0.

    Erratum: of Algorithm 1, line 4 lacks the factor h/2 and the loop never takes the first increment
    (test_erratum_algorithm_1_the_target_is_half_a_step_of_momentum,
    test_erratum_algorithm_1_must_advance_by_the_first_increment).
    """
    return _move(dq_IB, chi_B, _increment(chi_B, M, filler, h), M, filler, h)


def _transition(x, M, filler, h):
    """Return F of a drift, [[Ad(f^-1), 2 E X], [0, M^-1 (2/h) J(-x) X]] with X = dx/dchi = (h/2) J(x)^-1 M."""
    odd, even = momentum_slopes(x, M, filler)
    X = solve_blocks(odd + even, M)
    top = [adjoint(conj(increment(x))), h * (increment_jacobian(x) @ X)]
    return block([top, [zeros(6, 6), spatial.inverse(M) @ ((odd - even) @ X)]])


@batched("(8),(6),(6,6),(),()->(8),(6),(12,12)")
def drift_jacobian(dq_IB, chi_B, M, filler, h):
    """Return what `drift` does, and its exact Jacobian F."""
    x = _increment(chi_B, M, filler, h)
    return *_move(dq_IB, chi_B, x, M, filler, h), _transition(x, M, filler, h)


@batched("(8),(6),(6),(6,6),(),()->(8),(6)")
def step(dq_IB, chi_B, wrench_B, M, filler, h):
    """Take one step of second order under a wrench that is constant in body axes. Source: DQVI eqs. (36), (47).

    Erratum: eqs. (47), (48) hold without wrench; in general M chi_k = (2/h) g(x_k) - (h/2) wrench_k
    (test_erratum_eqs_47_48_need_half_a_kick).
    """
    dq_IB, chi_B = drift(dq_IB, kick(chi_B, wrench_B, M, h), M, filler, h)
    return dq_IB, kick(chi_B, wrench_B, M, h)


@batched("(8),(6),(6),(6,6),(),()->(8),(6),(12,12),(12,6)")
def step_jacobian(dq_IB, chi_B, wrench_B, M, filler, h):
    """Return what `step` does, F, and G, the derivative of the error state with respect to the wrench."""
    dq_IB, chi_B, F = drift_jacobian(dq_IB, kick(chi_B, wrench_B, M, h), M, filler, h)
    half = spatial.inverse(M) * (0.5 * h)
    return dq_IB, kick(chi_B, wrench_B, M, h), F, F[:, 6:] @ half + np.concatenate([zeros(6, 6), half])


damped_step = with_newton(step, 12, lengths=DAMPED)  # `step` for the printed form: finds solutions that `step` misses


@batched("(12,12),(6,6),(6,6),(6,6),(6,6),(6,6),()->(12,12),(12,6)")
def forced_jacobian(F, T, D, T_next, D_next, M, h):
    """Return F and G of a step under wrenches that depend on pose and twist, from the F of its drift.

    T = d wrench/d xi and D = d wrench/d chi belong to the start; T_next and D_next to the wrench applied at the end, as
    a function of the pose there and of the twist before its kick. With N = (h/2) M^-1, they follow from the gradients
    T, D of the wrench itself, which is evaluated at the end

        once, with the twist before the kick:              T, D             first order if D is not 0
        twice, T', D' with the twist after a first kick:   T' + D' N T, D' (1 + N D)            second order
        until it is that of the twist after the kick:      (1 - D N)^-1 T, (1 - D N)^-1 D       second order

    G is the derivative with respect to a constant wrench in body axes that acts as well.
    """
    half = spatial.inverse(M) * (0.5 * h)
    start = block([[identity(6), zeros(6, 6)], [half @ T, identity(6) + half @ D]])
    end = block([[identity(6), zeros(6, 6)], [half @ T_next, identity(6) + half @ D_next]])
    G = end @ (F[:, 6:] @ half) + np.concatenate([zeros(6, 6), half])
    return end @ (F @ start), G


OUTER, MIDDLE, STAGES = SUZUKI4[0], SUZUKI4[2], len(SUZUKI4)  # fractions of h; the middle stage goes back
TURN_PER_STEP = 0.4  # |w| h [rad] of one stage; at 1 rad the equation has no solution
MOST_SUBSTEPS = 1000  # what turns faster than that is lost


def _fraction(stage):
    """Return the part of h that a stage takes; stages are counted through, 0, 1, 2 ..."""
    return where(stage - STAGES * np.floor(stage / STAGES) == 2.0, MIDDLE, OUTER)


@batched("(8),(6),(),(6),(6,6),(),()->(8),(6),()")
def _stage(dq_IB, chi_B, stage, wrench_B, M, filler, h):
    """Take one stage and count it."""
    return *step(dq_IB, chi_B, wrench_B, M, filler, _fraction(stage) * h), stage + 1.0


def _chain(F, G, F_step, G_step):
    """Return the Jacobians of a motion followed by a step; both have a lower left block of zeros."""
    A, B, C = F[:6, :6], F[:6, 6:], F[6:, 6:]
    A_step, B_step, C_step = F_step[:6, :6], F_step[:6, 6:], F_step[6:, 6:]
    F = block([[A_step @ A, A_step @ B + B_step @ C], [zeros(6, 6), C_step @ C]])
    return F, np.concatenate([A_step @ G[:6] + B_step @ G[6:], C_step @ G[6:]]) + G_step


@batched("(8),(6),(12,12),(12,6),(6),(6,6),(),()->(8),(6),(12,12),(12,6)")
def chained_step_jacobian(dq_IB, chi_B, F, G, wrench_B, M, filler, h):
    """Take one step of second order and chain its Jacobians to those of the motion so far; made to be repeated."""
    dq_IB, chi_B, F_step, G_step = step_jacobian(dq_IB, chi_B, wrench_B, M, filler, h)
    return dq_IB, chi_B, *_chain(F, G, F_step, G_step)


@batched("(8),(6),(12,12),(12,6),(),(6),(6,6),(),()->(8),(6),(12,12),(12,6),()")
def _stage_jacobian(dq_IB, chi_B, F, G, stage, wrench_B, M, filler, h):
    """Take one stage, chain its Jacobians, and count it."""
    return *chained_step_jacobian(dq_IB, chi_B, F, G, wrench_B, M, filler, _fraction(stage) * h), stage + 1.0


def step4(dq_IB: Any, chi_B: Any, wrench_B: Any, M: Any, filler: Any, h: Any, n: Any = 1) -> tuple[Any, Any]:
    """Take n steps of fourth order, each of length h, under a wrench that is constant in body axes.

    Arguments broadcast over leading axes as those of `dqvi.step`; n may differ between trials.
    """
    return _stage.repeat(STAGES * np.asarray(n), dq_IB, chi_B, 0.0, wrench_B, M, filler, h)[:2]


def step4_jacobian(dq_IB: Any, chi_B: Any, wrench_B: Any, M: Any, filler: Any, h: Any, n: Any = 1) -> tuple[Any, ...]:
    """Return what `step4` does, and F and G of all its n steps."""
    F, G = np.eye(12), np.zeros((12, 6))
    return _stage_jacobian.repeat(STAGES * np.asarray(n), dq_IB, chi_B, F, G, 0.0, wrench_B, M, filler, h)[:4]


def substeps(chi_B: Any, h: Any, order: int = 4) -> np.ndarray:
    """Return how many steps to divide h into, so that no stage turns the body by more than 0.4 rad."""
    longest = {2: 1.0, 4: abs(MIDDLE)}[order]
    turn = np.linalg.norm(np.asarray(chi_B)[..., :3], axis=-1) * np.abs(h) * longest
    return np.clip(np.ceil(np.nan_to_num(turn, nan=0.0) / TURN_PER_STEP), 1, MOST_SUBSTEPS)  # a lost trial stays lost
